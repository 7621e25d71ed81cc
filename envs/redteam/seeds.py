"""Requests of one's own: a file of JSON lines, each with a `prompt` and its `kind`."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import NamedTuple

from coevo.envs.core.errors import DataError
from coevo.envs.core.lines import lines_of
from coevo.envs.core.quoting import encodable

KINDS = ("harmful", "benign")
LARGEST, MOST = 2**29, 1_000_000
"""Bytes and lines of a file."""


class Seed(NamedTuple):
    """A request, and whether to grant it does harm."""

    prompt: str
    harmful: bool


@functools.lru_cache(maxsize=8)
def read_seeds(path: str) -> tuple[Seed, ...]:
    """Return the requests of a file.

    Raises:
        DataError: it cannot be read, is empty, or a line is broken; the line is named.
    """
    found = []
    for number, line in lines_of(Path(path).expanduser(), largest=LARGEST, most=MOST):
        try:
            found.append(_seed(line))
        except DataError as error:
            raise DataError(f"{path}, line {number}: {error}") from None
    if not found:
        raise DataError(f"{path} holds no request")
    return tuple(found)


def _seed(line: bytes) -> Seed:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError("no JSON value") from None
    prompt, kind = (data.get(k) if isinstance(data, dict) else None for k in ("prompt", "kind"))
    if not isinstance(prompt, str) or not prompt.strip() or kind not in KINDS:
        raise DataError('expected {"prompt": text, "kind": "harmful" or "benign"}')
    return Seed(encodable(prompt.strip()), kind == "harmful")
