"""Fronts of programs: who has children, what is made of them, and what is kept."""

import numpy as np
import pytest

from coevo.agents import FixedTextAgent
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.selectors import area, undominated
from coevo.trainers.steps import writers
from coevo.trainers.steps.evolve_front import OF, EvolveFront, _drawn
from coevo.trainers.steps.mutators import Mutator, RewriteProgram
from coevo.trainers.steps.writers import Written

ENV, OPTIONS = "coevo/improve_program-v0", {"problem": "layers", "size": 4}
SOURCE = "def solve():\n    return [['{}', {}]]"


class Noted(Mutator):
    """Writes programs with a number, and notes what it was given."""

    name = "noted"

    def __init__(self):
        self.given = []

    def __call__(self, ctx, parents, rng):
        self.given.append([a.payload for a in parents])
        return Written(SOURCE.format("conv", len(self.given)))


@pytest.fixture
def front(config, folder):
    made = []

    def make_run(steps=3, env_options=OPTIONS, **settings):
        usual = {"children": 4, "begin": 4}
        changes = {f"cycle.evolve_front.{k}": v for k, v in {**usual, **settings}.items()}
        given = config(
            "llm_ge", changes, model="table", steps=steps, env=ENV, env_options=env_options
        )
        made.append(given)
        return loop.start(given, folder(given, f"run{len(made)}"))

    return make_run


def test_the_front_never_shrinks_and_what_lives_is_the_best_of_all(front):
    run, seen = front(steps=6, by={"name": "pareto", "keep": 20}), [0.0]
    for done in loop.updates(run):
        living = run.archive.living("program", OF)
        points = [a.objectives for a in living]
        seen.append(area(points, (0.0, 0.0)))
        assert seen[-1] >= seen[-2]
        assert done.metrics["front"] == undominated(np.array(points)).sum()
        assert done.metrics["worth/best"] == max(a.weight for a in living)
        assert len({a.payload for a in living}) == len(living)
    assert seen[-1] > seen[1]
    assert any(a.parents for a in living)


@pytest.mark.parametrize(
    ("crossover", "mutation", "counts"), [(1.0, 0.0, [2]), (0.0, 1.0, [1]), (1.0, 1.0, [2, 1])]
)
def test_children_are_made_of_two_changed_or_both(front, crossover, mutation, counts):
    run = front()
    ctx, mutator = loop.context_of(run), Noted()
    step = EvolveFront(mutate=mutator, begin=2, children=2, crossover=crossover, mutation=mutation)
    step(ctx)
    assert mutator.given == [[], []]
    ctx.step = 1
    step(ctx)
    assert [len(given) for given in mutator.given[2:]] == 2 * counts
    if len(counts) == 2:
        assert mutator.given[3] == [SOURCE.format("conv", 3)], "what was mated is changed"
    child = run.archive.record("program", OF)[-1]
    assert child.parents and all(p in ("program-0", "program-1") for p in child.parents)


def test_parents_are_the_better_of_two():
    ranked = [Artifact(str(k), "program", "") for k in range(4)]
    rng = np.random.default_rng(0)
    shares = np.bincount([int(_drawn(ranked, rng).id) for _ in range(4000)]) / 4000
    assert shares == pytest.approx([7 / 16, 5 / 16, 3 / 16, 1 / 16], abs=0.03)


def test_an_agent_sees_both_parents_and_what_cannot_run_is_counted(front, monkeypatch):
    said = SOURCE.format("down", 8)
    monkeypatch.setattr(writers, "load_agent", lambda *a, **k: FixedTextAgent(said, "x"))
    run = front(steps=1, mutate=RewriteProgram(agent="x", shown=2))
    (done,) = loop.updates(run)
    assert [a.payload for a in run.archive.living("program", OF)] == [said], "the same four times"
    monkeypatch.setattr(writers, "load_agent", lambda *a, **k: FixedTextAgent("x = 1", "x"))
    (done,) = loop.updates(front(steps=1, mutate=RewriteProgram(agent="x")))
    assert done.metrics["programs/failed"] == 4 and done.metrics["programs"] == 0
    pair = [
        Artifact("program-0", "program", "x = 1", weight=0.5, uses=1, stats={"thrift": 0.25}),
        Artifact("", "program", "x = 2"),
    ]
    asked = RewriteProgram().asked("Write.", pair)[1]["content"]
    assert "earned 0.5, thrift 0.25. Make one program of it and the other" in asked
    assert "This program is new. Make one" in asked and "x = 2" in asked


def test_what_is_no_objective_or_makes_no_child_is_refused(front):
    with pytest.raises(ConfigError, match="thrift"):
        loop.finish(front(env_options={"problem": "golomb"}))
    with pytest.raises(ConfigError, match="make no child"):
        EvolveFront(crossover=0.0, mutation=0.0)
