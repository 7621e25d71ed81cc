"""What an agent behind a chat API has used so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


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

    def to_dict(self) -> dict[str, Any]:
        """Give all counts as plain JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        """Say it in one line.

        >>> print(Usage(requests=3, hits=1, prompt_tokens=90, completion_tokens=12, cost=0.5))
        3 replies asked for, 1 from the cache; 90 tokens read, 12 written, cost 0.5
        """
        parts = [f"{self.requests} replies asked for, {self.hits} from the cache"]
        parts += [
            f"{count} {what}"
            for count, what in (
                (self.retries, "attempts repeated"),
                (self.failures, "without a reply"),
                (self.truncated, "cut at max_tokens"),
            )
            if count
        ]
        tokens = f"{self.prompt_tokens} tokens read, {self.completion_tokens} written"
        if self.unsure_tokens:
            tokens += f", at most {self.unsure_tokens} more in failed attempts"
        return f"{', '.join(parts)}; {tokens}" + (f", cost {self.cost:.4g}" if self.cost else "")
