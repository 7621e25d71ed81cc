"""BM25: exact scores on a hand-made corpus, ties, and queries that no tool should be sent."""

import copy
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.search.corpus import Document
from coevo.envs.search.retrieval import LONGEST_QUERY, Bm25Retriever, clean_query, tokenise
from coevo.envs.search.worlds import world

DOCUMENTS = [
    Document("c", "It", "a clown"),
    Document("a", "U2", "a band of Ireland"),
    Document("b", "X", "mayor Kimo"),
]


def ids(hits):
    return [hit.doc_id for hit in hits]


def test_scores_are_lucenes_bm25():
    """idf = ln(1 + (N - n + 0.5) / (n + 0.5)), tf part = f / (f + k1 (1 - b + b L / mean L))."""
    [[hit]] = Bm25Retriever(DOCUMENTS).search(["Kimo"])
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    length, mean = 3, (3 + 5 + 3) / 3
    assert hit.score == pytest.approx(idf / (1 + 1.5 * (0.25 + 0.75 * length / mean)), rel=1e-5)
    assert (hit.id, hit.title, hit.text) == ("b", "X", "mayor Kimo")


@pytest.mark.parametrize(
    ("query", "first"), [("it", "c"), ("IT?", "c"), ("x", "b"), ("u2", "a"), ("clówn", "c")]
)
def test_short_names_and_stop_words_are_found(query, first):
    assert ids(Bm25Retriever(DOCUMENTS).search([query], 1)[0]) == [first]


def test_equal_scores_are_ordered_by_id_whatever_the_order_of_the_corpus():
    same = [Document(id, "Suna", "mayor Kimo") for id in "dbacfe"]
    for documents in (same, same[::-1]):
        assert ids(Bm25Retriever(documents).search(["mayor of Suna"], 4)[0]) == list("abcd")


def test_titles_may_count_more():
    documents = [
        Document("a", "Pelo", "twin Suna, mayor Riko"),
        Document("b", "Suna", "mayor Kimo, x y"),
    ]
    assert ids(Bm25Retriever(documents, title_weight=3).search(["mayor Suna"], 2)[0]) == ["b", "a"]


def test_more_hits_than_documents_gives_all_that_match():
    assert sorted(ids(Bm25Retriever(DOCUMENTS).search(["a clown of mayor"], 500)[0])) == [
        "a",
        "b",
        "c",
    ]


def test_a_document_that_shares_no_word_is_no_hit():
    retriever = Bm25Retriever(DOCUMENTS)
    assert retriever.search(["", "???", "nowhere at all", "mayor zzz"], 3)[:3] == [[], [], []]
    assert ids(retriever.search(["mayor zzz"], 3)[0]) == ["b"]


def test_queries_from_hell_are_cut_cleaned_and_counted(capsys):
    retriever = Bm25Retriever(DOCUMENTS)
    bad = ["Kimo " + "x" * 1_000_000, "Ki\x00mo", "\x1b[2J", "\ud83d mayor", "\u202emayor", ""]
    found = retriever.search(bad, 3)
    assert ids(found[0]) == ["b"]
    assert found[1] == []  # a control character parts words
    assert ids(found[3]) == ids(found[4]) == ["b"]
    assert retriever.counts == {"queries": 6, "cut": 1, "cleaned": 4, "empty": 1}
    captured = capsys.readouterr()
    assert captured.out == captured.err == "", "no progress bars"


def test_what_is_cut_is_not_searched():
    query, done = clean_query("y" * LONGEST_QUERY + " Kimo")
    assert (len(query), done) == (LONGEST_QUERY, ("cut",))
    assert Bm25Retriever(DOCUMENTS).search(["y" * LONGEST_QUERY + " Kimo"])[0] == []


@pytest.mark.parametrize("query", ["foo: (bar", '"unclosed', "a:b", "[x TO", "*", "mayor^9 OR -x"])
def test_there_is_no_query_language(query):
    Bm25Retriever(DOCUMENTS).search([query], 3)


@given(st.text())
def test_no_query_raises(query):
    for hits in Bm25Retriever(DOCUMENTS).search([query], 3):
        assert len(hits) <= 3
        assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
        assert all(h.score > 0 for h in hits)


def test_bad_settings_and_corpora():
    with pytest.raises(DataError, match="empty corpus"):
        Bm25Retriever([])
    with pytest.raises(DataError, match="document id 'a' comes twice"):
        Bm25Retriever([DOCUMENTS[1], DOCUMENTS[1]])
    for k in (0, -1):
        with pytest.raises(ConfigError, match=f"k={k} must be 1 or more"):
            Bm25Retriever(DOCUMENTS).search(["x"], k)
    assert Bm25Retriever([Document("a", "", "?!")]).search(["?!"]) == [[]]


def test_views_share_the_index_and_count_for_themselves():
    three = world("fictional", 1).retriever(3)
    one = world("fictional", 1).retriever(1)
    assert one is not three and one is world("fictional", 1).retriever(1)
    before = three.counts["queries"]
    assert len(one.search(["mayor"])[0]) == 1
    assert three.counts["queries"] == before
    assert len(three.search(["mayor"])[0]) == 3


@pytest.mark.parametrize("fork", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_fork_finds_the_same(fork):
    retriever = Bm25Retriever(DOCUMENTS)
    twin = fork(retriever)
    assert twin.search(["mayor of a band"]) == retriever.search(["mayor of a band"])
    twin.search(["x"])
    assert retriever.counts["queries"] == 1


def test_tokens():
    assert tokenise("St. John's, 1984: Ærø!") == ["st", "john's", "1984", "ærø"]
