"""Rewards on a verifier's word: being right, and getting better in the course of a discussion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import reward_modules


def reward(name, **params):
    return reward_modules([{"name": name, **params}])[0]


SEATS = ("solver_0", "solver_1", "critic_0")
RANGE = 1e-9


def turn(agent, verified=None, round=0, answer="4"):
    role = agent.rpartition("_")[0]
    made = Turn(agent, (), "text", "4", Status.LEGAL, None, role=role, round=round)
    made.verified, made.answer = verified, answer
    return made


def play(*turns):
    return Episode("x", 0, {}, SEATS, "t", list(turns), StopReason.FINISHED)


def paid(module, *turns):
    """Return what every reply earns, as a number; None where its speaker is not paid."""
    (table,) = module.table([play(*turns)])
    assert all(set(row) <= {t.agent} for row, t in zip(table, turns, strict=True))
    return [row.get(t.agent) for row, t in zip(table, turns, strict=True)]


# ---- Verifier -----------------------------------------------------------------------------------


def test_the_speaker_is_paid_what_the_verifier_says():
    turns = turn("solver_0", 1.0), turn("solver_1", 0.25), turn("critic_0"), turn("solver_0", 0.0)
    assert paid(reward("verifier"), *turns) == [1.0, 0.25, None, 0.0]
    assert reward("verifier").per_turn and reward("verifier").range == (0.0, 1.0)


@pytest.mark.parametrize("roles", [["solver"], ("solver",), ["solver", "writer"]])
def test_only_named_roles_are_paid(roles):
    turns = turn("solver_0", 1.0), turn("critic_0", 1.0)
    assert paid(reward("verifier", roles=roles), *turns) == [1.0, None]


def test_the_last_verified_reply_of_each_seat_may_be_the_only_one_paid():
    module = reward("verifier", last_only=True)
    turns = [
        turn("solver_0", 1.0),
        turn("solver_1", 0.5),
        turn("solver_0", 0.0),
        turn("solver_0"),
        turn("critic_0"),
    ]
    assert paid(module, *turns) == [None, 0.5, 0.0, None, None]
    assert not module.per_turn


def test_a_reply_without_an_answer_may_cost_more_than_a_wrong_one():
    module = reward("verifier", roles=["solver"], unanswered=-1.0)
    turns = [
        turn("solver_0", 0.0, answer=None),
        turn("solver_1", 0.0),
        turn("critic_0", answer=None),
        turn("solver_0", answer=None),
        turn("solver_0"),
    ]
    assert paid(module, *turns) == [-1.0, 0.0, None, -1.0, None]
    assert module.range == (-1.0, 1.0)
    last = reward("verifier", roles=["solver"], unanswered=-1.0, last_only=True)
    assert paid(last, *turns) == [None, 0.0, None, -1.0, None]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"unanswered": -1.0}, "unanswered=-1.0 needs roles"),
        ({"unanswered": float("nan"), "roles": ["solver"]}, "unanswered=nan must be a finite"),
        ({"unanswered": "x", "roles": ["solver"]}, "unanswered='x' must be a valid number"),
        ({"roles": 3}, "roles=3 must be a valid tuple"),
        ({"roles": ["solver", 3]}, "must be a valid string"),
        ({"role": "solver"}, "did you mean 'roles'"),
    ],
)
def test_a_verifier_refuses_what_makes_no_sense(params, message):
    with pytest.raises((ConfigError, UnknownNameError), match=message):
        reward("verifier", **params)


# ---- Margin and quality -------------------------------------------------------------------------

TABLE = {
    ("margin", 1, 0): 1.5,
    ("margin", 0, 1): -0.5,
    ("margin", 1, 1): 1.0,
    ("margin", 0, 0): 0.0,
    ("quality", 1, 1): 1.5,
    ("quality", 0, 0): -0.5,
    ("quality", 1, 0): 1.0,
    ("quality", 0, 1): 0.0,
}
"""R + 0.5 D at (R, Q), by hand."""


@pytest.mark.parametrize(("name", "right", "before"), TABLE)
@pytest.mark.parametrize("history", ["all", "own"])
def test_the_table_of_margin_and_quality(name, right, before, history):
    module = reward(name, history=history)
    first, second = turn("solver_0", float(before)), turn("solver_0", float(right), 1)
    assert paid(module, first, second) == [before, TABLE[name, right, before]]
    assert module.per_turn


def test_whose_history_counts_is_a_choice():
    turns = [
        turn("solver_0", 1.0),
        turn("solver_1", 0.0),
        turn("solver_0", 1.0, 1),
        turn("solver_1", 1.0, 1),
    ]
    assert paid(reward("margin"), *turns) == [1.0, 0.0, 1.25, 1.25]
    assert paid(reward("margin", history="own"), *turns) == [1.0, 0.0, 1.0, 1.5]


def test_what_others_say_at_the_same_time_is_no_history():
    assert paid(reward("margin"), turn("solver_0", 0.0), turn("solver_1", 1.0)) == [0.0, 1.0]


def test_a_second_attempt_in_a_round_has_the_first_behind_it():
    assert paid(reward("margin"), turn("solver_0", 0.0), turn("solver_0", 1.0)) == [0.0, 1.5]


def test_replies_that_nobody_verified_are_neither_paid_nor_remembered():
    turns = turn("solver_0", 1.0), turn("critic_0", None, 1), turn("solver_0", 0.0, 2)
    assert paid(reward("margin"), *turns) == [1.0, None, -0.5]


def test_roles_that_are_not_named_are_no_history_either():
    turns = turn("critic_0", 1.0), turn("solver_0", 1.0, 1), turn("solver_1", 1.0, 2)
    assert paid(reward("quality", roles=["solver"]), *turns) == [None, 1.0, 1.5]


def test_the_outcome_of_a_seat_may_come_on_top():
    module = reward("margin", beta=0.5)
    turns = [
        turn("solver_0", 0.0),
        turn("solver_1", 0.0),
        turn("solver_0", 0.0, 1),
        turn("solver_1", 1.0, 1),
        turn("solver_0", 1.0, 2),
    ]
    without = paid(reward("margin"), *turns)
    assert paid(module, *turns) == [0.0, 0.0, without[2] + 0.5, without[3] + 0.5, without[4] + 0.5]
    assert not module.per_turn
    assert module.range == (-0.5, 2.0)


verdicts = st.lists(
    st.tuples(st.sampled_from(SEATS), st.none() | st.floats(0, 1), st.integers(0, 3)), max_size=8
)


@given(verdicts, st.sampled_from(["margin", "quality"]), st.floats(0, 2), st.floats(0, 2))
def test_shaped_rewards_keep_to_their_range(found, name, alpha, beta):
    module = reward(name, alpha=alpha, beta=beta)
    low, high = module.range
    turns = [turn(*each) for each in sorted(found, key=lambda f: f[2])]
    for earned in paid(module, *turns):
        assert earned is None or low - RANGE <= earned <= high + RANGE


@given(verdicts)
def test_without_alpha_shaping_is_the_verifier(found):
    turns = [turn(*each) for each in found]
    assert paid(reward("quality", alpha=0), *turns) == paid(reward("verifier"), *turns)


@pytest.mark.parametrize(
    "params", [{"alpha": -0.1}, {"beta": float("inf")}, {"history": "mine"}, {"alpha": None}]
)
@pytest.mark.parametrize("name", ["margin", "quality"])
def test_shaping_refuses_what_makes_no_sense(name, params):
    with pytest.raises(ConfigError, match=next(iter(params))):
        reward(name, **params)
