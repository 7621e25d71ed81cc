"""Evolution by a policy: groups share a parent, children come at the end, islands stay apart."""

from dataclasses import replace

import pytest

from coevo.agents import FixedTextAgent
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.selectors import Islands, Truncation
from coevo.trainers.collect.collector import Collected
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.steps.evolve_programs import OF, DrawParents, KeepPrograms, Parents

ENV = "coevo/improve_program-v0"
MARKS = ([0, 1, 4, 9, 11], [0, 1, 3, 7, 20], [0, 1, 3, 7, 30], [0, 2, 7, 8, 11], [0, 1, 2, 3, 4])
SOURCES = [f"def solve():\n    return {marks}" for marks in MARKS]


@pytest.fixture
def evolution(config, folder):
    def make_run(steps=1, **changes):
        size = {"collect.episodes": 8, "collect.group_size": 4, **changes}
        given = config("theta_evolve", size, steps=steps, env=ENV)
        return loop.start(given, folder(given))

    return make_run


def seeded(run, *weights, island=0):
    for k, weight in enumerate(weights):
        one = Artifact("", "program", f"x = {island}{k}", of=OF, weight=weight, island=island)
        run.archive.add(one)


def test_a_group_has_one_parent_of_its_island_and_inspirations_beside_it(evolution):
    run = evolution()
    ctx = loop.context_of(run)
    DrawParents()(ctx)
    assert ctx.variation.drawn == {0: [], 1: []}, "nothing lives yet"
    seeded(run, 0.2, 0.9, 0.5, island=0)
    seeded(run, 0.1, island=3)
    DrawParents(exploit=1.0, inspirations=1)(ctx)
    spec = ctx.variation(EpisodeSpec(0, {}), 0, 0)
    assert spec.options == {"parent": "x = 01", "inspirations": ["x = 02"]}
    assert ctx.variation(EpisodeSpec(0, {}), 1, 3).options["parent"] == "x = 30"
    drawn = set()
    for step in range(30):
        ctx.step = step
        DrawParents(exploit=0.0)(ctx)
        drawn.add(ctx.variation.drawn[0][0].payload)
    assert drawn == {"x = 00", "x = 01", "x = 02"}


def test_groups_of_an_update_go_on_with_the_next_island(evolution):
    ctx = loop.context_of(evolution())
    for island in range(3):
        seeded(ctx, 0.5, island=island)
    seen = []
    for step in range(3):
        ctx.step = step
        DrawParents()(ctx)
        seen += [parent.island for parent, *_ in ctx.variation.drawn.values()]
    assert seen == [0, 1, 2, 0, 1, 2]


def test_a_program_that_is_noted_stands_for_a_move_that_changes_the_parent(evolution):
    ctx = loop.context_of(evolution())
    DrawParents()(ctx)
    agent = FixedTextAgent([f"```\n{SOURCES[0]}\n```"], "x")
    played = rollout(ENV, [EpisodeSpec(0, {"programmer_0": "policy"})], {"policy": agent})
    played[0].turns[-1].notes["program"] = "x = 1"
    ctx.collected = Collected(played, [0], 1, 0, {})
    KeepPrograms()(ctx)
    assert [a.payload for a in ctx.archive.living("program", OF)] == ["x = 1"]


def test_children_enter_together_once_and_only_if_they_are_worth_something(evolution):
    run = evolution()
    agent = FixedTextAgent([f"```\n{one}\n```" for one in (*SOURCES, SOURCES[0])], "x")
    ctx = loop.context_of(run)
    seeded(run, 0.2)
    DrawParents()(ctx)
    specs = [EpisodeSpec(k, {"programmer_0": "policy"}) for k in range(6)]
    played = rollout(ENV, specs, {"policy": agent})
    ctx.collected = Collected(played, [0, 0, 0, 1, 1, 1], 6, 0, {})
    by = Islands(by=Truncation(keep=3), count=1, every=100)
    KeepPrograms(by=by)(ctx)
    living = run.archive.living("program", OF)
    assert ctx.metrics["programs/new"] == 4, "one is no ruler, and one occurs twice"
    assert {a.payload for a in living} == {SOURCES[0], SOURCES[1], SOURCES[3]}
    assert all(a.parents == ("program-0",) for a in living)
    assert ctx.metrics["fitness/best"] == 1.0


def test_another_outcome_or_variation_is_refused(evolution):
    run = evolution()
    ctx = loop.context_of(run)
    with pytest.raises(ConfigError, match="draw_parents"):
        KeepPrograms()(ctx)
    with pytest.raises(ConfigError, match="step 2"):
        replace(run.config.algorithm, cycle=(DrawParents(), KeepPrograms()))
    assert Parents({0: []})(EpisodeSpec(0, {}), 0, 0).options == {}
