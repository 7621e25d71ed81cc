"""From replies to moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.parsing import Miss, Status, answer, parse_move

LEGAL, ILLEGAL, UNPARSABLE = Status.LEGAL, Status.ILLEGAL, Status.UNPARSABLE
MOVES = ["pass", "bet", "raise 2", "抓牌", "Königin"]
LONG = 1_000_000
QUADRATIC = 16
"""What `growth` gives for work that grows with the square of the length; 1 is linear."""

TABLE = [
    ("[bet]", LEGAL, "bet"),
    ("[BET]", LEGAL, "bet"),
    ("[ Bet ]", LEGAL, "bet"),
    ("I have the king.\n\n[bet]\n \t\n", LEGAL, "bet"),
    ("[raise   2]", LEGAL, "raise 2"),
    ("[raise\t2]", LEGAL, "raise 2"),
    ("[抓牌]", LEGAL, "抓牌"),
    ("[KÖNIGIN]", LEGAL, "Königin"),
    ("[\u00a0bet\u3000]", LEGAL, "bet"),
    ("not [pass] but [bet]", LEGAL, "bet"),
    ("[[bet]", LEGAL, "bet"),
    ("<think>[pass]</think>[bet]", LEGAL, "bet"),
    ("[pass]</think> [bet]", LEGAL, "bet"),
    ("<think>a</think>[pass]<think>b</think>[bet]", LEGAL, "bet"),
    ("[bet] <think>was that wise", LEGAL, "bet"),
    ("x" * LONG + "[bet]", LEGAL, "bet"),
    ("[bet]" + " " * LONG, LEGAL, "bet"),
    ("[fold]", ILLEGAL, None),
    ("[pass] [fold]", ILLEGAL, None),
    ("[ ]", ILLEGAL, None),
    ("[bet, please]", ILLEGAL, None),
    ("", UNPARSABLE, None),
    ("bet", UNPARSABLE, None),
    ("[]", UNPARSABLE, None),
    ("[bet].", UNPARSABLE, None),
    ("[bet] is what I play", UNPARSABLE, None),
    ("[bet]]", UNPARSABLE, None),
    ("[be[t]]", UNPARSABLE, None),
    ("[bet\n]", UNPARSABLE, None),
    ("(bet)", UNPARSABLE, None),
    ("［bet］", UNPARSABLE, None),
    ("⟦bet⟧", UNPARSABLE, None),
    ("<think>so [bet]</think>", UNPARSABLE, None),
    ("<think>I run out of words, perhaps [bet]", UNPARSABLE, None),
    ("[" + "x" * 201 + "]", UNPARSABLE, None),
    ("[" * LONG, UNPARSABLE, None),
]


@pytest.mark.parametrize(
    ("reply", "status", "move"), TABLE, ids=[f"{i}-{r[0][:20]!r}" for i, r in enumerate(TABLE)]
)
def test_replies(reply, status, move):
    parse = parse_move(reply, MOVES)
    assert (parse.status, parse.move, parse.ok) == (status, move, status is LEGAL)
    assert bool(parse.detail) == (status is not LEGAL)
    assert len(parse.detail) < 500


def test_any_text_is_a_move_where_no_moves_are_listed():
    assert parse_move("  hello [x] \n", None).move == "hello [x]"
    assert parse_move("", None).move == ""
    assert parse_move("<think>private</think> public", None).move == "public"
    assert parse_move("public <think>private", None).move == "public"
    assert parse_move("half a thought</think> public", None).ok


def test_moves_that_differ_in_case_alone_need_the_exact_spelling():
    moves = ["bxc3", "Bxc3", "Nf3"]
    assert parse_move("[Bxc3]", moves).move == "Bxc3"
    assert parse_move("[bxc3]", moves).move == "bxc3"
    assert parse_move("[nf3]", moves).move == "Nf3"
    parse = parse_move("[BXC3]", moves)
    assert parse.status is ILLEGAL
    assert "bxc3" in parse.detail
    assert "Bxc3" in parse.detail


def test_the_detail_names_what_was_said():
    assert '"fold"' in parse_move("[fold]", MOVES).detail


def test_no_legal_move_at_all_is_no_crash():
    assert parse_move("[bet]", []).status is ILLEGAL


@given(st.text() | st.from_regex(r"[\[\]<>/a-z \n]{0,40}"), st.lists(st.text()) | st.none())
def test_no_reply_raises(reply, moves):
    parse = parse_move(reply, moves)
    if parse.status is LEGAL:
        assert moves is None or parse.move in moves
    else:
        assert parse.move is None


@given(
    st.text(st.characters(exclude_characters="[]\n", exclude_categories=["Cs"]), max_size=200),
    st.text(max_size=50),
)
def test_an_answer_is_read_back(move, thoughts):
    if move.strip() and "<think>" not in move + thoughts and "</think>" not in move:
        assert parse_move(thoughts + answer(move), [move]).move == move


@pytest.mark.parametrize(
    "pattern",
    ["[", "]", "[a", "a]", "[a]", "[a] ", "[a]\n", " ", "<think>", "</think>", "[" + "a" * 199],
)
def test_work_grows_with_length_not_with_its_square(pattern, growth):
    def text(length):
        return (pattern * length)[:length] + "."

    assert growth(lambda t: parse_move(t, MOVES), text) < QUADRATIC / 4


@pytest.mark.parametrize(
    ("reply", "miss"),
    [
        ("", Miss.EMPTY),
        ("<think>[bet]</think>", Miss.EMPTY),
        ("<think>I will [bet]", Miss.UNCLOSED),
        ("[bet].", Miss.NOT_LAST),
        ("[bet] is what I play", Miss.NOT_LAST),
        ("[[bet]]", Miss.NESTED),
        ("[bet]]", Miss.NESTED),
        ("(bet)", Miss.OTHER_BRACKETS),
        ("［bet］", Miss.OTHER_BRACKETS),
        ("so <bet>!", Miss.OTHER_BRACKETS),
        ("I will **bet**.", Miss.NO_BRACKETS),
        ("[b\u0435t]", Miss.LOOKALIKE),
        ("[b\u200bet]", Miss.LOOKALIKE),
        ("[ｂｅｔ]", Miss.LOOKALIKE),
        ("[fold]", Miss.OTHER),
        ("who knows", Miss.OTHER),
        ("[bet]", None),
    ],
)
def test_near_misses_are_told_apart(reply, miss):
    assert parse_move(reply, MOVES).miss is miss
    assert parse_move(reply, None).miss is None
