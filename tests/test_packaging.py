"""The wheel: what it holds, and that it works where the checkout is not."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = PROJECT["tool"]["setuptools"]["package-dir"]
STARTER_MODEL = "coevo/agents/starter_model/"
RECORDS = ROOT / "benchmarks" / "results"
"""Measurements that were made once; they stay in the repository."""
MB = 2**20


def run(*command: str | Path, cwd: Path, timeout: float = 240) -> str:
    """Return the standard output of a command that sees neither the checkout nor PYTHONPATH."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def packages_on_disk() -> dict[str, Path]:
    """Return every folder that holds a module, by the name that it is imported as."""
    found = {}
    for package, folder in FOLDERS.items():
        for module in (ROOT / folder).rglob("*.py"):
            inner = module.parent.relative_to(ROOT / folder).parts
            found[".".join((package, *inner))] = module.parent
    return found


def test_every_folder_with_modules_is_a_listed_package():
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(packages_on_disk())


def test_every_package_has_an_init_file():
    found = packages_on_disk()
    assert not [name for name in found if not (found[name] / "__init__.py").is_file()]


def test_the_type_checker_sees_the_installed_layout():
    links = ROOT / ".typecheck" / "coevo"
    expected = {p.name for p in (ROOT / "coevo").iterdir() if p.name != "__pycache__"}
    expected |= {folder for folder in FOLDERS.values() if folder != "coevo"}
    assert {p.name for p in links.iterdir() if p.exists()} == expected


def test_constraints_pin_every_direct_requirement_inside_its_range():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    pins = {canonicalize_name(name): version for name, version in pins.items()}
    extras = PROJECT["project"]["optional-dependencies"].values()
    for text in [
        *PROJECT["project"]["dependencies"],
        *(line for extra in extras for line in extra),
    ]:
        wanted = Requirement(text)
        assert pins.get(canonicalize_name(wanted.name), "0") in wanted.specifier, text


def test_no_tracked_file_is_ignored():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    done = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Build from a copy: setuptools would put what an earlier build left into the wheel."""
    source = tmp_path_factory.mktemp("source")
    for folder in FOLDERS.values():
        shutil.copytree(
            ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", ".", cwd=source)
    return next((source / "dist").glob("coevo-*.whl"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """Return the interpreter of a new environment that holds the wheel.

    It sees the dependencies of this one through a path file. Path files found that way are not
    read in turn, so the editable install of the checkout stays out of sight.
    """
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder, symlinks=os.name != "nt")
    paths = {"base": str(folder), "platbase": str(folder)}
    scripts = Path(sysconfig.get_path("scripts", "venv", paths))
    site = Path(sysconfig.get_path("purelib", "venv", paths))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    interpreter = scripts / Path(sys.executable).name
    pip = [sys.executable, "-m", "pip", "--python", interpreter]
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    return interpreter


def test_the_wheel_holds_every_module_and_data_file(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {"*.py", "*.json", "*.jsonl", "*.jinja", "*.txt", "*.safetensors", "py.typed"}
    for package, folder in FOLDERS.items():
        for pattern in wanted:
            for file in (ROOT / folder).rglob(pattern):
                if file.is_relative_to(RECORDS):
                    continue
                inner = file.relative_to(ROOT / folder).as_posix()
                assert f"{package.replace('.', '/')}/{inner}" in names
    outside = r"(tests|envs|agents|trainers|benchmarks|studies)/"
    assert not [name for name in names if re.match(outside, name)]


def test_the_wheel_is_small_and_brings_the_starter_model(wheel):
    sizes = {info.filename: info.file_size for info in zipfile.ZipFile(wheel).infolist()}
    starter_model = {name: size for name, size in sizes.items() if name.startswith(STARTER_MODEL)}
    assert {f"{STARTER_MODEL}config.json", f"{STARTER_MODEL}model.safetensors"} <= set(
        starter_model
    )
    assert sum(starter_model.values()) <= 8 * MB
    assert wheel.stat().st_size < 12 * MB


def test_the_installed_environments_import_without_torch(python, tmp_path):
    code = (
        "import json, sys, coevo.envs; "
        "print(json.dumps([coevo.envs.__file__, 'torch' in sys.modules]))"
    )
    file, torch_loaded = json.loads(run(python, "-c", code, cwd=tmp_path))
    assert Path(file).is_relative_to(python.parents[1])
    assert not torch_loaded


def test_the_installed_command_trains_three_steps(python, tmp_path):
    train = ["train", "reinforce", "--env", "coevo/kuhn_poker-v0", "--steps", "3"]
    run(python, "-m", "coevo", *train, "--out", "run", cwd=tmp_path)
    metrics = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(metrics) >= 3
    assert all(json.loads(line) for line in metrics)


def test_the_installed_script_answers(python, tmp_path):
    assert "train" in run(python.with_name("coevo"), "--help", cwd=tmp_path)
