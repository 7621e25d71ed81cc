"""Folders of models, runs and checkpoints, found by name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from safetensors import safe_open

from coevo.agents.models import adapters, manifest
from coevo.agents.models.base_model import FILE as BASE
from coevo.agents.models.base_model import BaseModel, digest
from coevo.agents.models.sb3 import CARD
from coevo.agents.models.smollm2 import smollm2_folder
from coevo.agents.program import PREFIX, read_source, source_digest
from coevo.agents.registry import is_scripted
from coevo.envs.core.errors import ConfigError, DataError, legible, nearest

PROMPTS = "table.json"
"""File of a tabular policy."""
NET_CARD = "net.json"
"""File of a small network over arrays, which says how it is built."""
MADE = ("table", "net")
"""Start models that a run makes anew, and that lie in no folder."""
STARTER_MODEL = Path(__file__).parents[1] / "starter_model"
"""The shipped model."""
LARGEST_CONFIG = 2**20
"""Bytes of a model's `config.json`; the longest in use have some ten thousand."""
LARGEST_JSON = 2**27
"""Bytes of another file that is read as a whole before a model is loaded."""
MOST_LAYERS = 2000
"""Layers of a model."""
LAYERS = re.compile(r"(^|_)layers?$")
"""How fields are called that say how many: num_hidden_layers, n_layer, decoder_layers, ..."""
UNREAD = re.compile(r"(?<!/head)\.tensors$|\.(snapshot|gz|zip)$|^progress\.json$")
"""Files of a checkpoint that training reads, and no agent."""
FOLDERS = ("hf", "sb3")
"""What may stand before a colon and a path: a language model as a folder or Hub id, a policy of
stable-baselines3."""


def starter_folder() -> Path:
    """Return the folder of the shipped model."""
    if not (STARTER_MODEL / "config.json").is_file():
        raise DataError("the shipped starter model is missing; make it with `coevo starter build`")
    return STARTER_MODEL


NAMED = {"starter": starter_folder, "smollm2": smollm2_folder}
"""Models with names of their own -> where they lie."""


def is_made(source: str) -> bool:
    """Return whether a start model is made anew by its run.

    >>> is_made("table"), is_made("net:conv"), is_made("starter")
    (True, True, False)
    """
    return source.partition(":")[0] in MADE


def path_of(source: str) -> str:
    """Return the path or Hub id in the name of an agent; other names are given back.

    >>> path_of("hf:owner/name"), path_of("runs/a"), path_of("openai:m")
    ('owner/name', 'runs/a', 'openai:m')
    """
    prefix, colon, path = source.partition(":")
    return path if colon and prefix in FOLDERS else source


def model_folder(source: str) -> Path:
    """Resolve a named model, a run folder or a checkpoint to the folder of the one model."""
    folders = policy_folders(source)
    if len(folders) > 1:
        raise _several(source, folders.values())
    return next(iter(folders.values()))


def policy_folders(source: str) -> dict[str, Path]:
    """Resolve a named model, a run folder or a checkpoint to the folder of each policy, by name.

    Only a checkpoint gives more than one. The folder of a single model may have any name; a Hub id
    is given back as a path that is not there.
    """
    if source in NAMED:
        return {source: NAMED[source]()}
    path = Path(source).expanduser()
    if not path.exists():
        if source.startswith((".", "/", "~", "runs/")) or source.count("/") > 1:
            near = nearest(
                path.name, [p.name for p in path.parent.glob("*")] if path.parent.is_dir() else []
            )
            hint = f"; in {path.parent} there is {', '.join(near)}" if near else ""
            raise DataError(f"no model folder {source!r}{hint}")
        return {path.name: path}
    return _inside(path)


def _inside(path: Path) -> dict[str, Path]:
    """Find the models in a run folder, a checkpoint, or the folder itself."""
    check_written(path, content=False)
    if baseline := baseline_folder(path):
        return {baseline.name: baseline}
    if _holds_policy(path):
        return {path.name: path}
    if _holds_policy(path / "policy"):
        return {"policy": path / "policy"}
    if newest := _newest_checkpoint(path):
        return _inside(newest)
    policies = sorted(filter(_holds_policy, path.glob("*")))
    if not policies:
        raise DataError(
            f"{path} holds no model: expected config.json, or a run folder with a checkpoint"
        )
    if len(policies) > 1 and not (path / manifest.FILE).is_file():
        raise _several(path, policies)
    return {p.name: p for p in policies}


def baseline_folder(path: Path) -> Path | None:
    """Find a policy of stable-baselines3: the folder itself, or the newest checkpoint of a run."""
    for place in (path, _newest_checkpoint(path)):
        if place is not None and (place / CARD).is_file():
            return place
    return None


def _newest_checkpoint(run: Path) -> Path | None:
    """Find the newest checkpoint of a run; copies under other names are none."""
    found = manifest.checkpoints(run / "checkpoints")
    return found[-1] if found else None


def check_written(path: Path, *, content: bool = True) -> None:
    """Refuse a checkpoint, or a policy in it, of which an agent would read what was not written.

    Args:
        path: its folder; any other is passed over.
        content: whether all of every file is compared, or its size alone.

    Raises:
        DataError: a file is missing or differs; the message names it.
    """
    whole = manifest.is_checkpoint(path)
    place, part = (path, "") if whole else (path.parent, f"{path.name}/")
    if manifest.is_checkpoint(place):
        manifest.verify(
            place, lambda name: name.startswith(part) and not UNREAD.search(name), content=content
        )


def check_files(folder: Path) -> None:
    """Refuse a model of which a file cannot be read at all.

    Raises:
        DataError: a file is no JSON, no tensors or no text, as its name says; it is named.
    """
    for path in sorted(p for p in folder.glob("*") if p.is_file()):
        with legible(path):
            if path.suffix == ".json" and path.stat().st_size <= LARGEST_JSON:
                json.loads(path.read_text(encoding="utf-8"))
            elif path.suffix == ".safetensors":
                with safe_open(path, "pt"):
                    pass
            elif path.suffix == ".jinja":
                path.read_text(encoding="utf-8")


def _holds_policy(path: Path) -> bool:
    marks = ("config.json", adapters.CONFIG, BASE, PROMPTS, NET_CARD)
    return any((path / name).is_file() for name in marks)


def _several(source: str | Path, folders: Iterable[Path]) -> DataError:
    return DataError(f"{source} holds several policies; name one: {', '.join(map(str, folders))}")


def base_model(source: str) -> BaseModel:
    """Describe a start model that policies are going to rest on."""
    path = model_folder(source)
    if source == "starter" or not path.exists():
        return BaseModel(source, digest(path))
    return BaseModel(str(path.resolve()), digest(path))


def whole_model(source: str) -> str:
    """Return the folder or Hub id of a start model for those who load it themselves.

    Raises:
        ConfigError: it is an adapter, whose base lies elsewhere.
    """
    path = model_folder(source)
    if BaseModel.read(path) is not None:
        raise ConfigError(f"engine=vllm starts from whole models, not from the adapter {source!r}")
    return str(path)


def check_config(path: Path) -> None:
    """Refuse a model whose description is larger than any, or that would be: building takes hours.

    Raises:
        DataError: it is beyond a limit.
    """
    if not path.is_file():
        return
    if (size := path.stat().st_size) > LARGEST_CONFIG:
        raise DataError(f"{path} has {size} bytes; {LARGEST_CONFIG} is the most that is read")
    try:
        layers = max(_layers(json.loads(path.read_text(encoding="utf-8"))), default=0)
    except (OSError, ValueError, RecursionError):
        return  # said when it is loaded
    if layers > MOST_LAYERS:
        raise DataError(f"{path} asks for {layers} layers; {MOST_LAYERS} is the most")


def _layers(config: Any) -> Iterator[int]:
    """Yield every number of layers in a description, whatever architectures call it."""
    for name, value in config.items() if isinstance(config, dict) else ():
        if isinstance(value, dict):
            yield from _layers(value)
        elif isinstance(value, int) and LAYERS.search(name):
            yield value


def fingerprint(source: str) -> str:
    """Return a digest of the weights, or the program, behind a name; empty for names alone.

    SHA-256 over the weights and the configuration of every policy, and what it rests on. A single
    model gives the same wherever it lies.

    Args:
        source: what `load_agent` takes.
    """
    source = path_of(source)
    if source.startswith(PREFIX):
        return source_digest(read_source(source.removeprefix(PREFIX)))
    if is_scripted(source) or (source not in NAMED and not Path(source).expanduser().exists()):
        return ""
    found, folders = hashlib.sha256(), policy_folders(source)
    for policy, folder in sorted(folders.items()):
        name = policy if len(folders) > 1 else ""
        found.update(f"{name} {digest(folder)}\n".encode())
    return found.hexdigest()[:16]
