import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from coevo.agents.load import load_agent, load_model
from coevo.agents.models.folders import policy_folders
from coevo.agents.models.manifest import FILE as MANIFEST
from coevo.agents.population import Adapters, FrozenOpponent, Separate
from coevo.envs.core.errors import DataError, UndefinedError
from coevo.trainers import checkpoint, loop, run_state
from coevo.trainers.files import StorageError
from coevo.trainers.progress import Progress
from coevo.trainers.run_folder import RunFolder


def tensors(run):
    """Return every number that a run carries from one update to the next."""
    found = {}
    for name, learner in run.learners.items():
        modules = {**learner.models(), "output": learner.output, "model": learner.model}
        for part, module in modules.items():
            found |= {f"{name}.{part}.{k}": v for k, v in module.state_dict().items()}
        optimizer = learner.optimizer.state_dict()["state"]
        found |= {
            f"{name}.optimizer.{i}.{k}": v
            for i, slots in optimizer.items()
            for k, v in slots.items()
        }
    for name, agent in run.population.snapshots().items():
        found |= {f"{name}.{k}": v for k, v in agent.model.state_dict().items()}
    return {name: tensor.clone() for name, tensor in found.items()}


def same(one, two):
    assert one.keys() == two.keys()
    different = [name for name in one if not torch.equal(one[name], two[name])]
    assert not different, different[:5]


@pytest.fixture
def trained(config, tmp_path):
    """Train a few updates without keeping them: `trained(name, steps)`."""

    def make(name="mars", steps=3, changes=None):
        given = config(name, changes, steps=99)
        run = loop.start(given, RunFolder(tmp_path / f"{name}"))
        for step in range(steps):
            loop.update(run)
            run.progress = Progress(step + 1, step * 0.25, run.progress.tokens)
        return run

    return make


def save(run, keep=2):
    parts = {"collect": run.collector, "population": run.population, "judges": run.judges}
    state = {name: part.state_dict() for name, part in parts.items()}
    state |= {"estimator": run.estimator_state, "rewards": {}, "archive": []}
    state["values"] = run.values.state_dict()
    return run_state.save(
        run.folder.checkpoints, run.learners, run.population, run.progress, state, keep
    )


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("mars", {}),
        ("league", {}),
        ("mars", {"population": Separate()}),
        ("mars", {"population": FrozenOpponent()}),
        ("mars", {"population": Adapters(rank=2)}),
        ("league", {"population": Adapters(rank=2, frozen=("player_0",))}),
    ],
)
def test_everything_that_a_run_carries_comes_back(trained, config, name, changes):
    run = trained(name, 5, changes)
    kept = save(run)
    again = loop.start(run.config, run.folder)
    same(tensors(again), tensors(run))
    assert again.progress == run.progress and again.estimator_state == run.estimator_state
    assert list(again.population.agents) == list(run.population.agents)
    assert checkpoint.latest(run.folder.checkpoints) == kept
    versions = {n: p.version for n, p in run.population.agents.items()}
    assert {n: p.version for n, p in again.population.agents.items()} == versions


def test_each_policy_is_a_folder_that_loads_as_it_is(trained):
    run = trained(steps=2)
    kept = save(run)
    model, _ = load_model(str(kept / "policy"), device="cpu")
    handed_out = run.policies()["policy"].model.state_dict()
    assert all(torch.equal(v, handed_out[k]) for k, v in model.state_dict().items())
    assert not torch.equal(
        model.model.embed_tokens.weight, run.learners["policy"].model.model.embed_tokens.weight
    )
    assert load_agent(str(run.folder.path), device="cpu").tokens.end_ids


def test_tied_weights_stay_tied_and_are_stored(trained):
    run = trained(steps=1)
    kept = save(run)
    stored = load_file(kept / "policy" / "iterate.tensors")
    assert torch.equal(stored["lm_head.weight"], stored["model.embed_tokens.weight"])
    again = loop.start(run.config, run.folder).learners["policy"].model
    assert again.lm_head.weight is again.model.embed_tokens.weight


def test_a_run_without_any_update_can_be_kept(trained):
    run = trained(steps=0)
    save(run)
    same(tensors(loop.start(run.config, run.folder)), tensors(run))


def test_only_the_newest_are_kept(trained):
    run = trained(steps=1)
    for step in (1, 2, 999_999, 1_000_000):
        run.progress = Progress(step)
        save(run, keep=2)
    names = [p.name for p in checkpoint.complete(run.folder.checkpoints)]
    assert names == ["step_999999", "step_1000000"]
    assert checkpoint.latest(run.folder.checkpoints).name == "step_1000000"
    assert sorted(p.name for p in run.folder.checkpoints.iterdir()) == sorted(names)


def test_what_a_kill_left_behind_is_swept_away(trained):
    run = trained(steps=1)
    half = run.folder.checkpoints / ".step_000007.tmp"
    half.mkdir(parents=True)
    (half / "x").write_text("x")
    deleting = run.folder.checkpoints / ".step_000000.old.tmp"
    deleting.mkdir()
    kept = save(run)
    assert list(run.folder.checkpoints.iterdir()) == [kept]


def write_points():
    """Name every call through which a checkpoint reaches the disk."""
    return [
        (run_state, "save_file"),
        (checkpoint, "_sync"),
        (Path, "write_text"),
        (Path, "rename"),
        (Path, "mkdir"),
    ]


class Crash(Exception):
    """Stands for a process that ends here."""


@pytest.mark.parametrize("reason", [Crash(), OSError(28, "No space left on device")])
def test_a_failure_at_any_write_leaves_the_last_checkpoint_usable(trained, monkeypatch, reason):
    run = trained("mars", 2)
    save(run)
    before = tensors(run)
    loop.update(run)
    run.progress = Progress(3, 1.0, 5)
    at, total = 0, None
    while total is None or at < total:
        calls = count_and_fail(monkeypatch, reason, at)
        try:
            save(run)
        except (Crash, StorageError) as error:
            assert isinstance(error, Crash) or "the disk is full" in str(error)
        else:
            total = calls[0]
        monkeypatch.undo()
        newest = checkpoint.latest(run.folder.checkpoints)
        checkpoint.verify(newest)
        if newest.name == "step_000002" and at % 5 == 0:
            same(tensors(loop.start(run.config, run.folder)), before)
        if newest.name == "step_000003":
            shutil.rmtree(newest)
        at += 1
    assert total > 20


def count_and_fail(monkeypatch, reason, at):
    calls = [0]

    def failing(inner):
        def call(*args, **kwargs):
            calls[0] += 1
            if calls[0] == at + 1:
                raise reason
            return inner(*args, **kwargs)

        return call

    for owner, name in write_points():
        monkeypatch.setattr(owner, name, failing(getattr(owner, name)))
    return calls


@pytest.fixture
def kept(trained):
    """Return a run with two checkpoints and the newest of them."""
    run = trained("league", 2)
    save(run)
    run.progress = Progress(3)
    return run, save(run)


FILES = [
    "progress.json",
    "policy/model.safetensors",
    "policy/head.tensors",
    "policy/optimizer.tensors",
    "policy/tokenizer.json",
    "past000002.snapshot",
]


def harms(content):
    """Return a file cut in half, with one bit changed, and missing, and what is said of it."""
    half = len(content) // 2
    changed = bytes([content[half] ^ 1])
    yield content[:half], f"has {half} bytes, not the {len(content)} written"
    yield content[:half] + changed + content[half + 1 :], "has other content than was written"
    yield None, "is missing"


def test_a_damaged_checkpoint_is_named_and_so_is_the_one_before(kept):
    run, newest = kept
    for file in FILES:
        path, content = newest / file, (newest / file).read_bytes()
        for harmed, words in harms(content):
            path.unlink() if harmed is None else path.write_bytes(harmed)
            with pytest.raises(DataError) as caught:
                checkpoint.verify(newest)
            assert f"{newest} is damaged: {file} {words}" in str(caught.value)
            assert "continues from step_000002" in str(caught.value)
        with pytest.raises(DataError, match="is damaged"):
            loop.start(run.config, run.folder)
        path.write_bytes(content)
    shutil.rmtree(newest)
    assert loop.start(run.config, run.folder).progress.step == 2


def test_a_damaged_manifest_is_named(kept):
    run, newest = kept
    for text in ("", "{", "[]", "{}", '{"files": 3}', '{"files": {"a": 1}}'):
        (newest / MANIFEST).write_text(text)
        with pytest.raises(DataError, match=r"damaged: manifest\.json is not readable"):
            loop.start(run.config, run.folder)


def test_files_that_do_not_belong_there_are_ignored(kept):
    run, newest = kept
    shutil.copy(newest / "past000002.snapshot", newest / "past000099.snapshot")
    (newest / "notes.txt").write_text("mine")
    again = loop.start(run.config, run.folder)
    assert "past000099" not in again.population.fixed


def test_another_schema_or_other_policies_are_refused(trained, config):
    run = trained(steps=1)
    newest = save(run)
    other = config("mars", {"population": Separate()})
    with pytest.raises(DataError, match=r"holds the policies \['policy'\]"):
        loop.start(other, run.folder)
    data = json.loads((newest / "progress.json").read_text())
    (newest / "progress.json").write_text(json.dumps(data | {"schema": 99}))
    (newest / MANIFEST).unlink()
    checkpoint.write_manifest(newest)
    with pytest.raises(DataError, match="schema 99, this version reads 2"):
        loop.start(run.config, run.folder)


# ---- What samplers remember ------------------------------------------------------------------


@pytest.fixture
def remembering(config, folder):
    """Train three updates with SPEAR, whose buffer holds plays of earlier updates."""
    given = config("spear", {"collect.group_size": 4, "collect.replay.capacity": 64}, steps=3)
    return loop.train(given, folder(given))


def test_plays_that_a_buffer_holds_lie_compressed_in_a_file_of_their_own(remembering):
    newest = checkpoint.latest(remembering.folder.checkpoints)
    remembered = remembering.collector.state_dict()
    assert len(json.dumps(remembered)) > 10_000
    assert (newest / "progress.json").stat().st_size < 10_000
    assert "collect" not in json.loads((newest / "progress.json").read_text())["state"]
    kept = (newest / "collect.json.gz").read_bytes()
    assert json.loads(gzip.decompress(kept)) == json.loads(json.dumps(remembered))
    assert len(kept) < len(json.dumps(remembered)) / 3
    assert "collect.json.gz" in checkpoint.verify(newest)


def test_a_buffer_comes_back_play_by_play(remembering):
    again = loop.start(remembering.config, remembering.folder)
    assert again.collector.state_dict() == remembering.collector.state_dict()
    assert again.collector.replay.state_dict() != {}


def test_equal_runs_keep_equal_files(remembering):
    newest = checkpoint.latest(remembering.folder.checkpoints)
    before = (newest / "collect.json.gz").read_bytes()
    remembering.save()
    assert (newest / "collect.json.gz").read_bytes() == before


def test_a_damaged_buffer_is_named(remembering):
    newest = checkpoint.latest(remembering.folder.checkpoints)
    path = newest / "collect.json.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"is damaged: collect\.json\.gz has \d+ bytes, not the"):
        loop.start(remembering.config, remembering.folder)


def test_copies_and_notes_are_no_checkpoints_and_stay(tmp_path, config, folder):
    given = config(steps=4, checkpoint_every=2, keep_checkpoints=1)
    made = folder(given)
    loop.train(given, made)
    copy = made.checkpoints / "step_000004_backup"
    shutil.copytree(made.checkpoints / "step_000004", copy)
    (made.checkpoints / "step_notes").mkdir()
    longer = replace(given, steps=8)
    run = loop.train(longer, made)
    assert checkpoint.latest(made.checkpoints).name == "step_000008"
    left = {p.name for p in made.checkpoints.iterdir()}
    assert left == {"step_000008", "step_000004_backup", "step_notes"}
    assert loop.start(longer, made).progress == run.progress
    (found,) = policy_folders(str(made.path)).values()
    assert found == made.checkpoints / "step_000008" / "policy"


def poisoned(run):
    """Let one weight of the policy be no number."""
    [learner] = run.learners.values()
    with torch.no_grad():
        next(learner.model.parameters()).view(-1)[0] = float("nan")


def test_weights_that_are_no_numbers_are_never_saved(kept):
    run, _ = kept
    before = files(run.folder.checkpoints)
    poisoned(run)
    with pytest.raises(UndefinedError, match="is not finite"):
        run.save()
    assert files(run.folder.checkpoints) == before


def files(path):
    return {p: p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("broken", ["weights", "gradient"])
def test_a_policy_that_is_no_number_any_more_stops_its_run_and_says_where(
    config, folder, monkeypatch, broken
):
    given = config(steps=9, checkpoint_every=2)
    run = loop.start(given, folder(given))
    going = loop.updates(run)
    next(going)
    next(going)
    before = files(run.folder.checkpoints)
    assert before
    if broken == "weights":
        poisoned(run)
    else:
        monkeypatch.setattr(
            torch.nn.utils, "clip_grad_norm_", lambda *_: torch.tensor(float("nan"))
        )
    with pytest.raises(
        UndefinedError, match=r"update 3: .* The checkpoint of update 2 in .* is as"
    ):
        next(going)
    assert files(run.folder.checkpoints) == before


def test_a_manifest_leads_nowhere_outside_of_its_checkpoint(trained):
    place = save(trained())
    manifest = json.loads((place / MANIFEST).read_text())
    manifest["files"]["../../secret"] = {"bytes": 0, "sha256": ""}
    (place / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="outside of it"):
        checkpoint.verify(place)


@pytest.mark.parametrize(("earlier", "said"), [(0, "no earlier checkpoint"), (1, "step_000001 is")])
def test_a_full_disk_names_the_checkpoint_that_is_left(tmp_path, earlier, said):
    def fill(work):
        work.mkdir(parents=True)
        (work / "progress.json").write_text("{}")

    def full(work):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    for step in range(1, earlier + 1):
        checkpoint.write(tmp_path, step, fill, 2)
    with pytest.raises(StorageError, match=f"step_000002: I/O error: No space.*{said}"):
        checkpoint.write(tmp_path, 2, full, 2)
    assert [p.name for p in tmp_path.iterdir()] == ["step_000001"][:earlier]
