"""What illegal replies cost, to the chip: Kuhn poker, where the stakes are 1 or 2."""

import copy
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coevo.envs
from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.envs.core.illegal import PRESETS, IllegalPolicy, Risk, illegal_policy
from coevo.envs.core.parsing import ANSWER_FORMAT, Status

KUHN = "coevo/kuhn_poker-v0"
FIRST, SECOND = "player_0", "player_1"


def kuhn(illegal, **kwargs):
    env = coevo.envs.make(KUHN, illegal=illegal, **kwargs)
    env.reset(seed=0)
    return env


def forfeit(illegal, *before):
    """Play some moves, then answer nonsense until the game is over; give what each was paid."""
    env = kuhn(illegal)
    for move in before:
        env.step(f"[{move}]")
    offender = env.agent_selection
    while env.awaiting:
        env.step("nonsense")
    other = SECOND if offender == FIRST else FIRST
    assert env.episode.stop is StopReason.FORFEIT
    assert env.episode.total(offender, "illegal") == env.episode.total(offender)
    assert env.episode.outcome[f"return/{offender}"] == env.episode.total(offender)
    return env.episode.total(offender), env.episode.total(other)


PAID = [
    # preset, moves before, offender, other
    ("retry", (), -2, 0),
    ("retry", ("bet",), -2, 0),
    ("forfeit", (), -2, 0),
    ("forfeit", ("bet",), -2, 0),
    ("strict", (), -2, 0),
    ("marshal", (), -11, 0),  # one chip in the pot, -1 - 10
    ("marshal", ("bet",), -11, 0),
    ("marshal", ("check",), -11, 0),
    ("marshal", ("check", "bet"), -11, 0),
    ("spiral", (), -1.5, 0.5),
    ("spiral", ("check", "bet"), -1.5, 0.5),
    ("textarena", ("bet",), -1, 1),
    ("pettingzoo", ("bet",), -1, 0),
    ({"retries": 0, "penalty": -3, "others": "mirror"}, (), -3, 3),
    ({"retries": 0, "penalty": "worst", "others": "mirror"}, ("bet",), -2, 2),
    ({"penalty": "at_risk", "surcharge": 4}, ("check",), -5, 0),
    (IllegalPolicy(retries=0, penalty=-0.25, others=0.125), (), -0.25, 0.125),
]


@pytest.mark.parametrize(("illegal", "before", "offender", "other"), PAID)
def test_what_a_forfeit_pays(illegal, before, offender, other):
    assert forfeit(illegal, *before) == (offender, other)


def test_the_stake_grows_with_a_bet():
    """Nobody in Kuhn poker moves after having called, so the larger stake is asked for directly."""
    env = kuhn("marshal")
    env.step("[check]")
    env.step("[bet]")
    assert (env.task.at_risk(FIRST), env.task.at_risk(SECOND)) == (1, 2)


@pytest.mark.parametrize("preset", ["forfeit", "marshal", "spiral", "pettingzoo"])
def test_one_bad_reply_ends_the_game(preset):
    env = kuhn(preset)
    env.step("[fold]")
    assert env.awaiting == ()
    assert env.episode.stop is StopReason.FORFEIT
    assert env.episode.note == 'player_0: "fold" is not a legal move now'
    assert env.terminations == {FIRST: True, SECOND: True}
    assert env.truncations == {FIRST: False, SECOND: False}
    paid = env.episode.total(FIRST)
    assert env.episode.outcome["return/player_0"] == paid < 0, "what was paid and what is told"
    assert env.infos[FIRST]["parse"]["move"] is None


def test_textarena_asks_once_more_and_says_why():
    env = kuhn("textarena")
    before = env.chat(FIRST)
    env.step("I do not know")
    assert env.agent_selection == FIRST
    assert env.rewards == {FIRST: 0, SECOND: 0}
    reply, correction = env.chat(FIRST)[len(before) :]
    assert reply == {"role": "assistant", "content": "I do not know"}
    assert correction["role"] == "user"
    assert "square brackets" in correction["content"]
    assert "[check], [bet]" in correction["content"]
    assert env.infos[FIRST]["legal_actions"] == ["check", "bet"]
    assert env.chat(SECOND) == ()
    env.step("[bet]")
    assert env.agent_selection == SECOND
    assert env.episode.illegal_replies(FIRST) == 1
    assert env.episode.illegal_replies(SECOND) == 0


def test_a_valid_move_gives_the_attempts_back():
    env = kuhn("textarena")
    for reply in ("nonsense", "[check]", "nonsense", "[bet]", "nonsense", "[call]"):
        assert env.awaiting
        env.step(reply)
    assert env.episode.stop is StopReason.FINISHED
    assert all("illegal" not in turn.rewards for turn in env.episode.turns)


def test_every_seat_of_a_round_has_attempts_of_its_own():
    env = coevo.envs.make("coevo/goofspiel-v0", illegal="textarena")
    env.reset(seed=0)
    for reply in ("no", "[1]", "no"):
        env.step(reply)
    assert env.awaiting == (SECOND,)
    assert "not accepted" in env.chat(SECOND)[-1]["content"]
    env.step("[2]")
    assert env.awaiting == (FIRST, SECOND)
    for reply in ("no", "no", "no"):
        env.step(reply)
    assert env.awaiting == (SECOND,), "the first has used its attempts up, not the second's"
    env.step("[1]")
    assert env.episode.offenders == (FIRST,)


GOOFSPIEL = "coevo/goofspiel-v0"
AT_ONCE = [
    # preset, reply of the first, reply of the second, what each is paid
    ("forfeit", "no", "[1]", (-1, 0)),
    ("forfeit", "[1]", "no", (0, -1)),
    ("forfeit", "no", "no", (-1, -1)),
    ("marshal", "no", "no", (-11, -11)),
    ("spiral", "no", "[1]", (-1.5, 0.5)),
    ("spiral", "[1]", "no", (0.5, -1.5)),
    ("spiral", "no", "no", (-1.5, -1.5)),
    ("pettingzoo", "no", "no", (-1, -1)),
    ({"retries": 0, "penalty": -3, "others": "mirror"}, "no", "[1]", (-3, 3)),
    ({"retries": 0, "penalty": -3, "others": "mirror"}, "no", "no", (-3, -3)),
]


@pytest.mark.parametrize(("illegal", "first", "second", "paid"), AT_ONCE)
def test_seats_that_move_at_once_are_all_judged(illegal, first, second, paid):
    env = coevo.envs.make(GOOFSPIEL, illegal=illegal)
    env.reset(seed=0)
    env.step(first)
    assert env.awaiting == (SECOND,), "the second seat has its say"
    assert env.infos[FIRST]["legal_actions"] == []
    assert env.episode.turns[0].rewards == {} or first == "[1]"
    env.step(second)
    assert env.episode.stop is StopReason.FORFEIT
    assert (env.episode.total(FIRST), env.episode.total(SECOND)) == paid
    assert (env.rewards[FIRST], env.rewards[SECOND]) == paid, "when the round is over"
    bad = tuple(s for s, said in ((FIRST, first), (SECOND, second)) if said == "no")
    assert env.episode.offenders == bad
    assert [part.partition(":")[0] for part in env.episode.note.split("; ")] == list(bad)
    assert all(env.episode.total(a, "payoff") == 0 for a in (FIRST, SECOND)), "no move was played"
    assert env.episode.outcome["return/player_0"] == paid[0]


def test_in_the_middle_of_a_play_each_offender_comes_down_to_the_lowest_payoff():
    game = "goofspiel(num_cards=4,returns_type=win_loss)"
    env = coevo.envs.make("coevo/openspiel-v0", game=game, illegal="forfeit")
    env.reset(seed=1)
    for reply in ("[Bid 1]", "[Bid 2]"):
        legal = env.infos[env.agent_selection]["legal_actions"]
        env.step(reply if reply[1:-1] in legal else f"[{legal[0]}]")
    env.episode.turns[-1].pay("payoff", {FIRST: 0.5, SECOND: -0.25})
    env.step("no")
    env.step("no")
    assert env.episode.total(FIRST) == env.episode.total(SECOND) == env.payoff_range[0] == -1


def test_a_replaced_move_ends_no_round():
    env = coevo.envs.make(GOOFSPIEL, illegal="penalty")
    env.reset(seed=0)
    for _ in range(2):
        env.step("no")
    assert env.episode.stop is StopReason.UNFINISHED
    assert env.awaiting == (FIRST, SECOND)
    assert [t.rewards["illegal"] for t in env.episode.turns] == [
        {FIRST: -0.1, SECOND: 0},
        {FIRST: 0, SECOND: -0.1},
    ]


RISKS = {"b_0": Risk(worst=-2, at_risk=1, rest=-2), "c_0": Risk(worst=-4, at_risk=3, rest=-1)}
SEATS = ("a_0", "b_0", "c_0", "d_0")


@pytest.mark.parametrize(
    ("preset", "paid"),
    [
        ("retry", (0, -2, -1, 0)),
        ("forfeit", (0, -2, -4, 0)),
        ("marshal", (0, -11, -13, 0)),
        ("spiral", (0.5, -1.5, -1.5, 0.5)),
        ("textarena", (1, -1, -1, 1)),
        ({"retries": 0, "penalty": "worst", "others": "mirror"}, (3, -2, -4, 3)),
    ],
)
def test_two_offenders_of_four(preset, paid):
    found = illegal_policy(preset).rewards(SEATS, RISKS)
    assert tuple(found[a] for a in SEATS) == paid


@given(
    st.sets(st.sampled_from(SEATS), min_size=1, max_size=3),
    st.floats(-100, 0),
    st.floats(0, 100),
    st.sampled_from(["worst", "at_risk", -1.0, 0.0]),
)
def test_mirrored_losses_sum_to_zero_as_long_as_anybody_is_left(out, worst, at_risk, penalty):
    policy = IllegalPolicy(penalty=penalty, others="mirror")
    paid = policy.rewards(SEATS, dict.fromkeys(out, Risk(worst, at_risk, worst)))
    assert sum(paid.values()) == pytest.approx(0, abs=1e-6)
    assert len({paid[a] for a in SEATS if a not in out}) == 1


def test_the_correction_quotes_the_reply_safely():
    env = kuhn("textarena")
    env.step("[<|im_end|>]")
    assert "<|im_end|>" not in env.chat(FIRST)[-1]["content"]
    assert "‹|im_end|›" in env.chat(FIRST)[-1]["content"]


def test_a_terse_correction_is_the_whole_prompt_again_with_the_reason():
    env = kuhn("textarena", prompt_style="terse")
    (prompt,) = env.chat(FIRST)
    env.step("hm")
    (again,) = env.chat(FIRST)
    why = "That was not accepted: no legal move was found in the reply."
    assert again == {"role": "user", "content": f"{why} {prompt['content']}"}


@pytest.mark.parametrize(("preset", "charge"), [("random", 0), ("penalty", -0.1)])
def test_a_random_move_replaces_a_bad_one(preset, charge):
    env = kuhn(preset)
    played = []
    for _ in range(60):
        env.reset()
        env.step("nonsense")
        turn = env.episode.turns[0]
        assert turn.status is Status.UNPARSABLE
        assert turn.text == "nonsense"
        assert turn.rewards["illegal"] == {FIRST: charge, SECOND: 0}
        assert env.agent_selection == SECOND
        played.append(turn.move)
    assert 15 < played.count("check") < 45
    assert set(played) == {"check", "bet"}


def test_replaced_moves_follow_the_seed():
    def moves():
        env = coevo.envs.make(KUHN, illegal="random")
        played = []
        for seed in range(20):
            env.reset(seed=seed)
            while env.awaiting:
                env.step("")
            played.append([turn.move for turn in env.episode.turns])
        return played

    assert moves() == moves()


@given(
    st.integers(1, 6),
    st.floats(-100, 100),
    st.floats(-100, 0),
    st.floats(0, 100),
    st.sampled_from(["worst", "at_risk", -1.0, 0.0]),
)
def test_a_mirrored_loss_sums_to_zero(others, surcharge, worst, at_risk, penalty):
    policy = IllegalPolicy(penalty=penalty, others="mirror", surcharge=surcharge)
    seats = tuple(f"player_{i}" for i in range(others + 1))
    paid = policy.rewards(seats, {"player_0": Risk(worst, at_risk, worst)})
    assert set(paid) == set(seats)
    assert sum(paid.values()) == pytest.approx(0, abs=1e-6)
    assert len({paid[a] for a in seats[1:]}) == 1


def test_alone_nobody_shares_the_loss():
    policy = IllegalPolicy(penalty=-1.0, others="mirror")
    assert policy.rewards(("solver_0",), {"solver_0": Risk(-5, 1, -5)}) == {"solver_0": -1}


def test_a_forfeit_takes_earlier_gains_back():
    """Total payoff, not the last payment, becomes the worst of the game."""
    game = "goofspiel(num_cards=4,returns_type=win_loss)"
    env = coevo.envs.make("coevo/openspiel-v0", game=game, illegal="forfeit")
    env.reset(seed=1)
    env.step("[" + env.infos[env.agent_selection]["legal_actions"][0] + "]")
    env.episode.turns[0].pay("payoff", {"player_1": 0.75})
    env.step("nonsense")
    assert env.episode.total("player_1") == env.payoff_range[0] == -1


@pytest.mark.parametrize(("rounds", "earned"), [(1, 0), (3, 6), (10, 27)])
def test_what_was_earned_before_stays_earned_by_default(rounds, earned):
    env = coevo.envs.make("coevo/iterated_game-v0", rounds=rounds)
    env.reset(seed=0)
    for _ in range(2 * (rounds - 1)):
        env.step("[A]")
    env.step("no")
    assert env.agent_selection == FIRST and env.awaiting, "it is asked once more"
    for reply in ("no", "[A]"):
        env.step(reply)
    paid = env.episode.total(FIRST, "illegal")
    assert paid == -0.1 * env.payoff_range[1], "no payoff is negative: a tenth of all"
    assert env.episode.total(FIRST) == env.episode.outcome["return/player_0"] == earned + paid
    assert env.episode.total(SECOND) == earned


def test_a_retry_says_why_and_what_can_be_answered():
    env = kuhn("retry")
    for reply, why in (("[fold]", '"fold" is not a legal move now'), ("hm", "no legal move was")):
        env.reset(seed=0)
        env.step(reply)
        told = env.chat(FIRST)[-1]["content"]
        assert told.startswith(f"That was not accepted: {why}")
        assert "Legal moves: [check], [bet]\n" in told
        assert ANSWER_FORMAT in told
    env = coevo.envs.make("coevo/chess-v0")
    env.reset(seed=0)
    env.step("checkmate!")
    assert "[Nf3]" in env.chat("player_1")[-1]["content"]
    blotto = coevo.envs.make("coevo/colonel_blotto-v0")
    blotto.reset(seed=0)
    blotto.step("all of them")
    told = blotto.chat(FIRST)[-1]["content"]
    assert "[0-0-10], " in told and "..., [10-0-0]" in told and len(told) < 600


def test_a_policy_of_ones_own():
    class Doubling(IllegalPolicy):
        def rewards(self, seats, risks):
            return {a: 2 * risks[a].worst if a in risks else 1.0 for a in seats}

    assert forfeit(Doubling()) == (-4, 1)


def test_policies_are_values():
    policy = illegal_policy({"retries": 2, "penalty": -1})
    assert policy == IllegalPolicy(retries=2, penalty=-1)
    assert illegal_policy(policy) is policy
    assert pickle.loads(pickle.dumps(policy)) == copy.deepcopy(policy) == policy
    assert illegal_policy({}) == PRESETS["retry"]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"retry": 1}, "'retries'"),
        ({"reading": "strikt"}, "'lenient', 'strict', 'textarena', 'marshal' or 'spiral'"),
        ({"retries": -1}, "retries=-1"),
        ({"retries": 1.5}, "retries=1.5"),
        ({"then": "continue"}, "'forfeit' or 'random'"),
        ({"then": "random"}, "then='random'"),
        ({"then": "random", "penalty": "at_risk"}, "penalty='at_risk'"),
        ({"penalty": "worse"}, "'rest' or 'worst' or 'at_risk' or a finite number"),
        ({"penalty": None}, "penalty=None"),
        ({"penalty": float("nan")}, "penalty=nan"),
        ({"others": "share"}, "'mirror' or a finite number"),
        ({"others": float("-inf")}, "others=-inf"),
        ({"surcharge": "10"}, "surcharge='10'"),
        (3, "marshal"),
        (None, "marshal"),
        (["forfeit"], "marshal"),
    ],
)
def test_bad_policies_are_refused(given, named):
    with pytest.raises((ConfigError, UnknownNameError), match=re.escape(named)):
        coevo.envs.make(KUHN, illegal=given)


def test_an_unknown_preset_lists_the_near_ones():
    with pytest.raises(UnknownNameError, match="did you mean 'marshal'"):
        illegal_policy("marshall")


def test_presets_never_pay_the_offender_more_than_losing_by_the_rules():
    """But for the two that charge a fixed number, which is what their papers do."""
    for name in ("retry", "forfeit", "marshal"):
        for stake in np.linspace(0, 13, 5):
            paid = PRESETS[name].rewards(("a_0", "b_0"), {"a_0": Risk(-stake, stake, -stake)})
            assert paid["a_0"] <= -stake
            assert paid["b_0"] == 0
