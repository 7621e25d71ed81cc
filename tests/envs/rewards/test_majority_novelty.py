"""The bands of EVOL-RL: majority and novelty, with embeddings that are chosen by hand."""

import numpy as np
import pytest

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import MajorityNovelty

AT = {"a": (1.0, 0.0), "b": (0.6, 0.8), "c": (0.0, 1.0)}


def encoder(texts):
    return np.array([AT[text[0]] for text in texts])


def paid(*said, **fields):
    """Score replies of one task: their text, and the answer after a blank, `-` for none."""
    plays = []
    for reply in said:
        answer = reply.split()[1]
        turn = Turn("player_0", (), reply, answer, Status.LEGAL, None)
        turn.answer = None if answer == "-" else answer
        plays.append(Episode("e", 0, {}, ("player_0",), "q", [turn], StopReason.FINISHED))
    module = MajorityNovelty(**{"encoder": encoder, **fields})
    return [table[0]["player_0"] for table in module.table(plays)]


def test_the_newest_of_the_majority_is_paid_most():
    """Cosines a.b = .6, a.c = 0, b.c = .8: novelty of a .55, of b .25, of c .4, within the band."""
    a, b, c = 1 - (0.3 + 0.6) / 2, 1 - (0.7 + 0.8) / 2, 1 - (0.4 + 0.8) / 2
    middle = 0.5 + 0.5 * (c - b) / (a - b)
    assert paid("a 7", "b 7", "c 7") == pytest.approx([1.0, 0.5, middle])


def test_others_stay_below_and_a_lone_reply_has_the_top_of_its_band():
    assert paid("a 7", "b 7", "c 8", "a -") == [0.5, 1.0, -0.5, -1.0]
    assert paid("a 7", "a 7", "c 8")[2] == -0.5
    assert paid("a 7") == [1.0]


def test_equally_new_replies_have_the_middle_of_their_band():
    assert paid("a 7", "a 7", "a 8", "a 8") == [0.75, 0.75, -0.75, -0.75]


def test_the_closest_reply_of_the_other_band_counts():
    """The largest cosine of a is .6 and that of c .8, both to b."""
    one, other = paid("a 7", "c 7", "b 8")[:2]
    assert (one, other) == (1.0, 0.5)


def test_nobody_is_the_majority_without_an_answer():
    assert paid("a -", "b -") == [-1.0, -1.0]


def test_spelling_tells_ways_apart():
    said = ["count on 3 4 5 6 7 so 7", "count on 3 4 5 6 7 so 7", "twice 3 and one more so 7"]
    plays = []
    for text in said:
        turn = Turn("player_0", (), text, text, Status.LEGAL, None)
        turn.answer = "7"
        plays.append(Episode("e", 0, {}, ("player_0",), "q", [turn], StopReason.FINISHED))
    found = [table[0]["player_0"] for table in MajorityNovelty().table(plays)]
    assert found == pytest.approx([0.5, 0.5, 1.0])
