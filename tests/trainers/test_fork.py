"""Inner runs as fitness: their own folder, seed and end; failures on record; killed, bit-equal."""

import json
import signal

import pytest

from coevo.agents.models import manifest
from coevo.benchmarks.reproductions.claims import derl_formulas
from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps import InnerRun

TERSE = {"prompt_style": "terse"}


def outer(tmp_path, name="run", steps=2, changes=None, formulas=derl_formulas.FORMULAS, **inner):
    given = {
        "optim.lr": 0.1,
        "optim.warmup": 0,
        "cycle.inner_run.env": derl_formulas.ENV,
        "cycle.inner_run.env_options": derl_formulas.ANSWERS,
        "cycle.inner_run.steps": 4,
        "cycle.inner_run.checkpoint_every": 1,
        "cycle.inner_run.tasks": 16,
        **{f"cycle.inner_run.{k}": v for k, v in inner.items()},
    }
    step = next(s for s in algorithm("derl").cycle if isinstance(s, InnerRun))
    given["cycle.inner_run.changes"] = {**step.changes, **derl_formulas.INNER, **(changes or {})}
    made = TrainConfig(
        algorithm=algorithm("derl", None, given),
        env=derl_formulas.ENV,
        env_options={**TERSE, "formulas": formulas},
        model="table",
        steps=steps,
        checkpoint_every=1,
        device="cpu",
        threads=1,
    )
    folder = RunFolder(tmp_path / name)
    if not (folder.path / "config.yaml").exists():
        folder.create(made)
    return loop.start(made, folder)


def test_every_distinct_formula_has_a_run_whose_validation_is_its_reward(tmp_path):
    run = outer(tmp_path)
    metrics, episodes = loop.update(run)
    written = dict.fromkeys(e.turns[0].move for e in episodes)
    assert metrics["inner/runs"] == len(written)
    assert len(run.archive) == len(written)
    by_text = {text: run.archive[f"formula-{i}"] for i, text in enumerate(written)}
    for episode in episodes:
        fitness = episode.total("writer_0", "fitness")
        assert fitness == by_text[episode.turns[0].move].stats["fitness"]
        assert (fitness == -1) == (episode.turns[0].move == derl_formulas.BROKEN)
    folders = sorted((run.folder.path / "inner").iterdir())
    configs = [RunFolder(f).config() for f in folders]
    assert len({c.seed for c in configs}) == 1 != run.config.seed, "one seed for all of an update"
    assert {c.steps for c in configs} == {4}
    inner = sum(json.loads((f / "summary.json").read_text())["tokens"] for f in folders)
    assert inner == len(folders) * (4 * 32 + 16)
    assert run.progress.tokens == 8 + inner, "what inner runs sample counts"
    assert not list((run.folder.path / "inner").glob("*/checkpoints/*"))


def test_a_formula_that_cannot_be_read_is_a_failed_candidate_on_record(tmp_path):
    run = outer(tmp_path, formulas=(derl_formulas.BROKEN, "g1"))
    metrics, _ = loop.update(run)
    (bad,) = [a for a in (run.archive["formula-0"], run.archive["formula-1"]) if a.note]
    assert "cannot be read" in bad.note and bad.weight == -1 and bad.pruned_at == 0
    assert metrics["inner/failed"] == 1.0 and metrics["inner/best"] >= 0


@pytest.mark.parametrize(
    "error", [RuntimeError("out of memory\nat once"), FloatingPointError("nan"), KeyError("x")]
)
def test_whatever_goes_wrong_in_an_inner_run_is_its_own_failure(tmp_path, monkeypatch, error):
    run = outer(tmp_path, steps=1)
    fork = run.fork

    def broken(changes, name):
        if name.endswith("_1"):
            raise error
        return fork(changes, name)

    monkeypatch.setattr(run, "fork", broken)
    metrics, _ = loop.update(run)
    assert metrics["inner/failed"] >= 1
    note = run.archive["formula-1"].note
    assert type(error).__name__ in note and "\n" not in note


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("disk full")])
def test_a_stop_or_a_full_disk_is_not_the_candidates_failure(tmp_path, monkeypatch, error):
    run = outer(tmp_path, steps=1)

    def broken(changes, name):
        raise error

    monkeypatch.setattr(run, "fork", broken)
    with pytest.raises(type(error)):
        loop.update(run)


def test_a_fork_goes_on_where_it_was_and_another_run_takes_its_folder(tmp_path):
    run = outer(tmp_path)
    step = next(s for s in run.config.algorithm.cycle if isinstance(s, InnerRun))
    changes = step.settings({step.into: "g1"}, 5)
    first = run.fork(changes, "x")
    for done in loop.updates(first):
        if done.step == 2:
            break
    assert run.fork(changes, "x").progress.step == 2
    assert first.folder.path == run.folder.path / "inner" / "x"
    other = run.fork({**changes, "seed": 6}, "x")
    assert other.progress.step == 0 and other.config.seed == 6
    assert checkpoint.latest(other.folder.checkpoints) is None


def test_an_inner_run_needs_an_environment(tmp_path):
    run = outer(tmp_path, env="")
    with pytest.raises(ConfigError, match=r"cycle\.inner_run\.env='' .*name the environment"):
        loop.update(run)


KILLS = """
import os, signal, sys, time
from pathlib import Path

from coevo.trainers import loop, run_state
from coevo.trainers.run_folder import RunFolder

folder, kill = RunFolder(Path(sys.argv[1])), int(sys.argv[2])
calls, write = [0], run_state.write

def dying(*args, **given):
    calls[0] += 1
    if calls[0] == kill:
        os.kill(os.getpid(), signal.SIGKILL)
    return write(*args, **given)

run_state.write = dying
loop.train(folder.config(), folder)
"""


def test_a_run_killed_inside_an_inner_run_ends_with_the_same_bits(tmp_path, forks):
    calm = outer(tmp_path, "calm")
    loop.finish(calm)
    stopped = outer(tmp_path, "stopped").folder
    died = 0
    for kill in (3, 7, 11, 0):
        (status,), said = forks(KILLS, (stopped.path, kill))
        assert status in (0, -signal.SIGKILL), said
        died += status != 0
    assert died == 3
    ends = [checkpoint.latest(f.checkpoints) for f in (calm.folder, stopped)]
    files = [json.loads((e / manifest.FILE).read_text())["files"] for e in ends]
    progress = [json.loads((e / "progress.json").read_text()) for e in ends]
    for file, state in zip(files, progress, strict=True):
        file.pop("progress.json")
        state.pop("seconds")
    assert files[0] == files[1]
    assert progress[0] == progress[1]
