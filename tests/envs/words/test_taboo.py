"""Taboo: what counts as saying a word, the cards, payoffs and references."""

import pytest

from coevo.envs import make, spec
from coevo.envs.core.parsing import answer
from coevo.envs.words.forbidden import said
from coevo.envs.words.taboo import CARDS, DESCRIBER, GUESSER

ID = "coevo/taboo-v0"


@pytest.mark.parametrize(
    "text",
    [
        "snow", "SNOW!", "It snows.", "snowed", "snowing", "snowy", "snowman", "snow-white",
        "s n o w", "S-N-O-W", "s.n.o.w.", "s, n, o, w", "sn-ow", "sn*ow", "sn ow", "5n0w", "$n0w",
        "wons", "snöw", "sn\u200bow", "ѕnоw", "ｓｎｏｗ", "[snow]", "*snow*", "un_snow_ed",
    ],
)  # fmt: skip
def test_every_form_of_a_word_is_found(text):
    assert said(f"Well, {text} it is", ["snow"]) == ["snow"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("flies", "fly"), ("bigger", "big"), ("baking", "bake"), ("icy", "ice"), ("grew", "grow"),
        ("reflection", "reflect"), ("m1lk", "milk"), ("m i 1 k", "milk"), ("drank", "drink"),
        ("watches", "watch"), ("borrowed", "borrow"), ("leaves", "leaf"), ("c o w", "cow"),
        ("a c o w I saw", "cow"),
    ],
)  # fmt: skip
def test_inflections_and_disguises(text, word):
    assert said(text, [word]) == [word]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("season", "sea"), ("nice", "ice"), ("scowl", "cow"), ("began", "big"), ("a i d", "ice"),
        ("no was here", "snow"), ("Sunday", "sun"), ("the tail", "hat"), ("", "cow"),
        ("price", "ice"), ("time", "item"),
    ],
)  # fmt: skip
def test_what_is_no_form_of_a_word_is_allowed(text, word):
    assert said(text, [word]) == []


def test_cards_forbid_four_words_and_no_hint_breaks_them_or_means_two():
    hints = [hint for card in CARDS.values() for hint in card.hints]
    assert len(set(hints)) == len(hints) == 3 * len(CARDS)
    for word, card in CARDS.items():
        assert len(card.forbidden) == 4
        for hint in card.hints:
            assert said(f"Think of {hint}.", (word, *card.forbidden)) == []
            others = [h for other in CARDS if other != word for h in CARDS[other].hints]
            assert said(f"Think of {hint}.", others) == []
        assert said("It is hard to say.", (word, *card.forbidden)) == []


def test_experts_name_every_word_at_once_and_both_are_paid():
    env = make(ID, words=16)
    for seed in range(12):
        env.reset(seed=seed)
        while env.awaiting:
            replies = env.expert(env.agent_selection, 1.0)
            env.step(replies.texts[int(replies.probabilities.argmax())])
        assert [env.episode.total(s) for s in (DESCRIBER, GUESSER)] == [1, 1]
    assert spec(ID).refs["oracle"] == 1


def test_a_forbidden_clue_ends_the_game_before_the_guesser_reads_it():
    env = make(ID)
    env.reset(seed=0)
    word = CARDS[env.task.word].forbidden[0]
    env.step(f"<message>{'-'.join(word)}</message>")
    assert not env.awaiting and env.episode.turns[0].notes["forbidden"] == [word]
    assert env.episode.total(DESCRIBER) == env.episode.total(GUESSER) == 0
    assert not env.chat(GUESSER)


def test_forbidden_words_outside_of_the_message_reach_no_other_seat_and_cost_nothing():
    env = make(ID)
    env.reset(seed=0)
    env.step(f"Not {env.task.word}. <message>Guess.</message>")
    assert env.awaiting == (GUESSER,) and env.task.word not in env.chat(GUESSER)[-1]["content"][:40]


def test_a_second_guess_is_worth_less_and_the_first_word_is_gone():
    env = make(ID)
    env.reset(seed=1)
    wrong = next(w for w in env.task.words if w != env.task.word)
    for reply in ("hm", answer(wrong), "hm"):
        env.step(reply)
    assert wrong not in env.infos[GUESSER]["legal_actions"]
    env.step(answer(env.task.word))
    assert env.episode.total(DESCRIBER) == 0.5
    assert spec(ID).refs["random"] == pytest.approx(1 / 6 + 5 / 6 * 1 / 5 * 0.5)
