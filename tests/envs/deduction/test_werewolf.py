"""Werewolf: nights, votes and ends by hand, beliefs by Bayes' rule, the random reference."""

from fractions import Fraction
from itertools import product

import pytest

from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer
from coevo.envs.deduction.werewolf import BLUFF, SLIP, Village
from coevo.envs.societies.table_talk import Statement

ID = "coevo/werewolf-v0"
P = [f"player_{i}" for i in range(5)]


def started(wolf, seer, **options):
    env, wanted = make(ID, **options), Village(frozenset([wolf]), seer)
    for seed in range(1000):
        env.reset(seed=seed)
        if env.task.world == wanted:
            return env
    raise AssertionError(f"no seed draws {wanted}")


def night(env, kill, look):
    for _ in range(2):
        seat = env.agent_selection
        env.step(answer(look if seat == env.task.world.seer else kill))


def day(env, out):
    for _ in range(len(env.task.alive)):
        env.step("I do not know.")
    for _ in range(len(env.task.alive)):
        legal = env.infos[env.agent_selection]["legal_actions"]
        env.step(answer(out if out in legal else legal[0]))


def test_the_village_wins_with_the_wolf_and_the_dead_win_with_it():
    env = started(P[2], P[0])
    night(env, P[1], P[3])
    assert env.task.alive == [P[0], P[2], P[3], P[4]]
    assert "You looked at player_3: player_3 is no wolf." in env.chat(P[0])[-1]["content"]
    assert "looked at" not in str(env.chat(P[2]))
    day(env, P[2])
    assert not env.awaiting
    assert [env.episode.total(s) for s in P] == [1, 1, 0, 1, 1]


def test_the_wolf_wins_when_it_is_as_many_as_the_others_and_a_tie_lets_all_stay():
    env = started(P[2], P[0])
    night(env, P[0], P[3])
    assert "was a seer" in env.chat(P[1])[-1]["content"]
    for _ in range(4):
        env.step("Well.")
    for vote in (P[2], P[1], P[4], P[3]):  # by player_1, 2, 3, 4
        env.step(answer(vote))
    assert len(env.task.alive) == 4 and "There was a tie" in env.chat(P[2])[-1]["content"]
    env.step(answer(P[1]))
    day(env, P[3])
    assert not env.awaiting
    assert [env.episode.total(s) for s in P] == [0, 0, 1, 0, 0]


def test_beliefs_are_bayes_rule_by_hand():
    """player_1 died as a villager; player_2 accuses player_3, who says nothing."""
    env = started(P[4], P[3])
    task = env.task
    task.alive.remove(P[1])
    task.shown[P[1]] = "villager"
    task.statements = [
        Statement(0, P[2], "I am the seer: player_3 is a wolf."),
        Statement(0, P[3], "hm"),
    ]
    silent = {"seer": SLIP, "wolf": 1 - BLUFF, "villager": 1.0}
    odds = {}
    for wolf, seer in product(P[2:], repeat=2):
        if wolf != seer:
            role = {wolf: "wolf", seer: "seer"}
            accused = {
                "seer": 1 if wolf == P[3] else SLIP,
                "wolf": BLUFF if wolf != P[3] else SLIP,
            }.get(role.get(P[2], ""), SLIP)
            odds[wolf, seer] = accused * silent[role.get(P[3], "villager")]
    found = task.beliefs(P[0])
    assert set(found) == {Village(frozenset([w]), s) for w, s in odds}
    for (wolf, seer), p in odds.items():
        assert found[Village(frozenset([wolf]), seer)] == pytest.approx(p / sum(odds.values()))
    assert sum(task.suspicion(P[0]).values()) == pytest.approx(1)


def by_lot(alive):
    """Chances that even votes put out the wolf, who is the first, and that there is a tie."""
    out = tie = Fraction(0)
    for votes in product(*[[o for o in range(alive) if o != i] for i in range(alive)]):
        counts = [votes.count(i) for i in range(alive)]
        top = [i for i, n in enumerate(counts) if n == max(counts)]
        tie += Fraction(len(top) > 1, (alive - 1) ** alive)
        out += Fraction(top == [0], (alive - 1) ** alive)
    return out, tie


def test_random_play_by_hand():
    (out, tie), (late, _) = by_lot(4), by_lot(3)
    village = out + tie * late
    assert village == Fraction(1, 4)
    assert spec(ID).refs["random"] == pytest.approx(float((4 * village + 1 - village) / 5))


def test_two_wolves_know_each_other_and_choose_one_victim():
    env = make(ID, players=7, wolves=2)
    env.reset(seed=1)
    wolves = sorted(env.task.world.wolves)
    for one, other in (wolves, wolves[::-1]):
        assert f"So is {other}." in env.task.rules(one)
        assert not {one, other} & set(env.task.legal(one))
    victims = iter([s for s in env.possible_agents if env.task.world.role(s) == "villager"][:2])
    first = None
    while env.task.phase == "night":
        seat = env.agent_selection
        kill = next(victims) if seat in wolves else wolves[0]
        first = first or (kill if seat in wolves else None)
        env.step(answer(kill))
    assert list(env.task.shown.items()) == [(first, "villager")]


def test_too_many_wolves_are_refused():
    with pytest.raises(ConfigError, match="6 players or more"):
        make(ID, wolves=2)
