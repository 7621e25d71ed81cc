"""Genetic algorithms in the loop: seeds are genomes, elites play again, a stop changes nothing."""

import json

import numpy as np
import pytest
import torch

from coevo.agents.models import manifest
from coevo.benchmarks.reproductions.run import sized
from coevo.benchmarks.reproductions.worlds import BANDIT
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.archive.archive import Archive
from coevo.trainers.archive.breeding import children, keep
from coevo.trainers.archive.genome import grown
from coevo.trainers.archive.selectors import Islands, Truncation
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder

SMALL = {"collect.episodes": 24, "collect.group_size": 6}
PAID = ((0.0, 1.0, 0.2), (1.0, 0.0, 0.2))


def table(folder, name="deep_ga", variant=None, steps=4, **changes):
    given = TrainConfig(
        algorithm=algorithm(name, variant, {**SMALL, **changes}),
        env=BANDIT,
        env_options={"prompt_style": "terse", "payoffs": PAID},
        model="table",
        steps=steps,
        checkpoint_every=2,
        device="cpu",
    )
    run_folder = RunFolder(folder)
    if not (folder / "config.yaml").exists():
        run_folder.create(given)
    return loop.start(given, run_folder, sized(2, 3))


def test_a_genome_of_fifty_generations_is_made_again_bit_for_bit():
    rng, seeds = np.random.default_rng(0), []
    carried = start = torch.randn(2000, dtype=torch.float64, generator=torch.Generator())
    for _ in range(50):
        seeds.append([int(rng.integers(2**32)), 0.02])
        carried = grown(carried, seeds[-1:])
    assert torch.equal(grown(start, seeds), carried)
    assert len(json.dumps(seeds)) < 50 * 22, "its size grows with generations, not with weights"


def test_children_add_one_seed_and_the_elite_plays_again(tmp_path):
    run = table(tmp_path / "run")
    for _ in loop.updates(run):
        pass
    living = run.archive.living("genome", "policy")
    assert len(living) == 4
    depths = sorted(len(a.payload["seeds"]) for a in living)
    assert depths[-1] == 4 and depths[0] < 4, "an elite is as old as it was"
    for one in living:
        if one.parents:
            assert len(run.archive.lineage(one.id)) == len(one.payload["seeds"])
    most = max(a.weight for a in living)
    (start,) = run.archive.living("snapshot", "policy")
    written = run.population.learners["policy"].model.logits_RA.detach().flatten()
    assert any(
        torch.equal(written, grown(start.tensors["genome_D"], one.payload["seeds"]))
        for one in living
        if one.weight == most
    )


def test_a_stopped_run_ends_with_the_same_bits(tmp_path):
    calm = table(tmp_path / "calm")
    for _ in loop.updates(calm):
        pass
    for done in loop.updates(table(tmp_path / "stopped")):
        if done.step == 3:
            break
    again = table(tmp_path / "stopped")
    assert again.progress.step == 2
    for _ in loop.updates(again):
        pass
    ends = [checkpoint.latest(tmp_path / n / "checkpoints") for n in ("calm", "stopped")]
    hashes = [json.loads((e / manifest.FILE).read_text())["files"] for e in ends]
    for files in hashes:
        assert "archive.tensors" in files
        files.pop("progress.json")  # it holds seconds
    assert hashes[0] == hashes[1]
    assert again.archive.state_dict() == calm.archive.state_dict()


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("deep_ga", "islands"),
        ("deep_ga", "pareto"),
        ("novelty_search", "mixed"),
        ("novelty_search", "learned"),
        ("map_elites", None),
    ],
)
def test_every_selector_runs_in_the_loop(name, variant, tmp_path):
    run = table(tmp_path / "run", name, variant, steps=3)
    metrics = [done.metrics for done in loop.updates(run)]
    assert all(m["genomes"] >= 1 for m in metrics)
    kept = run.archive.living("genome")
    assert len(kept) == metrics[-1]["genomes"]
    assert {len(a.objectives) for a in kept} == {len(run.collector.components)}
    if name == "map_elites":
        assert {a.descriptor for a in kept} == {(1.0, 1.0)}, "one turn, one move: one cell"
        best = [m["fitness/best"] for m in metrics]
        assert best == sorted(best)


def test_islands_never_mix_but_by_migration():
    archive, rng = Archive(), np.random.default_rng(3)
    by = Islands(by=Truncation(keep=2), count=3, every=4, share=0.5)
    for step in range(8):
        born = children(archive, 12, rng, step=step, sigma=1.0, first=1.0)
        for child in born:
            child.weight = float(grown(torch.zeros(1), child.payload["seeds"]))
        kept = keep(archive, born, by, step=step)
        copies = [a for a in kept if any(archive[p].island != a.island for p in a.parents)]
        if step in (3, 7):
            assert len(copies) == 3 and len(kept) == 9
            assert {a.island for a in copies} == {0, 1, 2}
        else:
            assert len(kept) == 6 and not [a for a in copies if a.born_at == step]


def test_what_a_descriptor_names_must_be_there(tmp_path):
    with pytest.raises(ConfigError, match="compares descriptors"):
        algorithm("novelty_search", None, {"cycle.select_genomes.descriptor": ()})
    named = {"cycle.select_genomes.descriptor": ("turn", "variety")}
    run = table(tmp_path / "run", "map_elites", **named)
    with pytest.raises(CoevoError, match="turns"):
        loop.update(run)


def test_select_genomes_after_a_strategy_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="update_genome"):
        cycle = ({"name": "sample_generation", "genome": "entries"}, "collect", "select_genomes")
        loop.update(table(tmp_path / "run", cycle=cycle))
