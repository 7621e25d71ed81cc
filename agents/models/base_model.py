"""The model that a policy rests on: the base of an adapter, or all of a frozen policy.

The folder of such a policy says so in `base.json`, with a digest that tells whether the base is
still the one that it was. Folders that only peft wrote name their base in `adapter_config.json`.
"""

from __future__ import annotations

import hashlib
import json
import urllib.error
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path

from huggingface_hub import constants

from coevo.envs.core.errors import DataError

FILE = "base.json"
ENDS = 2**20
"""Bytes read from either end of a file; reading all of a large model takes minutes."""
KINDS = (".safetensors", ".bin", ".zip")
NAMES = ("config.json", "adapter_config.json", FILE)
RESTS_ON = {FILE: ("source", "digest"), "adapter_config.json": ("base_model_name_or_path",)}
"""File of a policy -> its fields that say what it rests on; the first that is there counts."""


@dataclass(frozen=True)
class BaseModel:
    """A model that others rest on."""

    source: str
    """`seed`, a folder, or a Hub id."""
    digest: str = ""
    """Of its files of weights; empty where they are not on this disk."""

    def write(self, folder: Path) -> None:
        """Say in a policy's folder what it rests on."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> BaseModel | None:
        """Return what a policy's folder rests on; None where it holds all its weights.

        Raises:
            DataError: the file is damaged.
        """
        for name, fields in RESTS_ON.items():
            path = folder / name
            if not path.is_file():
                continue
            try:
                data = json.loads(path.read_text(encoding="utf-8"))
                return cls(*(str(data[f]) for f in fields))
            except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
                said = " ".join(str(error).split())[:80]
                raise DataError(f"{path} does not say what the policy rests on: {said}") from None
        return None

    def check(self, now: BaseModel, user: Path) -> None:
        """Refuse a base that has changed since a policy was put on it.

        Raises:
            DataError: the digests differ.
        """
        if self.digest and now.digest and self.digest != now.digest:
            raise DataError(
                f"{user} rests on the base {self.source!r} as it was (digest {self.digest}), but "
                f"{now.source!r} has other weights now ({now.digest}); give the old ones back"
            )


def digest(folder: Path) -> str:
    """Return a digest of a policy's names, sizes and both ends of its files; empty without any."""
    found = hashlib.sha256()
    files = [p for p in folder.glob("*") if p.suffix in KINDS or p.name in NAMES]
    for path in sorted(files):
        size = path.stat().st_size
        with path.open("rb") as file:
            found.update(f"{path.name} {size}\n".encode() + file.read(ENDS))
            file.seek(max(size - ENDS, 0))
            found.update(file.read(ENDS))
    return found.hexdigest()[:16] if files else ""


SECONDS = 10
"""Longest wait for a first answer."""


def hub_answers() -> bool:
    """Return whether the Hub can be asked at all; what it says does not matter.

    Its own client asks for every file six times before it gives up. What is in the cache loads
    without it.
    """
    if constants.is_offline_mode():
        return False
    try:
        request = urllib.request.Request(constants.ENDPOINT, method="HEAD")
        with urllib.request.urlopen(request, timeout=SECONDS):
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError):
        return False
