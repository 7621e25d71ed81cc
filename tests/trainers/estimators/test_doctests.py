import doctest
import importlib
import inspect
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "trainers" / "estimators"
NAMES = sorted(p.stem for p in FOLDER.glob("*.py") if "\ndef " in p.read_text(encoding="utf-8"))


@pytest.fixture(params=NAMES)
def module(request):
    return importlib.import_module(f"coevo.trainers.estimators.{request.param}")


def test_every_example_runs(module):
    result = doctest.testmod(module)
    assert result.failed == 0
    assert result.attempted > 0


def test_every_public_function_and_component_has_an_example(module):
    public = [
        f
        for name, f in inspect.getmembers(module)
        if not name.startswith("_")
        and (inspect.isfunction(f) or "name" in getattr(f, "__dataclass_fields__", ()))
        and f.__module__ == module.__name__
    ]
    assert [f.__name__ for f in public if ">>>" not in (inspect.getdoc(f) or "")] == []
