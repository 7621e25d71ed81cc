"""The rules' payoff shared among seats, and the price of tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coevo.envs
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import reward_modules
from coevo.envs.rewards.payoff import shared


def reward(name, **params):
    return reward_modules([{"name": name, **params}])[0]


SEATS = ("a_0", "a_1", "a_2")


def turn(agent="a_0", tokens=None, **payoff):
    ids = None if tokens is None else [1] * tokens
    made = Turn(agent, (), "x", "x", Status.LEGAL, None, token_ids=ids)
    if payoff:
        made.pay("payoff", payoff)
    return made


def play(*turns, task="q", env="x"):
    return Episode(env, 0, {}, SEATS, task, list(turns), StopReason.FINISHED)


# ---- Payoff -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        ("own", [3.0, 0.0, -1.5]),
        ("others", [-0.75, 0.75, 1.5]),
        ("team", [0.5, 0.5, 0.5]),
        ("sum", [1.5, 1.5, 1.5]),
    ],
)
def test_shares_of_a_joint_payoff(share, expected):
    module = reward("shared_payoff", share=share, scale=2.0)
    paid = module.table([play(turn(), turn(a_0=3.0, a_2=-1.5))])
    assert paid == [[{}, dict(zip(SEATS, [2 * x for x in expected], strict=True))]]
    assert module.component == f"payoff_{share}" and module.per_turn


@given(st.dictionaries(st.sampled_from(SEATS), st.floats(-1e6, 1e6), min_size=1))
def test_shares_add_up(payoff):
    total = sum(payoff.values())
    assert sum(shared(payoff, "team").values()) == pytest.approx(total, abs=1e-6)
    assert set(shared(payoff, "sum").values()) == {total}
    if len(payoff) > 1:
        assert sum(shared(payoff, "others").values()) == pytest.approx(total, abs=1e-6)
        others, team = shared(payoff, "others"), shared(payoff, "team")
        n = len(payoff)
        for agent, own in payoff.items():
            assert (others[agent] * (n - 1) + own) / n == pytest.approx(team[agent], abs=1e-6)


def test_a_seat_alone_has_no_others():
    assert shared({"a_0": 2.0}, "others") == {"a_0": 0.0}


def test_the_payoff_of_the_rules_stays_beside_its_shares():
    modules = [
        reward("shared_payoff", share="others", scale=0.5),
        reward("shared_payoff", share="sum"),
    ]
    env = coevo.envs.make("coevo/kuhn_poker-v0", rewards=modules)
    env.reset(seed=0)
    env.step("[bet]")
    assert not any(env.episode.turns[0].rewards["payoff_sum"].values())
    env.step("[call]")
    own = {a: env.episode.total(a, "payoff") for a in env.episode.agents}
    assert set(own.values()) == {2.0, -2.0}
    others = env.episode.turns[1].rewards["payoff_others"]
    assert others == {a: -r / 2 for a, r in own.items()}, "zero-sum: what the other has is lost"
    assert env.episode.turns[1].rewards["payoff_sum"] == dict.fromkeys(own, 0.0)
    assert {a: env.episode.outcome[f"return/{a}"] for a in own} == own
    assert env.rewards == {a: r / 2 for a, r in own.items()}


def test_what_an_illegal_reply_costs_is_not_shared():
    env = coevo.envs.make("coevo/kuhn_poker-v0", illegal="forfeit", rewards=["shared_payoff"])
    env.reset(seed=0)
    env.step("hm")
    assert env.episode.turns[0].rewards["illegal"]
    assert env.episode.turns[0].rewards["payoff_team"] == {}


# ---- Tokens -------------------------------------------------------------------------------------


def test_the_longest_play_of_a_task_pays_the_whole_cost():
    plays = [
        play(turn(tokens=6), turn("a_1", tokens=2)),
        play(turn(tokens=2), turn("a_1"), turn("a_1", tokens=0)),
        play(turn(tokens=1), task="other"),
    ]
    module = reward("token_cost", cost=0.5)
    assert module.table(plays) == [
        [{"a_0": -0.375}, {"a_1": -0.125}],
        [{"a_0": -0.125}, {}, {"a_1": 0.0}],
        [{"a_0": -0.5}],
    ]
    assert module.range == (-0.5, 0.0) and not module.per_turn


def test_a_team_pays_together():
    """Optima: R gets -lambda * tokens of the conversation / most tokens of a conversation."""
    plays = [play(turn(tokens=3), turn("a_1", tokens=1)), play(turn(tokens=8))]
    tables = reward("token_cost", cost=0.6, payer="team").table(plays)
    totals = [{a: sum(row.get(a, 0.0) for row in t) for a in SEATS} for t in tables]
    assert totals[0] == {a: pytest.approx(-0.6 * 4 / 8) for a in SEATS}
    assert totals[1] == {a: pytest.approx(-0.6) for a in SEATS}


def test_plays_without_tokens_or_tasks():
    module = reward("token_cost")
    assert module.table([play(turn())]) == [[{}]]
    assert module.table([play(turn(tokens=0))]) == [[{"a_0": 0.0}]]
    assert str(module.table([play(turn(tokens=0))])[0][0]["a_0"]) == "0.0"
    apart = module.table([play(turn(tokens=1), task=""), play(turn(tokens=9), task="")])
    assert apart == [[{"a_0": -0.5}]] * 2
    envs = module.table([play(turn(tokens=1), env="x"), play(turn(tokens=9), env="y")])
    assert envs == apart
    assert module.table([]) == []


@given(st.lists(st.lists(st.none() | st.integers(0, 50), max_size=4), max_size=4))
def test_a_play_pays_between_nothing_and_the_cost(lengths):
    plays = [play(*(turn(tokens=n) for n in row)) for row in lengths]
    for table in reward("token_cost", cost=2.0).table(plays):
        assert -2.0 - 1e-9 <= sum(r for row in table for r in row.values()) <= 0.0


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("shared_payoff", {"share": "mine"}),
        ("shared_payoff", {"scale": float("nan")}),
        ("shared_payoff", {"scale": "2"}),
        ("token_cost", {"cost": -1.0}),
        ("token_cost", {"payer": "me"}),
        ("format", {"legal": float("inf")}),
        ("length_penalty", {"weight": float("nan")}),
    ],
)
def test_they_refuse_what_makes_no_sense(name, params):
    with pytest.raises(ConfigError, match=next(iter(params))):
        reward(name, **params)
