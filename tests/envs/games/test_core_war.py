"""Core War: what a battle pays, what a program may be, opponents, and the references."""

import numpy as np
import pytest

from coevo.envs import make
from coevo.envs.core.errors import ConfigError
from coevo.envs.games.core_war import pool
from coevo.envs.redcode.assembler import assemble
from coevo.envs.redcode.classics import CLASSICS
from coevo.envs.redcode.language import CoreRules, listing

ID = "coevo/core_war-v0"


def played(*replies, seed=0, opponents=(), **arguments):
    env = make(ID, **{"warriors": len(replies), **arguments})
    env.reset(seed=seed, options={"opponents": opponents})
    for reply in replies:
        env.step(reply)
    return env


def payoffs(env):
    return [env.episode.total(seat) for seat in env.possible_agents]


def test_equal_warriors_share_and_a_dead_one_gets_what_it_lived():
    assert payoffs(played("MOV 0, 1", "MOV 0, 1")) == [0.5, 0.5]
    assert payoffs(played("DAT 0", "MOV 0, 1")) == [0.0, 1.0]
    four = payoffs(played("JMP 0", "JMP 0", "DAT 0", "JMP 0", rounds=4))
    assert four == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])


def test_payoffs_add_up_to_one_while_anyone_lives():
    for seed in range(5):
        env = played(CLASSICS["dwarf"], CLASSICS["paper"], CLASSICS["clear"], seed=seed)
        assert sum(payoffs(env)) == pytest.approx(1.0)


def test_what_cannot_be_assembled_takes_no_part():
    env = make(ID)
    env.reset(seed=0)
    env.step("MOVE 0, 1")
    assert "'MOVE' is no opcode; did you mean MOV?" in env.chat("warrior_0")[-1]["content"]
    env.step("```\nJMP nowhere\n```")
    env.step("Here it is:\n```redcode\nimp MOV imp, imp+1 ; copies itself\n```\nGood luck!")
    assert payoffs(env) == [0.0, 1.0] and env.episode.outcome["unread"] == 0
    assert env.episode.turns[-1].move == "MOV.I $0, $1"
    assert payoffs(played("no", "no", illegal={"retries": 0})) == [0.0, 0.0]


def test_opponents_share_the_core_and_are_shown_where_asked():
    env = played("JMP 0", opponents=["MOV 0, 1", "DAT 0"], rounds=4)
    assert payoffs(env) == [0.5] and env.episode.outcome["survived"] == 1
    for shown in (False, True):
        env = make(ID, open_code=shown)
        env.reset(seed=0, options={"opponents": ["SPL 3, <4"]})
        prompt = env.chat("warrior_0")[-1]["content"]
        assert ("SPL.B $3, <4" in prompt) == shown
        assert env.infos["warrior_1"]["opponents"] == (["SPL.B $3, <4"] if shown else [])


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"opponents": "MOV 0, 1"}, "must be a list of programs"),
        ({"opponents": ["MOV"]}, "opponents: line 1: MOV takes two operands"),
        ({"opponents": ["NOP"] * 19}, "no room for 21 warriors"),
    ],
)
def test_wrong_opponents_are_refused_in_a_line(options, why):
    with pytest.raises(ConfigError, match=why):
        make(ID).reset(seed=0, options=options)


def test_too_many_warriors_are_refused():
    with pytest.raises(ConfigError, match="no room for 3 warriors"):
        make(ID, core=50, warriors=3)


def test_a_seat_earns_the_same_whoever_moves_first():
    ours = payoffs(played(CLASSICS["dwarf"], CLASSICS["paper"], rounds=40))[0]
    theirs = payoffs(played(CLASSICS["paper"], CLASSICS["dwarf"], rounds=40))[1]
    assert ours == pytest.approx(theirs, abs=0.15)


def test_outcomes_describe_a_program():
    outcome = played("JMP 0", warriors=1).episode.outcome
    assert outcome["covered"] == 1 and outcome["spawned"] == 0 and outcome["length"] == 1
    split = played("SPL 0\nJMP 0", warriors=1, tasks=9).episode.outcome
    assert split["spawned"] == 8 and split["covered"] == 2 and split["opcodes"] == 2


def test_the_state_shows_who_ran_where():
    drawn = played("JMP 0", "MOV 0, 1", cycles=9).state()
    core = drawn.split("battle\n")[1]
    assert drawn.startswith("warrior_0: 0.5") and core.count("a") == 1 and core.count("b") == 9


@pytest.mark.parametrize(("skill", "reference"), [(0.0, 0.5), (1.0, 0.988)])
def test_experts_against_random_play(skill, reference):
    env, rng, found = make(ID), np.random.default_rng(0), []
    for seed in range(100):
        env.reset(seed=seed)
        for seat, own in (("warrior_0", skill), ("warrior_1", 0.0)):
            replies = env.expert(seat, own)
            env.step(str(rng.choice(replies.texts, p=replies.probabilities)))
        found.append(env.episode.total("warrior_0"))
    assert np.mean(found) == pytest.approx(reference, abs=0.12 if skill == 0 else 0.03)


def test_all_classics_are_in_the_pool_where_they_fit():
    assert len(pool(CoreRules())[0]) == len(CLASSICS) == 10
    assert len(pool(CoreRules(length=4))[0]) == 5


def test_random_replies_are_programs_and_changes_are_small():
    task, rng = make(ID).task, np.random.default_rng(0)
    rules = CoreRules()
    drawn = task.random_reply("warrior_0", rng)
    assert listing(assemble(drawn, rules), 400) == drawn
    parent = listing(assemble(CLASSICS["paper"], rules), 400)
    changed = [task.random_reply("warrior_0", rng, [parent, drawn]) for _ in range(30)]
    assert len(set(changed)) > 20
    kept = [len(set(parent.split("\n")) & set(text.split("\n"))) for text in changed]
    assert np.mean(kept) > 5
