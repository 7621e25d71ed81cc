"""Folders of models, runs and checkpoints, found by name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from coevo.agents.models import adapters
from coevo.agents.models.base_model import FILE as BASE
from coevo.agents.models.base_model import BaseModel, digest
from coevo.agents.models.sb3 import CARD
from coevo.agents.models.smollm2 import smollm2_folder
from coevo.agents.program import PREFIX, read_source, source_digest
from coevo.agents.registry import is_scripted
from coevo.envs.core.errors import ConfigError, DataError, nearest

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
MOST_LAYERS = 2000
"""Layers of a model."""
LAYERS = re.compile(r"(^|_)layers?$")
"""How fields are called that say how many: num_hidden_layers, n_layer, decoder_layers, ..."""
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
    if baseline := baseline_folder(path):
        return {baseline.name: baseline}
    if _holds_policy(path):
        return {path.name: path}
    if _holds_policy(path / "policy"):
        return {"policy": path / "policy"}
    if newest := _newest_checkpoint(path, "manifest.json"):
        return _inside(newest)
    policies = sorted(filter(_holds_policy, path.glob("*")))
    if not policies:
        raise DataError(
            f"{path} holds no model: expected config.json, or a run folder with a checkpoint"
        )
    if len(policies) > 1 and not (path / "manifest.json").is_file():
        raise _several(path, policies)
    return {p.name: p for p in policies}


def baseline_folder(path: Path) -> Path | None:
    """Find a policy of stable-baselines3: the folder itself, or the newest checkpoint of a run."""
    if (path / CARD).is_file():
        return path
    return _newest_checkpoint(path, CARD)


def _newest_checkpoint(run: Path, mark: str) -> Path | None:
    """Find the newest checkpoint with a file of that name; copies under other names are none."""
    found = [m.parent for m in (run / "checkpoints").glob(f"step_*/{mark}")]
    steps = {int(p.name[5:]): p for p in found if p.name[5:].isdecimal()}
    return steps[max(steps)] if steps else None


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
