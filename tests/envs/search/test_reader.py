"""The search reader: its three ways of finding, what is shown, what is paid."""

from pathlib import Path
from statistics import fmean

import pytest

from coevo.envs import make
from coevo.envs.questions.answers import token_f1
from coevo.envs.search.experts import answer_from, keywords
from coevo.envs.search.snippets import best_window

ID = "coevo/search_reader-v0"
SQUAD = Path(__file__).resolve().parents[4] / "shared" / "data" / "squad_subset"
needs_squad = pytest.mark.skipif(not SQUAD.is_dir(), reason=f"the SQuAD subset is not at {SQUAD}")


def played(seed=0, replies=None, **kwargs):
    """Play an episode: the given replies, else what the expert says first."""
    env = make(ID, **kwargs)
    env.reset(seed=seed)
    given = iter(replies or ())
    while env.awaiting:
        env.step(next(given, None) or env.expert(env.agent_selection, 1.0).texts[0])
    return env


@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_who_searches_by_plan_is_right(hops, style):
    for seed in range(20):
        env = played(seed, hops=hops, searches=hops, prompt_style=style)
        assert [t.agent for t in env.episode.turns] == ["searcher_0"] * hops + ["answerer_0"]
        assert env.episode.total("searcher_0") == env.episode.total("answerer_0") == 1.0
        out = env.episode.outcome
        assert out["exact_match"] == out["f1"] == out[f"exact_match/{hops}_hop"] == 1.0
        assert out["searches"] == out["supported_hops"] == hops


def test_without_a_searcher_the_answerer_is_alone():
    reader = played(asks="question", hops=1)
    assert reader.possible_agents == ["answerer_0"]
    assert reader.episode.total("answerer_0") == 1.0, "one fact is found by its question"
    closed = played(asks="none", hops=1)
    assert closed.possible_agents == ["answerer_0"]
    assert closed.episode.outcome["searches"] == closed.episode.outcome["answer_shown"] == 0.0
    said = list(closed.episode.turns[0].seen)[-1]["content"]
    assert said == f"Question: {closed.task.question.text}", "nothing was found, nothing is shown"


def test_words_of_an_answer_are_paid_as_a_component():
    env = make(ID, f1=0.5, hops=1, searches=1)
    env.reset(seed=1)
    env.step("[search: boss]")
    env.step(f"[answer: {env.task.question.answers[0]} perhaps not]")
    assert env.episode.total("answerer_0", "payoff") == 0.0
    assert env.episode.total("searcher_0", "f1") == env.episode.total("answerer_0", "f1") == 0.25
    assert env.episode.outcome["f1"] == 0.5


@pytest.mark.parametrize(
    ("answer", "accepted", "f1"),
    [
        ("Denmark and Norway", ["Denmark, Iceland and Norway"], 6 / 7),
        ("The Normans", ["normans"], 1.0),
        ("to to to", ["to be"], 2 / 5),
        ("10th", ["11th", "10th century"], 2 / 3),
        ("", [""], 0.0),
        (None, ["Rollo"], 0.0),
    ],
)
def test_token_f1(answer, accepted, f1):
    assert token_f1(answer, accepted) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("table", "earned"), [("plain", (0.3, -0.3, -0.3)), ("asymmetric", (0.3, -0.6, -0.3))]
)
def test_judgements_are_paid_by_their_table_at_the_end(table, earned):
    for (query, said), paid in zip(
        (("good", "yes"), ("zzz", "yes"), ("good", "no")), earned, strict=True
    ):
        env = make(ID, hops=1, searches=1, judge=table)
        env.reset(seed=0)
        plan = env.task.world.plan(env.task.question.path)[0]
        env.step(f"[search: {plan if query == 'good' else query}]")
        assert env.infos["searcher_0"]["legal_actions"] == ["yes", "no"]
        env.step(f"[{said}]")
        assert env.episode.total("searcher_0") == 0.0, "it would tell what was useful"
        shown = env.chat("answerer_0")[-1]["content"]
        assert ("Nothing was found." in shown) == (said == "no" or query == "zzz")
        env.step("[answer: x]")
        assert env.episode.total("searcher_0", "judge") == pytest.approx(paid)
        assert env.episode.outcome["judged_right"] == float(paid > 0)


def test_what_is_rejected_may_stay_with_a_mark():
    env = played(
        replies=["[search: boss]", "[no]"],
        searches=1,
        hops=1,
        judge="plain",
        on_reject="keep_labelled",
    )
    assert "(rejected)" in list(env.episode.turns[-1].seen)[-1]["content"]
    for style in ("full", "terse"):
        right = played(hops=2, searches=2, judge="plain", prompt_style=style)
        assert right.episode.total("searcher_0") == pytest.approx(1.3)


def test_a_reply_that_cannot_be_read_is_charged_and_finds_nothing():
    env = played(replies=["I would look it up", "hm", "no idea"] * 2, penalty=0.25)
    searcher, answerer = (env.episode.total(a) for a in env.possible_agents)
    assert (searcher, answerer) == (-0.5, -0.25)
    assert [t.move for t in env.episode.turns] == [None, ""] * 3
    assert env.episode.turns[3].notes["found"] == []
    assert "Nothing was found." in list(env.episode.turns[4].seen)[-1]["content"]
    assert sum(env.episode.unread_replies().values()) == 6


def test_the_window_is_made_of_whole_sentences_around_the_words_of_the_query():
    text = "Rain fell. Rollo led the Norse raiders. They sailed south. Nobody knew."
    assert best_window("Norse raiders", text, 30) == "Rollo led the Norse raiders."
    assert best_window("Norse", text, 45) == "Rain fell. Rollo led the Norse raiders."
    assert best_window("nothing of it", text, 12) == "Rain fell."
    assert best_window("Norse", text, 9) == "Rollo led"
    assert best_window("x", "", 9) == ""


def test_experts_of_passages():
    assert keywords("Who was it?") == ["who", "was", "it"], "there must be something to search for"
    texts = ["Rain fell. The Norse raiders followed Rollo in 911."]
    right = answer_from("Whom did the raiders follow?", texts, "Rollo", 0.5)
    assert right.texts[0] == "[answer: Rollo]"
    assert right.probabilities.sum() == pytest.approx(1)
    assert answer_from("Who?", [], None, 1.0).texts[0] == "[answer: unknown]"


@needs_squad
@pytest.mark.parametrize("split", ["train", "test"])
def test_prompts_on_squad_are_short_and_the_expert_reads_what_bm25_finds(split):
    world = {"name": "corpus", "path": str(SQUAD), "split": split}
    rest = {"searches": 1, "prompt_style": "terse"}
    plays = [played(seed, world=world, **rest).episode for seed in range(150)]
    assert max(len(list(t.seen)[-1]["content"]) for e in plays for t in e.turns) < 800  # 200 tokens
    assert max(len(t.text) for e in plays for t in e.turns if t.agent == "searcher_0") < 90
    assert fmean(e.outcome["exact_match"] for e in plays) > 0.7
    shown = [e.outcome["answer_shown"] for e in plays]
    assert [e.outcome["exact_match"] for e in plays] == shown, (
        "right where it is stated, only there"
    )


@needs_squad
def test_the_search_is_worth_something_on_squad():
    world = {"name": "corpus", "path": str(SQUAD)}
    shown = {
        asks: fmean(
            played(seed, world=world, asks=asks).episode.outcome["answer_shown"]
            for seed in range(100)
        )
        for asks in ("question", "none")
    }
    assert shown["question"] > 0.7
    assert shown["none"] == 0.0
