import numpy as np
import pytest

from coevo.agents.agent import Request
from coevo.agents.human import HumanAgent, HumanLeft
from coevo.envs.core.errors import CoevoError

CHAT = (
    {"role": "system", "content": "the rules"},
    {"role": "user", "content": "first deal"},
    {"role": "assistant", "content": "[check]"},
    {"role": "user", "content": "they bet"},
)


class Terminal:
    def __init__(self, *lines):
        self.lines = list(lines)
        self.shown = ""

    def read(self, prompt):
        self.shown += prompt
        if not self.lines:
            raise EOFError
        line = self.lines.pop(0)
        if isinstance(line, BaseException):
            raise line
        return line

    def write(self, text):
        self.shown += text

    def ask(self, legal, chat=CHAT):
        asked = Request("player_1", chat, {"legal_actions": legal}, np.random.default_rng(0))
        return HumanAgent(self.read, self.write).act([asked])[0].text


@pytest.mark.parametrize("line", ["2", "call", " CALL ", "[call]", "I do not believe you. [Call]"])
def test_a_move_may_be_a_number_a_name_or_a_whole_reply(line):
    assert Terminal(line).ask(["fold", "call"]) in ("[call]", line)


def test_only_what_is_new_is_shown_with_numbered_moves():
    terminal = Terminal("1")
    assert terminal.ask(["fold", "call"]) == "[fold]"
    assert "they bet" in terminal.shown
    assert "first deal" not in terminal.shown
    assert "1) fold" in terminal.shown
    assert "player_1" in terminal.shown


def test_the_first_turn_shows_the_rules():
    terminal = Terminal("1")
    terminal.ask(["check", "bet"], CHAT[:2])
    assert "the rules" in terminal.shown
    assert "first deal" in terminal.shown


def test_bad_input_is_asked_again():
    terminal = Terminal("", "3", "0", "raise", "²", "fold")
    assert terminal.ask(["fold", "call"]) == "[fold]"
    assert terminal.shown.count("not understood") == 5


def test_moves_that_are_numbers_keep_their_meaning():
    terminal = Terminal("1", "3")
    assert terminal.ask(["3", "7"]) == "[3]"
    assert "1)" not in terminal.shown


def test_free_text_is_taken_as_it_is():
    terminal = Terminal("  ", "I agree")
    assert terminal.ask(None) == "I agree"


def test_the_end_of_input_is_an_error_of_ours():
    with pytest.raises(HumanLeft, match="ended") as caught:
        Terminal("nonsense").ask(["fold", "call"])
    assert isinstance(caught.value, CoevoError)


def test_ctrl_c_passes_through():
    with pytest.raises(KeyboardInterrupt):
        Terminal(KeyboardInterrupt()).ask(["fold", "call"])
