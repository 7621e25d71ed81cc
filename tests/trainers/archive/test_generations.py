"""Generations in the loop: members share tasks, the genome moves, a stop changes nothing."""

import json

import pytest
import torch

from coevo.agents.models import manifest
from coevo.agents.models.adapters import own_tensors
from coevo.agents.population import Shared
from coevo.benchmarks.reproductions.claims import essa_spectrum
from coevo.benchmarks.reproductions.worlds import BANDIT
from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder

SMALL = {"collect.episodes": 24, "collect.group_size": 6}


def table(tmp_path, name, steps=4, **changes):
    given = TrainConfig(
        algorithm=algorithm("essa", "evolve", {"population": Shared(), **SMALL, **changes}),
        env=BANDIT,
        env_options={"prompt_style": "terse", **essa_spectrum.CLAIM.world.options(0)},
        model="table",
        steps=steps,
        checkpoint_every=2,
        device="cpu",
    )
    folder = RunFolder(tmp_path / name)
    if not (folder.path / "config.yaml").exists():
        folder.create(given)
    return loop.start(given, folder, essa_spectrum.starts()(0))


def test_every_member_plays_every_task_once_and_what_it_earns_is_its_fitness(tmp_path):
    run = table(tmp_path, "run")
    before = run.population.learners["policy"].model.matrix.detach().clone()
    metrics, episodes = loop.update(run)
    players = [e.turns[0].player for e in episodes]
    assert sorted(set(players)) == [f"policy@{i}" for i in range(6)]
    for at in range(0, 24, 6):
        assert len({e.task for e in episodes[at : at + 6]}) == 1
        assert players[at : at + 6] == [f"policy@{i}" for i in range(6)]
    own = [
        sum(e.total("player_0") for e in episodes if e.turns[0].player == f"policy@{i}") / 4
        for i in range(6)
    ]
    assert metrics["fitness"] == pytest.approx(sum(own) / 6)
    assert metrics["fitness/best"] == pytest.approx(max(own))
    assert metrics["genome"] == 8.0 and metrics["tokens"] == 24
    after = run.population.learners["policy"].model.matrix.detach()
    assert not torch.equal(before, after)
    # Only singular values have moved: the row and column spaces are those of the start.
    u, _, vh = torch.linalg.svd(before)
    inside = u[:, :8] @ u[:, :8].T @ after @ vh[:8].T @ vh[:8]
    assert torch.allclose(inside, after, atol=1e-9)


def test_every_generation_is_in_the_lineage_and_only_the_newest_keeps_its_state(tmp_path):
    run = table(tmp_path, "run")
    for _ in loop.updates(run):
        pass
    (last,) = run.archive.living("genome")
    assert [a.id for a in run.archive.lineage(last.id)] == [f"genome-{i}" for i in range(5)]
    assert {name.split("/")[0] for name in run.archive.tensors()} == {last.id}
    assert float(last.tensors["generation"]) == 4


def test_a_stopped_evolution_ends_with_the_same_bits(tmp_path):
    whole = table(tmp_path, "calm")
    for _ in loop.updates(whole):
        pass
    for done in loop.updates(table(tmp_path, "stopped")):
        if done.step == 3:
            break
    again = table(tmp_path, "stopped")
    assert again.progress.step == 2
    for _ in loop.updates(again):
        pass
    ends = [checkpoint.latest(tmp_path / n / "checkpoints") for n in ("calm", "stopped")]
    hashes = [json.loads((e / manifest.FILE).read_text())["files"] for e in ends]
    for files in hashes:
        assert "archive.tensors" in files
        files.pop("progress.json")  # it holds seconds
    assert hashes[0] == hashes[1]
    assert again.archive.state_dict() == whole.archive.state_dict()


def test_adapters_of_a_model_warm_up_and_then_evolve(config, folder):
    cycle = {
        "population.rank": 2,
        "population.targets": ["q_proj"],
        "cycle.sample_generation.after": 2,
    }
    given = config("essa", None, steps=4)
    record = algorithm("essa", None, {**cycle, **SMALL, "optim.lr": 0.05})
    given = type(given)(**{**vars(given), "algorithm": record})
    run = loop.start(given, folder(given))
    learner = run.population.learners["player"]
    base = {n: p.clone() for n, p in learner.model.named_parameters() if not p.requires_grad}
    seen = [(done.metrics, done.episodes) for done in loop.updates(run)]
    assert ["fitness" in metrics for metrics, _ in seen] == [False, False, True, True]
    assert {t.player for t in seen[0][1][0].turns} == {"player"}
    assert {t.player.partition("@")[0] for t in seen[2][1][0].turns} == {"player"}
    layers = len([n for n in own_tensors(learner.model) if "lora_B" in n])
    assert seen[2][0]["genome"] == 2.0 * layers
    assert seen[2][0]["tokens"] > 0
    assert all(torch.equal(p, base[n]) for n, p in learner.model.named_parameters() if n in base)


def test_adapters_that_change_nothing_are_refused_when_the_first_generation_is_asked(
    config, folder
):
    given = config("essa", {"collect.episodes": 24, "cycle.sample_generation.after": 0})
    with pytest.raises(ConfigError, match="no singular values to evolve"):
        loop.update(loop.start(given, folder(given)))
