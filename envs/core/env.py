"""The one environment class: a PettingZoo AEC environment whose moves are text.

A task is a subclass that fills in the nine hooks of `task.py`; everything that all tasks share
is here: chats, parsing, illegal moves, simultaneous rounds, rewards, the record.

Observation   {"messages": chat}: what this seat has seen, as chat messages
Action        text; the move stands in square brackets at its end
Information   infos[agent]: legal_actions (list of str; None where any text is legal; empty
              when it is not this seat's turn), task_id, parse (of its last reply)
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import AECEnv

from coevo.envs.core.chat import Chat, Message, copy_chat, escape
from coevo.envs.core.episode import Episode, Stop, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.illegal import DEFAULT, Cost, IllegalPolicy, illegal_policy
from coevo.envs.core.parsing import Parse, answer
from coevo.envs.core.round import Round
from coevo.envs.core.settings import (
    PromptStyle,
    RewardSpec,
    check_settings,
    checked_modules,
    recorded,
)
from coevo.envs.core.spaces import ChatSpace, TextSpace
from coevo.envs.core.task import Task
from coevo.envs.rewards.paying import pay_plays, pay_reply, warn_if_unpaid

ANSWER_FORMAT = (
    "End your reply with your move in square brackets, spelled exactly as in the list of "
    "legal moves, for example {example}. You may think before it."
)


class TextEnv(Task, AECEnv[str, dict[str, Chat], str]):
    """A multi-agent task played in text.

    Args:
        prompt_style: `full` explains everything in a growing chat; `terse` gives one short
            self-contained message per turn, about 64 byte-BPE tokens at most.
        illegal: preset name, fields, or policy for replies that are not legal moves.
        rewards: modules paid on top of the rules' payoff, each its own component: objects,
            names, or mappings of a name and arguments.
        max_cycles: rounds (a joint move or one seat's move) after which play is truncated.
        render_mode: `ansi` returns the drawing, `human` writes it to standard output.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # PettingZoo lets instances have their own
        "name": "text",
        "render_modes": ["ansi", "human"],
        "render_fps": 4,
        "is_parallelizable": False,
    }

    def __init__(
        self,
        *,
        prompt_style: PromptStyle = "full",
        illegal: str | IllegalPolicy | Mapping[str, Any] = DEFAULT,
        rewards: RewardSpec | Sequence[RewardSpec] = (),
        max_cycles: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        check_settings(prompt_style, max_cycles, render_mode, self.metadata["render_modes"])
        self.prompt_style = prompt_style
        self.illegal = illegal_policy(illegal)
        self.reward_modules = checked_modules(rewards)
        # Trainers turn it off, to score whole batches of plays that know their tokens.
        self.pays_plays = True
        self.max_cycles = max_cycles
        self.render_mode = render_mode
        self.options: dict[str, Any] = {"prompt_style": prompt_style}
        self.possible_agents = list(self._seats())
        self._observation_spaces = {
            a: spaces.Dict({"messages": ChatSpace()}) for a in self.possible_agents
        }
        self._action_spaces = {a: TextSpace() for a in self.possible_agents}
        self._plays = 0
        self.agents: list[str] = []
        self._round = Round()

    # ---- PettingZoo ------------------------------------------------------------------------

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Give the space of `{"messages": chat}`; the same object at every call."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Give the space of replies; the same object at every call."""
        return self._action_spaces[agent]

    def fresh(self) -> Self:
        """Give an environment with the same arguments that was never reset; spaces are shared.

        Everything that belongs to one play is made in `reset`, so a shallow copy is enough, and
        costs a tenth of a new environment.
        """
        if hasattr(self, "np_random"):
            raise ConfigError("fresh() copies an environment before its first reset")
        return copy.copy(self)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new play; `seed=None` goes on with the generator of the last one."""
        if seed is not None or not hasattr(self, "np_random"):
            self.np_random: np.random.Generator = seeding.np_random(seed)[0]
        self._plays += 1
        self._task_id = f"seed-{seed}" if seed is not None else f"play-{self._plays}"
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._chats: dict[str, list[Message]] = {a: [] for a in self.agents}
        self._parses: dict[str, Parse] = {}
        self._cycles = 0
        self._skip_agent_selection = None
        self._begin(options or {})
        settings = self.options | recorded(self.illegal, self.max_cycles)
        seats = tuple(self.agents)
        self.episode = Episode(self.env_id, seed, settings, seats, self._task_id)
        self.agent_selection = self.agents[0]
        self._open_round()

    @property
    def awaiting(self) -> tuple[str, ...]:
        """Seats that may act now without seeing each other's moves; the first acts first."""
        return self._round.waiting

    def chat(self, agent: str) -> Chat:
        """Give what this seat has seen, without copying; do not change it."""
        return tuple(self._chats[agent])

    def observe(self, agent: str) -> dict[str, Chat]:
        """Give a fresh copy of what this seat has seen."""
        return {"messages": copy_chat(self.chat(agent))}

    def step(self, action: str) -> None:
        """Take the reply of `agent_selection`; a bad reply never raises."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if not isinstance(action, str):
            raise ConfigError(f"an action is a str, given {type(action).__name__}: {action!r}")
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        legal = self._legal(agent)
        parse = self._parses[agent] = self._read(agent, action)
        shown = None if legal is None else tuple(legal)
        turn = Turn(agent, self.chat(agent), action, parse.move, parse.status, shown)
        turn.round = self._cycles
        self._describe(agent, turn)
        self.episode.turns.append(turn)
        said = action[: self._action_spaces[agent].max_length]
        self._chats[agent].append({"role": "assistant", "content": said})
        if parse.ok:
            self._accept(agent, str(parse.move), turn)
        else:
            self._offence(agent, parse, turn)
        self._settle(turn)
        self._accumulate_rewards()
        self._deads_step_first()
        if self.render_mode == "human":
            self.render()

    def abandon(self, reason: str) -> None:
        """End the play because somebody cannot answer; what it counts for is unknown.

        Args:
            reason: in one line, for the episode's note.
        """
        if self.episode.stop is Stop.UNFINISHED:
            self.episode.note = reason
            self._finish(Stop.ERROR)

    def render(self) -> str | None:
        """Draw the state: returned for `ansi`, written for `human`."""
        if self.render_mode is None:
            raise ConfigError("render needs render_mode='ansi' or 'human' in make")
        if self.render_mode == "ansi":
            return self._draw()
        sys.stdout.write(self._draw() + "\n")
        return None

    def close(self) -> None:
        """Release nothing; may be called again."""

    def __str__(self) -> str:
        """Give the registered id."""
        return self.env_id or type(self).__name__

    # ---- One reply, one round, one end -----------------------------------------------------

    def _accept(self, agent: str, move: str, turn: Turn) -> None:
        self._round.accept(agent, move)
        self._go_on(turn)

    def _go_on(self, turn: Turn) -> None:
        """Ask the next seat; when all are judged, carry out their moves or end the play."""
        if self.awaiting:
            self._ask_next()
        elif self._round.offences:
            turn.pay("illegal", self._charges(self._round.offences))
            self.episode.note = "; ".join(f"{a}: {why}" for a, why in self._round.offences.items())
            self._finish(Stop.FORFEIT)
        else:
            turn.pay("payoff", self._play(self._round.moves))
            self._cycles += 1
            self._open_round()

    def _offence(self, agent: str, parse: Parse, turn: Turn) -> None:
        if self._round.attempts < self.illegal.retries:
            self._round.attempts += 1
            self._correct(agent, parse)
            return
        if self.illegal.then == "forfeit":
            self._round.offend(agent, parse.detail)
            self._go_on(turn)
            return
        turn.pay("illegal", self._charges([agent]))
        legal = self._legal(agent) or ("",)
        turn.move = str(legal[int(self.np_random.integers(len(legal)))])
        self._accept(agent, turn.move, turn)

    def _charges(self, offenders: Iterable[str]) -> dict[str, float]:
        """Give what every seat is paid for the offences of a round."""
        low = self.payoff_range[0]
        costs = {a: Cost(low - self.episode.total(a, "payoff"), self._stake(a)) for a in offenders}
        return self.illegal.joint_payments(tuple(self.possible_agents), costs)

    def _correct(self, agent: str, parse: Parse) -> None:
        moves = ", ".join(map(answer, self._legal(agent) or ()))
        text = f"That was not accepted: {escape(parse.detail, 200)}. Legal moves: {moves}"
        self._chats[agent].append({"role": "user", "content": text})
        self._refresh_infos()

    def _open_round(self) -> None:
        self._round = Round(tuple(self._to_move()))
        if not self.awaiting:
            self._finish(Stop.FINISHED)
            return
        if self.max_cycles is not None and self._cycles >= self.max_cycles:
            self._finish(Stop.TURN_LIMIT)
            return
        for agent in self.awaiting:
            self._invite(agent)
        self._ask_next()

    def _ask_next(self) -> None:
        self.agent_selection = self.awaiting[0]
        self._refresh_infos()

    def _invite(self, agent: str) -> None:
        """Add what this seat sees at its turn to its chat."""
        chat = self._chats[agent]
        if self.prompt_style == "terse":
            chat[:] = [{"role": "user", "content": self._terse(agent)}]
            return
        if not chat:
            chat.append({"role": "system", "content": self._rules(agent)})
        chat.append({"role": "user", "content": self._situation(agent)})

    def _finish(self, stop: Stop) -> None:
        self._round = Round()
        self.episode.stop = stop
        cut = stop in (Stop.TURN_LIMIT, Stop.ERROR)
        ended = self.truncations if cut else self.terminations
        ended.update(dict.fromkeys(self.agents, True))
        self._refresh_infos()

    def _settle(self, turn: Turn) -> None:
        """Apply the reward modules, then hand every payment of this step to PettingZoo."""
        due = pay_reply(self.reward_modules, self.episode, turn) + list(turn.rewards.values())
        if self.episode.stop is not Stop.UNFINISHED:
            returns = {f"return/{a}": self.episode.total(a, "payoff") for a in self.possible_agents}
            self.episode.outcome = returns | self._outcome()
            now = [m for m in self.reward_modules if m.online or self.pays_plays]
            due += pay_plays([m for m in now if not m.online], [self.episode])
            warn_if_unpaid(now, [self.episode])
        for paid in due:
            for agent, reward in paid.items():
                self.rewards[agent] += reward

    def _refresh_infos(self) -> None:
        waiting = self.awaiting
        self.infos = {a: self._info(a, a in waiting) for a in self.agents}

    def _info(self, agent: str, waiting: bool) -> dict[str, Any]:
        legal = self._legal(agent) if waiting else ()
        parse = self._parses.get(agent)
        return {
            "legal_actions": None if legal is None else list(legal),
            "env_id": self.env_id,
            "task_id": self._task_id,
            "parse": {"move": parse.move, "status": str(parse.status)} if parse else {},
            **(self._private_info(agent) if waiting else {}),
        }
