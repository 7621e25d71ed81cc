"""Calls of the command line, and one small finished run."""

import contextlib
import io
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from coevo.__main__ import main

KUHN = "coevo/kuhn_poker-v0"
SMALL = ("--set", "collect.episodes=8", "--max-new-tokens", "3")
"""Keeps an update of the tiny model under a second."""


@dataclass(frozen=True)
class Result:
    status: int
    out: str
    err: str

    def error_line(self) -> str:
        """Return the one line on stderr of a command that failed."""
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("coevo: "), self.err
        return self.err.removeprefix("coevo: ").strip()


@pytest.fixture
def cli(capsys):
    """Return a function that runs `coevo ...` in this process."""

    def call(*argv: str | Path) -> Result:
        capsys.readouterr()
        status = main([str(word) for word in argv])
        return Result(status, *capsys.readouterr())

    return call


def quietly(*words: str) -> int:
    """Run `coevo ...` in this process without a word."""
    with contextlib.redirect_stdout(io.StringIO()):
        return main(list(words))


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """Work in a new folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@dataclass(frozen=True)
class Finished:
    path: Path
    out: str


@pytest.fixture(scope="session")
def finished(tiny_model_dir, tmp_path_factory) -> Finished:
    """Return a run of three updates with its evaluation, and what it printed; do not change it."""
    path = tmp_path_factory.mktemp("runs") / "three"
    words = ["train", "mars", "--env", KUHN, "--model", str(tiny_model_dir), "--steps", "3"]
    words += ["--env-option", "prompt_style=terse", "--eval-games", "4", "--out", str(path), *SMALL]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main([*words, "--set", "checkpoint_every=1"]) == 0
    return Finished(path, said.getvalue())


@pytest.fixture
def run_folder(finished, tmp_path) -> Path:
    """Return a copy of the finished run that may be changed."""
    return Path(shutil.copytree(finished.path, tmp_path / "run"))
