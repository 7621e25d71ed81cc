"""Kept episodes: what replay buffers store, and the base of samplers that store nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, DataError


class WithoutMemory:
    """A sampler that keeps nothing from one update to the next; others override both methods."""

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint must keep; JSON-able."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave.

        Raises:
            DataError: It is not the state of this kind of sampler.
        """
        if state:
            kind = type(self).__name__
            raise DataError(f"{kind} is without memory, but was given the state {sorted(state)}")


@dataclass(frozen=True)
class Kept:
    """An episode in a buffer; log-probabilities and policy versions are in its turns."""

    episode: Episode
    """With all its rewards; a buffer does not change it."""
    group: int
    """Key of the task within its update."""
    step: int
    """Update in which it was played."""
    reward: float
    """Outcome, of the seat if one is named."""
    advantage: float
    """At the time of play; what comes back is computed anew."""
    seat: str = ""
    """The seat that reward and advantage are of; empty stands for all seats that wrote tokens."""

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary that JSON can hold; the episode is one line of text."""
        rest = {name: getattr(self, name) for name in _PLAIN}
        return {"episode": self.episode.to_json(), **rest}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Kept:
        """Read what `to_dict` wrote; DataError where it is something else."""
        try:
            return cls(Episode.from_json(data["episode"]), **{n: data[n] for n in _PLAIN})
        except (KeyError, TypeError) as error:
            raise DataError(f"not a kept play: {type(error).__name__}: {error}") from None


_PLAIN = ("group", "step", "reward", "advantage", "seat")


def alone(episode: Episode, seat: str) -> Episode:
    """Copy an episode so that only one seat's tokens are learnt from; payments stay.

    Training rows are made of turns with tokens, so the other seats' tokens are left out.

    Raises:
        ConfigError: The episode has no such seat.

    >>> alone(Episode("coevo/some-v0", 0, {}, ("a", "b")), "b").agents
    ('a', 'b')
    """
    if seat not in episode.agents:
        raise ConfigError(f"seat {seat!r} is not in the episode; seats: {list(episode.agents)}")
    turns = [t if t.agent == seat else _without_tokens(t) for t in episode.turns]
    return replace(episode, turns=turns)


def writers(item: Kept) -> list[str]:
    """List the seats of an episode whose tokens would be learnt from.

    >>> writers(Kept(Episode("coevo/some-v0", 0, {}, ("a", "b")), 0, 1, 1.0, 0.5))
    []
    """
    wrote = {t.agent for t in item.episode.turns if t.token_ids}
    return [s for s in item.episode.agents if s in wrote and item.seat in ("", s)]


def check_replayable(items: Sequence[Kept], *, one_seat: bool) -> None:
    """Refuse episodes that cannot be learnt from a second time.

    Raises:
        ConfigError: Nobody wrote tokens, log-probabilities are missing, or several seats wrote
            where reward and advantage must be of one.

    >>> check_replayable([], one_seat=True)
    """
    for item in items:
        wrote = writers(item)
        if not wrote or (one_seat and len(wrote) > 1):
            raise ConfigError(
                f"an episode kept for {item.seat or 'all seats'!r} has tokens of the seats "
                f"{wrote}; {'exactly one is' if one_seat else 'at least one is'} needed"
            )
        for turn in item.episode.turns:
            if turn.agent in wrote and len(turn.logprobs or ()) != len(turn.token_ids or ()):
                raise ConfigError(
                    f"a turn of {turn.agent!r} has {len(turn.token_ids or ())} tokens and "
                    f"{len(turn.logprobs or ())} log-probabilities; replay needs one for each"
                )


def _without_tokens(turn: Turn) -> Turn:
    return replace(
        turn,
        prompt_ids=None,
        stripped_ids=None,
        reference_ids=None,
        token_ids=None,
        logprobs=None,
        choices=None,
    )
