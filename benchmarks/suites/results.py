"""The folder of an evaluation: what was asked first, every part as it is done, the whole last.

manifest.json      {"kind": "evaluation", ...}: the settings; the same folder takes no others
parts/<name>.json  one finished part
evaluation.json    all of them with their totals
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.run_folder import replace_text, storage

KIND = "evaluation"


class Results:
    """Keeps finished parts in a folder, or nowhere.

    Args:
        folder: of the evaluation; None keeps nothing.
        settings: everything that the results depend on.

    Raises:
        ConfigError: the folder holds an evaluation with other settings, or something else.
    """

    def __init__(self, folder: Path | None, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self.settings = json.loads(json.dumps(dict(settings)))
        self.whole: dict[str, Any] = {}
        """What `finish` wrote."""
        if folder is not None:
            self._claim(folder)

    def part(self, name: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Give a part: read it where it was finished before, else compute and keep it.

        A part with a `failed` reason is not kept, so that it is tried again.
        """
        if self.folder is None:
            return compute()
        path = self.folder / "parts" / f"{file_name(name)}.json"
        if path.is_file():
            return read_json(path)
        found = compute()
        if not found.get("failed"):
            self._write(path, found)
        return found

    def finish(self, table: Mapping[str, Any]) -> dict[str, Any]:
        """Write the whole, and give it."""
        self.whole = {"kind": KIND, **self.settings, **table}
        if self.folder is not None:
            self._write(self.folder / "evaluation.json", self.whole)
        return self.whole

    def _claim(self, folder: Path) -> None:
        """Write the settings first, or compare them with what is there."""
        path = folder / "manifest.json"
        wanted = {"kind": KIND, **self.settings}
        if not path.is_file():
            if folder.is_dir() and any(folder.iterdir()):
                raise ConfigError(f"{folder} holds something else; give another --out")
            with storage(folder):
                (folder / "parts").mkdir(parents=True, exist_ok=True)
            self._write(path, wanted)
            return
        there = read_json(path)
        for key in [*wanted, *there]:
            if there.get(key) != wanted.get(key):
                raise ConfigError(
                    f"{folder} was begun with {key}={there.get(key)!r}, not {wanted.get(key)!r}; "
                    "give another --out"
                )

    def _write(self, path: Path, data: Mapping[str, Any]) -> None:
        with storage(path):
            replace_text(path, json.dumps(data, indent=2) + "\n")


def file_name(name: str) -> str:
    """Spell the name of a part as a file name.

    >>> file_name("coevo/kuhn_poker-v0")
    'coevo-kuhn_poker-v0'
    """
    return re.sub(r"[^A-Za-z0-9_.=-]+", "-", name).strip("-")


def read_json(path: Path) -> dict[str, Any]:
    """Read an object; a broken file is named."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}") from None
    if not isinstance(data, dict):
        raise DataError(f"{path} holds no JSON object")
    return data
