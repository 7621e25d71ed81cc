"""The search suite: three ways of answering the same questions, and what leaks."""

import json

import pytest

from coevo.agents import ExpertAgent, FixedTextAgent
from coevo.benchmarks.results_folder import ResultsFolder
from coevo.benchmarks.suites.search import hops_asked, search_table
from coevo.benchmarks.suites.suite import KIND


@pytest.fixture
def corpus(tmp_path):
    """Two articles; the second question names its answer."""
    folder = tmp_path / "zoo"
    folder.mkdir()
    texts = {"mole": "The mole lives in a tunnel.", "owl": "The owl lives in a hollow tree."}
    lines = [{"_id": name, "title": name.title(), "text": text} for name, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, lines)))
    asked = [
        {"question": "Where does the mole live?", "answers": ["tunnel"], "doc": "mole"},
        {"question": "Is a tree hollow to an owl?", "answers": ["hollow"], "doc": "owl"},
    ]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, asked)))
    return {"name": "corpus", "path": str(folder)}


def table(agent, options, games=20, folder=None):
    results = ResultsFolder(folder, KIND)
    results.begin({})
    return search_table(agent, games, 0, options, results)


def test_an_expert_needs_the_search_and_by_hops_its_own():
    rows = {(r.way, r.hops): r for r in table(ExpertAgent(1.0), {"hops": (2,)}).rows}
    assert hops_asked({"hops": (2,)}) == (2,)
    assert hops_asked({}) == (1, 2, 3, 4)
    assert [rows[way, 2].exact_match for way in ("closed book", "one-shot reader", "agent")] == [
        0.0,
        0.0,
        1.0,
    ]
    assert rows["agent", 2].support == (1.0, 1.0)
    assert rows["agent", 2].before == 0.0
    assert rows["closed book", 2].before == 1.0
    assert rows["agent", 2].searches == 2.0


def test_what_is_known_by_heart_is_reported_as_a_leak(corpus):
    found = table(FixedTextAgent("[answer: tunnel]"), {"world": corpus}, games=200)
    closed, one_shot, _ = found.rows
    assert closed.hops == 1
    assert closed.exact_match == one_shot.exact_match == pytest.approx(0.5, abs=0.15)
    assert closed.shown == 0.0
    assert one_shot.shown == 1.0
    assert found.named == pytest.approx(1 - closed.exact_match), "the other question"
    assert f"{closed.exact_match:.1%} of the questions are answered without a search" in found.leaks


def test_what_is_finished_is_kept(corpus, tmp_path, monkeypatch):
    first = table(ExpertAgent(0.5), {"world": corpus}, folder=tmp_path / "out")
    monkeypatch.setattr("coevo.benchmarks.suites.search.play", None)
    assert table(ExpertAgent(0.5), {"world": corpus}, folder=tmp_path / "out") == first
