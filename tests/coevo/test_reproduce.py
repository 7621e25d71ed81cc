import json

import pytest

from coevo.benchmarks.reproductions import NAMES
from coevo.benchmarks.reproductions.claim import ON, Claim, Expect, Once


def made(name, *, low=0.5, minutes=0.5, measure=lambda seed: {"share": 0.75}):
    """Make a claim that measures 0.75 for every seed."""
    return Claim(
        name=name,
        property="Shares are large.",
        source="a paper",
        minutes=minutes,
        on="table",
        setting="somewhere",
        measured="shares",
        chosen="the bound, after a look",
        note="a remark",
        arms={"arm": measure, "once": Once(lambda seed: {"seen": 1.0})},
        expect=(Expect("share", "arm.share", 0.8, low=low), Expect("seen", "once.seen")),
    )


@pytest.fixture
def known(monkeypatch):
    """Return a function that replaces the claims that the command knows."""

    def use(*claims):
        found = {one.name: one for one in claims}
        monkeypatch.setattr("coevo.commands.reproduce.NAMES", tuple(found))
        monkeypatch.setattr("coevo.commands.reproduce.claim", found.__getitem__)

    return use


@pytest.fixture
def table(known):
    """Let the command know a claim that holds and one that does not."""
    known(made("large"), made("larger", low=0.9))


def test_every_reproduction_is_listed(cli):
    out = cli("reproduce", "--list").out
    listed = json.loads(cli("reproduce", "--list", "--json").out)
    assert [entry["name"] for entry in listed] == list(NAMES)
    assert all(name in out for name in NAMES)
    assert all(entry["minutes"] > 0 for entry in listed)
    assert {entry["on"] for entry in listed} == set(ON)


def test_the_list_says_how_long_all_take(cli, table):
    assert "2 reproductions, 1.0 minutes in all" in cli("reproduce", "--list").out


def test_a_property_that_holds(cli, table):
    result = cli("reproduce", "large", "--seeds", "2")
    assert result.status == 0
    for part in (
        "Shares are large.",
        "source: a paper",
        "0.75",
        "0.8",
        ">= 0.5",
        "note: a remark",
        "chosen: the bound, after a look",
        "2 seeds",
    ):
        assert part in result.out
    assert result.out.strip().endswith("holds")
    assert "FAIL" not in result.out


def test_a_property_that_does_not_hold(cli, table):
    result = cli("reproduce", "larger")
    assert result.status == 1
    assert "FAIL" in result.out
    assert "DOES NOT HOLD: 1 of" in result.out
    assert result.err == ""


def test_json_holds_everything(cli, table):
    result = cli("reproduce", "larger", "--seeds", "2", "--json")
    assert result.status == 1
    found = json.loads(result.out)
    assert found["holds"] is False
    assert found["seeds"] == [0, 1]
    assert found["property"] == "Shares are large."
    assert found["note"] == "a remark"
    share, seen = found["figures"]
    assert share == {
        "label": "share",
        "measured": [0.75, 0.75],
        "mean": 0.75,
        "reference": 0.8,
        "low": 0.9,
        "high": None,
        "holds": False,
    }
    assert seen["low"] is None and seen["holds"]


def test_a_figure_that_is_no_number_is_null_in_json(cli, known):
    known(made("odd", measure=lambda seed: {"share": float("nan")}))
    result = cli("reproduce", "odd", "--json")
    assert result.status == 1
    assert json.loads(result.out)["figures"][0]["mean"] is None


def test_five_seeds_unless_others_are_asked_for(cli, known):
    seen: list[int] = []

    def measure(seed):
        seen.append(seed)
        return {"share": 0.75}

    known(made("large", measure=measure))
    cli("reproduce", "large")
    cli("reproduce", "large", "--seeds", "1")
    assert seen == [0, 1, 2, 3, 4, 0]


def test_all_runs_every_one_and_fails_with_one(cli, table, known):
    result = cli("reproduce", "all")
    assert result.status == 1
    assert "larger of 2 do not hold" in result.out
    listed = json.loads(cli("reproduce", "all", "--json").out)
    assert [(c["name"], c["holds"]) for c in listed] == [("large", True), ("larger", False)]
    known(made("large"))
    result = cli("reproduce", "all")
    assert result.status == 0
    assert "all hold" in result.out


BAD = [
    (("reproduce", "tis_cosin"), "'tis_cosine'"),
    (("reproduce", "al"), "'all'"),
    (("reproduce",), "--list"),
    (("reproduce", "tis_cosine", "--list"), "contradict"),
    (("reproduce", "tis_cosine", "--seeds", "0"), "--seeds 0"),
    (("reproduce", "tis_cosine", "--seed", "3"), "'--seeds'"),
    (("reproduce", "tis_cosine", "--seeds", "few"), "whole number"),
]


@pytest.mark.parametrize(("words", "hint"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input_is_one_line(cli, words, hint):
    result = cli(*words)
    assert result.status == 2
    assert hint in result.error_line()


def test_an_interrupted_reproduction_exits_130(cli, known):
    def interrupted(seed):
        raise KeyboardInterrupt

    known(made("long", measure=interrupted))
    result = cli("reproduce", "long")
    assert result.status == 130
    assert result.err == "coevo: interrupted\n"


def test_a_real_one_from_the_command_line(cli):
    found = json.loads(cli("reproduce", "mars_centre", "--json").out)
    assert found["holds"]
    assert {row["label"]: row["mean"] for row in found["figures"]}[
        "Kuhn: payoff of the first player"
    ] == pytest.approx(1 / 8)
