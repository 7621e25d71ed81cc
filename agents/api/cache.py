"""Replies on disk: one SQLite file, which a killed process leaves whole and several may share."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import weakref
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coevo.agents.api.outcome import Answer
from coevo.agents.api.settings import ApiSettings
from coevo.envs.core.chat import Message
from coevo.envs.core.config import read
from coevo.envs.core.errors import DataError

MOST_CHATS = 1_000_000
"""Distinct chats of one agent whose samples are counted; 150 bytes each."""

_TABLE = (
    "CREATE TABLE IF NOT EXISTS replies (number INTEGER PRIMARY KEY, key TEXT UNIQUE, answer TEXT)"
)


class ReplyCache:
    """Key -> answer.

    Args:
        folder: where the file is; None keeps answers in memory, for this process alone.
        most: number of answers that are kept; the oldest make room.
        most_bytes: of all that is kept; the oldest make room.

    Raises:
        DataError: here and in `get` and `put`, the file cannot be read or written.
    """

    def __init__(self, folder: Path | None, most: int = 1_000_000, most_bytes: int = 2**32) -> None:
        self._path = None if folder is None else folder / "replies.sqlite"
        self._most, self._most_bytes = most, most_bytes
        try:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.touch(mode=0o600)
            self._db = sqlite3.connect(
                self._path or ":memory:",
                timeout=60,  # seconds that another process may be writing
                isolation_level=None,  # every statement is a transaction
                check_same_thread=False,  # written by the event loop's thread
            )
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from None
        self._one = threading.Lock()
        """Held by the one statement that runs: the event loop's thread asks, others close."""
        self.close = weakref.finalize(self, _close, self._db, self._one)
        """Closes the file; nothing can be read or written after it."""
        self._run(_TABLE)

    def get(self, key: str) -> Answer | None:
        """Return the answer of an earlier request, or None."""
        rows = self._run("SELECT answer FROM replies WHERE key = ?", key)
        if not rows:
            return None
        try:
            found: Answer = read(Answer, json.loads(rows[0][0]))
        except (ValueError, TypeError, RecursionError) as error:
            raise self._failed(error) from None
        return found

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer; it is in the file when this returns."""
        text = json.dumps(asdict(answer))
        self._run("INSERT OR REPLACE INTO replies (key, answer) VALUES (?, ?)", key, text)
        newest = self._run("SELECT last_insert_rowid()")[0][0]
        self._run("DELETE FROM replies WHERE number <= ?", newest - self._most)
        while self._bytes() > self._most_bytes:
            oldest = self._run("SELECT min(number) FROM replies")[0][0]
            if oldest is None:
                return
            self._run("DELETE FROM replies WHERE number <= ?", (9 * oldest + newest) // 10)

    def _bytes(self) -> int:
        """Return the size of the pages in use; those of what was deleted are used again."""
        names = ("page_count", "freelist_count", "page_size")
        whole, free, size = (int(self._run(f"PRAGMA {n}")[0][0]) for n in names)
        return (whole - free) * size

    def _run(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            with self._one:
                return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> DataError:
        hint = "COEVO_API_CACHE names another folder, or none"
        said = " ".join(str(error).split())
        return DataError(f"cannot use the cache {self._path}: {said}; {hint}")


def _close(db: sqlite3.Connection, one: threading.Lock) -> None:
    with one:
        db.close()


class Keys:
    """Returns for every request its key in the cache.

    Equal chats of one task and conversation get the keys of samples 0, 1, 2, ... in the order in
    which they are asked; those of other conversations have samples of their own. So they are drawn
    independently, and drawn alike when asked again, however fast each reply came. Without
    sampling there is one reply to a chat.

    Args:
        settings: what a reply depends on: server, model, sampling, seed.
    """

    def __init__(self, settings: ApiSettings) -> None:
        self._sampled = settings.sampled
        self._depends = {
            "base_url": settings.base_url.rstrip("/"),
            "model": settings.model,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "extra_body": dict(settings.extra_body),
            "seed": settings.seed if self._sampled else None,
            "send_seed": settings.send_seed,
        }
        self._asked: dict[bytes, int] = {}

    def next(self, chat: Sequence[Message], task: str, conversation: str = "") -> str:
        """Return the key of the next reply to a chat.

        Args:
            chat: its messages.
            task: start state or question that it belongs to.
            conversation: seat and play that it belongs to.
        """
        messages = [[m["role"], m["content"]] for m in chat]
        asked_by = [task, conversation] if self._sampled else None
        scope = _digest([self._depends, messages, asked_by])
        sample = self._next_sample(bytes.fromhex(scope)) if self._sampled else 0
        return _digest([scope, sample])[:40]

    def _next_sample(self, scope: bytes) -> int:
        """Return how often a chat was asked before; the chat that came first is forgotten first."""
        sample = self._asked.get(scope, 0)
        self._asked[scope] = sample + 1
        if len(self._asked) > MOST_CHATS:
            del self._asked[next(iter(self._asked))]
        return sample


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode("ascii")).hexdigest()
