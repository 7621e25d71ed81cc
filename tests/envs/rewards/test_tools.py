"""ToolRL: reading calls, scoring them, and paying replies."""

import json
import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coevo.envs
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import reward_modules
from coevo.envs.rewards.calls import Call, calls_of, read_calls
from coevo.envs.rewards.tools import calls_in_task, jaccard, tool_score


def reward(name, **params):
    return reward_modules([{"name": name, **params}])[0]


TRUTH = "search(q=x, k=3) calc(e=1+1)"


def paid(reply, expected=TRUTH, task="", **params):
    turn = Turn("player_0", (), reply, None, Status.LEGAL, None)
    play = Episode("x", 0, {}, ("player_0",), task=task, turns=[turn])
    return reward("tool_calls", expected=expected, **params).table([play])[0][0].get("player_0")


def score(truth, predicted):
    return tool_score(calls_of(truth), calls_of(predicted))


# ---- Reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("f()", {}),
        ("f( )", {}),
        ("f(a=3, b=-1.5e2, c=true)", {"a": 3, "b": -150.0, "c": True}),
        ("f(a=None, b=False)", {"a": None, "b": False}),
        ("f(a=x y , b=1+1)", {"a": "x y", "b": "1+1"}),
        ("f(a='b, c', d=\"e, \\\"f\\\")\")", {"a": "b, c", "d": 'e, "f")'}),
        ("f(a=[1, 2], b={\"c\": [3, 4]})", {"a": [1, 2], "b": {"c": [3, 4]}}),
        ("f(a=it's late, b=g(c=1, d=2))", {"a": "it's late", "b": "g(c=1, d=2)"}),
        ("f(a==b)", {"a": "=b"}),
        ("f(a=)", {"a": ""}),
        ("f(a=NaN)", {"a": "NaN"}),
        ("f(a=下注)", {"a": "下注"}),
    ],
)  # fmt: skip
def test_values_are_read(text, arguments):
    assert read_calls(text) == ((Call("f", arguments),), True)


@pytest.mark.parametrize(
    "text",
    [
        "f(",
        "f(a=1",
        "f(a)",
        "f(1)",
        "f(a=1, a=2)",
        "f(a=1,)",
        "f(=1)",
        "f(a=[1)",
        "f(a='x)",
        "f(a b=1)",
    ],
)
def test_what_begins_like_a_call_and_is_none(text):
    assert read_calls(text) == (None, False)
    assert read_calls(f"g(a=1) {text}").calls is None


def test_calls_are_found_in_other_text():
    found = read_calls("First search(q=x); then calc(e=1).")
    assert [c.name for c in found.calls] == ["search", "calc"]
    assert not found.alone
    assert read_calls(" search(q=x),\n calc(e=1); ").alone
    assert read_calls("no call (none)") == ((), False)
    assert read_calls("") == ((), True)


def test_names_have_dots_and_begin_with_a_letter():
    assert [c.name for c in read_calls("web.search(q=1) a-b()").calls] == ["web.search", "a-b"]
    assert read_calls("2x(a=1)").calls == ()


def test_gold_calls_as_objects():
    objects = [
        {"name": "search", "arguments": {"q": "x", "k": 3}},
        {"name": "calc", "arguments": {"e": "1+1"}},
    ]
    assert calls_of(objects) == calls_of(TRUTH) == calls_of(TRUTH.split(") ")[0] + ") calc(e=1+1)")
    assert calls_of([{"name": "stop"}]) == (Call("stop", {}),)


@pytest.mark.parametrize(
    "data",
    ["talk f()", "f(1)", 3, [3], [{"name": 1}], [{"arguments": {}}], [{"name": "f", "args": {}}]],
)
def test_gold_calls_that_are_none(data):
    with pytest.raises(DataError, match="call"):
        calls_of(data)


@pytest.mark.parametrize(
    "text", ["a" * 200_000, "f(" * 50_000, "f(a=" + "[" * 100_000, "a.(" * 50_000]
)
def test_long_nonsense_is_read_in_no_time(text):
    began = time.process_time()
    read_calls(text)
    assert time.process_time() - began < 1.0


@given(st.text(alphabet="f(a=1,)'\"[]{}\\ x-<>", max_size=40))
def test_any_text_is_read(text):
    calls, alone = read_calls(text)
    assert calls is not None or not alone
    assert -3 <= tool_score(calls_of(TRUTH), calls) <= 3


# ---- Scoring ------------------------------------------------------------------------------------


def test_worked_numbers():
    """V10: S = 1/2 + (1 + 1) = 2.5 of 6; nothing predicted is the worst."""
    assert score(TRUTH, "search(q=x, k=5)") == -0.5
    assert score(TRUTH, "") == -3.0
    assert tool_score(calls_of(TRUTH), None) == -3.0


def test_no_expected_call_scores_zero():
    assert score("", "") == score("", "search(q=x)") == 0.0


@pytest.mark.parametrize(
    ("predicted", "points"),
    [
        (TRUTH, 6.0),
        ("calc(e=1+1) search(k=3, q=x)", 6.0),
        ("search(q=x, k=3)", 0.5 + 3),
        ("search(q=x)", 0.5 + 0.5 + 1),
        ("search(q=y, k=4)", 0.5 + 1),
        ("search()", 0.5),
        ("find(q=x, k=3)", 0.0),
        ("search(q=x, k=3) calc(e=1+1) calc(e=1+1)", 2 / 3 + 5),
        ("search(q=z) search(q=x, k=3)", 1 / 3 + 3),
    ],
)
def test_points_of_parts(predicted, points):
    assert score(TRUTH, predicted) == pytest.approx(points - 3)


def test_each_expected_call_takes_the_best_free_one():
    """The first takes its equal, so the second is left with the other: 1 + (1 + 1) + 1 of 5."""
    assert score("f(a=1) f(a=2)", "f(a=3) f(a=1)") == pytest.approx(6 * 4 / 5 - 3)
    assert score("f(a=1) f(a=1)", "f(a=1)") == pytest.approx(6 * 2.5 / 5 - 3), "none is used twice"


small = st.builds(
    Call,
    st.sampled_from("fgh"),
    st.dictionaries(st.sampled_from("ab"), st.integers(0, 2), max_size=2),
)


@given(st.lists(small, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_equal_calls_in_any_order_score_most(truth, random):
    shuffled = list(truth)
    random.shuffle(shuffled)
    assert tool_score(truth, shuffled) == pytest.approx(3.0)


@given(st.lists(small, min_size=1, max_size=5), st.lists(small, max_size=5))
def test_scores_keep_to_their_range_and_only_equal_calls_score_most(truth, predicted):
    value = tool_score(truth, predicted)
    assert -3.0 <= value <= 3.0 + 1e-9
    same = len(truth) == len(predicted) and all(truth.count(c) == predicted.count(c) for c in truth)
    assert (value > 3.0 - 1e-9) == same


def test_jaccard_of_multisets():
    assert jaccard("aab", "abb") == 0.5
    assert jaccard("", "") == 1.0
    assert jaccard({"a": 5}, {"a": 7}) == 1.0, "keys, whatever they hold"


# ---- Paying -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected", "amount"),
    [
        (TRUTH, TRUTH, 4.0),
        ("<think>calc(e=2+2)?</think> " + TRUTH, TRUTH, 4.0),
        ("Sure: " + TRUTH, TRUTH, 3.0),
        ("search(q=x, k=5)", TRUTH, 0.5),
        ("search(q=x", TRUTH, -3.0),
        ("", TRUTH, -3.0),
        ("I do not know", TRUTH, -3.0),
        ("The answer is 2.", "", 1.0),
        ("calc(e=1+1)", "", 0.0),
        ("<think>only thought", "", 0.0),
    ],
)
def test_replies_are_paid_for_form_and_content(reply, expected, amount):
    assert paid(reply, expected) == amount


def test_parts_are_paid_apart_for_decoupled_estimators():
    parts = {
        part: reward("tool_calls", expected=TRUTH, part=part) for part in ("format", "correctness")
    }
    assert [m.component for m in parts.values()] == ["tool_calls_format", "tool_calls_correctness"]
    assert [m.range for m in parts.values()] == [(0, 1), (-3, 3)]
    assert paid("Sure: search(q=x, k=5)", part="format") == 0.0
    assert paid("Sure: search(q=x, k=5)", part="correctness") == -0.5
    assert reward("tool_calls").range == (-3, 4)


def test_a_call_that_is_not_alike_at_all_stays_free_for_a_later_one():
    """By hand: S = 1/2 (names) + 0 (first call) + 1 + 1 (second), S_max = 1 + 2 + 2."""
    truth, predicted = calls_of("f(a=1) f(b=2)"), calls_of("f(b=2)")
    assert tool_score(truth, predicted) == 6 * 2.5 / 5 - 3 == 0.0


def test_expected_calls_by_task():
    by_task = {"sum": "calc(e=1+1)", "talk": ""}
    assert paid("calc(e=1+1)", by_task, task="sum") == 4.0
    assert paid("hello", by_task, task="talk") == 1.0
    assert paid("hello", by_task, task="other") is None


def test_expected_calls_in_the_task():
    task = json.dumps({"question": "1+1?", "calls": [{"name": "calc", "arguments": {"e": "1+1"}}]})
    assert paid("calc(e=1+1)", None, task=task) == 4.0
    assert calls_in_task('{"calls": []}') == ()
    for other in ("", "kuhn", "{broken", '{"question": "1+1?"}', "[1]"):
        assert paid("calc(e=1+1)", None, task=other) is None
    with pytest.raises(DataError, match="calls must be"):
        calls_in_task('{"calls": 3}')


def test_it_refuses_what_it_cannot_expect():
    with pytest.raises(ConfigError, match="expected: 'what is it' must hold calls"):
        reward("tool_calls", expected="what is it")
    with pytest.raises(ConfigError, match="part='all' must be 'both', 'format' or 'correctness'"):
        reward("tool_calls", part="all")


def test_it_pays_during_play_and_travels():
    module = pickle.loads(pickle.dumps(reward("tool_calls", expected="bet(size=1)")))
    env = coevo.envs.make("coevo/kuhn_poker-v0", rewards=[module])
    env.reset(seed=0)
    env.step("bet(size=1) [bet]")
    assert env.episode.turns[0].rewards["tool_calls"] == {"player_0": 3.0}
