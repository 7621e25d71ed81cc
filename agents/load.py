"""From what a user writes to an agent: a name, a folder, a run, a Hub id, `openai:MODEL`.

A run whose seats have policies of their own is one agent, each seat played by its policy.
`RUN/checkpoints/step_000020/player_0` names one of them, to play all seats. A policy may rest on
another model: an adapter on its base, a seat that did not learn on what it was. The base is then
loaded once for all of them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import re
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from coevo.agents import adapters
from coevo.agents.agent import Agent
from coevo.agents.base_model import FILE as BASE
from coevo.agents.base_model import BaseModel, digest
from coevo.agents.contexts import way_of
from coevo.agents.hub import SECONDS, hub_answers
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.policy import Policy
from coevo.agents.prefix_sharing import shares_prefixes
from coevo.agents.registry import is_scripted, names, scripted
from coevo.agents.sampling import SamplingConfig
from coevo.agents.sb3 import CARD, load_sb3
from coevo.agents.seated import SeatedPolicies
from coevo.agents.table import PROMPTS, Table, TabularPolicy, load_table
from coevo.envs.core.errors import (
    CoevoError,
    ConfigError,
    DataError,
    legible,
    missing_extra,
    nearest,
)

STARTER_MODEL = Path(__file__).parent / "starter_model"
"""The shipped model."""
SEATS = "seats.json"
"""File of a checkpoint: seat -> the policy that plays it, where that has another name."""
LARGEST_CONFIG = 2**20
"""Bytes of a model's `config.json`; the longest in use have some ten thousand."""
MOST_LAYERS = 2000
"""Layers of a model."""
LAYERS = re.compile(r"(^|_)layers?$")
"""How fields are called that say how many: num_hidden_layers, n_layer, decoder_layers, ..."""

Loaded = tuple[PreTrainedModel, PreTrainedTokenizerBase]
DEVICES = ("auto", "cpu", "cuda")
PREFIXES: dict[str, tuple[str, str]] = {
    "openai": ("coevo.agents.api.agent", "api"),
}
"""What may stand before a colon -> module with `load(name, *, sampling, seed, device)`, and the
extra that it needs."""
FOLDERS = ("hf", "sb3")
"""What may stand before a colon and a path: a language model as a folder or Hub id, a policy of
stable-baselines3."""


def load_model(
    source: str, *, device: str = "auto", trust_remote_code: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a causal language model and its tokenizer.

    Args:
        source: `starter`, a folder, a run folder, or a Hub id; of several policies name one.
        device: `cpu`, `cuda` or `auto`.
        trust_remote_code: run code that comes with the model.

    Raises:
        DataError: nothing is there, or it is damaged or of another kind; one line says which.
    """
    return _Loader(device, trust_remote_code).merged(model_folder(source), source)


class _Loader:
    """Loads policies; those that rest on one base share it."""

    def __init__(self, device: str, trust_remote_code: bool) -> None:
        self.place, self.trust = pick_device(device), trust_remote_code
        self._bases: dict[str, Loaded] = {}

    def merged(self, path: Path, source: str) -> Loaded:
        """Load a policy as an ordinary model, the change of its adapter among the weights."""
        model, tokenizer = self.policy(path, source)
        return adapters.merged(model) if adapters.is_adapted(model) else model, tokenizer

    def policy(self, path: Path, source: str) -> Loaded:
        """Load a policy from its folder, with everything that it rests on."""
        base = BaseModel.read(path)
        if base is None:
            return self._whole(path, source)
        if base.source not in self._bases:
            base.check(base_model(base.source), path)
            self._bases[base.source] = self.merged(model_folder(base.source), base.source)
        model, tokenizer = self._bases[base.source]
        if (path / adapters.CONFIG).is_file():
            model = adapters.load_adapter(model, path)
        if (path / "tokenizer_config.json").is_file():
            with legible(path):
                tokenizer = AutoTokenizer.from_pretrained(str(path), local_files_only=True)
        return model, tokenizer

    def _whole(self, path: Path, source: str) -> Loaded:
        check_config(path / "config.json")
        here, away = path.exists(), ""
        if not here and not hub_answers():
            here, away = True, f"the Hub does not answer within {SECONDS} s, and "
        common = {"trust_remote_code": self.trust, "local_files_only": here}
        try:
            with no_progress_bars(), warnings.catch_warnings():
                # The error that follows says that it is a pickle.
                warnings.filterwarnings("ignore", "Detected pickle protocol", UserWarning)
                tokenizer = AutoTokenizer.from_pretrained(str(path), **common)
                loaded: Any = AutoModelForCausalLM.from_pretrained(
                    str(path), dtype=torch.float32, output_loading_info=True, **common
                )
            model, found = loaded
            if found["missing_keys"]:
                raise ValueError(f"there are no weights for {sorted(found['missing_keys'])[0]}")
        except CoevoError:
            raise
        except Exception as error:  # transformers raises many kinds; each means "not loadable"
            reason = "it is not in the cache" if away else " ".join(str(error).split())[:300]
            raise DataError(
                f"cannot load a causal language model from {source!r}: {away}{reason}"
            ) from None
        model = model.to(self.place).eval()
        try:
            way_of(model)
        except ConfigError as error:
            raise DataError(f"{source!r}: {error}") from None
        shares_prefixes(model)  # now, while its weights are float32
        return model, tokenizer


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


@contextlib.contextmanager
def no_progress_bars() -> Iterator[None]:
    """Keep the bars that the model library draws for every file out of our own display."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()


def model_folder(source: str) -> Path:
    """Resolve `starter`, a run folder or a checkpoint to the folder that holds the one model."""
    folders = policy_folders(source)
    if len(folders) > 1:
        raise _several(source, folders.values())
    return next(iter(folders.values()))


def policy_folders(source: str) -> dict[str, Path]:
    """Resolve `starter`, a run folder or a checkpoint to the folder of each policy, by its name.

    Only a checkpoint gives more than one. The folder of a single model may have any name; a Hub id
    is given back as a path that is not there.
    """
    if source == "starter":
        path = _existing(
            STARTER_MODEL,
            "the shipped starter model is missing; make it with `coevo starter build`",
        )
        return {path.name: path}
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


def _newest_checkpoint(run: Path, mark: str) -> Path | None:
    """Find the newest checkpoint with a file of that name; copies under other names are none."""
    found = [m.parent for m in (run / "checkpoints").glob(f"step_*/{mark}")]
    steps = {int(p.name[5:]): p for p in found if p.name[5:].isdecimal()}
    return steps[max(steps)] if steps else None


def _holds_policy(path: Path) -> bool:
    return any((path / name).is_file() for name in ("config.json", adapters.CONFIG, BASE, PROMPTS))


def _several(source: str | Path, folders: Iterable[Path]) -> DataError:
    return DataError(f"{source} holds several policies; name one: {', '.join(map(str, folders))}")


def _existing(path: Path, message: str) -> Path:
    if not (path / "config.json").is_file():
        raise DataError(message)
    return path


def pick_device(device: str) -> torch.device:
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device not in DEVICES:
        raise ConfigError(f"device={device!r} must be auto, cpu or cuda")
    if device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device='cuda', but torch sees no GPU; use device='cpu'")
    return torch.device(device)


def load_agent(
    source: str,
    *,
    sampling: SamplingConfig | None = None,
    seed: int = 0,
    device: str = "auto",
    trust_remote_code: bool = False,
) -> Agent:
    """Make an agent from its name.

    Args:
        source: an agent without a model (`random`, `oracle`, `expert:SKILL`, ..., see `registry`),
            `starter`, `table` (which knows nothing yet), a folder with a model, a run folder, or a
            Hub id. A run or checkpoint with a policy per seat gives one agent that plays each seat
            by its policy; the folder of a policy gives that one alone. A run of a baseline of
            stable-baselines3 gives its policy.
            `hf:` and `sb3:` before a path insist on a language model or such a baseline.
            `openai:MODEL` is a model behind an OpenAI-compatible server.
        sampling: for language models.
        seed: of sampling.
        device: for language models.
        trust_remote_code: for language models.
    """
    if is_scripted(source):
        return scripted(source)
    if source == "table":
        return TabularPolicy(Table(), name=source, sampling=sampling, seed=seed)
    prefix, colon, name = source.partition(":")
    if colon and prefix in PREFIXES:
        return _prefixed(prefix, name, sampling=sampling, seed=seed, device=device)
    kind, path = (prefix, name) if colon and prefix in FOLDERS else ("", source)
    if not kind and path != "starter" and "/" not in path and not Path(path).exists():
        raise _unknown(source)
    baseline = None if kind == "hf" else baseline_folder(Path(path).expanduser())
    if baseline is not None:
        return load_sb3(baseline, source)
    if kind == "sb3":
        raise DataError(f"{path} holds no policy of stable-baselines3")
    folders, loader = policy_folders(path), _Loader(device, trust_remote_code)
    policies: dict[str, Policy] = {}
    for name, folder in folders.items():
        if (folder / PROMPTS).is_file():
            policies[name] = load_table(folder, name=source, sampling=sampling, seed=seed)
            continue
        loaded = loader.policy(folder, path if len(folders) == 1 else str(folder))
        policies[name] = LanguageModelAgent(*loaded, name=source, sampling=sampling, seed=seed)
    if len(policies) == 1:
        return next(iter(policies.values()))
    seated = SeatedPolicies(_by_seat(policies, next(iter(folders.values())).parent), source)
    seated.reseed(seed)
    return seated


def path_of(source: str) -> str:
    """Return the path or Hub id in the name of an agent; other names are given back.

    >>> path_of("hf:owner/name"), path_of("runs/a"), path_of("openai:m")
    ('owner/name', 'runs/a', 'openai:m')
    """
    prefix, colon, path = source.partition(":")
    return path if colon and prefix in FOLDERS else source


def _unknown(source: str) -> ConfigError:
    known = [
        *names(),
        "starter",
        "table",
        *(f"{p}:MODEL" for p in PREFIXES),
        *(f"{p}:PATH" for p in FOLDERS),
    ]
    close = nearest(source, known)
    hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
    return ConfigError(
        f"unknown agent {source!r}{hint} Known: {', '.join(known)}, a folder with a model, or a "
        "Hub id owner/name"
    )


def _by_seat(policies: dict[str, Policy], checkpoint: Path) -> dict[str, Agent]:
    """Return the agent of every seat; without a word about seats, policies have their names.

    What is no policy of the checkpoint is an agent that does not learn, by its own name.
    """
    path = checkpoint / SEATS
    try:
        seats = json.loads(path.read_text("utf-8")) if path.is_file() else {n: n for n in policies}
        others = {n: load_agent(n) for n in set(seats.values()) - policies.keys()}
        return {seat: {**policies, **others}[name] for seat, name in seats.items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path} does not say who sits where: {error!r}") from None


def baseline_folder(path: Path) -> Path | None:
    """Find a policy of stable-baselines3: the folder itself, or the newest checkpoint of a run."""
    if (path / CARD).is_file():
        return path
    return _newest_checkpoint(path, CARD)


def _prefixed(prefix: str, name: str, **settings: Any) -> Agent:
    """Let the loader of a prefix make the agent."""
    module, extra = PREFIXES[prefix]
    try:
        loader = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("coevo"):
            raise
        raise missing_extra(str(error.name), extra) from None
    agent: Agent = loader.load(name, **settings)
    return agent
