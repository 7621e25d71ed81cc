"""The Resistance: missions, votes and ends by hand, beliefs by Bayes' rule, Avalon's roles."""

from fractions import Fraction

import pytest

from coevo.envs import make, spec
from coevo.envs.core.parsing import answer
from coevo.envs.deduction.resistance import SABOTAGE, SIZES, SPIES, Loyalties, Mission

ID = "coevo/resistance-v0"
P = [f"player_{i}" for i in range(5)]


def started(spies, **options):
    env = make(ID, **options)
    env.reset(seed=0)
    merlin, assassin = (P[0], spies[0]) if env.task.config.avalon else ("", "")
    env.task.world = Loyalties(frozenset(spies), merlin, assassin)
    return env


def proposed(env, team, approve=5):
    env.step("I trust them.")
    env.step(answer(" ".join(team)))
    for i in range(5):
        env.step("[approve]" if i < approve else "[reject]")


def test_a_mission_fails_by_one_failure_and_two_of_three_decide():
    env = started(P[3:])
    proposed(env, P[:2])
    assert [m.failures for m in env.task.done] == [0], "who is no spy is not asked"
    proposed(env, P[1:4])
    assert env.awaiting == (P[3],)
    env.step("[fail]")
    news = "\n".join(m["content"] for m in env.chat(env.agent_selection))
    assert "Failures: 1." in news and "player_3 chose" not in news
    proposed(env, P[:2], approve=3)
    assert not env.awaiting
    assert [env.episode.total(s) for s in P] == [1, 1, 1, 0, 0]


def test_rejected_teams_pass_the_lead_on_and_the_last_one_loses():
    env = started(P[3:])
    first = env.task.leader
    proposed(env, P[:2], approve=2)
    assert env.task.leader == P[(P.index(first) + 1) % 5] and not env.task.done
    proposed(env, P[:2], approve=0)
    assert [env.episode.total(s) for s in P] == [0, 0, 0, 1, 1]


def test_beliefs_are_bayes_rule_by_hand():
    env = started(P[3:])
    env.task.done = [Mission((P[0], P[3]), 1), Mission((P[1], P[2], P[4]), 0)]
    alone = env.task.beliefs(P[0])
    assert all(P[3] in spies for spies in alone), "only player_3 can have failed it"
    weights = {P[1]: 1 - SABOTAGE, P[2]: 1 - SABOTAGE, P[4]: 1 - SABOTAGE}
    assert alone == pytest.approx({frozenset([P[3], s]): 1 / 3 for s in weights})
    outside = env.task.beliefs(P[1])
    odds = {}
    for other in (P[0], P[3]):
        for one in (P[2], P[4]):
            odds[frozenset([other, one])] = SABOTAGE * (1 - SABOTAGE)
    odds[frozenset([P[0], P[3]])] = 2 * SABOTAGE * (1 - SABOTAGE)
    total = sum(odds.values())
    assert outside == pytest.approx({spies: p / total for spies, p in odds.items()})
    assert env.task.beliefs(P[4]) == {frozenset(P[3:]): 1}, "spies know each other"


@pytest.mark.parametrize(("named", "paid"), [(0, [0, 0, 0, 1, 1]), (1, [1, 1, 1, 0, 0])])
def test_in_avalon_the_assassin_may_still_win_by_naming_merlin(named, paid):
    env = started(P[3:], avalon=True)
    assert "The spies: player_3, player_4." in env.task.rules(P[0])
    assert "player_3, player_4" not in env.task.rules(P[1])
    proposed(env, P[:2])
    proposed(env, P[:3])
    assert env.awaiting == (P[3],) and env.task.legal(P[3]) == P[:3]
    env.step(answer(P[named]))
    assert [env.episode.total(s) for s in P] == paid


def test_random_play_by_hand():
    goes = Fraction(3, 4)  # one of two teams is approved
    two = Fraction(3, 10) + Fraction(6, 10) / 2 + Fraction(1, 10) / 4
    three = Fraction(1, 10) + Fraction(6, 10) / 2 + Fraction(3, 10) / 4
    won = goes**2 * two * three
    won += goes**3 * (two * (1 - three) * two + (1 - two) * three * two)
    assert spec(ID).refs["random"] == pytest.approx(float((3 * won + 2 * (1 - won)) / 5))


@pytest.mark.parametrize("players", sorted(SPIES))
def test_all_sizes_play_to_the_end_with_experts(players):
    assert len(SIZES[players]) == 5 and max(SIZES[players]) <= players - SPIES[players]
    env = make(ID, players=players, missions=5, proposals=5, prompt_style="terse", avalon=True)
    env.reset(seed=players)
    while env.awaiting:
        replies = env.expert(env.agent_selection, 1.0)
        env.step(replies.texts[int(replies.probabilities.argmax())])
    assert set(env.task.earned.values()) == {0.0, 1.0}
