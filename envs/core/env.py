"""The engine: a PettingZoo AEC environment that drives a task whose moves are text.

A task says what is played (`task.py`); everything that all tasks share is here: chats, illegal
moves, simultaneous rounds, rewards, the record.

Observation   {"messages": chat}: what this seat has seen, as chat messages
Action        text; the move stands in square brackets at its end
State         text: the whole of it, as an onlooker sees it
Information   infos[agent]: legal_actions (list of str; None where any text is legal; empty
              when it is not this seat's turn), task_id (equal where tasks are equal, and no more
              than that: `episode.task` is its name), parse (of its last reply)
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Self, cast

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import AECEnv

from coevo.envs.core.apply import apply_batch, apply_turn
from coevo.envs.core.chat import Chat, Message, Span, copy_chat
from coevo.envs.core.config import read
from coevo.envs.core.conventions import READINGS, with_format
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.hashing import sealed
from coevo.envs.core.illegal import Risk, rest_of
from coevo.envs.core.parsing import Miss, Parse, answer, unread
from coevo.envs.core.picture import picture
from coevo.envs.core.quoting import encodable, visible
from coevo.envs.core.rewards import Rewards
from coevo.envs.core.round import Round
from coevo.envs.core.settings import Settings, recorded
from coevo.envs.core.spaces import ChatSpace, TextSpace
from coevo.envs.core.task import UNDRAWN, Replies, Task

SHOWN = 20
"""Legal moves that are repeated where a reply was not accepted."""


class TextEnv(AECEnv[str, dict[str, Chat], str]):
    """A multi-agent task played in text.

    Args:
        task: what is played; it belongs to this environment alone.
        **settings: the fields of `Settings`.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # PettingZoo lets instances have their own
        "name": "text",
        "render_modes": ["ansi", "human", "rgb_array"],
        "render_fps": 4,
        "is_parallelizable": False,
    }

    def __init__(self, task: Task[Any], **settings: Any) -> None:
        super().__init__()
        self.task = task
        self.env_id = task.env_id
        given: Settings = read(Settings, settings)
        self.prompt_style, self.illegal = given.prompt_style, given.illegal
        self.reward_modules, self.max_cycles = given.rewards, given.max_cycles
        self.render_mode = given.render_mode
        # Trainers turn it off, to score whole batches of episodes that know their tokens.
        self.applies_batch_rewards = True
        self.options = {"prompt_style": self.prompt_style} | task.arguments()
        name = task.env_id.rpartition("/")[2] or type(task).__name__
        self.metadata = self.metadata | {"name": name, "is_parallelizable": task.simultaneous}
        self.possible_agents = list(task.seats)
        self._observation_spaces = {
            a: spaces.Dict({"messages": ChatSpace()}) for a in self.possible_agents
        }
        self._action_spaces = {a: TextSpace() for a in self.possible_agents}
        self.state_space = TextSpace(2**20)
        self._plays = 0
        self._rng: np.random.Generator | int
        self.agents: list[str] = []
        self._round = Round()

    # ---- PettingZoo ------------------------------------------------------------------------

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of `{"messages": chat}`; the same object at every call."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of replies; the same object at every call."""
        return self._action_spaces[agent]

    def fresh(self) -> Self:
        """Return an environment with the same arguments that was never reset; spaces are shared.

        Everything that belongs to one episode is made in `reset`, so shallow copies are enough,
        and cost a tenth of a new environment.
        """
        if self._plays:
            raise ConfigError("fresh() copies an environment before its first reset")
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, task=copy.copy(self.task))
        return made

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a new episode; `seed=None` goes on with the generator of the last one.

        `options={"max_cycles": 4}` bounds the rounds of this episode, in the place of the
        environment's own `max_cycles`; further options are the task's.
        """
        if seed is not None or not self._plays:
            known = type(seed) is int and seed >= 0  # of others Gymnasium says what is wrong
            self._rng = cast(int, seed) if known else seeding.np_random(seed)[0]
        self._plays += 1
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._logs: dict[str, list[Message]] = {a: [] for a in self.agents}
        self._starts = dict.fromkeys(self.agents, 0)
        self._formatted: set[str] = set()
        self._parses: dict[str, Parse] = {}
        self._infos: dict[str, dict[str, Any]] = {}
        self._cycles = 0
        self._skip_agent_selection = None
        self.task.reset(self.np_random if self.task.draws else UNDRAWN, options or {})
        usual = f"seed-{seed}" if seed is not None else f"play-{self._plays}"
        name = self.task.task_id or usual
        self._task_id = sealed(f"{self.env_id} {name}")
        self._own_cycles = _bound(options)
        options = self.options | recorded(self.illegal, self._own_cycles or self.max_cycles)
        self.episode = Episode(self.env_id, seed, options, tuple(self.agents), name)
        self.agent_selection = self.agents[0]
        self._open_round()

    @property
    def np_random(self) -> np.random.Generator:
        """Generator of everything random here, seeded by `reset`; made when it is first needed."""
        if isinstance(self._rng, int):
            self._rng = seeding.np_random(self._rng)[0]
        return self._rng

    @property
    def awaiting(self) -> tuple[str, ...]:
        """Seats that may act now without seeing each other's moves; the first acts first."""
        return self._round.waiting

    @property
    def moved(self) -> Mapping[str, str]:
        """Seat -> its move in the round that others have yet to move in; they do not see it."""
        return self._round.moves

    def chat(self, agent: str) -> Chat:
        """Return what this seat has seen, without copying messages; do not change them."""
        return tuple(self._logs[agent][self._starts[agent] :])

    def expert(self, agent: str, skill: float) -> Replies | None:
        """Return what the task's expert might reply for a seat that is asked now; None for none."""
        return self.task.expert(agent, skill)

    @property
    def payoff_range(self) -> tuple[float, float]:
        """Lowest and highest total payoff of one seat under the rules."""
        return self.task.payoff_range

    @property
    def zero_sum(self) -> bool:
        """Whether payoffs of all seats sum to zero after every legal episode."""
        return self.task.zero_sum

    def observe(self, agent: str) -> dict[str, Chat]:
        """Return a fresh copy of what this seat has seen."""
        return {"messages": copy_chat(self._logs[agent][self._starts[agent] :])}

    def last(
        self, observe: bool = True
    ) -> tuple[dict[str, Chat] | None, float, bool, bool, dict[str, Any]]:
        """Return observation, cumulative reward, terminated, truncated and information of the seat.

        The seat is `agent_selection`; without `observe` the observation is None.
        """
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.info(agent),
        )

    def info(self, agent: str) -> dict[str, Any]:
        """Return `infos[agent]`, and make no other seat's."""
        found = self._infos.get(agent)
        if found is None:
            found = self._infos[agent] = self._info(agent)
        return found

    @property
    def infos(self) -> dict[str, dict[str, Any]]:
        """Information of every seat that is alive."""
        if len(self._infos) < len(self.agents):
            self._infos = {agent: self.info(agent) for agent in self.agents}
        return self._infos

    def state(self) -> Any:  # PettingZoo has numbers alone in mind; this is text
        """Return the whole state as an onlooker sees it, for a critic; never show it to a seat."""
        return visible(self.task.draw())[: self.state_space.max_length]

    def step(self, action: str) -> None:
        """Take the reply of `agent_selection`; a bad reply never raises."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if not isinstance(action, str):
            raise ConfigError(f"an action is a str, given {type(action).__name__}: {action!r}")
        self._infos = {}
        self._cumulative_rewards[agent] = 0.0
        turn, parse = self._taken(agent, action)
        if turn.move is not None:
            self._accept(agent, turn.move, turn)
        else:
            self._reject(agent, parse, turn)
        self._settle(turn)
        if self.render_mode == "human":
            self.render()

    def _taken(self, agent: str, action: str) -> tuple[Turn, Parse]:
        """Read a reply and write its turn and its message down."""
        legal, log = self.task.legal(agent), self._logs[agent]
        parse = self._parses[agent] = self._read(agent, action)
        turn = Turn(
            agent,
            Span(log, self._starts[agent], len(log)),
            action,
            parse.move if parse.ok or not self._attempts_left else None,
            parse.status,
            None if legal is None else tuple(legal),
            round=self._cycles,
        )
        if parse.miss is not None:
            turn.notes["miss"] = str(parse.miss)
        self.task.describe(agent, turn)
        self.episode.turns.append(turn)
        said = encodable(action)[: self._action_spaces[agent].max_length]
        log.append({"role": "assistant", "content": said})
        return turn, parse

    def _read(self, agent: str, action: str) -> Parse:
        """Read a reply by the rule of the illegal-move policy; free text has but one rule."""
        rule, legal = READINGS.get(self.illegal.reading), self.task.legal(agent)
        bare = action.strip()
        if rule is None or legal is None or (bare[1:-1] in legal and answer(bare[1:-1]) == bare):
            return self.task.read(agent, action)
        said = rule(action, legal)
        found = self.task.read(agent, said or action)
        if said or not found.ok:
            return found
        return unread(Miss.FORM)._replace(move=self.task.read(agent, "").move)

    def abandon(self, reason: str) -> None:
        """End the episode because an agent cannot answer; its value is unknown."""
        if self.episode.stop is StopReason.UNFINISHED:
            self._infos = {}
            self.episode.note = reason
            self._finish(StopReason.ERROR)

    def render(self) -> Any:
        """Draw the state: returned for `ansi` and `rgb_array`, written for `human`."""
        if self.render_mode is None:
            raise ConfigError("render needs render_mode='ansi', 'human' or 'rgb_array' in make")
        drawn = self.state()
        if self.render_mode == "ansi":
            return drawn
        if self.render_mode == "rgb_array":
            painted = self.task.image()
            return picture(drawn) if painted is None else painted
        sys.stdout.write(drawn + "\n")
        return None

    def close(self) -> None:
        """Release nothing; may be called again."""

    def __str__(self) -> str:
        return self.env_id or type(self).__name__

    # ---- One reply, one round, one end -----------------------------------------------------

    def _accept(self, agent: str, move: str, turn: Turn) -> None:
        self._round.accept(agent, move)
        self._go_on(turn)

    def _go_on(self, turn: Turn) -> None:
        """Ask the next seat; when all are judged, carry out their moves or end the episode."""
        forfeits = self._round.forfeits
        waiting = self._round.waiting
        if waiting:
            self.agent_selection = waiting[0]
        elif forfeits:
            turn.pay("illegal", self._penalties(forfeits))
            self.episode.note = "; ".join(f"{a}: {why}" for a, why in forfeits.items())
            self._finish(StopReason.FORFEIT)
        else:
            turn.pay("payoff", self.task.play(self._round.moves))
            self._cycles += 1
            self._open_round()

    @property
    def _attempts_left(self) -> int:
        """How often the seat that is asked now may try again."""
        return self.illegal.retries - self._round.attempts

    def _reject(self, agent: str, parse: Parse, turn: Turn) -> None:
        """Do what the illegal-move policy says about a reply without a move."""
        if self._attempts_left:
            self._round.attempts += 1
            self._correct(agent, parse)
        elif self.illegal.then == "forfeit":
            self._round.forfeit(agent, parse.detail)
            self._go_on(turn)
        else:
            turn.pay("illegal", self._penalties([agent]))
            legal = self.task.legal(agent) or ("",)
            turn.move = str(legal[int(self.np_random.integers(len(legal)))])
            self._accept(agent, turn.move, turn)

    def _penalties(self, seats: Iterable[str]) -> dict[str, float]:
        """Return what every seat is given for the illegal moves of some in a round."""
        task, lost = self.task, {}
        for agent in seats:
            earned = self.episode.total(agent, "payoff")
            rest = rest_of(task.worst_left(agent, earned), task.payoff_range)
            lost[agent] = Risk(task.payoff_range[0] - earned, task.at_risk(agent), rest)
        return self.illegal.rewards(tuple(self.possible_agents), lost)

    def _correct(self, agent: str, parse: Parse) -> None:
        """Ask once more, with the reason; in terse style that is a whole prompt again."""
        log, why = self._logs[agent], f"That was not accepted: {encodable(parse.detail)}."
        if self.prompt_style == "terse":
            self._starts[agent] = len(log)
            text = f"{why} {self.task.worded(self.task.terse(agent))}"
        elif legal := list(map(answer, self.task.legal(agent) or ())):
            shown = legal if len(legal) <= SHOWN else [*legal[: SHOWN - 1], "...", legal[-1]]
            text = with_format(f"{why}\nLegal moves: {', '.join(shown)}", self.illegal.reading)
        else:
            text = f"{why} {self.task.form(agent)}".rstrip()
        log.append({"role": "user", "content": text})

    def _open_round(self) -> None:
        movers = tuple(self.task.to_move())
        if not movers:
            self._finish(StopReason.FINISHED)
            return
        most = self._own_cycles or self.max_cycles
        if most is not None and self._cycles >= most:
            self._finish(StopReason.TURN_LIMIT)
            return
        self._round = Round(movers)
        for agent in movers:
            self._invite(agent)
        self.agent_selection = movers[0]

    def _invite(self, agent: str) -> None:
        """Add what this seat sees at its turn to its chat.

        A full chat says how to answer once: with the rules, or where moves are first listed.
        """
        log = self._logs[agent]
        if self.prompt_style == "terse":
            self._starts[agent] = len(log)
            log.append({"role": "user", "content": self.task.worded(self.task.terse(agent))})
            return
        new = [Message(role="user", content=self.task.worded(self.task.situation(agent)))]
        if not log:
            new.insert(0, Message(role="system", content=self.task.worded(self.task.rules(agent))))
        if agent not in self._formatted and self.task.legal(agent) is not None:
            new[0]["content"] = with_format(new[0]["content"], self.illegal.reading)
            self._formatted.add(agent)
        log += new

    def _finish(self, stop: StopReason) -> None:
        self._round = Round()
        self.episode.stop = stop
        cut = stop in (StopReason.TURN_LIMIT, StopReason.ERROR)
        ended = self.truncations if cut else self.terminations
        ended.update(dict.fromkeys(self.agents, True))

    def _settle(self, turn: Turn) -> None:
        """Apply the reward modules, then hand every reward of this step to PettingZoo."""
        given = apply_turn(self.reward_modules, self.episode, turn)
        given += turn.rewards.values()
        if self.episode.stop is not StopReason.UNFINISHED:
            self._deads_step_first()
            given += self._concluded()
        due, total = self.rewards, self._cumulative_rewards
        for agent in due:
            due[agent] = 0
        for rewards in given:
            for agent, reward in rewards.items():
                due[agent] += reward
        for agent, reward in due.items():
            total[agent] += reward

    def _concluded(self) -> list[Rewards]:
        """Write down how the episode went; return what reward modules say of it as a whole."""
        play, seats = self.episode, self.possible_agents
        returns = {f"return/{a}": play.total(a, "payoff") + play.total(a, "illegal") for a in seats}
        counts = {"unread": play.unread_replies(), "near_misses": play.near_misses()}
        found = {name: float(sum(counted.values())) for name, counted in counts.items()}
        play.outcome = returns | found | self.task.outcome()
        if not self.applies_batch_rewards:
            return []
        batch = [m for m in self.reward_modules if not m.per_turn]
        return apply_batch(batch, [self.episode])

    def _info(self, agent: str) -> dict[str, Any]:
        if agent not in self.agents:
            raise KeyError(agent)
        waiting, parse = agent in self._round.waiting, self._parses.get(agent)
        legal = self.task.legal(agent) if waiting else ()
        return {
            "legal_actions": None if legal is None else list(legal),
            "env_id": self.env_id,
            "task_id": self._task_id,
            "parse": {"move": parse.move, "status": str(parse.status)} if parse else {},
            **(self.task.info(agent) if waiting else {}),
        }


def _bound(options: Mapping[str, Any] | None) -> int | None:
    """Return after how many rounds this episode alone is to be truncated; None for no such wish."""
    given = (options or {}).get("max_cycles")
    if given is not None and (type(given) is not int or given < 1):
        raise ConfigError(f"max_cycles={given!r} of a reset must be a whole number from 1")
    return given
