"""Replies on disk: one file per model and server, one JSON line per reply, only ever appended to.

A kill may cut the last line; whatever is not a whole record is skipped when the file is read, and
that reply is asked for again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from coevo.agents.api.outcome import Answer
from coevo.agents.api.settings import ApiSettings
from coevo.envs.core.errors import DataError


class ReplyCache:
    """Key -> answer, in memory and, with a path, in a file.

    Args:
        path: file, made at the first answer; None keeps answers for this process alone.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._known: dict[str, Answer] = {}
        self._file: int | None = None
        self._close: Callable[[], object] = lambda: None
        if path is not None and path.exists():
            self._known = dict(_records(path))

    def get(self, key: str) -> Answer | None:
        """Give the answer of an earlier request."""
        return self._known.get(key)

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer; it is in the file when this returns.

        Raises:
            DataError: the file cannot be written.
        """
        self._known[key] = answer
        if self.path is None:
            return
        line = json.dumps({"key": key, **asdict(answer)}) + "\n"
        try:
            if self._file is None:
                self._file = _opened(self.path)
                self._close = weakref.finalize(self, os.close, self._file)
            # One call, so that lines of several processes never mix.
            written = os.write(self._file, line.encode("ascii"))
        except OSError as error:
            raise DataError(f"cannot write the cache {self.path}: {error.strerror}") from None
        if written < len(line):
            raise DataError(f"cannot write the cache {self.path}: the disk is full")

    def close(self) -> None:
        """Close the file; a later `put` opens it again."""
        self._close()
        self._file = None


class Keys:
    """Gives every request its key in the cache.

    Equal chats of one task get the keys of samples 0, 1, 2, ... in the order in which they are
    asked, so that they are drawn independently, and drawn alike by whoever asks again in the same
    order, however fast each reply came. Without sampling there is one reply to a chat.

    Args:
        settings: what a reply depends on: server, model, sampling, seed.
    """

    def __init__(self, settings: ApiSettings) -> None:
        self._sampled = settings.sampled
        depends = {
            "base_url": settings.base_url.rstrip("/"),
            "model": settings.model,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "extra_body": dict(settings.extra_body),
            "seed": settings.seed if self._sampled else None,
            "send_seed": settings.send_seed,
        }
        self._settings = hashlib.sha256(_plain(depends)).digest()
        self._asked: Counter[bytes] = Counter()

    def next(self, messages: list[dict[str, str]], task: str) -> str:
        """Give the key of the next reply to a chat.

        Args:
            messages: the chat.
            task: start state or question that it belongs to.
        """
        scope = [messages, task] if self._sampled else [messages]
        chat = hashlib.sha256(self._settings + _plain(scope)).digest()
        sample = self._asked[chat]
        if self._sampled:
            self._asked[chat] += 1
        return hashlib.sha256(chat + sample.to_bytes(8, "big")).hexdigest()[:40]


def cache_file(settings: ApiSettings) -> Path | None:
    """Give the file for the replies of one model at one server."""
    if settings.cache is None:
        return None
    place = f"{settings.base_url.rstrip('/')} {settings.model}".encode()
    readable = re.sub(r"[^\w.-]+", "-", settings.model)[:60]
    return settings.cache / f"{readable}-{hashlib.sha256(place).hexdigest()[:10]}.jsonl"


def _records(path: Path) -> Iterator[tuple[str, Answer]]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise DataError(f"cannot read the cache {path}: {error.strerror}") from None
    for line in lines:
        try:
            record = json.loads(line)
            key, answer = record.pop("key"), Answer(**record)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # cut by a kill, or not ours
        if isinstance(answer.text, str):
            yield key, answer


def _opened(path: Path) -> int:
    """Open a file to append whole lines to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.write(file, b"\n")
    return file


def _plain(data: Any) -> bytes:
    return json.dumps(data, sort_keys=True).encode("ascii")
