"""Nothing is remembered without a bound: every cache of a function with arguments has a size."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("envs", "agents", "trainers", "benchmarks", "coevo")
NAMES = ("cache", "lru_cache")


def unbounded(tree):
    """Return the functions with arguments whose cache has no size."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.args.args:
            for mark in node.decorator_list:
                called = mark.func if isinstance(mark, ast.Call) else mark
                name = called.attr if isinstance(called, ast.Attribute) else called.id
                if name in NAMES and not sized(mark):
                    yield node.name


def sized(mark):
    """Whether a decorator states how many entries are kept."""
    given = [k.value for k in mark.keywords] + mark.args if isinstance(mark, ast.Call) else []
    return any(isinstance(v, ast.Constant) and isinstance(v.value, int) for v in given)


def test_an_unbounded_cache_is_found():
    marks = "functools.cache", "cache", "lru_cache", "lru_cache()", "functools.lru_cache(None)"
    for mark in (*marks, "lru_cache(maxsize=None)"):
        assert list(unbounded(ast.parse(f"@{mark}\ndef f(x): ..."))) == ["f"], mark
    for mark in ("lru_cache(maxsize=3)", "lru_cache(3)", "other.mark(None)"):
        assert not list(unbounded(ast.parse(f"@{mark}\ndef f(x): ...")))
    assert not list(unbounded(ast.parse("@cache\ndef f(): ...")))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_cache_has_a_size(folder):
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    found = {p.name: names for p in paths if (names := list(unbounded(ast.parse(p.read_text()))))}
    assert not found
