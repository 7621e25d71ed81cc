"""A Pareto front: phases, where they begin, what is kept, and by which weights they learn."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from coevo.agents.models import manifest
from coevo.benchmarks.reproductions.claims import c_morl_treasure as treasure
from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps.trace_front import TraceFront

FIXED = [[1.0, 0.0], [0.0, 1.0]]


def start(path, steps=9, changes=None):
    small = {"collect.episodes": 4, "cycle.trace_front.tasks": 4, "cycle.trace_front.updates": 2}
    small |= {"cycle.trace_front.preferences": FIXED, **(changes or {})}
    given = TrainConfig(
        algorithm=algorithm("c_morl", None, {**treasure.CLAIM.changes, **small}),
        env=treasure.Treasure.env_id,
        env_options={"prompt_style": "terse"},
        model="table",
        steps=steps,
        checkpoint_every=1,
        device="cpu",
        threads=1,
    )
    folder = RunFolder(path)
    if not (path / "config.yaml").exists():
        folder.create(given)
    return loop.start(given, folder, treasure.CLAIM.world.maker(0))


def test_phases_begin_at_the_start_and_then_at_policies_of_the_front(tmp_path):
    run, seen = start(tmp_path / "run"), []

    def look(step, ctx):
        if step.name == "build_batch":
            model = run.learners["policy"].model
            now = ctx.archive.living("snapshot")[-1]
            seen.append((now.payload, dict(ctx.algorithm.advantage.reward_weights)))
            if ctx.step in (0, 2):
                assert not model.logits_RA.any(), "the start is uniform"
            elif ctx.step % 2 == 0:
                parent = ctx.archive[now.parents[0]].tensors["genome_D"]
                assert model.logits_RA.flatten().tolist() == parent.tolist()

    run.before_step = look
    log = [done.metrics for done in loop.updates(run)]
    assert [payload.get("raises") for payload, _ in seen] == [None] * 4 + [0, 0, 1, 1, 0]
    assert [weights for _, weights in seen[:3:2]] == [
        {"payoff": 1.0, "haste": 0.0},
        {"payoff": 0.0, "haste": 1.0},
    ]
    assert all(sum(weights.values()) == pytest.approx(1) for _, weights in seen)
    assert log[-1]["front/size"] >= 1


def test_the_area_of_the_front_never_falls(tmp_path):
    run, areas = start(tmp_path / "run", steps=15), []

    def look(step, ctx):
        if step.name == "build_batch":
            front = [a for a in ctx.archive.living("snapshot") if a.stats]
            points = [(a.stats["payoff"], a.stats["haste"]) for a in front]
            areas.append(treasure.area(points, treasure.ORIGIN))

    run.before_step = look
    loop.finish(run)
    assert np.all(np.diff(areas) >= 0) and areas[-1] > 0


@pytest.mark.parametrize(
    ("earned", "expected"),
    [
        ((2.0, -1.0), [1.0, 1 / (20 * 0.1)]),  # at its start: slack is a tenth of its size
        ((2.0, -0.6), [1.0, 1 / (20 * 0.5)]),
        ((2.0, -9.0), [1.0, 1 / (20 * 0.001)]),  # below the barrier
    ],
)
def test_what_is_not_raised_weighs_by_its_slack(earned, expected, monkeypatch):
    step = TraceFront(objectives=("payoff", "haste"), preferences=((1.0, 0.0),))
    monkeypatch.setattr(TraceFront, "_earned", lambda self, episodes: earned)
    now = SimpleNamespace(payload={"raises": 0, "begins": [1.0, -1.0]})
    ctx = SimpleNamespace(episodes=SimpleNamespace(episodes=[], fresh=0))
    total = sum(expected)
    assert step._weights(ctx, now) == pytest.approx([w / total for w in expected])


def test_preferences_that_do_not_fit_the_objectives_are_refused():
    with pytest.raises(ConfigError, match="2 weights each, for payoff, format"):
        TraceFront(preferences=((1.0,),))


def test_a_stopped_front_ends_with_the_same_bits(tmp_path):
    loop.finish(start(tmp_path / "calm"))
    for done in loop.updates(start(tmp_path / "stopped")):
        if done.step == 5:
            break
    again = start(tmp_path / "stopped")
    assert again.progress.step == 5
    loop.finish(again)
    ends = [checkpoint.latest(tmp_path / n / "checkpoints") for n in ("calm", "stopped")]
    files = [json.loads((e / manifest.FILE).read_text())["files"] for e in ends]
    for file in files:
        file.pop("progress.json")
    assert files[0] == files[1]
