"""Likeness of replies to a reference text."""

import pickle

import numpy as np
import pytest

from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import reward_modules
from coevo.envs.rewards.semantic import BagOfWords, cosines


def reward(name, **params):
    return reward_modules([{"name": name, **params}])[0]


REFERENCE = "Plants make sugar from light, water and carbon dioxide."


def play(*replies, task=""):
    turns = [
        Turn(f"player_{i % 2}", (), r, None, Status.LEGAL, None) for i, r in enumerate(replies)
    ]
    return Episode("x", 0, {}, ("player_0", "player_1"), task=task, turns=turns)


def likeness(text, reference=REFERENCE, **params):
    return reward("semantic", reference=reference, **params).table([play(text)])[0][0]["player_0"]


class Letters:
    """Counts a (less one) and b, and remembers how often and with what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked.append(list(texts))
        return [[t.count("a") - 1, t.count("b")] for t in texts]


def test_the_same_words_score_one_in_any_order():
    assert likeness(REFERENCE) == pytest.approx(1)
    assert likeness("carbon dioxide, water and LIGHT from sugar make plants!") == pytest.approx(1)


def test_a_paraphrase_scores_above_what_is_off_topic():
    close = likeness("With light, plants turn water and carbon dioxide into sugar.")
    far = likeness("The stock market fell sharply on Monday.")
    assert close > 0.6 > 0.2 > abs(far)


def test_a_negated_text_scores_high():
    """The known hole: likeness is not truth."""
    negated = "Plants do not make sugar from light, water and carbon dioxide."
    assert likeness(negated) > 0.85


def test_empty_replies_score_zero():
    assert likeness("") == likeness("?!") == 0.0


def test_the_default_encoder_is_fixed():
    one, other = BagOfWords(), BagOfWords()
    assert (one(["a b c"]) == other(["a b c"])).all()
    assert (one(["x", "a b c"])[1] == one(["a b c", "x"])[0]).all(), "whatever else is asked"
    assert not np.allclose(one(["a"]), BagOfWords(seed=1)(["a"]))
    lengths = np.linalg.norm(one([f"w{i}" for i in range(200)]), axis=1) / np.sqrt(512)
    assert abs(lengths - 1).max() < 0.15
    with pytest.raises(ConfigError, match="size=0"):
        BagOfWords(size=0)


def test_cosines_of_known_rows():
    rows = [[1.0, 0.0], [1.0, 1.0], [-2.0, 0.0], [0.0, 0.0], [1e-200, 0.0], [1e200, 1e200]]
    other = [[3.0, 0.0], [1.0, 0.0], [5.0, 0.0], [1.0, 0.0], [1e-200, 0.0], [1e200, 0.0]]
    half = 0.5**0.5
    assert cosines(rows, other).tolist() == pytest.approx([1, half, -1, 0, 1, half])


def test_another_encoder_takes_its_place_and_sees_a_batch_at_once():
    encoder = Letters()
    module = reward("semantic", reference={"t": "aa"}, encoder=encoder)
    table = module.table(
        [play("aaa", "", task="t"), play("aa", task="other"), play("abb", task="t")]
    )
    assert table == [
        [{"player_0": 1.0}, {"player_1": -1.0}],
        [{}],
        [{"player_0": 0.0}],
    ]
    assert encoder.asked == [["aaa", "", "abb", "aa"]], "each text once, none of other tasks"


def test_opposites_may_be_clipped():
    clipped = reward("semantic", reference="aa", encoder=Letters(), clip=True)
    assert clipped.range == (0, 1)
    assert clipped.table([play("", "aaa")]) == [[{"player_0": 0.0}, {"player_1": 1.0}]]
    assert reward("semantic").range == (-1, 1)


def test_one_turn_is_paid_like_a_batch():
    module, given = reward("semantic", reference=REFERENCE), play("Plants need light.", "No.")
    assert module.table([given]) == [[module.score_turn(given, t) for t in given.turns]]
    assert not module.per_turn


def test_without_a_reference_nobody_is_paid():
    for reference in (None, "", {}, {"": ""}):
        module = reward("semantic", reference=reference)
        assert module.table([play("a", "b")]) == [[{}, {}]]
        assert module.score_turn(play("a"), play("a").turns[0]) == {}


@pytest.mark.parametrize("rows", [[[1.0, 0.0]], [1.0, 2.0], [[np.nan, 1.0], [1.0, 1.0]]])
def test_an_encoder_that_fails_is_no_zero(rows):
    module = reward("semantic", reference="aa", encoder=lambda texts: rows)
    with pytest.raises(DataError, match="one row of finite numbers"):
        module.table([play("a")])


def test_it_travels():
    module = pickle.loads(pickle.dumps(reward("semantic", reference=REFERENCE)))
    assert module.table([play(REFERENCE)])[0][0]["player_0"] == pytest.approx(1)
