"""From replies to moves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.conventions import READINGS, with_format
from coevo.envs.core.parsing import ANSWER_FORMAT, Miss, Status, answer, last_mark, parse_move

LEGAL, ILLEGAL, UNPARSABLE = Status.LEGAL, Status.ILLEGAL, Status.UNPARSABLE
MOVES = ["pass", "bet", "raise 2", "抓牌", "Königin"]
LONG = 1_000_000
QUADRATIC = 16
"""What `growth` gives for work that grows with the square of the length; 1 is linear."""

TABLE = [
    ("[bet]", LEGAL, "bet"),
    ("[BET]", LEGAL, "bet"),
    ("[raise   2]", LEGAL, "raise 2"),
    ("[raise\t2]", LEGAL, "raise 2"),
    ("[\u00a0bet\u3000]", LEGAL, "bet"),
    ("[[bet]", LEGAL, "bet"),
    ("[bet]]", LEGAL, "bet"),
    ("<think>a</think>[pass]<think>b</think>[bet]", LEGAL, "bet"),
    ("[bet] <think>was that wise", LEGAL, "bet"),
    ("x" * LONG + "[bet]", LEGAL, "bet"),
    ("[bet]" + " " * LONG, LEGAL, "bet"),
    ("[fold]", ILLEGAL, None),
    ("[pass] [fold]", ILLEGAL, None),
    ("[bet, please]", LEGAL, "bet"),
    ("[ ]", UNPARSABLE, None),
    ("[]", UNPARSABLE, None),
    ("[be[t]]", ILLEGAL, None),
    ("[bet\n]", LEGAL, "bet"),
    ("⟦bet⟧ it was", UNPARSABLE, None),
    ("[" + "x" * 201 + "]", UNPARSABLE, None),
    ("[" * LONG, UNPARSABLE, None),
]


@pytest.mark.parametrize(
    ("reply", "status", "move"), TABLE, ids=[f"{i}-{r[0][:20]!r}" for i, r in enumerate(TABLE)]
)
def test_replies(reply, status, move):
    parse = parse_move(reply, MOVES)
    assert (parse.status, parse.move, parse.ok) == (status, move, status is LEGAL)
    assert bool(parse.detail) == (status is not LEGAL) == (parse.miss is not None)
    assert len(parse.detail) < 500


@pytest.mark.parametrize("reading", READINGS)
def test_every_rule_reads_what_scripted_agents_say_or_is_more_than_a_rule_of_form(reading):
    rule = READINGS[reading]
    assert parse_move(rule("[bet]", MOVES) or "[bet]", MOVES).move == "bet"
    said = {"marshal": "<answer>bet</answer>", "spiral": "\\boxed{bet}"}.get(reading, "[bet]")
    assert parse_move(rule(f"<think>[pass]</think>{said}", MOVES), MOVES).ok
    assert rule("who knows what to do", MOVES) == "" or reading == "spiral"
    assert answer("your move") in with_format("", reading) or reading in ("marshal", "spiral")


@pytest.mark.parametrize(
    ("reading", "reply", "heard"),
    [
        ("strict", "I say [bet]", "[bet]"),
        ("strict", "[bet].", ""),
        ("strict", "so <action> bet </action>", "[bet]"),
        ("textarena", "[bet] or [pass]", "[bet]"),
        ("textarena", "[hm] [Pass] [bet]", "[Pass]"),
        ("textarena", "bet", "[bet]"),
        ("textarena", "I bet", ""),
        ("marshal", "<answer>bet</answer><answer>pass</answer>", "[bet]"),
        ("marshal", "[bet]", ""),
        ("spiral", "\\boxed{pass} \\boxed{bet}", "[bet]"),
        ("spiral", "bet", "[bet]"),
        ("spiral", "Bet", ""),
        ("spiral", "I think [bet]", ""),
    ],
)
def test_published_rules_read_what_their_code_reads(reading, reply, heard):
    assert READINGS[reading](reply, MOVES) == heard


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
    assert not parse_move("[bet]", []).ok


@given(st.text() | st.from_regex(r"[\[\]<>/a-z \n]{0,40}"), st.lists(st.text()) | st.none())
def test_no_reply_raises(reply, moves):
    parse = parse_move(reply, moves)
    if parse.status is LEGAL:
        assert moves is None or parse.move in moves
    else:
        assert parse.move is None
    for rule in READINGS.values():
        assert isinstance(rule(reply, moves or []), str)


@given(
    st.text(
        st.characters(exclude_characters="[]［］【】<>\\\n", exclude_categories=["Cs"]),
        max_size=200,
    ),
    st.text(max_size=50),
)
def test_an_answer_is_read_back(move, thoughts):
    if move.strip() and not set("<|") & set(thoughts) and "\\" not in thoughts:
        reply = f"{thoughts}\nSo my move: {answer(move)}"
        assert parse_move(reply, [move]).move == move


HOSTILE = [
    "[", "]", "[a", "a]", "[a]", "[a] ", "[a]\n", " ", "<think>", "</think>", "[" + "a" * 199,
    "[bet], ", "- [bet]\n", "[bet] or [pass] ", "not [bet] ", "my ", "answer: ", "answer: bet. ",
    "I choose to ", "| a\n", "\\boxed{", "<answer>", "bet\n", "<bet>", '"', "(bet) ", "1. ",
]  # fmt: skip


@pytest.mark.parametrize("pattern", HOSTILE)
def test_work_grows_with_length_not_with_its_square(pattern, growth):
    def text(length):
        return (pattern * length)[:length] + "."

    assert growth(lambda t: parse_move(t, MOVES), text) < QUADRATIC / 4


@pytest.mark.parametrize("pattern", ["[", "[a]", "\\boxed{", "<score>", "<score>a</score>", "|"])
def test_work_for_the_last_mark_grows_with_length(pattern, growth):
    def text(length):
        return (pattern * length)[:length] + "."

    assert growth(lambda t: last_mark(t, ("score",)), text) < QUADRATIC / 4


@pytest.mark.parametrize(
    ("reply", "miss"),
    [
        ("", Miss.EMPTY),
        ("<think>[bet]</think>", Miss.EMPTY),
        ("<think>I will [bet]", Miss.UNCLOSED),
        ("[bet] or [pass]", Miss.LISTED),
        ("bet\npass", Miss.LISTED),
        ("I will not [bet]", Miss.RULED_OUT),
        ("I do (bet) then", Miss.OTHER_BRACKETS),
        ("It is time for a bet", Miss.UNMARKED),
        ("[b\u0435t]", Miss.LOOKALIKE),
        ("[b\u200bet]", Miss.LOOKALIKE),
        ("[ｂｅｔ]", Miss.LOOKALIKE),
        ("[fold]", Miss.OTHER),
        ("who knows", Miss.OTHER),
        ("[bet]", None),
        ("[bet].", None),
    ],
)
def test_near_misses_are_told_apart(reply, miss):
    assert parse_move(reply, MOVES).miss is miss
    assert parse_move(reply, None).miss is None


def test_a_copy_of_the_prompts_example_is_no_move():
    assert not parse_move(ANSWER_FORMAT, MOVES).ok
    assert not parse_move("[your move]", MOVES).ok
    assert parse_move("[your move]", ["your move"]).ok, "unless a game has such a move"
