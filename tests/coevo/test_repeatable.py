"""Promise: every command with a seed, given twice, gives the same, up to times and paths."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

from tests.coevo.conftest import KUHN
from tests.faults.results import timeless

SMALL = ("--set", "collect.episodes=8")
MODEL = ("--model", "{model}", "--max-new-tokens", "3")
RANDOM = ("evaluate", "--agent", "random")
COMMANDS = {
    "train": ("train", "mars", "--env", KUHN, *MODEL, "--steps", "2", "--eval-games", "4", *SMALL),
    "train a table": ("train", "ppo", "--env", KUHN, "--model", "table", "--steps", "2", *SMALL),
    "train a network": (
        *("train", "iql", "--env", KUHN, "--model", "net:hidden=8"),
        *("--steps", "2", "--no-eval", *SMALL),
    ),
    "imitate": ("imitate", "--env", KUHN, *MODEL, "--steps", "2", "--games", "2"),
    "compare": (
        *("compare", "--algos", "mars,reinforce", "--env", KUHN, "--model", "table"),
        *("--seeds", "1", "--points", "2", "--games", "2", "--budget-tokens", "60"),
        *("--workers", "1", *SMALL),
    ),
    "tournament": ("tournament", "--env", KUHN, "--games", "8", "--agents", "random,{model}"),
    "adaptive tournament": (
        *("tournament", "--env", KUHN, "--games", "8", "--agents", "random,oracle,first_legal"),
        "--adaptive",
    ),
    "evaluate": ("evaluate", "--agent", "{model}", "--env", KUHN, "--games", "4"),
    "evaluate on a suite": (
        "evaluate",
        "--agent",
        "random",
        "--suite",
        "mars-train",
        "--games",
        "2",
    ),
    "evaluate in a scenario": (*RANDOM, "--scenario", "kuhn3_visitor", "--games", "4"),
    "evaluate along an axis": (
        "evaluate",
        "--agent",
        "random",
        "--axis",
        "partners",
        "--games",
        "2",
    ),
    "play": ("play", "--agent", "{model}", "--env", KUHN, "--seed", "3"),
    "exploitability": ("exploitability", "--agent", "{model}", "--env", KUHN),
    "merge": ("merge", "--runs", "{run},{run}", "--how", "dare", "--keep", "0.5", "--seed", "3"),
    "reproduce": ("reproduce", "tis_cosine", "--seeds", "2", "--json"),
}
"""What is done -> the command; a seed that is not given is 0. `starter build` ends by the clock,
and is not here."""
NO_FOLDER = ("play", "exploitability", "reproduce")
"""Commands that print, and write nothing."""
LIVE = ("train", "imitate", "compare")
"""Commands that print how far they are; their results are files."""
TIMES = re.compile(r"\d+(\.\d+)? (s|min|ms)\b|\d+(\.\d+)? (tokens|episodes)/s")


@pytest.mark.slow
@pytest.mark.parametrize("what", COMMANDS)
def test_a_command_given_twice_gives_the_same(
    what, cli, tiny_model_dir, run_folder, tmp_path, monkeypatch
):
    places, found = {"{model}": str(tiny_model_dir), "{run}": str(run_folder)}, []
    for number in range(2):
        folder = tmp_path / str(number) / "out"
        words = list(COMMANDS[what])
        for mark, place in places.items():
            words = [w.replace(mark, place) for w in words]
        if words[0] not in NO_FOLDER:
            words += ["--out", str(folder)]
        monkeypatch.setattr(sys, "stdin", io.StringIO("1\n" * 20))
        done = cli(*words)
        assert done.status == 0, done.err
        printed = {} if words[0] in LIVE else {"said": said(done.out, folder)}
        found.append(printed | contents(folder))
    differing = [name for name in found[0] if found[0][name] != found[1].get(name)]
    assert found[0].keys() == found[1].keys() and not differing


def said(text: str, folder: Path) -> object:
    """Return what was printed without times and paths."""
    text = text.replace(str(folder), "OUT")
    if text.startswith("{"):
        return timeless(json.loads(text))
    return [line for line in text.splitlines() if not TIMES.search(line) and "OUT" not in line]


def contents(folder: Path) -> dict[str, object]:
    """Return every file of a folder without times and paths; of pictures, that they are there."""
    return {
        path.relative_to(folder).as_posix(): _content(path, folder)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".lock" and path.name != ".lock"
    }


def _content(path: Path, folder: Path) -> object:
    if path.suffix in (".png", ".svg", ".parquet"):
        return ""
    content = path.read_bytes().replace(bytes(folder), b"OUT")
    if path.suffix == ".jsonl":
        return [timeless(json.loads(line)) for line in content.splitlines()]
    if path.suffix != ".json":
        return content
    data = timeless(json.loads(content))
    if path.name == "manifest.json" and "checkpoints" in path.parts:
        del data["files"]["progress.json"]  # it holds the seconds of training
    return data
