"""The contract between agents and the code that runs episodes: `act(requests) -> replies`.

One call carries every seat that waits at this moment, of all running episodes.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from coevo.envs.core.chat import Chat
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import PolicyRef
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.envs.core.hashing import sealed
from coevo.envs.core.task import Replies


@dataclass(frozen=True, slots=True)
class Inside:
    """What a seat must not know, for agents that declare themselves insiders."""

    expert: Callable[[float], Replies | None]
    """What the environment's expert might reply here, by skill; it reads the state."""
    task: str
    """Name of the task in the record, the same in every process; it may tell the seed."""
    fork: Callable[[], TextEnv]
    """Returns a copy of the environment as it is, to be played to its end."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a seat knows and may do as numbers, for agents that read no text."""

    array: np.ndarray
    """`Task.array` of the seat: no more than its prompt tells."""
    moves: Mapping[int, str]
    """Number of every legal move -> the move (`Task.numbered`)."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first tokens of a reply, which its policy wrote in an earlier one; it learns them too."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Of its tokens, under the policy that wrote them."""


@dataclass(frozen=True, slots=True)
class Request:
    """One seat that waits for a reply: what it may know, and no more.

    Nothing in it leads to the state, the seed or the generator of the environment, unless the agent
    is an insider. This protects honest agents from leaks. It does not stop hostile code, which can
    read the memory of its process, or deal the episodes of an evaluation again from its seed.
    """

    seat: str
    """Name of the seat in its environment."""
    chat: Chat
    """What the seat has seen."""
    info: Mapping[str, Any]
    """The environment's info for this seat: legal_actions, task_id, parse, ..."""
    rng: np.random.Generator
    """Randomness for agents without a generator of their own. It follows from the seed for insiders
    alone; others get one under a key of the process (COEVO_TASK_KEY fixes it)."""
    conversation: str = ""
    """The same for all turns of one seat in an episode: a growing chat only appends tokens."""
    guided: bool = False
    """Whether the reply is restricted to the legal moves, whatever the settings of the policy."""
    begins: str = ""
    """What the reply begins with; a policy writes what follows. A move is then complete."""
    prefix: Prefix | None = None
    """The first tokens of the reply; language models alone can go on from them."""
    inside: Inside | None = field(default=None, compare=False)
    """For insiders, while the seat waits; None for other agents."""
    numbers: Numbers | None = field(default=None, compare=False)
    """For agents that read numbers; None for others."""


def request_of(
    env: TextEnv,
    seat: str,
    rng: np.random.Generator,
    conversation: str = "",
    *,
    inside: bool = False,
    numbers: bool = False,
) -> Request:
    """Return the request of a seat that an environment waits for.

    `rng` is that of the episode for an insider (`Agent.insider`), else the agent's (`sealed_rng`);
    `numbers` is for agents that read them (`Agent.reads_numbers`).
    """
    expert, fork = functools.partial(env.expert, seat), functools.partial(copy.deepcopy, env)
    known = Inside(expert, env.episode.task, fork) if inside else None
    info, task = env.info(seat), env.task
    seen = Numbers(task.array(seat), task.numbered(seat)) if numbers else None
    return Request(seat, env.chat(seat), info, rng, conversation, inside=known, numbers=seen)


def sealed_rng(name: str) -> np.random.Generator:
    """Return a generator for a name; the name cannot be found from it (see `sealed`)."""
    return np.random.default_rng(int(sealed(name), 16))


@dataclass(slots=True)
class Reply:
    """What an agent answers; the token fields are set by policies only (see Turn)."""

    text: str
    prompt_ids: list[int] | None = None
    token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    choices: list[list[int]] | None = None
    policy: PolicyRef | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    """What the record says of it beside the text: notes of its turn."""


class Account(Protocol):
    """Counts since an agent was made, as agents behind a server keep them."""

    requests: int
    """Replies that a server gave."""
    hits: int
    """Replies that a cache gave, for nothing."""
    cached_tokens: int
    """Read and written for those replies when the server gave them."""
    prompt_tokens: int
    """Read by the model."""
    completion_tokens: int
    """Written by the model."""
    cost: float
    """Of these tokens; 0 where no prices are known."""

    @property
    def failures(self) -> Mapping[str, int]:
        """Return cause -> requests that no attempt got a reply to."""


class Agent:
    """A player of a seat: script, policy, server, program or person.

    Only `act` must be defined. The other methods and properties are what a measurement may want to
    know; each has the answer of a script, which draws from the generator of its episode.
    """

    name: str = "agent"
    """Shown in records and tables."""
    version: int = -1
    """Update count of a learning policy; -1 for other agents."""
    insider: bool = False
    """Whether its requests hold what its seat must not know (`Request.inside`), and the generator
    of the episode, which follows from the seed. So have the scripted agents that speak through the
    environment's expert, and caches of replies."""
    reads_numbers: bool = False
    """Whether its requests hold what its seat knows as numbers (`Request.numbers`)."""

    @property
    def gives_probabilities(self) -> bool:
        """Whether it can be evaluated exactly, by `probabilities`."""
        return type(self).probabilities is not Agent.probabilities

    @property
    def sampling_settings(self) -> Mapping[str, Any]:
        """How tokens are drawn, `temperature` and `max_new_tokens`; empty where none are."""
        return {}

    @property
    def usage(self) -> Account | None:
        """What was used at a server up to now; None where tokens are counted in the replies."""
        return None

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Answer every request, in order."""
        raise NotImplementedError(f"{type(self).__name__} must define act")  # abstract

    def submit(self, requests: Sequence[Request]) -> list[Future[Reply]] | None:
        """Ask for replies that are made elsewhere, as by a server, without waiting for them.

        A future, in order of the requests, can be cancelled until it is under way; None stands for
        agents that answer in this process, by `act`. A reply depends on its request and on earlier
        ones of its conversation, not on when others are answered.
        """
        return None

    def probabilities(self, requests: Sequence[Request]) -> list[np.ndarray]:
        """Return the probability of every legal move of each request, for exact evaluation.

        An array is in the order of `legal_actions` and sums to 1.

        Raises:
            ConfigError: this kind of agent has no probabilities to give.
        """
        raise ConfigError(
            f"{self.name} ({type(self).__name__}) gives no move probabilities; exact evaluation "
            "needs a policy, a scripted agent or an oracle"
        )

    def move_logprobs(self, requests: Sequence[Request]) -> list[np.ndarray] | None:
        """Return the log-probability of each legal move's usual spelling, in nats.

        It is as `probabilities`, summing to the chance of a legal answer; None if that is unknown.
        """
        return None

    def reseed(self, seed: int) -> None:
        """Restart sampling, where an agent has a generator of its own."""
        return

    def forget(self) -> None:
        """Drop what is remembered of earlier conversations."""
        return

    def reseeded(self, seed: int) -> Self:
        """Return a copy whose next replies are a function of the seed; weights are shared."""
        twin = copy.copy(self)
        twin.reseed(seed)
        twin.forget()
        return twin


# ---- Replies that could not be given -------------------------------------------------------------


class NoReplyError(CoevoError):
    """An agent could not answer, and there is no episode that could end as an error."""

    exit_code = 1


@dataclass(slots=True)
class Unanswered(Reply):
    """A seat got no reply for reasons outside the episode, such as a server that is down.

    The code that runs episodes ends this one with `StopReason.ERROR` and the reason as its note.
    Such a reply must not reach the environment, which would take it for an illegal move.
    """

    text: str = ""
    reason: str = ""
    """Why there is no reply, in one line."""


def answered(reply: Reply) -> Reply:
    """Return a reply; NoReplyError where it only stands in for one."""
    if isinstance(reply, Unanswered):
        raise NoReplyError(reply.reason)
    return reply
