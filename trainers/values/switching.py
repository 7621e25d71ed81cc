"""Switching: a centre that values joint moves, and says in which states it is asked (MANSA).

Source: Mguni et al. 2023, MANSA, arXiv 2302.05910, of which the abstract was read: a switching
agent learns where centralised learning is worth a cost per call.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from coevo.agents.agent import Agent, Reply, Request
from coevo.agents.models.nets import NetShape, encoded
from coevo.agents.net_policy import NetPolicy
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer
from coevo.trainers.values.mixers import ValueMix
from coevo.trainers.values.team_steps import TeamSteps
from coevo.trainers.values.transitions import CALLED, NOTHING, Seen, Transition, joined, legal

MOST = 4096
"""Joint moves that are valued."""


class Centre(nn.Module):
    """Values of all joint moves in a state, and of calling there or not.

    Args:
        seats: of the team.
        moves: of a seat.
        state: numbers of the state.
        units: of the hidden layers.
        seed: of the start weights.
    """

    def __init__(self, seats: int, moves: int, state: int, units: int, seed: int) -> None:
        super().__init__()
        if moves**seats > MOST:
            raise ConfigError(
                f"cycle.fit_values.mix=switch values joint moves, at most {MOST}; {seats} seats "
                f"with {moves} moves have {moves**seats}"
            )
        numbers = np.indices((moves,) * seats).reshape(seats, -1).T
        self.moves_JN = torch.from_numpy(numbers.copy())
        """Joint move -> the move of every seat."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.joint, self.call = (
                nn.Sequential(nn.Linear(state, units), nn.ReLU(), nn.Linear(units, outputs))
                for outputs in (moves**seats, 2)
            )

    def best(self, state_BS: Tensor, legal_BNA: Tensor) -> Tensor:
        """Return the joint moves of the highest values, [B]; seats that are not asked make none."""
        legal_BNA = legal_BNA.clone()
        legal_BNA[..., 0] |= ~legal_BNA.any(-1)
        picked_BNJ = legal_BNA.gather(2, self.moves_JN.T.expand(len(legal_BNA), -1, -1))
        return self.joint(state_BS).masked_fill(~picked_BNJ.all(1), -torch.inf).argmax(-1)

    def forward(self, state_BS: Tensor) -> tuple[Tensor, Tensor]:
        """Return the values of the joint moves, [B, J], and of calling not and calling, [B, 2]."""
        return self.joint(state_BS), self.call(state_BS)


def loss(centre: Centre, target: Centre, steps: TeamSteps, gamma: float, cost: float) -> Tensor:
    """Return the squared errors of both values of a centre, towards one-step targets.

    Q(s, a) <- r + gamma max_a Q'(s', a) of joint moves, and of a call g, 0 or 1,
    G(s, g) <- r - cost g + gamma max_g G'(s', g).
    """
    joint_BJ, call_B2 = centre(steps.state_BS)
    base_N = centre.moves_JN.new_tensor(_bases(centre))
    index_B = (steps.moves_BN * base_N).sum(-1)
    called_B = steps.called_B.long()
    with torch.no_grad():
        then_BJ, later_B2 = target(steps.then_BS)
        best_B = centre.best(steps.then_BS, steps.legal_BNA)
        next_B = then_BJ.gather(1, best_B.unsqueeze(1)).squeeze(1)
        goal_B = steps.reward_B + gamma * torch.where(steps.goes_on_B, next_B, 0.0)
        later_B = torch.where(steps.goes_on_B, later_B2.max(-1).values, 0.0)
        worth_B = steps.reward_B - cost * called_B + gamma * later_B
    value_B = joint_BJ.gather(1, index_B.unsqueeze(1)).squeeze(1)
    asked_B = call_B2.gather(1, called_B.unsqueeze(1)).squeeze(1)
    return nn.functional.mse_loss(value_B, goal_B) + nn.functional.mse_loss(asked_B, worth_B)


def _bases(centre: Centre) -> list[int]:
    """Return what the move of each seat counts in the number of a joint move."""
    moves = int(centre.moves_JN.max()) + 1
    return [moves**power for power in reversed(range(centre.moves_JN.shape[1]))]


class Caller(Agent):
    """Plays the joint move of a centre where that is called, else what seats value by themselves.

    With the chance of a random move an episode is played without a call, or with calls alone, so
    that both are known everywhere.

    Args:
        policy: of all seats.
        centre: of the run.
        seats: in order.
        epsilon: chance of a random move.
        always: whether every move is the centre's.
    """

    reads_numbers = True

    def __init__(
        self,
        policy: NetPolicy,
        centre: Centre,
        seats: Sequence[str],
        epsilon: float,
        always: bool,
    ) -> None:
        self.name, self.version = policy.name, policy.version
        self._policy, self._alone = policy, policy.exploring(epsilon)
        self._centre, self._seats = centre, seats
        self._epsilon, self._always = epsilon, always
        self.reseed(0)

    def reseed(self, seed: int) -> None:
        self._alone.reseed(seed)
        self._seed, self._moved = seed, Counter[str]()

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        replies = self._alone.act(requests)
        teams: dict[str, dict[str, int]] = {}
        for i, request in enumerate(requests):
            teams.setdefault(request.conversation.rpartition("/")[0], {})[request.seat] = i
        seen = [[_seen(requests, team, seat) for seat in self._seats] for team in teams.values()]
        with torch.no_grad():
            shape = self._policy.model.shape
            state_BS, legal_BNA = joined(seen, shape), legal(seen, shape)
            moves_BN = self._centre.moves_JN[self._centre.best(state_BS, legal_BNA)]
            calls_B = self._centre.call(state_BS).argmax(-1).tolist()
        for (episode, team), moves_N, calls in zip(teams.items(), moves_BN, calls_B, strict=True):
            if self._calls(episode, bool(calls)):
                chosen = dict(zip(self._seats, moves_N.tolist(), strict=True))
                for seat, i in team.items():
                    replies[i] = self._joint(requests[i], chosen[seat])
        return replies

    def _calls(self, episode: str, calls: bool) -> bool:
        drawn = self._drawn(episode)
        return self._always or (calls if drawn >= self._epsilon else drawn < self._epsilon / 2)

    def _joint(self, request: Request, move: int) -> Reply:
        """Return the reply of a seat whose move a centre chose, or a random one."""
        assert request.numbers is not None  # it reads them
        known: Mapping[int, str] = request.numbers.moves
        self._moved[request.conversation] += 1
        drawn = self._drawn(f"{request.conversation} {self._moved[request.conversation]}")
        if drawn < self._epsilon:
            move = sorted(known)[int(drawn / self._epsilon * len(known))]
        reply = self._policy.spell(request, answer(known[move]))
        reply.notes = {CALLED: 1.0}
        return reply

    def _drawn(self, name: str) -> float:
        """Return a number from 0 to 1 that the name and the seed fix."""
        key = f"{self._seed} {name}".encode()
        found = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")
        return found / 2**64


def _seen(requests: Sequence[Request], team: Mapping[str, int], seat: str) -> Seen:
    """Return the tokens of what a seat sees; nothing where it is not asked."""
    numbers = requests[team[seat]].numbers if seat in team else None
    if numbers is None:
        return NOTHING
    return np.array(encoded(numbers.array, numbers.moves), dtype=np.int64)


@config
class Switch(ValueMix):
    """A centre that may choose the moves of all seats, beside seats that are valued by themselves.

    Both learn from all that is played, and from the team's reward.
    """

    one_set: ClassVar = True
    name: Literal["switch"] = "switch"
    cost: Annotated[float, real(0)] = 0.05
    """Taken from the reward of the switching agent at every time-step at which it calls."""
    always: bool = False
    """Whether it calls at every time-step, as centralised learners do."""
    units: Annotated[int, whole(1)] = 64
    """Of the hidden layers of the centre."""

    def mixer(self, seats: int, shape: NetShape, seed: int) -> nn.Module:
        return Centre(seats, shape.moves, seats * math.prod(shape.array), self.units, seed)

    def player(
        self,
        policy: NetPolicy,
        mixer: Callable[[], nn.Module],
        seats: Sequence[str],
        epsilon: float,
    ) -> Agent:
        return Caller(policy, cast("Centre", mixer()), seats, epsilon, self.always)

    def noted(self, new: Sequence[Transition]) -> dict[str, float]:
        return {"calls": float(np.mean([t.called for t in new]))} if new else {}

    def loss(
        self, mixer: nn.Module, target: nn.Module, steps: TeamSteps, gamma: float
    ) -> tuple[Tensor, dict[str, float]]:
        centre, slow = cast("Centre", mixer), cast("Centre", target)
        next_BN = torch.where(steps.goes_on_B.unsqueeze(1), steps.next_BN, 0.0)
        goal_BN = steps.reward_B.unsqueeze(1) + gamma * next_BN
        value_N, goal_N = steps.value_BN[steps.asked_BN], goal_BN[steps.asked_BN]
        alone = nn.functional.mse_loss(value_N, goal_N)
        central = loss(centre, slow, steps, gamma, self.cost)
        found = {
            "loss/values": alone.item(),
            "loss/centre": central.item(),
            "value": value_N.mean().item(),
        }
        return alone + central, found
