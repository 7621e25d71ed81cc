"""Messages for people."""

import copy
import pickle

import pytest

from coevo.envs.core.errors import (
    CoevoError,
    ConfigError,
    DataError,
    MissingExtraError,
    UnknownNameError,
    check_arguments,
    missing_extra,
    nearest,
    unknown,
)

KNOWN = ["mars", "grpo", "dr_mas", "drgrpo", "reinforce"]
STANDARD = [
    (ConfigError, ValueError),
    (DataError, ValueError),
    (MissingExtraError, ImportError),
    (UnknownNameError, KeyError),
]


@pytest.mark.parametrize(("ours", "theirs"), STANDARD)
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
def test_each_error_is_ours_and_pythons_and_can_travel(ours, theirs, copied):
    error = copied(ours("what went wrong"))
    assert type(error) is ours
    assert isinstance(error, CoevoError)
    assert isinstance(error, theirs)
    assert str(error) == "what went wrong"
    assert error.exit_code == 2


@pytest.mark.parametrize(
    "made", [unknown("algorithm", "marz", KNOWN), missing_extra("torch", "train")]
)
def test_made_errors_can_travel(made):
    assert str(pickle.loads(pickle.dumps(made))) == str(made)


def test_an_error_without_words_prints_nothing():
    assert str(UnknownNameError()) == ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("marz", ["mars"]),
        ("reinforced", ["reinforce"]),
        ("MARS", ["mars", "dr_mas"]),
        ("grpo", ["grpo", "drgrpo"]),
        ("mas", ["dr_mas", "mars"]),
        ("", []),
        ("zzzzzz", []),
    ],
)
def test_nearest(name, expected):
    assert nearest(name, KNOWN) == expected


def test_nearest_gives_at_most_so_many_and_spells_them_as_known():
    assert nearest("a", ["Aa", "aB", "ca", "dab"]) == ["Aa", "aB", "ca"]
    assert nearest("a", ["Aa", "aB"], most=1) == ["Aa"]
    assert nearest("kuhn", iter(["coevo/kuhn_poker-v0"])) == ["coevo/kuhn_poker-v0"]


def test_unknown_lists_near_ones_then_all():
    assert str(unknown("algorithm", "mas", KNOWN)) == (
        "unknown algorithm 'mas'; did you mean 'dr_mas' or 'mars'? "
        "Known: dr_mas, drgrpo, grpo, mars, reinforce"
    )
    assert str(unknown("algorithm", "zzz", ["b", "a"])) == "unknown algorithm 'zzz'. Known: a, b"
    assert str(unknown("plugin", "zzz", [])) == "unknown plugin 'zzz'. Known: none"
    assert "None" in str(unknown("opponent", None, ["random"]))


def test_a_missing_extra_says_what_to_install():
    assert str(missing_extra("bm25s", "search")).endswith("-e '.[search]'")


def test_unknown_arguments_name_the_near_ones_first():
    check_arguments("it", ["b"], ["a", "b"])
    check_arguments("it", [], [])
    with pytest.raises(ConfigError) as caught:
        check_arguments("it", {"seeds": 1}, ["lr", "seed", "budget"])
    assert str(caught.value) == (
        "it takes no argument 'seeds'; did you mean 'seed'? It takes: seed, lr, budget"
    )
    with pytest.raises(ConfigError, match=r"takes no argument 'x'\. It takes: none"):
        check_arguments("it", ["x"], [])
