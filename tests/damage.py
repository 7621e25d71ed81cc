"""Ways in which a file can be damaged, made from what it holds."""

import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml


class Damage(NamedTuple):
    """One way to damage a file."""

    name: str
    """What is done to it, and where."""
    do: Callable[[Path], None]
    whole: bool = False
    """Whether nothing is left that could be read."""


WRONG = {
    "null": None,
    "text": "text",
    "negative": -1,
    "nan": math.nan,
    "huge": 10**30,
    "list": [],
    "nested": [[{}]],
    "table": {},
    "true": True,
}
"""Values that hardly any field takes, by what they are."""


def of_file(path: Path) -> Iterator[Damage]:
    """Yield what can happen to any file: cut, a bit flipped, empty, gone, a folder, unreadable."""
    content = path.read_bytes()
    for part in (1, 2):
        cut = content[: len(content) * part // 3]
        yield Damage(f"cut to {part}/3", lambda p, cut=cut: _write(p, cut), whole=True)
    if content:
        yield Damage("a bit flipped", lambda p: _write(p, _flipped(content)))
    yield Damage("empty", lambda p: _write(p, b""), whole=True)
    yield Damage("missing", _remove, whole=True)
    yield Damage("a folder", _folder, whole=True)
    yield Damage("unreadable", _unreadable, whole=True)
    yield Damage("bytes of no text", lambda p: _write(p, b"\xff\xfe\x00\x81" * 40), whole=True)
    yield Damage("nested too deeply", lambda p: _write(p, b"[" * 100_000), whole=True)


def of_fields(path: Path, most_items: int = 1) -> Iterator[Damage]:
    """Yield for every field of a JSON or YAML file: missing, and of every wrong type."""
    tree = _read(path)
    for place in _places(tree, most_items):
        name = ".".join(map(str, place))
        yield Damage(f"{name} missing", lambda p, at=place: _change(p, at, remove=True))
        old = _at(tree, place)
        for kind, value in WRONG.items():
            if type(value) is not type(old) or value != old:
                yield Damage(f"{name} {kind}", lambda p, at=place, v=value: _change(p, at, v))


def of_unknown(path: Path, free: tuple[str, ...] = ()) -> Iterator[Damage]:
    """Yield for every mapping of a JSON or YAML file a key that nobody knows.

    Args:
        path: the file.
        free: dotted names whose mappings may hold any key.
    """
    tree = _read(path)
    for place in [(), *_places(tree, 1)]:
        name = ".".join(map(str, place))
        if isinstance(_at(tree, place), dict) and not name.startswith(free or (" ",)):
            yield Damage(f"{name}.nope", lambda p, at=place: _change(p, (*at, "nope"), 1))


def of_schema(path: Path) -> Iterator[Damage]:
    """Yield the file as a later and as an unknown version would have written it."""
    if "schema" in _read(path):
        for version in (99, 0, "2"):
            yield Damage(f"version {version!r}", lambda p, v=version: _change(p, ("schema",), v))


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _flipped(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def _remove(path: Path) -> None:
    path.unlink()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _unreadable(path: Path) -> None:
    """Let opening fail for root as well: the link leads to itself."""
    path.unlink()
    path.symlink_to(path.name)


def restore(path: Path, whole: Path) -> None:
    """Put a file back as it is in another folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    shutil.copy(whole, path)


def _read(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)


def _places(tree: Any, most: int, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    inner = tree.items() if isinstance(tree, dict) else ()
    if isinstance(tree, list):
        inner = enumerate(tree[:most])
    for key, value in inner:
        yield from _places(value, most, (*at, key))


def _at(tree: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        tree = tree[key]
    return tree


def _change(path: Path, place: tuple[Any, ...], value: Any = None, *, remove: bool = False) -> None:
    tree = _read(path)
    owner = _at(tree, place[:-1])
    if remove:
        del owner[place[-1]]
    else:
        owner[place[-1]] = value
    text = json.dumps(tree) if path.suffix == ".json" else yaml.safe_dump(tree)
    path.write_text(text, encoding="utf-8")
