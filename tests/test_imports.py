"""What importing the package costs. Which folder may import which is checked by `lint-imports`."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import connected_components

HEAVY = {"torch", "transformers", "tokenizers", "peft", "accelerate", "matplotlib", "rich", "tyro"}
SCHEMA = {"pydantic", "pydantic_core", "typing_inspection", "typing_extensions"}


def fresh_interpreter(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def modules_after(statement: str) -> set[str]:
    return set(fresh_interpreter(f"import sys; {statement}; print(*sys.modules)").split())


def test_environments_load_no_model_library():
    assert not HEAVY & modules_after("import coevo.envs")


def test_commands_load_the_model_library_when_a_language_model_is_asked_for():
    """It takes as long as everything else together, and a table needs none of it."""
    loaded = modules_after("from coevo.commands import compare, evaluate, tournament, train")
    assert "torch" in loaded
    slow = {"scipy.optimize", "scipy.spatial", "scipy.stats"}
    assert not {"transformers", "peft", "accelerate", *slow} & loaded


def test_the_front_door_loads_nothing_until_it_is_used():
    assert "coevo.envs" not in modules_after("import coevo")
    loaded = modules_after("import coevo; coevo.make, coevo.list_envs")
    assert "coevo.envs" in loaded
    assert not HEAVY & loaded


def test_environments_load_little_beyond_what_they_build_on():
    """What they cost is what they load: no environment before it is made, one schema library."""
    base = modules_after("import gymnasium, pettingzoo, numpy")
    found = modules_after("import gymnasium, pettingzoo, numpy, coevo.envs") - base
    ours = {name for name in found if name.startswith("coevo.")}
    folders = {".".join(name.split(".")[:3]) for name in ours if name.count(".") > 1}
    assert folders == {"coevo.envs.core", "coevo.envs.questions", "coevo.envs.rewards"}
    others = {name.partition(".")[0].lstrip("_") for name in found - ours}
    others = {name for name in others if not name.startswith(("sysconfigdata", "cython"))}
    stdlib = {name.lstrip("_") for name in sys.stdlib_module_names}
    assert others - stdlib <= {"coevo", "annotated_types", "yaml", *SCHEMA}


ROOT = Path(__file__).parents[1]
FOLDERS = ("envs", "agents", "trainers", "benchmarks", "coevo")


def imported(tree: ast.Module, known: dict[str, int]) -> set[str]:
    """Every module of ours that a module names, in functions and for annotations as well."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            full = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in known else str(node.module) for name in full.values()}
    return found & known.keys()


def test_no_import_circle_is_larger_than_three_files():
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    parts = [path.relative_to(ROOT).with_suffix("").parts for path in files]
    names = [".".join(p[:-1] if p[-1] == "__init__" else p) for p in parts]
    known = {f"coevo.{n}".replace("coevo.coevo", "coevo"): i for i, n in enumerate(names)}
    edge_MM = np.zeros((len(known), len(known)), dtype=bool)
    for (name, i), path in zip(known.items(), files, strict=True):
        for other in imported(ast.parse(path.read_text(encoding="utf-8")), known) - {name}:
            edge_MM[i, known[other]] = True
    _, circle_M = connected_components(edge_MM, connection="strong")
    largest, size = Counter(circle_M.tolist()).most_common(1)[0]
    assert size <= 3, [name for name, i in known.items() if circle_M[i] == largest]
