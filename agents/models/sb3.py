"""Policies trained by stable-baselines3 as agents: a small network on the numbers of a state.

A request carries what its seat knows; from that a state of the game is found, its numbers are made
as in training, and the network gives the odds of every action.

Nothing on the way from a folder to an agent is unpickled: `sb3.json` says what the policy is, and
`policy.safetensors` holds its weights. `model.zip` beside them is stable-baselines3's own file, for
`PPO.load` and for going on with training. `PPO.load` unpickles what is in it, so load only files
of your own with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from coevo.agents.agent import Agent, Reply, Request
from coevo.agents.models.network import Network, layers_of
from coevo.agents.strategies.game_tree import known_state
from coevo.envs.bridges.vector import illegal_reply
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.parsing import answer
from coevo.envs.games.states import load_game
from coevo.envs.games.tensors import encode, size

SCHEMA = 1
CARD, WEIGHTS, ARCHIVE = "sb3.json", "policy.safetensors", "model.zip"
NEVER = 1e-12
"""Probability of a legal answer that is reported where a policy always says an illegal one."""
PACKAGES = ("stable-baselines3", "sb3-contrib", "torch", "gymnasium", "open_spiel")

Legal = dict[int, str]
"""Legal action -> name of the move."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """What `sb3.json` says about a policy, beside the kind of its network."""

    algo: str
    """`ppo`, `dqn`, `maskable_ppo`."""
    env: str
    """Environment id."""
    env_options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment."""
    game: str
    """OpenSpiel game string with all its parameters."""
    encoding: str
    """Where the numbers of an observation come from, see `coevo.envs.games.tensors`."""
    steps: int = 0
    """Updates."""
    timesteps: int = 0
    """Actions that it learnt from."""


class SB3Agent(Agent):
    """A network that plays one game from what requests tell.

    Args:
        network: from observations to odds.
        card: what the network was trained on.
        name: shown in tables; `sb3:<algo>` if empty.
    """

    insider = True
    """It draws with the generator of the episode."""

    def __init__(self, network: Network, card: Card, name: str = "") -> None:
        expected = size(load_game(card.game))
        if network.inputs != expected:
            raise ConfigError(
                f"the network takes {network.inputs} numbers, {card.game} gives {expected}"
            )
        self.network, self.card = network, card
        self.name = name or f"sb3:{card.algo}"
        self.version = card.steps

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Draw an action for every request with the generator of its play.

        A policy without a mask may draw an illegal action, and then says so.
        """
        return [_drawn(r, legal, odds) for r, (legal, odds, _) in self._weighed(requests)]

    def probabilities(self, requests: Sequence[Request]) -> list[np.ndarray]:
        """Return the probability of every legal move, given that a legal one is said."""
        return [np.exp(logp - np.logaddexp.reduce(logp)) for logp in self.move_logprobs(requests)]

    def move_logprobs(self, requests: Sequence[Request]) -> list[np.ndarray]:
        """Return the log-probability of saying each legal move, in nats.

        Without a mask their probabilities sum to less than 1. Where a policy always says an
        illegal action, its odds under a mask count, times `NEVER`.
        """
        found = []
        for _, (legal, odds, masked_odds) in self._weighed(requests):
            said = odds[list(legal)]
            if said.sum() < NEVER:
                said = NEVER * masked_odds[list(legal)]
            with np.errstate(divide="ignore"):
                found.append(np.log(said))
        return found

    def _weighed(
        self, requests: Sequence[Request]
    ) -> list[tuple[Request, tuple[Legal, np.ndarray, np.ndarray]]]:
        """Return (legal actions, odds of all actions, odds under a mask) for every request."""
        if not requests:
            return []
        rows = [self._read(r) for r in requests]
        seen_BD = np.stack([row for row, _ in rows])
        mask_BA = np.zeros((len(rows), self.network.actions), dtype=bool)
        for b, (_, legal) in enumerate(rows):
            mask_BA[b, list(legal)] = True
        masked_BA = self.network.odds(seen_BD, mask_BA)
        free_BA = self.network.odds(seen_BD, np.ones_like(mask_BA))
        return [
            (r, (legal, masked if self.network.masked else free, masked))
            for r, (_, legal), masked, free in zip(requests, rows, masked_BA, free_BA, strict=True)
        ]

    def _read(self, request: Request) -> tuple[np.ndarray, Legal]:
        """Return a request's observation and its legal actions with their names."""
        info = request.info
        state, game = known_state(info), str(info["game"])
        if game != self.card.game:
            raise ConfigError(f"{self.name} has learnt {self.card.game}, asked to play {game}")
        player, names = int(info["player"]), info["legal_actions"]
        actions = state.legal_actions(player)
        if len(actions) != len(names):
            raise ConfigError(f"{game} has {len(actions)} legal moves here, named are {names}")
        return encode(state, player), dict(zip(actions, names, strict=True))


def _drawn(request: Request, legal: Legal, odds: np.ndarray) -> Reply:
    edges = np.cumsum(odds)
    drawn = np.searchsorted(edges, request.rng.random() * edges[-1], side="right")
    action = min(int(drawn), len(odds) - 1)
    return Reply(answer(legal[action]) if action in legal else illegal_reply(action))


def network_of(model: Any) -> Network:
    """Take the network out of a model of stable-baselines3 with an `MlpPolicy`.

    Args:
        model: PPO, MaskablePPO or DQN; observations go into the layers as they are.

    Raises:
        ConfigError: the policy is of another kind.
    """
    policy = model.policy
    valued = hasattr(policy, "q_net")
    if not valued and not (hasattr(policy, "mlp_extractor") and hasattr(policy, "action_net")):
        raise ConfigError(f"{type(policy).__name__} is not a policy of PPO, MaskablePPO or DQN")
    extractor = policy.q_net.features_extractor if valued else policy.features_extractor
    if type(extractor).__name__ != "FlattenExtractor":
        raise ConfigError(f"{type(extractor).__name__}: only an MlpPolicy can be an agent")
    own = policy.q_net.q_net if valued else policy.mlp_extractor.policy_net
    modules = [*own] if valued else [*own, policy.action_net]
    linear = [m for m in modules if type(m).__name__ == "Linear"]
    between = {type(m).__name__.lower() for m in modules if m not in linear} or {"none"}
    layers = [tuple(t.detach().cpu().numpy().copy() for t in (m.weight, m.bias)) for m in linear]
    return Network(
        [(weight, bias) for weight, bias in layers],
        activation="/".join(sorted(between)),
        kind="greedy" if valued else "softmax",
        masked=type(model.policy).__name__.startswith("Maskable"),
        epsilon=float(getattr(model, "exploration_final_eps", 0.0)),
    )


def save_sb3(folder: Path, model: Any, card: Card) -> None:
    """Write a model of stable-baselines3 as a folder that `load_sb3` reads.

    Args:
        folder: made if it is not there.
        model: PPO, MaskablePPO or DQN with an `MlpPolicy`, trained on a vector view.
        card: what it was trained on.
    """
    network = network_of(model)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / ARCHIVE)
    save_file(network.tensors(), folder / WEIGHTS)
    facts = {
        "schema": SCHEMA,
        **asdict(card),
        "network": {"kind": network.kind, "masked": network.masked, "epsilon": network.epsilon}
        | {"activation": network.activation},
        "versions": versions(),
    }
    (folder / CARD).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def load_sb3(folder: Path, name: str = "", *, guided: bool = False) -> SB3Agent:
    """Read the agent of a folder; stable-baselines3 itself is not needed.

    Raises:
        DataError: something is missing or damaged; one line says what.
    """
    try:
        facts = json.loads((folder / CARD).read_text(encoding="utf-8"))
        if facts["schema"] != SCHEMA:
            raise DataError(f"it has schema {facts['schema']}, this version reads {SCHEMA}")
        layers = layers_of(load_file(folder / WEIGHTS))
        card = Card(**{f.name: facts[f.name] for f in fields(Card)})
        network = Network(layers, **facts["network"])
        return SB3Agent(replace(network, masked=network.masked or guided), card, name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        said = str(error) or type(error).__name__
        raise DataError(f"{folder} holds no readable policy of stable-baselines3: {said}") from None


def versions() -> dict[str, str | None]:
    """Return the versions of the packages that a policy depends on; None where one is missing."""
    return {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
