r"""Our environments as verifiers': a taskset of seeds, and an environment that plays them.

verifiers loads a plug-in by the name of a top-level module, so a project has a file such as
`kuhn.py` that holds `from coevo.envs.bridges.as_verifiers import *`, and then

    vf-eval kuhn --env.taskset.env coevo/kuhn_poker-v0 --env.taskset.opponents oracle \
        --env.player.harness.id null --env.player.runtime.type subprocess

One seat is the agent's, the others are played by agents of ours. This module needs verifiers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import verifiers.v1 as vf

from coevo.envs.core.chat import Chat
from coevo.envs.core.single_agent import SingleAgentEnv

__all__ = ["CoevoConfig", "CoevoData", "CoevoEnv", "CoevoEnvConfig", "CoevoTask", "CoevoTaskset"]


class CoevoConfig(vf.TasksetConfig):
    """Which environment, and who has the other seats."""

    env: str = "coevo/kuhn_poker-v0"
    """Registered id."""
    seat: int | None = None
    """The agent's seat; None takes all in turn."""
    opponents: str = "random"
    """Who has the other seats: random, expert:0.5, oracle."""
    options: dict[str, Any] = {}  # noqa: RUF012  # pydantic copies defaults
    """Arguments of the environment."""


class CoevoData(vf.TaskData):
    """One start of an environment."""

    info: dict[str, Any]
    """What `SingleAgentEnv` takes, and the seed."""


class CoevoTask(vf.Task[CoevoData, vf.State, vf.TaskConfig]):
    """One start of an environment; the environment itself pays."""


class CoevoTaskset(vf.Taskset[CoevoTask, CoevoConfig]):
    """Seeds 0, 1, 2, ... of an environment."""

    INFINITE = True

    def load(self) -> Iterator[CoevoTask]:
        """Yield a task per seed, with the first prompt of its seat."""
        config = self.config
        for seed in itertools.count():
            arguments = {"env_id": config.env, "opponents": config.opponents, **config.options}
            world = SingleAgentEnv(seat=0, **arguments)
            seats = len(world.env.possible_agents)
            arguments["seat"] = seed % seats if config.seat is None else config.seat
            world = SingleAgentEnv(**arguments)
            chat = world.reset(seed=seed)[0]["messages"]
            data = CoevoData(
                name=f"{config.env}#{seed}",
                system_prompt=messages_of(chat, "system") or None,
                prompt=messages_of(chat, "user"),
                info={"arguments": arguments, "seed": seed},
            )
            yield CoevoTask(data, config.task)


class CoevoEnvConfig(vf.EnvConfig):
    """Who plays."""

    player: vf.AgentConfig = vf.AgentConfig()
    """The agent in the seat."""


class CoevoEnv(vf.Env[CoevoEnvConfig]):
    """Play an episode: the environment is the user of the conversation."""

    async def run(self, task: CoevoTask, agents: Any) -> None:
        """Answer every reply by what the seat is shown next; record the payoff at the end."""
        info: Mapping[str, Any] = task.data.info
        world = SingleAgentEnv(**info["arguments"])
        seen, total, over = world.reset(seed=info["seed"])[0]["messages"], 0.0, False
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                before = len(seen)
                observation, reward, ended, cut, _ = world.step(segment.last_reply)
                seen, total, over = observation["messages"], total + reward, ended or cut
                if over:
                    break
                new = seen[before + 1 :] if world.env.prompt_style == "full" else seen
                segment = await interaction.turn(messages_of(new, "user"))
        trace = interaction.trace
        if over:
            trace.record_reward("payoff", total, 1.0)
            trace.info["outcome"] = dict(world.env.episode.outcome)
        else:
            trace.record_metric("unfinished", 1.0)


def messages_of(chat: Chat, role: str) -> str:
    """Return what a role says in a chat."""
    return "\n\n".join(m["content"] for m in chat if m["role"] == role)
