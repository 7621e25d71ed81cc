"""Our environments as tasks of inspect_ai: a sample is a seed, a solver plays, a scorer pays.

    from inspect_ai import eval
    from coevo.envs.bridges.as_inspect import inspect_task

    eval(inspect_task("coevo/kuhn_poker-v0", opponents="expert:1"), model="openai/MODEL")

The model has one seat, agents of ours have the others. A score is the payoff of its seat; an
episode that inspect_ai ends before, at a limit of messages or tokens, has none.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from coevo.envs.core.chat import Chat
from coevo.envs.core.errors import ConfigError, MissingExtraError
from coevo.envs.core.single_agent import SingleAgentEnv

STORE = "coevo"
"""Where a sample keeps its payoff and the outcomes of its episode."""


def inspect_task(
    env_id: str,
    *,
    episodes: int = 20,
    opponents: str = "random",
    seat: int | None = None,
    **options: Any,
) -> Any:
    """Return a task of inspect_ai.

    Args:
        env_id: registered id.
        episodes: samples, with seeds 0, 1, 2, ...
        opponents: who has the other seats: random, expert:0.5, oracle.
        seat: the model's seat; None takes all in turn.
        **options: arguments of the environment.

    Raises:
        ConfigError: there are no episodes.
        MissingExtraError: inspect_ai is not installed.
    """
    if episodes < 1:
        raise ConfigError(f"episodes={episodes} must be at least 1")
    package, dataset = _part(""), _part("dataset")
    arguments = {"env_id": env_id, "opponents": opponents, **options}
    seats = len(SingleAgentEnv(seat=0, **arguments).env.possible_agents)
    samples = []
    for seed in range(episodes):
        taken = arguments | {"seat": seed % seats if seat is None else seat}
        chat = _begun(taken, seed)[1]
        about = {"arguments": taken, "seed": seed}
        samples.append(dataset.Sample(id=seed, input=list(map(_sent, chat)), metadata=about))
    return package.Task(
        name=env_id.replace("/", "_"),
        dataset=dataset.MemoryDataset(samples, name=env_id),
        solver=_player(),
        scorer=_payoff(),
    )


def _player() -> Any:
    """Return a solver that answers every reply by what the seat is shown next."""

    def play() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            world, seen = _begun(state.metadata["arguments"], state.metadata["seed"])
            payoff, over = 0.0, False
            while not over:
                state = await generate(state)
                observation, reward, ended, cut, _ = world.step(state.output.completion)
                before, seen = len(seen), observation["messages"]
                payoff, over = payoff + reward, ended or cut
                if not over and world.env.prompt_style == "full":
                    state.messages += [_sent(m) for m in seen[before + 1 :]]
                elif not over:
                    state.messages = [_sent(m) for m in seen]
            outcome = dict(world.env.episode.outcome)
            state.store.set(STORE, {"payoff": payoff, "outcome": outcome})
            state.completed = True
            return state

        return solve

    return _part("solver").solver(name="coevo_player")(play)()


def _payoff() -> Any:
    """Return a scorer that reports the payoff, and the outcomes beside it."""
    scoring = _part("scorer")

    def pay() -> Any:
        async def score(state: Any, target: Any) -> Any:
            found = state.store.get(STORE)
            if found is None:
                return None
            return scoring.Score(value=found["payoff"], metadata=found["outcome"])

        return score

    metrics = [scoring.mean(), scoring.stderr()]
    return scoring.scorer(metrics=metrics, name="coevo_payoff")(pay)()


def _begun(arguments: dict[str, Any], seed: int) -> tuple[SingleAgentEnv, Sequence[Any]]:
    world = SingleAgentEnv(**arguments)
    chat: Chat = world.reset(seed=seed)[0]["messages"]
    return world, chat


def _sent(message: Any) -> Any:
    """Return a message as inspect_ai's."""
    model = _part("model")
    kinds = {
        "system": model.ChatMessageSystem,
        "user": model.ChatMessageUser,
        "assistant": model.ChatMessageAssistant,
    }
    return kinds[message["role"]](content=message["content"])


def _part(name: str) -> Any:
    """Return a module of inspect_ai, or say in one line what is missing."""
    try:
        return importlib.import_module(f"inspect_ai.{name}" if name else "inspect_ai")
    except ImportError as error:
        raise MissingExtraError(
            f"{error.name or 'inspect_ai'} is missing: pip install inspect_ai, in a virtual "
            "environment of its own"
        ) from None
