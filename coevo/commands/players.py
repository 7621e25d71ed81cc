"""From names to agents and environment arguments; prompt styles of models."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from coevo.agents.agent import Agent
from coevo.agents.load import PREFIXES, load_agent
from coevo.agents.models.folders import baseline_folder, is_made, path_of, policy_folders
from coevo.agents.registry import is_scripted
from coevo.agents.sampling import SamplingConfig
from coevo.envs import make
from coevo.envs.core.config import assign, parse
from coevo.envs.core.errors import CoevoError, ConfigError, unknown
from coevo.trainers.run_folder import RunFolder


@dataclass(frozen=True)
class Habits:
    """What a model is used to."""

    prompt_style: str = "full"
    max_new_tokens: int = 128
    guidance: Mapping[str, Any] = field(default_factory=dict)
    """Settings of guided choice: a run with it never learnt how to spell a move."""


STARTER_HABITS = Habits("terse", 16)


def quiet() -> None:
    """Keep the model libraries from writing progress bars and hints between our lines."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    if "transformers" in sys.modules:  # which read the environment when it was imported
        from transformers.utils import logging

        logging.set_verbosity_error()
        logging.disable_progress_bar()


def habits(source: str) -> Habits:
    """Say how a model is prompted: as in its run, else as its own `config.json` says."""
    if source == "starter" or is_made(source):
        return STARTER_HABITS
    source = path_of(source)
    path = Path(source).expanduser()
    if is_scripted(source) or not path.exists() or baseline_folder(path):
        return Habits()
    folder = next(iter(policy_folders(source).values())).resolve()
    for parent in (folder, *list(folder.parents)[:3]):
        if folder.is_relative_to(parent / "checkpoints"):
            config = RunFolder(parent).config()  # without one, nobody knows how it is prompted
            style = str(config.env_options.get("prompt_style", "full"))
            drawn = config.sampling
            return Habits(style, drawn.max_new_tokens, drawn.guidance)
    try:
        return Habits(**json.loads((folder / "config.json").read_text(encoding="utf-8"))["coevo"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return Habits()  # what is wrong with it is said when it is loaded


def common_style(sources: Sequence[str]) -> str:
    """Choose the prompt style for agents that share an environment.

    A model that needs terse prompts cannot read full ones; scripted agents read none.
    """
    styles = [habits(s).prompt_style for s in sources if not is_scripted(s)]
    return "terse" if "terse" in styles else "full"


def sampling(
    source: str,
    temperature: float | None,
    max_new_tokens: int | None,
    *,
    greedy: bool = False,
    changes: Mapping[str, Any] | None = None,
) -> SamplingConfig:
    """Return the sampling settings of one agent; `changes` are those of `--set sampling...`."""
    if greedy and temperature is not None:
        raise ConfigError(f"--greedy and --temperature {temperature:g} contradict each other")
    heat = 0.0 if greedy else 1.0 if temperature is None else temperature
    usual = habits(source)
    longest = usual.max_new_tokens if max_new_tokens is None else max_new_tokens
    drawn = SamplingConfig(temperature=heat, max_new_tokens=longest)
    drawn = assign(drawn, {**usual.guidance, **(changes or {})})
    if greedy and drawn.temperature:
        raise ConfigError(
            f"--greedy and sampling.temperature={drawn.temperature:g} contradict each other"
        )
    return drawn


def sampling_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `--set` changes of sampling; a measurement has nothing else to be set."""
    found: dict[str, Any] = {}
    for key, value in changes.items():
        first, _, name = key.partition(".")
        if first != "sampling":
            raise unknown("setting", key, [f"sampling.{f.name}" for f in fields(SamplingConfig)])
        if not name and not isinstance(value, dict):
            raise ConfigError(f"sampling={value!r} must be settings, such as sampling.top_p=0.9")
        found |= {name: value} if name else value
    assign(SamplingConfig(), found)  # wrong ones raise here
    return found


def agent(
    source: str,
    *,
    temperature: float | None = None,
    max_new_tokens: int | None = None,
    greedy: bool = False,
    changes: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str | None = None,
) -> Agent:
    """Load an agent by name with everything left open set as it is used to.

    A run with a policy per seat plays every seat by its own; RUN/checkpoints/step_000020/player_0
    names one alone. Temperature None is 1; behind a server, whose settings are its own, it is
    those.
    """
    left = temperature is None and max_new_tokens is None and not greedy and not changes
    drawn = None
    if not left or source.partition(":")[0] not in PREFIXES:
        drawn = sampling(source, temperature, max_new_tokens, greedy=greedy, changes=changes)
    return load_agent(source, sampling=drawn, seed=seed, device=device or "auto")


def names(text: str) -> tuple[str, ...]:
    """Return names that commas separate."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def settings(given: tuple[str, ...], option: str) -> dict[str, Any]:
    """Read key=value pairs; numbers and truth values as in YAML."""
    found = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"{option} {pair!r} must be key=value")
        if key.strip() in found:
            raise ConfigError(f"{option} {key.strip()} is given twice")
        try:
            found[key.strip()] = parse(value)
        except ConfigError as error:
            raise ConfigError(f"{option} {key.strip()}: {error}") from None
    return found


def env_options(env_id: str, given: tuple[str, ...], sources: Sequence[str]) -> dict[str, Any]:
    """Return the arguments of an environment, prompt style spelled out; wrong ones raise here.

    Of several, without an id, they are not tried.
    """
    options = settings(given, "--env-option")
    options.setdefault("prompt_style", common_style(sources))
    if env_id:
        check_env(env_id, options)
    return options


def check_env(env_id: str, options: Mapping[str, Any]) -> None:
    """Make the environment once, so that a wrong argument is found before a model is loaded."""
    try:
        make(env_id, **options)
    except CoevoError:
        raise
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{env_id} does not take {dict(options)}: {error}") from None
