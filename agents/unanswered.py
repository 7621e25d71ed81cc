"""What stands in for a reply that nobody could give: a failure is data, never a forfeit."""

from __future__ import annotations

from dataclasses import dataclass

from coevo.agents.agent import Reply
from coevo.envs.core.errors import CoevoError


class NoReplyError(CoevoError):
    """Somebody could not answer, where there is no play that could end as an error."""

    exit_code = 1


@dataclass(slots=True)
class Unanswered(Reply):
    """A seat got no reply for reasons outside the play, such as a server that is down.

    Whoever plays such a reply ends the play with `StopReason.ERROR` and this reason in its note; it
    must not reach the environment, which would take the empty text for an illegal move.
    """

    text: str = ""
    reason: str = ""
    """Why there is no reply, in one line."""


def answered(reply: Reply) -> Reply:
    """Return a reply back that is one.

    Raises:
        NoReplyError: it only stands in for one.
    """
    if isinstance(reply, Unanswered):
        raise NoReplyError(reply.reason)
    return reply
