"""Rounds of programs: a grid that only rises, champions that stay and become opponents."""

import pytest

from coevo.agents import FixedTextAgent
from coevo.envs import make
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.collect.tried import tried
from coevo.trainers.steps import challenge, writers
from coevo.trainers.steps.challenge import CHAMPIONS, ELITES
from coevo.trainers.steps.mutators import Identity, RewriteProgram

ENV, OPTIONS = "coevo/core_war-v0", {"warriors": 1, "rounds": 1, "cycles": 400}
DWARF = "ADD #4, 3\nMOV 2, @2\nJMP -2\nDAT #0, #0"


@pytest.fixture
def rounds(config, folder):
    made = []

    def make_run(steps=6, **settings):
        usual = {"children": 6, "updates": 2, "tasks": 2, "begin": 4}
        changes = {f"cycle.challenge.{k}": v for k, v in {**usual, **settings}.items()}
        given = config("drq", changes, model="table", steps=steps, env=ENV, env_options=OPTIONS)
        made.append(given)
        return loop.start(given, folder(given, f"run{len(made)}"))

    return make_run


def test_a_cell_never_falls_in_a_round_and_every_round_leaves_a_champion(rounds):
    run, cells = rounds(), {}
    grid = run.config.algorithm.cycle[0].by
    for done in loop.updates(run):
        if done.step % 2:
            cells = {}
        living = run.archive.living("program", ELITES)
        now = {grid.cell(a.descriptor): a.weight for a in living}
        assert len(now) == len(living), "a cell has one owner"
        assert all(now[cell] >= weight for cell, weight in cells.items())
        cells = now
        champions = run.archive.living("program", CHAMPIONS)
        assert len(champions) == done.step // 2
        if not done.step % 2:
            assert champions[-1].weight == max(now.values())
    assert all(a.payload for a in champions)
    pruned = [a for a in run.archive.record("program", ELITES) if a.pruned_at is not None]
    assert pruned and not any(a.payload for a in pruned)


@pytest.mark.parametrize(("remember", "count"), [(20, [0, 1, 2]), (1, [0, 1, 1]), (0, [0, 0, 0])])
def test_opponents_are_the_first_and_the_champions_remembered(rounds, monkeypatch, remember, count):
    met, real = [], tried

    def noted(template, text, plays, weights):
        met.append([options["opponents"] for _, options in plays])
        return real(template, text, plays, weights)

    monkeypatch.setattr(challenge, "tried", noted)
    run = rounds(remember=remember)
    together = rounds(remember=remember, together=False)
    for one, each in ((run, False), (together, True)):
        for done in loop.updates(one):
            champions = one.archive.living("program", CHAMPIONS)
            old = [a.payload for a in champions if a.born_at < 2 * ((done.step - 1) // 2)]
            expected = ["MOV 0, 1", *(old[-remember:] if remember else [])]
            assert len(expected) - 1 == count[(done.step - 1) // 2]
            wanted = [[text] for text in expected for _ in "12"] if each else [expected] * 2
            assert met and all(one == wanted for one in met)
            met.clear()


def test_copies_take_no_cell_from_what_they_copy(rounds):
    run = rounds(steps=2, mutate=Identity(), fresh=0.0)
    first, _ = loop.updates(run)
    assert all(a.parents == () for a in run.archive.record("program", ELITES))
    assert first.metrics["programs/failed"] == 0


def test_an_agent_writes_programs_and_what_cannot_be_read_is_counted(rounds, monkeypatch):
    said = [f"Better:\n```\n{DWARF}\n```"]
    monkeypatch.setattr(writers, "load_agent", lambda *a, **k: FixedTextAgent(said[0], "x"))
    run = rounds(mutate=RewriteProgram(agent="x"), steps=1)
    (done,) = loop.updates(run)
    (owner, other) = sorted(run.archive.living("program", ELITES), key=lambda a: a.descriptor)
    assert owner.payload == "MOV.I $0, $1" and other.payload.startswith("ADD.AB #4, $3\nMOV.I $2")
    assert other.descriptor == (4.0, 4.0) and done.metrics["programs/failed"] == 0
    said[0] = "I would rather not."
    (done,) = loop.updates(rounds(mutate=RewriteProgram(agent="x"), steps=1))
    assert done.metrics["programs/failed"] == 4 + 6


def test_an_agent_is_shown_the_rules_and_the_parent_as_code():
    parent = Artifact("program-0", "program", "SPL 0, <3", weight=0.25, uses=20)
    asked = RewriteProgram().asked("Fight.", [parent])[1]["content"]
    assert asked.startswith("Fight.") and "earned 0.25" in asked and "SPL 0, <3" in asked
    assert RewriteProgram().asked("Fight.", [])[1]["content"] == "Fight."


def test_a_text_is_worth_the_mean_of_its_episodes():
    env = make(ENV, **OPTIONS)
    alone = tried(env, "JMP 0", [(0, {}), (1, {})], {})
    assert alone.weight == 1.0 and alone.outcomes(("length", "opcodes")) == (1.0, 1.0)
    dead = tried(env, "DAT 0", [(0, {"opponents": ["JMP 0"]})], {})
    assert dead.weight == 0.0
    with pytest.raises(ConfigError, match="outcome"):
        alone.outcomes(("lenght",))


def test_without_an_opponent_there_is_no_round(rounds):
    with pytest.raises(ConfigError, match=r"first=\[\] names no opponent"):
        loop.finish(rounds(first=()))
