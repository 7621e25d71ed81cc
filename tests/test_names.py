"""One name for one thing: components, classes, and the words that the glossary bans."""

import ast
import dataclasses
import functools
import importlib
import pkgutil
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, get_args

import coevo.agents.population
import coevo.trainers
from coevo.agents.population import FrozenOpponent
from coevo.envs.core.config import components
from coevo.trainers.algorithms import ALGORITHMS, algorithm

ROOT = Path(__file__).parents[1]
FOLDERS = ("agents", "benchmarks", "coevo", "envs", "trainers")


@functools.cache
def trees() -> dict[Path, ast.Module]:
    return {
        path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8"))
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


@functools.cache
def classes() -> list[tuple[Path, ast.ClassDef]]:
    return [
        (path, node)
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def test_a_component_has_the_name_of_its_class():
    named = {
        node.name: ast.literal_eval(line.value)
        for _, node in classes()
        for line in node.body
        if isinstance(line, ast.AnnAssign)
        and ast.unparse(line).startswith("name: Literal['")
        and line.value
    }
    assert len(named) > 150
    assert {kind: name for kind, name in named.items() if name != snake(kind)} == {}


def test_a_public_class_name_stands_once_in_a_top_folder():
    places = defaultdict(list)
    for path, node in classes():
        places[path.parts[0], node.name].append(str(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def names(node: ast.AST) -> list[str]:
    """The names that a class or a function brings: its own, of arguments, of fields."""
    if isinstance(node, ast.ClassDef):
        return [
            node.name,
            *(ast.unparse(s.target) for s in node.body if isinstance(s, ast.AnnAssign)),
        ]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        given = node.args
        return [node.name, *(a.arg for a in given.posonlyargs + given.args + given.kwonlyargs)]
    return []


def test_no_name_has_a_word_that_the_glossary_bans():
    table = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").partition("| not |")[2]
    banned = {
        word for row in re.findall(r"^\| ([a-z, ]+) \|", table, re.M) for word in row.split(", ")
    }
    assert {"hire", "told"} <= banned
    found = [
        f"{path}: {name}"
        for path, tree in trees().items()
        for node in ast.walk(tree)
        for name in names(node)
        if banned & set(snake(name).split("_"))
    ]
    assert found == []


def parts(value: Any) -> set[type]:
    """The classes of every component in a configuration."""
    if dataclasses.is_dataclass(value):
        inside = [parts(getattr(value, field.name)) for field in dataclasses.fields(value)]
        return {type(value)}.union(*inside)
    if isinstance(value, dict | tuple | list):
        return set().union(*map(parts, value.values() if isinstance(value, dict) else value))
    return set()


OTHERS = {FrozenOpponent}
"""What an exploiter's training uses."""


def unions() -> dict[str, Any]:
    """Every union of components that algorithms choose from."""
    found = {}
    for package in (coevo.trainers, coevo.agents.population):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if "algorithms." not in info.name and ".sb3" not in info.name:
                for name, kind in vars(importlib.import_module(info.name)).items():
                    if name != "EngineConfig" and get_args(kind) and components(kind):
                        found[name] = kind
    return found


def test_every_component_is_used_by_an_algorithm():
    every = list(ALGORITHMS.values())
    every += [algorithm(name, v) for name, a in ALGORITHMS.items() for v in a.variants]
    used = {*parts(every), *OTHERS}
    unused = {
        f"{union}.{name}"
        for union, kind in unions().items()
        for name, made in components(kind).items()
        if made not in used
    }
    assert unused == set()
