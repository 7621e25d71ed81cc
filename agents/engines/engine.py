"""Engines sample and score tokens for policies: `generate`, `logprobs`, `publish`, `retire`.

An engine knows parameter sets by name and version, and no chats. A learner moves weights and
publishes them; a policy asks for what a version says. Each name has one version at a time, so that
nothing can be asked of weights that have been replaced.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from coevo.agents.engines.logit_processors import LogitProcessor
from coevo.agents.sampling import Ids, SamplingConfig
from coevo.envs.core.episode import PolicyRef
from coevo.envs.core.errors import CoevoError


class EngineError(CoevoError):
    """An engine cannot answer: it does not know a policy, or has stopped."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One context to be continued."""

    ids: Ids
    choices: tuple[Ids, ...] = ()
    """For guided choice: the only replies that may be written, end token included."""
    goes_on: bool = False
    """Whether a later prompt may begin with this one and its reply."""


@dataclass(slots=True)
class Sample:
    """One sampled reply."""

    ids: list[int]
    logprobs: list[float]
    """Under the distribution that was sampled from: processed, tempered and filtered."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What one policy asks its engine: one reply per prompt."""

    policy: PolicyRef
    """Whose weights."""
    prompts: Sequence[Prompt]
    sampling: SamplingConfig
    """How replies are drawn."""
    seeds: Sequence[int]
    """One per prompt, from 0 to 2^64 - 1, of the random numbers of its reply."""
    end_ids: Sequence[int] = ()
    """Tokens that end a reply."""
    processors: Sequence[LogitProcessor] = ()
    """Of the scores of every token, in this order."""


class Engine(ABC):
    """Samples and scores tokens of every parameter set that was published to it."""

    @abstractmethod
    def publish(self, policy: PolicyRef, model: nn.Module) -> None:
        """Let weights answer for a name and version from now on, and forget that name's others."""

    @abstractmethod
    def retire(self, name: str) -> None:
        """Forget the weights of a name."""

    def forget(self, name: str) -> None:
        """Drop what is kept of the prompts of a policy to go on from."""
        return

    @abstractmethod
    def generate(self, asks: Sequence[Ask]) -> list[list[Sample]]:
        """Draw the replies that some policies wait for, ask by ask.

        Raises:
            EngineError: a version of a policy was never published, or is no more.
            ConfigError: the engine cannot apply a processor.
        """

    @abstractmethod
    def logprobs(
        self,
        policy: PolicyRef,
        prompts: Sequence[Prompt],
        replies: Sequence[Ids],
        sampling: SamplingConfig,
        processors: Sequence[LogitProcessor] = (),
    ) -> list[Tensor]:
        """Return the log-probability of every token of given replies, in nats.

        Args:
            policy: whose weights.
            prompts: contexts.
            replies: one per prompt.
            sampling: how replies would be drawn.
            processors: as in `Ask`.
        """

    def rest(self) -> None:  # noqa: B027  # most have nothing to give back
        """Give back what learners need of a device that both use, until something is asked."""


class InProcess(Engine):
    """Base of the engines that run the learner's own modules: publishing copies nothing.

    They keep no module alive: a module that is garbage elsewhere cannot be asked.
    """

    def __init__(self) -> None:
        self._modules: dict[str, tuple[PolicyRef, weakref.ref[nn.Module]]] = {}

    def publish(self, policy: PolicyRef, model: nn.Module) -> None:
        self._modules[policy.name] = policy, weakref.ref(model)

    def retire(self, name: str) -> None:
        self._modules.pop(name, None)

    def generate(self, asks: Sequence[Ask]) -> list[list[Sample]]:
        return [self.samples(ask) for ask in asks]

    @abstractmethod
    def samples(self, ask: Ask) -> list[Sample]:
        """Draw the replies that one policy waits for; see `generate`."""

    def module(self, policy: PolicyRef) -> nn.Module:
        """Return the module that answers for a policy."""
        known, module = self._modules.get(policy.name, (None, lambda: None))
        found = module()
        if known != policy or found is None:
            raise unpublished(policy, [known for known, _ in self._modules.values()])
        return found


def unpublished(policy: PolicyRef, known: Iterable[PolicyRef]) -> EngineError:
    """Return the error that names a policy, and what an engine has instead."""
    there = ", ".join(map(str, known)) or "nothing"
    return EngineError(f"{policy} was never published here, or is no more; there is {there}")
