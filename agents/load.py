"""From a name to an agent: a scripted player, a folder, a run, a Hub id, `openai:MODEL`.

A run whose seats have policies of their own is one agent, each seat played by its policy.
`RUN/checkpoints/step_000020/player_0` names one of them, to play all seats. A policy may rest on
another model: an adapter on its base, a seat that did not learn on what it was. The base is then
loaded once for all of them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from coevo.agents.agent import Agent
from coevo.agents.engines.contexts import way_of
from coevo.agents.engines.prefix_sharing import shares_prefixes
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.models import adapters, trial
from coevo.agents.models.base_model import SECONDS, BaseModel, hub_answers
from coevo.agents.models.folders import (
    FOLDERS,
    NAMED,
    NET_CARD,
    PROMPTS,
    base_model,
    baseline_folder,
    check_config,
    check_files,
    check_written,
    model_folder,
    policy_folders,
)
from coevo.agents.models.nets import is_net
from coevo.agents.models.sb3 import load_sb3
from coevo.agents.models.seated import SeatedPolicies
from coevo.agents.net_policy import load_net
from coevo.agents.policy import Policy
from coevo.agents.registry import is_scripted, names, scripted
from coevo.agents.sampling import SamplingConfig
from coevo.agents.table import Table, TabularPolicy, load_table
from coevo.envs.core.errors import (
    CoevoError,
    ConfigError,
    DataError,
    legible,
    missing_extra,
    nearest,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    Loaded = tuple[PreTrainedModel, PreTrainedTokenizerBase]

SEATS = "seats.json"
"""File of a checkpoint: seat -> the policy that plays it, where that has another name."""

DEVICES = ("auto", "cpu", "cuda")
PREFIXES: dict[str, tuple[str, str]] = {
    "openai": ("coevo.agents.api.agent", "api"),
    "value_augmented": ("coevo.agents.value_augmented", "train"),
}
"""What may stand before a colon -> module with `load(name, *, sampling, seed, device)`, and the
extra that it needs."""


def load_model(source: str, *, device: str = "auto", trust_remote_code: bool = False) -> Loaded:
    """Load a causal language model and its tokenizer.

    The source is `starter`, `smollm2`, a folder, a run folder, or a Hub id; of several policies
    name one.

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
        check_written(path)
        model, tokenizer = self.policy(path, source)
        return adapters.merged(model) if adapters.is_adapted(model) else model, tokenizer

    def policy(self, path: Path, source: str) -> Loaded:
        """Load a policy from its folder, with everything that it rests on."""
        check_files(path)
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
            from transformers import AutoTokenizer

            self._try(path, source)
            with legible(path):
                tokenizer = AutoTokenizer.from_pretrained(str(path), local_files_only=True)
        return model, tokenizer

    def _try(self, path: Path, source: str) -> None:
        """Try text that comes with a model in a process of its own, unless it is trusted."""
        if path.is_dir() and source not in NAMED and not self.trust:
            trial.check(path, source)

    def _whole(self, path: Path, source: str) -> Loaded:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        check_config(path / "config.json")
        self._try(path, source)
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
            for name, weight in model.named_parameters():
                if not bool(weight.isfinite().all()):
                    raise ValueError(f"the weights {name} hold NaN or infinity")
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


@contextlib.contextmanager
def no_progress_bars() -> Iterator[None]:
    """Keep the bars that the model library draws for every file out of our own display."""
    if "transformers" not in sys.modules:
        yield
        return
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


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
    """Make an agent from its name; all else is for language models, guided choice for baselines.

    The name is an agent without a model (`random`, `oracle`, `expert:SKILL`, ..., see `registry`),
    `starter`, `smollm2`, `table` (which knows nothing yet), a folder with a model, a run folder, or
    a Hub id. A run or checkpoint with a policy per seat gives one agent that plays each seat by its
    policy; the folder of a policy gives that one alone. A run of a baseline of stable-baselines3
    gives its policy. `hf:` and `sb3:` before a path insist on a language model or such a baseline.
    `openai:MODEL` is a model behind an OpenAI-compatible server; `value_augmented:RUN` adds what
    the critic of a run says to the scores of its tokens.
    """
    if is_scripted(source):
        return scripted(source)
    if source == "table":
        return TabularPolicy(Table(), name=source, sampling=sampling, seed=seed)
    if is_net(source):
        raise ConfigError(
            f"{source!r} is made for the arrays of an environment: train it with `coevo train ALGO "
            f"--env ID --model {source}`, and give the folder of the run"
        )
    prefix, colon, name = source.partition(":")
    if colon and prefix in PREFIXES:
        return _prefixed(prefix, name, sampling=sampling, seed=seed, device=device)
    kind, path = (prefix, name) if colon and prefix in FOLDERS else ("", source)
    if not kind and path not in NAMED and "/" not in path and not Path(path).exists():
        raise _unknown(source)
    baseline = None if kind == "hf" else baseline_folder(Path(path).expanduser())
    if baseline is not None:
        check_written(baseline)
        guided = sampling is not None and sampling.guided == "choice"
        return load_sb3(baseline, source, guided=guided)
    if kind == "sb3":
        raise DataError(f"{path} holds no policy of stable-baselines3")
    folders, loader = policy_folders(path), _Loader(device, trust_remote_code)
    for place in {f.parent if len(folders) > 1 else f for f in folders.values()}:
        check_written(place)
    policies: dict[str, Policy] = {}
    for name, folder in folders.items():
        if (folder / PROMPTS).is_file():
            policies[name] = load_table(folder, name=source, sampling=sampling, seed=seed)
            continue
        if (folder / NET_CARD).is_file():
            policies[name] = load_net(folder, name=source, sampling=sampling, seed=seed)
            continue
        loaded = loader.policy(folder, path if len(folders) == 1 else str(folder))
        policies[name] = LanguageModelAgent(*loaded, name=source, sampling=sampling, seed=seed)
    if len(policies) == 1:
        return next(iter(policies.values()))
    seated = SeatedPolicies(_by_seat(policies, next(iter(folders.values())).parent), source)
    seated.reseed(seed)
    return seated


def _unknown(source: str) -> ConfigError:
    known = [
        *names(),
        *NAMED,
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


def _prefixed(prefix: str, name: str, **settings: Any) -> Agent:
    module, extra = PREFIXES[prefix]
    try:
        loader = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("coevo"):
            raise
        raise missing_extra(str(error.name), extra) from None
    agent: Agent = loader.load(name, **settings)
    return agent
