"""A folder of results: settings first, then each part as it is done, then the whole.

manifest.json      {"kind": ..., settings, commit, hardware, packages}; one set per folder
parts/<name>.json  one finished part
.lock              held by the one process that works here; a process that dies lets go

Comparisons, tournaments and evaluations are kept in such folders. Each can be killed at any moment:
the same command continues it and ends with the same tables.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout

from coevo.benchmarks.files import as_table, file_name, read_json
from coevo.benchmarks.provenance import provenance
from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.files import replace_text, storage

MANIFEST = "manifest.json"


class ResultsFolder:
    """Reads and writes one folder of results.

    Args:
        path: of the folder, which need not exist; None keeps nothing.
        kind: of results, such as `comparison`.
    """

    def __init__(self, path: Path | None, kind: str) -> None:
        self.path, self.kind = path, kind
        self._what = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"

    def begin(
        self,
        settings: Mapping[str, Any],
        weights: Mapping[str, str] | None = None,
        facts: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Write the manifest of new results, or check that those there were asked for alike.

        `settings` is everything that the results depend on, beside weights (agent -> fingerprint);
        what `facts` gives is written, and not compared. ConfigError where the folder holds results
        with other settings or of changed agents, DataError where it holds something else.
        """
        if self.path is None:
            return
        wanted = json.loads(json.dumps({**settings, "weights": dict(weights or {})}))
        if (self.path / MANIFEST).exists() or (self.path / MANIFEST).is_symlink():
            self._check_same(self.manifest(), wanted)
            return
        if self.path.exists() and not self.path.is_dir():
            raise DataError(f"{self.path} is no folder; give another --out")
        if self.path.is_dir() and any(p.name[0] != "." for p in self.path.iterdir()):
            raise DataError(
                f"{self.path} holds something else and no {MANIFEST}; give another --out"
            )
        self.write(MANIFEST, {"kind": self.kind, **wanted, **facts(), **provenance()})

    def manifest(self) -> dict[str, Any]:
        assert self.path is not None  # nothing is kept nowhere
        path = self.path / MANIFEST
        if not path.exists() and not path.is_symlink():
            raise DataError(f"{self.path} holds no {self.kind}: there is no {path}")
        found = read_json(path)
        if found.get("kind") != self.kind:
            raise DataError(f"{path} is no manifest of {self._what}; give another --out")
        return found

    def _check_same(self, there: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        for name, value in wanted.items():
            if name != "weights" and there.get(name) != value:
                raise ConfigError(
                    f"{self.path} holds {self._what} with {name}="
                    f"{_shown(there.get(name))}, not {_shown(value)}; give another --out"
                )
        before = as_table(there.get("weights", {}), Path(self.path or "") / MANIFEST)
        for agent, digest in wanted["weights"].items():
            if before.get(agent) != digest:
                raise ConfigError(
                    f"{agent} has other weights than when {self.path} was begun; name a "
                    "checkpoint, which stays as it is, and give another --out"
                )

    @contextlib.contextmanager
    def alone(self, *, wait: bool = False) -> Iterator[None]:
        """Let one process at a time work here.

        Beside another process it waits, or raises DataError.
        """
        if self.path is None:
            yield
            return
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=-1 if wait else 0)
        except Timeout:
            raise DataError(f"{self.path} is in use by another process") from None
        try:
            yield
        finally:
            lock.release()

    def part(self, name: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return a part: read it where it was finished before, else compute and keep it.

        A part with a `failed` reason is not kept, so that it is tried again.
        """
        if self.path is None:
            return compute()
        place = self.place(name)
        if place.exists() or place.is_symlink():
            return read_json(place)
        found = compute()
        if not found.get("failed"):
            self.write(str(place.relative_to(self.path)), found)
        return found

    def has(self, name: str) -> bool:
        """Return whether a part is there."""
        return self.path is not None and self.place(name).exists()

    def place(self, name: str) -> Path:
        return (self.path or Path()) / "parts" / f"{file_name(name)}.json"

    def write(self, place: str, data: Any) -> None:
        """Write a JSON file in one step; its folder is made if it is missing."""
        self.write_text(place, json.dumps(plain(data), indent=2) + "\n")

    def write_text(self, place: str, text: str) -> None:
        """Write a file in one step; its folder is made if it is missing."""
        if self.path is None:
            return
        path = self.path / place
        with storage(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_text(path, text)


def plain(value: Any) -> Any:
    """Turn numpy's values into Python's, and what JSON cannot say (NaN, infinity) into None."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else repr(value)
