"""A program as an agent: `program:FILE.py` plays by a function of what its seat knows.

    def policy(view):
        history, me = view["history"], view["player"]
        return history[-1][1 - me] if history else 0

`view` is the seat's info with `seat` and `chat`, the messages it has seen: plain data that tells no
more than the prompt. The function returns a legal move, its place in `view["legal_actions"]`, or,
where any text is legal, a reply. It runs in the sandbox, anew at every turn, so that a move follows
from the source, the view and a seed: forks, retries and resumed runs need no memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coevo.agents.agent import Agent, Reply, Request
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer
from coevo.envs.programs.sandbox import Called, Limits
from coevo.envs.programs.tiers import interpreter

PREFIX = "program:"
FUNCTION = "policy"
LARGEST = 100_000
"""Bytes of a source."""
LIMITS = Limits(seconds=1.0, memory=50_000_000)
"""Of one move. Moves that come near to the seconds depend on how busy the machine is."""


class ProgramAgent(Agent):
    """Asks a program for its moves; one that gives none has made an illegal reply.

    The turn notes the program's digest, the sandbox and the verdict (`notes["program"]`).

    Args:
        path: the source, a file.
        source: its text, where there is no file; `path` is then its name.
    """

    def __init__(self, path: str, source: str | None = None) -> None:
        self.name = f"{PREFIX}{path}"
        self.source = read_source(path) if source is None else source
        self.sandbox = interpreter()
        self.digest = source_digest(self.source)
        with self.sandbox.open(self.source, limits=LIMITS) as program:
            found = program.call(f"{FUNCTION} and None")
        if not found.ok:
            why = f"{found.verdict}, {found.detail}"
            raise ConfigError(f"{path} must define {FUNCTION}(view): {why}")

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(r) for r in requests]

    def _reply(self, request: Request) -> Reply:
        seed = int(request.rng.integers(2**32))
        with self.sandbox.open(self.source, seed=seed, limits=LIMITS) as program:
            found = program.call(f"{FUNCTION}(view)", view=view_of(request))
        said = spelled(found, request.info["legal_actions"])
        why = f": {found.detail}" if found.detail else ""
        note = f"{self.digest} in {self.sandbox.name}: {found.verdict}{why}"
        return Reply(said, notes={"program": note})


def view_of(request: Request) -> dict[str, Any]:
    """Return what a program is shown: the info of its seat, its name and its chat."""
    chat = [dict(message) for message in request.chat]
    return {"seat": request.seat, "chat": chat, **plain(dict(request.info))}


def spelled(found: Called, legal: Sequence[str] | None) -> str:
    """Return what a program gave as a reply; empty, which nothing is read from, where it gave none.

    >>> spelled(Called("ok", 1), ["check", "bet"]), spelled(Called("ok", "bet"), ["check", "bet"])
    ('[bet]', '[bet]')
    >>> spelled(Called("ok", "Hello!"), None), spelled(Called("time"), ["bet"])
    ('Hello!', '')
    """
    move = found.value
    if legal is not None and type(move) is int and 0 <= move < len(legal):
        return answer(legal[move])
    if not isinstance(move, str):
        return ""
    return answer(move) if legal is not None and move in legal else move


def plain(value: Any) -> Any:
    """Return a value of an info as plain data; what has no such form becomes its text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {plain(key): plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value)) if type(value) in (list, tuple) else list(value)
    return value if value is None or type(value) in (bool, int, float, str) else str(value)


def read_source(path: str) -> str:
    """Return a source; raise ConfigError where there is none."""
    file = Path(path).expanduser()
    try:
        if file.exists() and not file.is_file():  # a pipe or a device may never end
            raise ConfigError(f"cannot read the program {path!r}: it is not a file")
        if file.stat().st_size > LARGEST:
            raise ConfigError(f"{path} is larger than {LARGEST} bytes, the most that a program has")
        return file.read_text("utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the program {path!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"the program {path} is not UTF-8") from None


def source_digest(source: str) -> str:
    """Return a name for the text of a program.

    >>> source_digest("")
    'e3b0c44298fc1c14'
    """
    return hashlib.sha256(source.encode()).hexdigest()[:16]
