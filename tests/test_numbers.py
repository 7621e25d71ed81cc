"""No undefined numbers: every numeric setting refuses what means nothing, where it is defined."""

import dataclasses
import importlib
import pkgutil
import sys
import typing

import pytest
from pydantic import TypeAdapter, ValidationError

import coevo
import coevo.agents
import coevo.benchmarks
import coevo.commands
import coevo.envs
import coevo.trainers
from coevo.commands.arguments import COMMANDS, POSITIONAL, flag
from coevo.commands.parse import parse
from coevo.envs.core.errors import ConfigError

BAD = (float("nan"), float("inf"), -float("inf"), 10**20, -(10**20), 1e20)
WRITTEN = ("nan", "inf", "-inf", "1e20", "-1e20", "100000000000000000000", "-100000000000000000000")
PACKAGES = (coevo.envs, coevo.agents, coevo.trainers, coevo.benchmarks, coevo.commands)


def numeric(hint):
    return hint in (int, float) or any(
        numeric(part) for part in typing.get_args(hint) if not isinstance(part, str)
    )


def settings():
    """Return every numeric field of every configuration in the package."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            elsewhere = (".vllm_worker", ".as_verifiers", ".as_verifiers_seats", ".as_openenv")
            if not module.name.endswith(elsewhere):
                importlib.import_module(module.name)
    classes = {
        kind: None
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("coevo")
        for kind in list(vars(module).values())
        if isinstance(kind, type) and hasattr(kind, "__pydantic_fields__")
    }
    for kind in classes:
        for name, hint in typing.get_type_hints(kind, include_extras=True).items():
            if typing.get_origin(hint) is not typing.ClassVar and numeric(hint):
                yield f"{kind.__module__}.{kind.__name__}.{name}", hint


def accepted(hint):
    """Return the bad numbers that a field takes, alone or in a list."""
    adapter, found = TypeAdapter(hint), []
    for bad in BAD:
        for given in (bad, [bad], [bad, bad]):
            try:
                adapter.validate_python(given)
            except (ValidationError, ConfigError):
                continue
            found.append(bad)
    return found


def test_every_numeric_setting_refuses_what_is_no_number_or_beyond_all_meaning():
    every = dict(settings())
    assert len(every) > 250, "the walk has lost its way"
    taken = {name: found for name, hint in every.items() if (found := accepted(hint))}
    unbounded = [
        name for name, hint in every.items() if "_number" in repr(hint) and ", True)" in repr(hint)
    ]
    assert {n for n, found in taken.items() if set(found) - {float("inf"), -float("inf")}} == set()
    assert set(taken) == set(unbounded), "infinity is taken only where the field says so"


def options():
    for name, kind in COMMANDS.items():
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            if field.name not in POSITIONAL and numeric(hints[field.name]):
                yield name, field.name


@pytest.mark.parametrize(("command", "option"), list(options()))
def test_every_numeric_option_refuses_them_too(command, option):
    needs = ["--env", "x"] if command in ("play", "exploitability") else []
    needs += ["--agent", "x"] if command == "exploitability" else []
    needs += ["--model", "x", "--env", "x"] if command == "imitate" else []
    needs += ["x"] if command in ("report", "replay") else []
    bad = WRITTEN if option in ("episode", "above") else (*WRITTEN, "-1", "-0.5")
    for value in bad:
        with pytest.raises(ConfigError, match=flag(option)):
            parse([*command.split(), *needs, f"{flag(option)}={value}"])
