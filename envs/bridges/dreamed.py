"""A dream of another environment: what was seen in random play of it is all that it knows.

Agents        the seat of the other environment
Observation   chat: the rules of the other environment, then what its seat once saw
Action        text: one of the moves that were legal then, in square brackets
Reward        what was once paid for that move, at the end alone; 0 where a dream breaks off
Ends          where an episode once ended, or after `longest` moves
Options       of, of_options: an environment of one seat with listed moves, and its arguments;
              transitions: moves of random play that are learnt from; seed: of that play; longest
References    none

After the experience model of DreamGym (arXiv 2511.03773), with counts in the place of a language
model: a transition is drawn as often as it was seen. A move that was never tried where it is made
leads where it led from the most similar prompt (cosine of the counts of words). Whoever trains in
it should know that its mistakes are learnt as well: measure in the real environment.
"""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import answer
from coevo.envs.core.registry import make
from coevo.envs.core.task import Task
from coevo.envs.rewards.words import likeness


@config
class DreamedConfig:
    """Which environment, and how much of it is known."""

    of: str = "coevo/gymnasium-v0"
    """Environment of one seat that is dreamed of."""
    of_options: Mapping[str, Any] = Field(default_factory=dict)
    """Its arguments."""
    transitions: Annotated[int, whole(1, 1_000_000)] = 2000
    """Moves of random play that are learnt from."""
    seed: Annotated[int, whole(0)] = 0
    """Of that play."""
    longest: Annotated[int, whole(1)] = 64
    """Moves after which an episode breaks off."""


class Seen(NamedTuple):
    """What a seat sees at its turn."""

    text: str
    legal: tuple[str, ...]


class Outcome(NamedTuple):
    """What a move led to: the next prompt, or the end and what the episode paid."""

    then: Seen | None
    paid: float = 0.0


class Experience:
    """Transitions with their counts; tasks share it."""

    def __init__(self, seat: str, rules: str) -> None:
        self.seat, self.rules = seat, rules
        self.starts: Counter[Seen] = Counter()
        self.after: dict[tuple[str, str], Counter[Outcome]] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def add(self, seen: Seen, move: str, outcome: Outcome) -> None:
        self.after.setdefault((seen.text, move), Counter())[outcome] += 1

    def outcomes(self, seen: Seen, move: str) -> Counter[Outcome]:
        """Return what a move led to here, or at the most similar prompt at which it was tried.

        >>> known = Experience("player_0", "")
        >>> known.add(Seen("at the red door", ("in",)), "in", Outcome(None, 1.0))
        >>> known.outcomes(Seen("at the blue door", ("in",)), "in")
        Counter({Outcome(then=None, paid=1.0): 1})
        """
        if (seen.text, move) in self.after:
            return self.after[seen.text, move]
        tried = [text for text, done in self.after if done == move]
        if not tried:
            return Counter({Outcome(None): 1})
        nearest = max(tried, key=lambda text: likeness(seen.text, text))
        return self.after[nearest, move]


@functools.lru_cache(maxsize=8)
def experienced(given: str) -> Experience:
    """Return what random play of an environment shows; `given` is a `DreamedConfig` as JSON."""
    made: dict[str, Any] = json.loads(given)
    env = make(made["of"], **{**made["of_options"], "prompt_style": "terse"})
    if len(env.possible_agents) != 1:
        raise ConfigError(
            f"of={made['of']!r} has the seats {', '.join(env.possible_agents)}; a dream is of one"
        )
    rng, found, moves = np.random.default_rng(made["seed"]), None, 0
    while moves < made["transitions"]:
        env.reset(seed=int(rng.integers(2**31)))
        seat, before = env.agent_selection, None
        found = found or Experience(seat, env.task.rules(seat))
        while env.awaiting:
            text, legal = env.chat(seat)[-1]["content"], env.infos[seat]["legal_actions"]
            if not legal:
                raise ConfigError(f"of={made['of']!r} takes any text; a dream needs listed moves")
            seen = Seen(text, tuple(legal))
            if before is None:
                found.starts[seen] += 1
            else:
                found.add(*before, Outcome(seen))
            before = seen, legal[int(rng.integers(len(legal)))]
            env.step(answer(before[1]))
            moves += 1
        if before is not None:
            found.add(*before, Outcome(None, env.episode.total(seat, "payoff")))
    assert found is not None  # one transition at least
    return found


class Dreamed(Task[DreamedConfig]):
    env_id = "coevo/dreamed-v0"
    config_class = DreamedConfig

    def __init__(self, config: DreamedConfig) -> None:
        super().__init__(config)
        kept = ("of", "of_options", "transitions", "seed")
        given = {name: getattr(config, name) for name in kept}
        try:
            text = json.dumps({**given, "of_options": dict(config.of_options)})
        except TypeError as error:
            raise ConfigError(f"of_options={config.of_options!r} is no JSON: {error}") from None
        self.known = experienced(text)
        self.seats = (self.known.seat,)
        paid = [o.paid for found in self.known.after.values() for o in found]
        self.payoff_range = (min(paid, default=0.0), max(paid, default=0.0))

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        self.rng, self.moves = rng, 0
        self.now: Seen | None = self._drawn(self.known.starts)

    def to_move(self) -> Sequence[str]:
        return () if self.now is None else self.seats

    def legal(self, seat: str) -> Sequence[str]:
        return self.now.legal if self.now else ()

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        assert self.now is not None  # somebody moves
        (seat,) = self.seats
        outcome: Outcome = self._drawn(self.known.outcomes(self.now, moves[seat]))
        self.moves += 1
        self.now = outcome.then if self.moves < self.config.longest else None
        return {seat: outcome.paid}

    def _drawn(self, found: Counter[Any]) -> Any:
        share_N = np.array([*found.values()], dtype=float) / found.total()
        return [*found][int(self.rng.choice(len(share_N), p=share_N))]

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        return self.known.rules

    def situation(self, seat: str) -> str:
        return self.terse(seat)

    def terse(self, seat: str) -> str:
        return self.now.text if self.now else ""

    def draw(self) -> str:
        return self.now.text if self.now else "the end"


raw_env, env = turn_based(Dreamed)
