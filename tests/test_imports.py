"""What importing the package costs. Which folder may import which is checked by `lint-imports`."""

import subprocess
import sys

HEAVY = {"torch", "transformers", "tokenizers", "peft", "accelerate", "matplotlib", "rich", "tyro"}
TIMED = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


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


def test_environments_import_about_as_fast_as_what_they_build_on():
    base, ours = (
        min(float(fresh_interpreter(TIMED.format(names))) for _ in range(3))
        for names in ("gymnasium, pettingzoo, numpy", "coevo.envs")
    )
    assert ours < 3 * base
