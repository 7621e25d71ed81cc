"""Promise: whatever happens to a file that we read, what is said about it is one clear line."""

import errno
import itertools
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from coevo.agents.models import manifest
from coevo.envs.core.errors import CoevoError
from coevo.trainers import checkpoint, run_state
from tests import damage
from tests.coevo.conftest import KUHN
from tests.faults import folders
from tests.faults.child import Done

OWN = ("--set", "collect.episodes=8", "checkpoint_every=1")
STEP = "checkpoints/step_000003"
RESUME = ("train", "--resume", "{folder}", "--steps", "4", "--no-eval")
SHOW = (("report", "{folder}"),)
COMPARE = ("--seeds", "1", "--points", "2", "--games", "2", "--workers", "1", *OWN[:2])
MAKE = {
    "run": ("train", "mars", "--env", KUHN, "--model", "table", "--steps", "3", "--no-eval", *OWN),
    "buffer": ("train", "remix", "--env", KUHN, "--model", "table", "--steps", "3", "--no-eval"),
    "adapter": (
        *("train", "mars", "--env", KUHN, "--model", "{model}", "--steps", "3", "--no-eval"),
        *("--max-new-tokens", "3", *OWN),
        "population={name: adapters, rank: 2, frozen: [player_0]}",
    ),
    "comparison": (
        *("compare", "--algos", "mars", "--env", KUHN, "--model", "{model}", *COMPARE),
        *("--budget-tokens", "60", "--max-new-tokens", "3"),
    ),
    "tournament": ("tournament", "--agents", "random,oracle", "--env", KUHN, "--games", "4"),
    "suite": ("evaluate", "--agent", "random", "--suite", "mars-train", "--games", "2"),
}
"""Kind of folder -> the command that makes one."""
AGENT = ("evaluate", "--agent", "{folder}", "--env", KUHN, "--games", "2")
RUN = "runs/kuhn_poker/mars/0"
READ = [
    ("run", "config.yaml", (RESUME, *SHOW, AGENT)),
    ("run", "summary.json", (RESUME, *SHOW)),
    ("run", "metrics.jsonl", (RESUME, *SHOW)),
    ("run", "episodes.jsonl", (RESUME, ("replay", "{folder}"), *SHOW)),
    ("run", "episodes.jsonl.seals.json", (RESUME, *SHOW)),
    ("run", f"{STEP}/manifest.json", (RESUME, AGENT)),
    ("run", f"{STEP}/progress.json", (RESUME,)),
    ("run", f"{STEP}/policy/table.json", (RESUME, AGENT)),
    ("run", f"{STEP}/policy/table.safetensors", (RESUME, AGENT)),
    ("run", f"{STEP}/policy/optimizer.tensors", (RESUME,)),
    ("buffer", f"{STEP}/collect.json.gz", (RESUME,)),
    ("buffer", f"{STEP}/progress.json", (RESUME,)),
    ("adapter", f"{STEP}/seats.json", (RESUME, AGENT)),
    ("adapter", f"{STEP}/player_0/base.json", (RESUME, AGENT)),
    ("adapter", f"{STEP}/player_1/adapter_config.json", (RESUME, AGENT)),
    ("adapter", f"{STEP}/player_1/adapter_model.safetensors", (RESUME, AGENT)),
    ("comparison", "manifest.json", (("compare", "--out", "{folder}"), *SHOW)),
    ("comparison", "comparison.json", SHOW),
    ("comparison", f"{RUN}/result.json", (("compare", "--out", "{folder}"), *SHOW)),
    ("comparison", f"{RUN}/metrics.jsonl", (("compare", "--out", "{folder}"), *SHOW)),
    ("tournament", "manifest.json", (("tournament", "--out", "{folder}"), SHOW[0])),
    ("tournament", "tournament.json", (SHOW[0],)),
    ("tournament", "records.jsonl", (("tournament", "--out", "{folder}"),)),
    ("suite", "manifest.json", ((*MAKE["suite"], "--out", "{folder}"),)),
    ("suite", "parts/coevo-kuhn_poker-v0.json", ((*MAKE["suite"], "--out", "{folder}"),)),
]
"""Kind of folder, file in it, and the commands that read it."""


@pytest.fixture(scope="session")
def made(tiny_model_dir, tmp_path_factory):
    """Return a function that makes a kind of folder once; do not change it."""
    from tests.coevo.conftest import quietly

    root, there = tmp_path_factory.mktemp("damaged"), {}

    def make(kind: str) -> Path:
        if kind not in there:
            words = [w.replace("{model}", str(tiny_model_dir)) for w in MAKE[kind]]
            if kind == "buffer":
                words += OWN
            there[kind] = root / kind
            assert quietly(*words, "--out", str(root / kind)) == 0
        return there[kind]

    return make


def sealed(path: Path) -> None:
    """Let the manifest of a checkpoint vouch for its files as they are: hashes find nothing."""
    for folder in path.parents:
        if checkpoint.NAME.fullmatch(folder.name) and path.name != manifest.FILE:
            if path.is_symlink() or path.is_dir():
                return
            (folder / manifest.FILE).unlink()
            checkpoint.write_manifest(folder)


def harms(path: Path, seed: int, most: int):
    """Return some damages to a whole file, and some to its fields."""
    rng = np.random.default_rng([seed, *path.name.encode()])
    found = list(damage.of_file(path))
    if path.suffix not in (".json", ".yaml"):
        return sample(found, most, rng)
    fields = [*damage.of_fields(path), *damage.of_schema(path)]
    return sample(found, most, rng) + sample(fields, most, rng)


def sample(found: list, most: int, rng: np.random.Generator) -> list:
    """Return some of a list, in its order."""
    return [found[i] for i in np.sort(rng.permutation(len(found))[:most])]


def is_clear(result) -> bool:
    """Return whether a command went well, or said in one line what is wrong."""
    if result.status == 0:
        return True
    one = result.err.count("\n") == 1 and result.err.startswith("coevo: ")
    return result.status in (1, 2) and one and "error: unexpected" not in result.err


@pytest.mark.slow
def test_a_damaged_file_is_one_clear_line(cli, made, tmp_path, fault_seed, every_fault):
    most = 400 if every_fault else 2
    tried, unclear = 0, []
    for kind, file, commands in READ:
        whole, work = made(kind), tmp_path / kind
        turns = itertools.cycle(commands)
        for harm in harms(whole / file, fault_seed, most):
            for words in commands if every_fault else [next(turns)]:
                shutil.copytree(whole, work)
                harm.do(work / file)
                sealed(work / file)
                result = cli(*(w.replace("{folder}", str(work)) for w in words))
                if not is_clear(result):
                    unclear.append(f"{file} {harm.name}: {words[0]}: {result.err[-300:]}")
                shutil.rmtree(work)
                tried += 1
    assert not unclear, "\n".join(unclear)
    assert tried >= 2 * len(READ)


@pytest.mark.slow
@pytest.mark.parametrize("kind", folders.KINDS)
def test_a_damaged_file_of_a_run_is_named_or_nobody_needs_it(
    kind, cli, tiny_model_dir, tmp_path, fault_seed
):
    """Some files, each in one way, and one command after it; `make faults` tries all."""

    def call(words):
        found = cli(*words)
        return Done(found.status, found.out, found.err, 0.0, 0)

    whole = tmp_path / "whole"
    assert call(folders.made(kind, tiny_model_dir, whole)).status == 0
    calm = {}
    for command in folders.COMMANDS:
        copy = shutil.copytree(whole, tmp_path / command / "run")
        calm[command] = folders.result_of(command, copy, call)[1]
    rng = np.random.default_rng(fault_seed)
    some, turns = sample(folders.cases(whole), 12, rng), itertools.cycle(folders.COMMANDS)
    faults = [
        folders.fault_of(case, command, whole, calm[command], tmp_path / "work", call)
        for case, command in zip(some, turns, strict=False)
    ]
    assert not any(faults), "\n".join(faults)


def test_every_field_of_what_is_continued_is_read_by_its_type(made, tmp_path, fault_seed):
    """A field of the wrong type is refused: nothing goes on from a guess."""
    whole = made("run")
    for file in (f"{STEP}/progress.json", f"{STEP}/manifest.json"):
        for harm in damage.of_fields(whole / file):
            if harm.name.endswith(("missing", "huge")) or harm.name.startswith(
                ("state", "learners")
            ):
                continue  # `turns` may be missing; of the others the run knows what they should be
            work = tmp_path / "run"
            shutil.copytree(whole, work)
            harm.do(work / file)
            sealed(work / file)
            newest = work / STEP
            with pytest.raises(CoevoError) as caught:
                checkpoint.verify(newest)
                run_state.recorded(newest)
            assert "\n" not in str(caught.value)
            shutil.rmtree(work)


def test_the_newest_checkpoint_may_be_damaged_and_one_option_goes_on(cli, made, tmp_path):
    calm = made("run")
    for number, harm in enumerate(damage.of_file(calm / STEP / "policy/table.safetensors")):
        folder = Path(shutil.copytree(made("run"), tmp_path / f"run{number}"))
        harm.do(folder / STEP / "policy/table.safetensors")
        words = ("train", "--resume", folder, "--no-eval")
        line = cli(*words).err
        assert line.count("\n") == 1
        assert "step_000003 is damaged: policy/table.safetensors" in line
        assert "--skip-damaged" in line and "step_000002" in line
        found = cli(*words, "--skip-damaged")
        assert found.status == 0, found.err
        assert "step_000003.damaged: policy/table.safetensors" in found.out
        assert (folder / "checkpoints/step_000003.damaged").is_dir()
        for file in ("policy/table.safetensors", "policy/optimizer.tensors"):
            assert (folder / STEP / file).read_bytes() == (calm / STEP / file).read_bytes()
        if number == 2:
            break


def test_a_whole_run_loses_nothing_to_the_option(cli, made, tmp_path):
    folder = Path(shutil.copytree(made("run"), tmp_path / "run"))
    found = cli(*RESUME[:2], folder, *RESUME[3:], "--skip-damaged")
    assert "no checkpoint is damaged" in found.out
    assert (folder / STEP).is_dir()
    assert "--resume" in cli(*MAKE["run"], "--skip-damaged").error_line()


def test_a_line_of_a_log_that_is_damaged_is_set_aside_with_a_word(cli, made, tmp_path):
    folder = Path(shutil.copytree(made("run"), tmp_path / "run"))
    lines = (folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (folder / "metrics.jsonl").write_text("".join([lines[0], '{"step": "two"}\n', *lines[1:]]))
    found = cli(*RESUME[:2], folder, *RESUME[3:])
    assert found.status == 0, found.err
    assert "metrics.jsonl.damaged" in found.out
    assert (folder / "metrics.jsonl.damaged").read_text() == '{"step": "two"}\n'
    assert (folder / "metrics.jsonl").read_text().startswith("".join(lines))


def test_a_foreign_log_is_noticed_by_resume_and_report(run_folder, cli, tmp_path):
    episodes = run_folder / "episodes.jsonl"
    own = episodes.read_bytes()
    assert own
    episodes.write_bytes(own.replace(b'"step": ', b'"step":  '))
    resume = ("train", "--resume", run_folder, "--steps", "4", "--no-eval")
    for words in (resume, ("report", run_folder)):
        found = cli(*words)
        line = found.error_line() if words[0] == "report" else found.err
        assert found.status == 2 and found.err.count("\n") == 1
        assert "episodes.jsonl was changed since update 3 was saved" in line
    again = cli(*resume, "--skip-damaged")
    assert again.status == 0 and "set aside as" in again.out, again.err
    assert (run_folder / "episodes.jsonl.changed").read_bytes() != own
    assert b'"step": 4' in episodes.read_bytes() and b'"step": 3' not in episodes.read_bytes()
    assert cli("report", run_folder).status == 0
    assert cli(*resume[:3], "--steps", "5", "--no-eval").status == 0


def test_a_run_without_its_configuration_is_no_agent(run_folder, cli):
    """How it is prompted stands there; another prompt style would measure another player."""
    (run_folder / "config.yaml").unlink()
    for source in (run_folder, run_folder / "checkpoints/step_000003"):
        for words in (("evaluate", "--games", "2"), ("play",)):
            line = cli(*words, "--agent", source, "--env", KUHN).error_line()
            assert f"{run_folder} is not a run folder: it has no config.yaml" in line


def test_a_renamed_checkpoint_is_called_what_it_is(run_folder, cli):
    step = run_folder / "checkpoints/step_000003"
    shutil.copytree(step, step.with_name("step_000050"))
    found = cli("train", "--resume", run_folder, "--steps", "60", "--no-eval")
    assert found.status == 2 and found.err.count("\n") == 1
    assert "step_000050 holds update 3, so it was renamed: name it step_000003" in found.err


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize("refused", ["report.html", "plots"])
def test_a_report_on_a_disk_that_refuses_names_the_file(
    cli, run_folder, monkeypatch, number, refused
):
    whole = Path.write_bytes

    def write(path, data):
        if refused in str(path):
            raise OSError(number, os.strerror(number))  # of a write, which knows no name
        return whole(path, data)

    monkeypatch.setattr(Path, "write_bytes", write)
    found = cli("report", run_folder)
    assert found.status == 2 and f"cannot write {run_folder / refused}" in found.error_line()
    assert not (run_folder / "report.html").exists()
    assert not list(run_folder.glob(".*.tmp"))
