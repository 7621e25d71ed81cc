"""What a task is: the rules and prompts of one environment, driven by `TextEnv`.

A task is a plain object. Everything that one episode needs is in it, so that `copy.deepcopy` of it
is a fork; whatever `reset` does not make anew never changes.
"""

from __future__ import annotations

import functools
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from coevo.envs.core.config import changed, config
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.hashing import HASHED, hashed
from coevo.envs.core.parsing import Parse, answer, parse_move


@functools.lru_cache(maxsize=1024)
def role_of(seat: str) -> str:
    """Return a seat's name without its number.

    >>> role_of("solver_1"), role_of("judge")
    ('solver', 'judge')
    """
    return re.sub(r"_\d+$", "", seat)


BOUND = 1e9
"""No array of a task has larger numbers; Gymnasium's checker warns about infinite bounds."""


class Replies(NamedTuple):
    """Replies of an expert, with their probabilities."""

    texts: tuple[str, ...]
    """Whole replies, all different."""
    probabilities: np.ndarray
    """One for each; they sum to 1."""


def mostly(moves: Sequence[str], good: Mapping[str, float], skill: float) -> Replies:
    """Return the replies of an expert: a good move with probability `skill`, else any.

    Args:
        moves: legal moves.
        good: move -> weight among the good ones; others have none.
        skill: 0..1.

    >>> mostly(["left", "right"], {"right": 3.0}, 0.5)
    Replies(texts=('[left]', '[right]'), probabilities=array([0.25, 0.75]))
    """
    weights = np.array([good.get(move, 0.0) for move in moves])
    odds = skill * weights / weights.sum() + (1 - skill) / len(weights)
    return Replies(tuple(map(answer, moves)), odds)


class _Undrawn:
    """Stands for a generator where a task says that it draws nothing."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{name}: a task that draws needs `draws = True`")


UNDRAWN: Any = _Undrawn()


@config
class NoArguments:
    """The arguments of a task that takes none."""


C = TypeVar("C")


class Task(ABC, Generic[C]):
    """The rules and prompts of one environment.

    Args:
        config: the task's arguments, an object of `config_class`.
    """

    env_id: ClassVar[str] = ""
    """Registered id, written into every episode."""
    config_class: ClassVar[type] = NoArguments
    """Its arguments: a class made by `config`, whose fields `make` takes by name."""
    seats: tuple[str, ...]
    """Names of all seats in order, `<role>_<number>`."""
    payoff_range: tuple[float, float] = (-1.0, 1.0)
    """Lowest and highest total payoff of one seat under the rules."""
    components: tuple[str, ...] = ()
    """What the rules pay beside the payoff, each a component of its own."""
    zero_sum: bool = False
    """Whether payoffs of all seats sum to zero after every legal episode."""
    simultaneous: bool = False
    """Whether all seats move at once in every round, so that a parallel form exists."""
    slow: bool = False
    """Whether its moves wait for something outside of this process, as for a program or a server:
    trainers carry out those of many episodes at once, in threads, which share what `reset` does not
    make anew."""
    draws: bool = True
    """Whether it draws from the generator of `reset`; one that does not is given none."""
    numbers: int = 256
    """How many numbers moves may have for learners without text (`numbered`)."""
    task_id: str | None = None
    """Name of the initial state or question, set by `reset`; None where the seed says it all. It
    stands in the record; seats see a hash of it."""

    def __init__(self, config: C) -> None:
        self.config = config

    def __copy__(self) -> Self:
        """Return a shallow copy: what `copy` makes of a plain object, in a third of the time."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    @property
    def roles(self) -> Sequence[str]:
        """Return the roles that turns may have: those of the seats, where `describe` adds none."""
        return tuple(dict.fromkeys(map(role_of, self.seats)))

    @property
    def difficulties(self) -> Sequence[float]:
        """Return what `options={"difficulty": ...}` of a reset may be, the easiest first.

        Empty where a reset takes none. They grow, and each is a level of its own in statistics.
        """
        return ()

    @property
    def worked_solution(self) -> str:
        """Return a worked solution of this episode's task, for trainers that show a part of it.

        It stands in no prompt; empty where none is known.
        """
        return ""

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that differ from their defaults, as JSON values for `make`."""
        return changed(self.config)

    @abstractmethod
    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        """Set up a new episode, with all its randomness from `rng`; unknown options are ignored."""

    @abstractmethod
    def to_move(self) -> Sequence[str]:
        """Return the seats that move now without seeing each other's moves; none at the end."""

    @abstractmethod
    def legal(self, seat: str) -> Sequence[str] | None:
        """Return the moves this seat may make now; None where any text is legal."""

    @abstractmethod
    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        """Carry out the moves of all seats in `to_move`; return the payoffs that follow."""

    @abstractmethod
    def rules(self, seat: str) -> str:
        """Return the system message of the full style: the task as this seat must know it.

        Name the seat. Where moves are listed, the engine adds how to answer (`ANSWER_FORMAT`).
        """

    @abstractmethod
    def situation(self, seat: str) -> str:
        """Return what this seat sees at its turn, in the full style, with the legal moves."""

    @abstractmethod
    def terse(self, seat: str) -> str:
        """Return rules, situation, moves and form in about 64 tokens; the engine adds nothing."""

    @abstractmethod
    def draw(self) -> str:
        """Return the whole state as an onlooker sees it; never empty, as it is `env.state()`."""

    def image(self) -> NDArray[np.uint8] | None:
        """Return a picture [height, width, 3] of the state; None for its text as a picture."""
        return None

    def read(self, seat: str, text: str) -> Parse:
        """Return the move in a reply, or why there is none.

        A reply that is not legal is asked for again, with the reason, as often as the illegal-move
        policy says. Then the `move` of the parse is made where it has one; else the policy decides.
        """
        return parse_move(text, self.legal(seat))

    def form(self, seat: str) -> str:
        """Return how this seat has to reply where any text is legal, for its second attempt."""
        return ""

    def describe(self, seat: str, turn: Turn) -> None:
        """Note on a turn what its reply is, before it is carried out.

        Its role and round, what it is about, its answer and whether that is right.
        """
        turn.role = role_of(seat)

    def worst_left(self, seat: str, earned: float) -> float:
        """Return the least that the rules may still pay this seat, which has earned so much so far.

        Here all of it may be lost again; a task that pays round by round says what is left.
        """
        return self.payoff_range[0] - earned

    def at_risk(self, seat: str) -> float:
        """Return what this seat loses by the rules if it gives up now."""
        return 1.0

    # ---- For learners without text -----------------------------------------------------------

    def numbered(self, seat: str) -> Mapping[int, str]:
        """Return the moves that a seat may make now by their numbers.

        Here a number is a place in the list; a task whose moves are always the same, or have
        numbers of their own, gives them those.

        Raises:
            ConfigError: any text is legal now, or there are more moves than `numbers`.
        """
        legal = self.legal(seat)
        if legal is None or len(legal) > self.numbers:
            found = "any text" if legal is None else f"one of {len(legal)} moves"
            raise ConfigError(
                f"{self.env_id} has no vector view here: {seat} replies with {found}; numbers are "
                f"for one of at most {self.numbers}"
            )
        return dict(enumerate(legal))

    @property
    def array_space(self) -> spaces.Box:
        """Where `array` lies."""
        return spaces.Box(-BOUND, BOUND, (HASHED + len(self.seats),), np.float32)

    def array(self, seat: str) -> np.ndarray:
        """Return what a seat knows as numbers: no more than its prompt tells.

        Here the words of its terse prompt, hashed, and which seat it is; zeros if it is not asked.
        """
        if seat not in self.to_move():
            return self.no_array()
        me = np.eye(len(self.seats))[self.seats.index(seat)]
        return np.concatenate([hashed(self.terse(seat)), me], dtype=np.float32)

    def no_array(self) -> np.ndarray:
        """Return what stands for `array` where nothing is to be seen."""
        space = self.array_space
        return np.zeros(space.shape, dtype=space.dtype)

    @property
    def state_space(self) -> spaces.Box:
        """Where `state_array` lies."""
        one = self.array_space
        shape = (len(self.seats) * int(np.prod(one.shape)),)
        return spaces.Box(float(one.low.min()), float(one.high.max()), shape, np.float32)

    def state_array(self) -> np.ndarray:
        """Return the whole state as numbers, for a critic; here what all seats know, in order."""
        known = [self.array(seat).ravel() for seat in self.seats]
        return np.concatenate(known, dtype=np.float32)

    def variation(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return options of a reset that set up a task like that of this episode, a little changed.

        With the same seed they stand for that task alone; empty where no variation is known.
        """
        return {}

    def achieved(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return options of a reset that make what this episode has brought about the task.

        They hold for the same seed; empty where nothing was done that could be asked for.
        """
        return {}

    def worded(self, text: str) -> str:
        """Return a text of a prompt in the words that things have here; mostly as it is."""
        return text

    def random_reply(self, seat: str, rng: np.random.Generator, like: Sequence[str] = ()) -> str:
        """Return a reply drawn at random or, of those given, the first with a random change.

        For searches without a language model; empty where no change is known. The change may mix
        the first one with the last.
        """
        return ""

    def outcome(self) -> dict[str, float]:
        """Return further metrics of a finished episode."""
        return {}

    def info(self, seat: str) -> dict[str, Any]:
        """Return further entries of this seat's info; never what the seat must not know."""
        return {}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Redraw in place what this seat must not know now; return whether there is any.

        Only tests ask: what the seat is shown must stay the same.
        """
        return False

    def expert(self, seat: str, skill: float) -> Replies | None:
        """Return what an expert might reply now; None where there is none.

        Where moves are listed, its replies are these moves in square brackets (`answer`).

        Args:
            seat: one that moves now.
            skill: 0 plays at random in the right form, 1 as well as the expert can.
        """
        return None
