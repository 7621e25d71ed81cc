"""Arithmetic is shown by an example; `tests/test_docs.py` runs every one of them."""

import importlib
import inspect
from pathlib import Path

import pytest

TRAINERS = Path(__file__).parents[2] / "trainers"
FOLDERS = ("components", "samplers")
WITHOUT = {"curriculum", "evolve", "memory", "rated"}
"""Samplers whose state an example would hide."""
MODULES = [
    f"coevo.trainers.{folder}.{path.stem}"
    for folder in FOLDERS
    for path in sorted((TRAINERS / folder).glob("*.py"))
    if path.stem not in WITHOUT and "\ndef " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_and_component_has_an_example(name):
    module = importlib.import_module(name)
    functions = "samplers" in name
    public = [
        member
        for key, member in inspect.getmembers(module)
        if not key.startswith("_")
        and getattr(member, "__module__", None) == name
        and (
            inspect.isfunction(member)
            or (not functions and "name" in getattr(member, "__dataclass_fields__", ()))
        )
    ]
    assert [m.__name__ for m in public if ">>>" not in (inspect.getdoc(m) or "")] == []
