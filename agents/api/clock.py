"""Time, as an argument: tests of waiting do not wait."""

from __future__ import annotations

import asyncio
import time


class Clock:
    """Tells the time and waits."""

    def now(self) -> float:
        """Give seconds since some fixed moment; never goes back."""
        return time.monotonic()

    def wall(self) -> float:
        """Give seconds since 1970, to compare with dates that servers send."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Let others work for a while."""
        await asyncio.sleep(seconds)
