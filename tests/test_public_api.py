"""The stable surface: what packages export exists, is documented, is spelled as promised."""

import importlib
import inspect

import pytest

STABLE = {
    "coevo": {"__version__", "list_envs", "make"},
    "coevo.envs": {"list_envs", "make", "register", "spec"},
    "coevo.envs.rewards": {"REWARDS", "RewardModule", "reward_modules"},
    "coevo.agents": {"Agent", "Reply", "Request"},
}
"""Names that code outside the repository may count on; other exports may come and go until 1.0."""


@pytest.mark.parametrize("package", STABLE)
def test_what_is_promised_is_exported(package):
    assert set(importlib.import_module(package).__all__) >= STABLE[package]


@pytest.mark.parametrize("package", STABLE)
def test_what_is_exported_exists_and_is_documented(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        exported = getattr(module, name)
        if inspect.isclass(exported) or inspect.isfunction(exported):
            assert inspect.getdoc(exported), f"{package}.{name} has no docstring"
