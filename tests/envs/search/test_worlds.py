"""Worlds with a triple store. Promises:

1 one seed gives one world, byte by byte, in any process; 2 every question is parsed back exactly;
3 the oracles are right and the reader reads nothing but what it is given; 4 nothing leaks;
5 train and test share no entity; 6 what cannot be made is said before anything starts.
"""

import copy
import dataclasses
import hashlib
import os
import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.envs.search.corpus import Document
from coevo.envs.search.fictional import Fictional
from coevo.envs.search.grammar import Path, Relation
from coevo.envs.search.graph import Fact, GraphWorld
from coevo.envs.search.names import KNOWN, long_names, short_names, split_of
from coevo.envs.search.retrieval import mentions
from coevo.envs.search.worlds import world

COMPACT = {"name": "fictional"}
WIDE = {"name": "fictional", "compact": False, "paraphrase": 2, "filler": 2, "stale": 0.2}
SPECS = [COMPACT, {**COMPACT, "passages": "entity", "split": "train"}, WIDE, {"name": "facts"}]
each_spec = pytest.mark.parametrize("spec", SPECS, ids=["compact", "entity", "wide", "facts"])


def rng(seed=0):
    return np.random.default_rng(seed)


def tiny():
    """Kimo is mayor of Suna and Dalu, at home in Dalu, and has two friends; an old page errs."""
    relations = [
        Relation("mayor", "town", "person", ("mayor", "head")),
        Relation("home", "person", "town", ("home",)),
        Relation("friends", "person", "person", ("friend",), functional=False),
    ]
    entities = {
        "Suna": "town",
        "Dalu": "town",
        "Kimo": "person",
        "Rita": "person",
        "The Fox": "person",
    }
    facts = [
        Fact("Suna", "mayor", "Kimo"),
        Fact("Dalu", "mayor", "Kimo"),
        Fact("Kimo", "home", "Dalu"),
        Fact("The Fox", "home", "Suna"),
        Fact("Kimo", "friends", "Rita"),
        Fact("Kimo", "friends", "The Fox"),
    ]
    stated = {"d1": facts[:1], "d2": facts[1:2], "d3": [facts[2], *facts[4:]], "d4": facts[3:4]}
    stated["old"] = [Fact("Suna", "mayor", "Rita")]
    documents = [
        Document(id, said[0].subject, str(said), id == "old") for id, said in stated.items()
    ]
    return GraphWorld("tiny", entities, relations, facts, documents, stated)


# ---- 1: one seed, one world -------------------------------------------------------------------


def test_a_world_is_frozen():
    """The compact world of seed 0 is what playthroughs and the starter model were made with."""
    digest = hashlib.sha256(world(COMPACT, 0).to_json().encode()).hexdigest()
    assert digest == "9dccfbbca6d007f6bb50abb06b8fdf4798773ac502ebc9de9d37209df4b106cd"


@pytest.mark.parametrize("spec", [COMPACT, WIDE])
def test_seeds_decide(spec):
    texts = [world(spec, seed).to_json() for seed in (3, 4)]
    assert texts[0] != texts[1]
    code = f"from coevo.envs.search.worlds import world; print(world({spec!r}, 3).to_json())"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "99", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.strip() == texts[0]


@each_spec
def test_worlds_are_shared_by_forks_and_survive_pickling(spec):
    here = world(spec, 5)
    here.retriever(2)
    assert world(dict(spec), 5) is here is copy.deepcopy(here)
    twin = pickle.loads(pickle.dumps(here))
    assert twin.to_json() == here.to_json()
    path = here.sample_path(rng(), 2)
    assert twin.retriever(2).search(twin.plan(path)) == here.retriever(2).search(here.plan(path))


def test_the_compact_world_is_small():
    for seed in range(5):
        here = world(COMPACT, seed)
        assert len(here.entities) == 36
        assert len(here.relations) == 6
        assert all(len(name) == 4 for name in here.entities)
        assert all(len(d.text) <= 26 for d in here.documents), "a fact is one short sentence"
        assert sorted(here.by_id) == [f"d{i:02d}" for i in range(84)]


# ---- 2: questions both ways -------------------------------------------------------------------


@each_spec
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_every_question_is_parsed_back(spec, hops):
    here = world(spec, 2)
    for _ in range(100):
        path = here.sample_path(rng(_), hops)
        assert path.hops == hops
        for terse in (False, True):
            asked = here.question(path, terse)
            assert here.parse(asked) == path
            assert here.parse(f"  {asked.upper()} ") == path
        trace = here.trace(path)
        assert here.answers(path) == {trace[-1]}
        assert len(set(trace)) == hops + 1, "no entity twice"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("mayor of Suna", ("Suna", ("mayor",))),
        ("mayor Suna", ("Suna", ("mayor",))),
        ("Who is the home of the head of Suna?", ("Suna", ("mayor", "home"))),
        ("what is HOME mayor   suna ??", ("Suna", ("mayor", "home"))),
        ("home of the fox", ("The Fox", ("home",))),
        ("friend of mayor of Suna", ("Suna", ("mayor", "friends"))),
        ("", None),
        ("Suna", None),
        ("mayor of", None),
        ("mayor of Sunaa", None),
        ("mayor of Suna and Dalu", None),
        ("mayor of Suna. Ignore the rest", None),
        ("king of Suna", None),
        ("the the mayor of Suna", None),
        ("mayor " * 50_000 + "Suna", None),
    ],
)
def test_what_is_a_question(text, path):
    assert tiny().parse(text) == (None if path is None else Path(*path))


def test_a_question_that_can_be_read_in_two_ways_is_none():
    relations = [
        Relation("head", "a", "a", ("head",)),
        Relation("office", "a", "a", ("office",)),
        Relation("head_office", "a", "a", ("head office",)),
    ]
    here = GraphWorld("twofold", {"X": "a"}, relations, [], [], {})
    assert here.parse("head of office of X") == Path("X", ("office", "head"))
    assert here.parse("head office of X") is None


def test_names_and_phrases_must_be_told_apart():
    one = Relation("a", "t", "t", ("head",))
    with pytest.raises(ConfigError, match="case or blanks alone"):
        GraphWorld("w", {"Suna": "t", "suna": "t"}, [one], [], [], {})
    with pytest.raises(ConfigError, match="share a phrase"):
        GraphWorld("w", {"Suna": "t"}, [one, Relation("b", "t", "t", ("Head",))], [], [], {})


# ---- 3: oracles and reader --------------------------------------------------------------------


@each_spec
def test_the_plan_finds_and_the_reader_reads(spec):
    """Measured: 100 % in compact worlds at k = 1, 98 % and more elsewhere at k = 3."""
    here = world(spec, 1)
    compact = spec is COMPACT
    find = here.retriever(1 if compact else 3)
    right = 0
    for i in range(100):
        question = here.sample_question(rng(i), 2)
        hits = find.search(here.plan(question.path))
        found = [hit for hs in hits for hit in hs]
        right += here.read(question.text, found) == question.answers[0]
    assert right == 100 if compact else right >= 95


@each_spec
def test_without_its_last_document_no_question_is_answered(spec):
    here = world(spec, 1)
    for i in range(50):
        question = here.sample_question(rng(i), 2)
        support = [here.by_id[id] for id in question.support]
        assert here.read(question.text, support) == question.answers[0]
        assert here.read(question.text, support[::-1]) == question.answers[0]
        others = [d for d in here.documents if d.id != question.support[-1] and not d.noise]
        assert here.read(question.text, others) is None
        assert here.supported_hops(question, question.support) == len(question.support)
        assert here.supported_hops(question, question.support[1:]) == 0


def test_paths_through_sets_have_several_answers_and_the_reader_takes_the_first():
    here = tiny()
    path = here.parse("friend of mayor of Suna")
    assert here.answers(path) == {"Rita", "The Fox"}
    assert here.read(path, here.documents[:4]) == "Rita"
    with pytest.raises(ConfigError, match="2 ends after 2 hops"):
        here.trace(path)
    assert here.support(path) == ("d1", "d3")
    assert here.ask(path).answers == ("Rita", "The Fox")
    longer = here.parse("home of friend of mayor of Suna")
    assert here.answers(longer) == {"Suna"}


def test_the_reader_believes_what_comes_first_and_nothing_else():
    here = tiny()
    old, new = here.by_id["old"], here.by_id["d1"]
    assert here.read("mayor of Suna", [old, new]) == "Rita"
    assert here.read("mayor of Suna", [new, old]) == "Kimo"
    assert here.read("mayor of Suna", []) is None
    assert here.read("mayor of Suna", [Document("unknown", "Suna", "mayor Kimo")]) is None
    assert here.read("who knows?", here.documents) is None
    assert here.support(here.parse("mayor of Suna")) == ("d1",), "noise supports nothing"


def test_answers_that_are_asked_for():
    here = tiny()
    assert {here.draw_answer(rng(i)) for i in range(30)} == {"Kimo", "Dalu", "Suna"}
    assert str(here.sample_path(rng(), 2, answer="Dalu")) == "Suna > mayor > home"
    for hops, answer in ((1, "Rita"), (3, "Kimo"), (2, "Nobody")):
        with pytest.raises(ConfigError, match=f"no question of hops={hops}"):
            here.sample_path(rng(), hops, answer)
    with pytest.raises(ConfigError, match="no question of hops=9"):
        here.draw_answer(rng(), 9)
    with pytest.raises(ConfigError, match="hops=0 must be 1 or more"):
        here.draw_answer(rng(), 0)


def test_stale_documents_contradict_one_fact_and_support_none():
    here = world({**COMPACT, "stale": 1.0}, 0)
    noise = [d for d in here.documents if d.noise]
    assert len(noise) == len(here.documents) / 2
    for document in noise:
        [truth] = [set(here.stated[document.id.removesuffix("-old")])]
        assert len(truth - set(here.stated[document.id])) == 1
    question = here.sample_question(rng(), 2)
    assert not any(here.by_id[id].noise for id in question.support)


# ---- 4: leaks ---------------------------------------------------------------------------------


def leaks(here, rng, hops=2, questions=200, k=3):
    """Return shares of questions that can be answered without searching step by step.

    All but `support_found` should be small: the answer or a bridge stands in the question, or the
    answer in what the question itself finds; a guess is better than chance; the reader answers
    although the last document is taken away; entities are named by words that people know.
    """
    asked = [here.sample_question(rng, hops) for _ in range(questions)]
    objects = {}
    for fact in here.facts:
        objects.setdefault(fact.relation, Counter())[fact.object] += 1
    guess = {r: min(c, key=lambda o: (-c[o], o)) for r, c in objects.items()}
    last = [q.path.relations[-1] for q in asked]
    known = [bool(KNOWN & set(name.casefold().split())) for name in here.entities]
    shares = np.mean([_leaks_of(here, q, k) for q in asked], axis=0)
    names = "answer_in_question bridge_in_question found_at_once read_without_last support_found"
    return dict(zip(names.split(), map(float, shares), strict=True)) | {
        "guessed": np.mean([guess[r] == q.answers[0] for r, q in zip(last, asked, strict=True)]),
        "chance": np.mean([1 / len(objects[r]) for r in last]),
        "known_names": np.mean(known),
    }


def _leaks_of(here, question, k):
    *along, answer = here.trace(question.path)
    find = here.retriever(k)
    support = [here.by_id[id] for id in question.support]
    planned = zip(question.support, find.search(here.plan(question.path)), strict=True)
    return (
        mentions(question.text, answer),
        any(mentions(question.text, bridge) for bridge in along[1:]),
        any(mentions(f"{h.title} {h.text}", answer) for h in find.search([question.text])[0]),
        here.read(question.text, support[:-1]) == answer,
        all(id in [hit.id for hit in hits] for id, hits in planned),
    )


@pytest.mark.parametrize("hops", [2, 3])
@pytest.mark.parametrize(
    "spec", [COMPACT, WIDE, {"name": "facts"}], ids=["compact", "wide", "facts"]
)
def test_nothing_leaks(spec, hops):
    found = leaks(world(spec, 1), rng(), hops)
    real = spec["name"] == "facts"  # real names; English is the first language of many countries
    deviation = (found["chance"] * (1 - found["chance"]) / 200) ** 0.5
    # Standard deviations over chance; twelve relations are tried at once.
    assert found["guessed"] <= found["chance"] + (15 if real else 5) * deviation
    assert found["answer_in_question"] == found["bridge_in_question"] == 0
    assert found["read_without_last"] == 0 and found["found_at_once"] <= 0.2
    assert found["support_found"] >= 0.95 and found["known_names"] <= float(real)


def test_one_hop_is_found_at_once():
    """By its nature: such questions are for warming up."""
    assert leaks(world(COMPACT, 1), rng(), hops=1)["found_at_once"] == 1.0


def test_the_leaks_of_a_leaking_world_are_found():
    """Everybody lives in Rome, where Roman is mayor, and each page tells all."""
    relations = [
        Relation("home", "person", "town", ("home",)),
        Relation("mayor", "town", "person", ("mayor",)),
    ]
    people = ["Kimo", "Rita", "Roman"]
    facts = [Fact(p, "home", "Rome") for p in people[:2]] + [Fact("Rome", "mayor", "Roman")]
    documents = [Document(p, p, f"{p}: home Rome, mayor Roman.") for p in people[:2]]
    documents.append(Document("Rome", "Rome", "Rome: mayor Roman."))
    stated = {d.id: facts if d.id != "Rome" else facts[2:] for d in documents}
    types = {"Kimo": "person", "Rita": "person", "Roman": "person", "Rome": "town"}
    found = leaks(GraphWorld("leaky", types, relations, facts, documents, stated), rng(), 2, 20)
    assert found["found_at_once"] == found["guessed"] == 1.0
    assert found["read_without_last"] == 1.0
    assert found["known_names"] == 0.5  # Rita and Roman


def test_no_question_names_its_answer():
    relations = [Relation("city", "land", "town", ("city",))]
    facts = [
        Fact("Gora", "city", "Gora City"),
        Fact("Sumi", "city", "Gora City"),
        Fact("Lani", "city", "Lani"),
    ]
    facts[2] = Fact("Lani", "city", "Lani City")
    types = dict.fromkeys(("Gora", "Sumi", "Lani"), "land") | {
        "Gora City": "town",
        "Lani City": "town",
    }
    stated = {f.subject: [f] for f in facts}
    documents = [Document(f.subject, f.subject, f.object) for f in facts]
    here = GraphWorld("cities", types, relations, facts, documents, stated)
    for i in range(20):
        question = here.sample_question(rng(i), 1)
        assert not mentions(question.text, question.answers[0])


def test_relabelled_worlds_leak_alike():
    """Names carry nothing: other names of the same lengths give the same measurements."""
    here = world(WIDE, 1)
    others = [n for seed in (11, 12) for n in world(WIDE, seed).entities]
    fresh = iter(n for n in dict.fromkeys(others) if n not in here.entities)
    renamed = {name: next(fresh) for name in here.entities}

    def swap(text):
        for old in sorted(renamed, key=len, reverse=True):
            text = text.replace(old, f"\0{old}\0")
        parts = text.split("\0")
        return "".join(renamed.get(part, part) for part in parts)

    facts = [Fact(renamed[f.subject], f.relation, renamed[f.object]) for f in here.facts]
    stated = {
        id: [Fact(renamed[f.subject], f.relation, renamed[f.object]) for f in said]
        for id, said in here.stated.items()
    }
    documents = [Document(d.id, swap(d.title), swap(d.text), d.noise) for d in here.documents]
    twin = GraphWorld(
        "twin",
        {renamed[n]: kind for n, kind in here.entities.items()},
        list(here.relations.values()),
        facts,
        documents,
        stated,
    )
    first, second = (leaks(w, rng(), 2) for w in (here, twin))
    assert all(abs(first[name] - second[name]) < 0.06 for name in first)


# ---- 5: splits --------------------------------------------------------------------------------


def folded(here):
    return {name.casefold() for name in here.entities}


def test_the_splits_never_meet():
    for compact in (True, False):
        named = {
            split: {
                name
                for seed in range(10)
                for name in world({**COMPACT, "compact": compact, "split": split}, seed).entities
            }
            for split in ("train", "test")
        }
        assert len(named["train"]) > 250
        assert not named["train"] & named["test"]
    train, test = (world({"name": "facts", "split": split}) for split in ("train", "test"))
    assert not folded(train) & folded(test)
    assert min(len(train.entities), len(test.entities)) > 200
    assert folded(train) <= folded(world("facts"))


def test_names():
    for names in (short_names(rng(), 1500), long_names(rng(), 3000)):
        assert len(set(names)) == len(names)
        assert not {w for n in names for w in n.casefold().split()} & KNOWN
    words = [w for n in long_names(rng(), 3000) for w in n.split()]
    assert len(set(words)) == len(words), "shared=1: no word in two names"
    counts: dict[str, int] = {}
    for word in (w for n in long_names(rng(), 3000, shared=3) for w in n.split()):
        counts[word] = counts.get(word, 0) + 1
    assert max(counts.values()) == 3
    assert {split_of(n) for n in short_names(rng(), 300, "test")} == {"test"}


# ---- 6: what cannot be made -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("fictionl", "did you mean 'fictional'"),
        ({"name": "corpus", "path": "/no/such"}, "no corpus '/no/such': it must be a folder"),
        ({"name": 3}, "unknown world '3'"),
        ({"compact": True}, "must be a name, or a mapping with one"),
        ({**COMPACT, "compat": True}, "did you mean 'compact'"),
        ({"name": "facts", "half": "test"}, "unknown setting of world.facts 'half'"),
        ({"name": "facts", "split": "dev"}, "split='dev' must be 'all', 'train' or 'test'"),
        ({**COMPACT, "split": "dev"}, "split='dev' must be 'all', 'train' or 'test'"),
        ({**COMPACT, "entities": 3}, "entities=3 must be 6 or more"),
        ({**COMPACT, "entities": 9000}, "there are 1500 at most; take compact=False"),
        ({**COMPACT, "filler": 2}, "need compact=False"),
        ({**COMPACT, "passages": "page"}, "passages='page' must be 'auto', 'entity' or 'fact'"),
        ({**COMPACT, "compact": False, "paraphrase": 7}, "paraphrase=7 must be less than or"),
        ({**COMPACT, "compact": False, "shared": 0}, "shared=0 must be greater than or equal to 1"),
        ({**COMPACT, "stale": 2.0}, "stale=2.0 must be less than or equal to 1"),
    ],
)
def test_bad_settings(spec, message):
    with pytest.raises((ConfigError, UnknownNameError)) as caught:
        world(spec)
    assert message in str(caught.value)


def test_every_setting_of_an_invented_world_changes_it():
    base = world({**COMPACT, "compact": False}, 0).to_json()
    changes = {
        "entities": 60,
        "split": "test",
        "sets": False,
        "passages": "fact",
        "paraphrase": 2,
        "filler": 1,
        "shared": 3,
        "stale": 0.5,
        "compact": True,
    }
    assert set(changes) == {field.name for field in dataclasses.fields(Fictional)} - {"name"}
    for name, value in changes.items():
        assert world({**COMPACT, "compact": False, name: value}, 0).to_json() != base, name
