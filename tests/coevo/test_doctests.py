import doctest
import importlib
import pkgutil

import pytest

import coevo.commands

MODULES = [m.name for m in pkgutil.iter_modules(coevo.commands.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    module = importlib.import_module(f"coevo.commands.{name}")
    assert doctest.testmod(module).failed == 0


def test_there_are_examples():
    modules = [importlib.import_module(f"coevo.commands.{name}") for name in MODULES]
    finder = doctest.DocTestFinder()
    assert sum(len(t.examples) for m in modules for t in finder.find(m)) > 10
