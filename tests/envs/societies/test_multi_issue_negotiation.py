"""Several issues: worth, frontier and references by enumeration; beliefs about the other."""

import itertools

import numpy as np
import pytest

from coevo.envs import make, spec
from coevo.envs.core.parsing import answer
from coevo.envs.societies.multi_issue_negotiation import (
    ACCEPT,
    REJECT,
    Interests,
    references,
    types_of_other,
)

ID = "coevo/multi_issue_negotiation-v0"
ONE = Interests((5, 3, 2), (True, True, True))
OTHER = Interests((2, 3, 5), (False, False, False))


def started(**options):
    env = make(ID, talk=False, **options)
    env.reset(seed=0)
    env.task.interests = {"player_0": ONE, "player_1": OTHER}
    return env


def test_a_deal_pays_both_its_worth_and_is_compared_exactly():
    env = started()
    env.step("[blue Tuesday Oslo]")
    env.step(answer(ACCEPT))
    paid = [env.episode.total(s) for s in env.possible_agents]
    assert paid == pytest.approx([0.65, 0.65])
    every = [(ONE.worth(d), OTHER.worth(d)) for d in itertools.product(range(3), repeat=3)]
    assert env.episode.outcome["nash"] == pytest.approx(0.65**2 / max(u * v for u, v in every))
    assert env.episode.outcome["efficiency"] == pytest.approx(1.3 / max(u + v for u, v in every))
    assert env.episode.outcome["pareto"] == 1


def test_a_deal_that_another_betters_for_both_is_not_on_the_frontier():
    env = started()
    env.step("[green Tuesday Rome]")
    env.step(answer(ACCEPT))
    assert env.episode.total("player_0") == env.episode.total("player_1") == 0.5
    assert env.episode.outcome["pareto"] == 0 and env.episode.outcome["efficiency"] < 1


def test_after_the_last_offer_there_is_only_yes_or_no_and_no_deal_pays_nothing():
    env = started(turns=2)
    env.step("[red Monday Oslo]")
    assert env.infos[env.agent_selection]["legal_actions"] == [ACCEPT, REJECT]
    env.step(answer(REJECT))
    assert [env.episode.total(s) for s in env.possible_agents] == [0, 0]
    assert env.episode.outcome["deal"] == env.episode.outcome["nash"] == 0


def test_references_by_enumeration_over_both_seats():
    most = [
        max(ONE.worth(d) + other.worth(d) for d in itertools.product(range(3), repeat=3)) / 2
        for other in types_of_other(ONE)
    ]
    assert np.mean(most) == pytest.approx(spec(ID).refs["oracle"])
    assert references(3, 4) == pytest.approx(spec(ID).refs)
    agreed = 1 / 28 + 27 / 28 * (1 / 28 + 27 / 28 / 2)
    assert spec(ID).refs["random"] == pytest.approx(agreed / 2)


def test_offers_and_words_move_beliefs_to_what_the_other_wants():
    env = make(ID)
    env.reset(seed=0)
    other, seat = env.awaiting[0], next(s for s in env.possible_agents if s not in env.awaiting)
    env.task.interests = {seat: ONE, other: OTHER}

    def chance(issue):
        beliefs = env.task.beliefs(seat)
        return sum(p for kind, p in beliefs.items() if kind.weights[issue] == 5)

    assert chance(2) == pytest.approx(1 / 3)
    env.step("<message>I want most: place.</message>")
    assert chance(2) == pytest.approx(0.8 + 0.2 / 3)
    env.step("[green Tuesday Oslo]")
    assert chance(2) > 0.9


def test_the_types_of_the_other_hold_the_true_one_and_are_as_many_from_both_sides():
    env = make(ID)
    for seed in range(20):
        env.reset(seed=seed)
        one, other = env.task.interests.values()
        assert other in types_of_other(one) and one in types_of_other(other)
        assert len(set(types_of_other(one))) == 24
