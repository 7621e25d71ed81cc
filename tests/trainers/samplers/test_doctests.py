import doctest
import importlib
import inspect

import pytest

NAMES = ("tasks", "allocate", "counts", "selection", "kept", "replay")


@pytest.fixture(params=NAMES)
def module(request):
    return importlib.import_module(f"coevo.trainers.samplers.{request.param}")


def test_every_example_runs(module):
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted > 0


def test_every_public_function_has_an_example(module):
    functions = [
        f
        for name, f in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_") and f.__module__ == module.__name__
    ]
    assert functions or module.__name__.endswith("tasks")
    assert [f.__name__ for f in functions if ">>>" not in (inspect.getdoc(f) or "")] == []
