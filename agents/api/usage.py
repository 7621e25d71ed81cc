"""What an agent behind a chat API has used so far."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Usage:
    """Counts of one agent since it was made; tokens and money leave out what the cache gave."""

    requests: int = 0
    """Replies that the server gave."""
    hits: int = 0
    """Replies that the cache gave, for nothing."""
    retries: int = 0
    """Attempts after the first one."""
    failures: int = 0
    """Requests that no attempt got a reply to."""
    truncated: int = 0
    """Replies, of both kinds, that were cut at the most tokens allowed."""
    prompt_tokens: int = 0
    """Read by the model."""
    completion_tokens: int = 0
    """Written by the model, hidden reasoning included."""
    unsure_tokens: int = 0
    """Upper bound of attempts that came to nothing, but may have been billed."""
    cost: float = 0.0
    """Of all these tokens, in the currency of the prices; 0 without prices."""
