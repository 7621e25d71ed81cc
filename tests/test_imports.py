"""What importing the package costs. Which folder may import which is checked by `lint-imports`."""

import subprocess
import sys

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
