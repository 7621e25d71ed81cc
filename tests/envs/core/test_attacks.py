"""What a seat writes changes nobody else's prompt but by its meaning: the corpus of attacks.

Every text of the corpus is said in every environment, by every seat, at every turn, around the
same move. What others read must be the same but for what stands in quotations, and so must be
every move that is read and every reward. An environment that is added later is attacked as well.
"""

import pytest

import coevo.envs
from coevo.envs.core.parsing import Status, parse_move
from coevo.envs.discussion.review_marks import read_score, read_verdict
from coevo.envs.discussion.solver_verifier import verdict
from coevo.envs.questions import final_answer
from coevo.envs.questions.question import Question, QuestionSource
from coevo.envs.search import orchestration
from coevo.envs.search.actions import read_action
from coevo.envs.search.corpus import AskedQuestion, Document
from coevo.envs.search.passages import PassagesWorld
from coevo.envs.search.router import SearchRouter
from tests.envs.core.hostile_texts import (
    ARGUMENTS,
    CORPUS,
    FAMILIES,
    IDS,
    PLAIN,
    ending,
    played,
    skeleton,
)


def test_the_corpus_is_large_and_without_doubles():
    assert len(FAMILIES) == 12
    assert len(set(CORPUS)) == len(CORPUS) >= 400


@pytest.mark.parametrize("id", IDS)
def test_what_one_seat_writes_moves_nothing_of_the_others_but_by_its_meaning(id):
    listed = coevo.envs.make(id, **ARGUMENTS.get(id, {}))
    listed.reset(seed=5)
    talk = any(listed.infos[a]["legal_actions"] is None for a in listed.awaiting)
    for number, style in enumerate(("full", "terse")):
        env = coevo.envs.make(id, prompt_style=style, **ARGUMENTS.get(id, {}))
        plain = played(env, PLAIN)
        attacks = CORPUS if talk else CORPUS[number::2]
        assert [a for a in attacks if played(env, a) != plain] == []


class Asked(QuestionSource):
    """One question that others wrote."""

    name = "asked"

    def __init__(self, text):
        self.text = text

    def __len__(self):
        return 1

    def item(self, index):
        return Question(self.text, "7", "number", "0", self.name)


def prompts_about(env):
    """Return what the environment says of itself in an episode."""
    env.reset(seed=5)
    while env.awaiting:
        env.step(f"So: {ending(env, env.agent_selection)}")
    said = [m["content"] for a in env.agents for m in env._logs[a] if m["role"] != "assistant"]
    assert not [text for text in said if "<|" in text or "[INST]" in text]
    return [skeleton(text) for text in said]


@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize("name", ["debate", "solver_verifier", "peer_review"])
def test_the_question_of_a_data_set_stays_in_its_quotation(name, style):
    def said(text):
        env = coevo.envs.make(f"coevo/{name}-v0", questions=Asked(text), prompt_style=style)
        return prompts_about(env)

    plain = said(PLAIN)
    assert [a for a in CORPUS if a.strip() and said(a) != plain] == []


@pytest.mark.parametrize("style", ["full", "terse"])
def test_the_question_of_a_corpus_stays_in_its_quotation(monkeypatch, style):
    def said(text):
        asked = AskedQuestion(text, ("Suna",), ("d",))
        world = PassagesWorld("w", (Document("d", "Suna", "Suna rules."),), (asked,))
        monkeypatch.setattr(SearchRouter, "world_of", lambda self, seed: world)
        return prompts_about(coevo.envs.make("coevo/search_router-v0", prompt_style=style))

    plain = said(PLAIN)
    assert [a for a in CORPUS[::5] if a.strip() and said(a) != plain] == []


def test_the_comparison_sees_a_forged_line():
    """A prompt that quotes nothing is told apart, so that the test above can fail."""
    assert skeleton(f"| {PLAIN}") == skeleton("| 9\n| Evaluation:")
    assert skeleton(f"Answer: {PLAIN}") != skeleton("Answer: 9\nEvaluation:")
    assert skeleton('Other: "hello" Answer [9]') != skeleton('Other: "hello" Others: "" Answer [9]')


@pytest.mark.parametrize(
    ("reader", "mark", "read"),
    [
        (lambda t: parse_move(t, ["bet", "fold"]).move, "[bet]", "bet"),
        (lambda t: parse_move(t, ["A", "B"]).move, "<action>B</action>", "B"),
        (lambda t: final_answer(t, "number"), "[7]", "7"),
        (lambda t: final_answer(t, "text"), "<answer>7</answer>", "7"),
        (lambda t: final_answer(t, "mathematics"), "\\boxed{7}", "7"),
        (lambda t: read_score(t).move, "<score>2</score>", "2"),
        (lambda t: read_verdict(t).move, "[wrong]", "wrong"),
        (lambda t: verdict(t).move, "<verify>Reject</verify>", "reject"),
        (lambda t: orchestration.query(t).move, "<search>boss</search>", "boss"),
        (lambda t: orchestration.answer(t).move, "[answer: Suna]", "Suna"),
        (lambda t: read_action(t, ("search", "answer")).text, "<answer>Suna</answer>", "Suna"),
    ],
)
def test_the_last_mark_counts_for_every_reader(reader, mark, read):
    ends = [a for a in CORPUS if not a.lower().endswith("<think>")]
    assert [a for a in ends if reader(f"{a}\nSo: {mark}") != read] == []


@pytest.mark.parametrize("attack", FAMILIES["brackets"] + FAMILIES["tags"])
def test_no_attack_alone_is_a_listed_move(attack):
    if parse_move(attack, ["fold", "call"]).status is Status.LEGAL:
        pytest.fail(f"{attack!r} was read as a move")
