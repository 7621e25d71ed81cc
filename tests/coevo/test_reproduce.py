import json

import pytest

from coevo.benchmarks.reproductions import REPRODUCTIONS, Outcome, Reproduction, Row

TABLE = "coevo.commands.reproduce.REPRODUCTIONS"


def made(name, *, low=0.5, minutes=0.5, seen=None):
    """Make a reproduction that measures 0.75 for every seed."""

    def run(seeds):
        if seen is not None:
            seen.append(list(seeds))
        ours = tuple(0.75 for _ in seeds)
        return Outcome((Row("share", ours, 0.8, low=low), Row("seen", (1.0,))), note="a remark")

    return Reproduction(name, "Shares are large.", "a paper", minutes, run, "table")


@pytest.fixture
def table(monkeypatch):
    """Return the table that the command reads, with one that holds and one that does not."""
    found = {"large": made("large"), "larger": made("larger", low=0.9)}
    monkeypatch.setattr(TABLE, found)
    return found


def test_every_reproduction_is_listed(cli):
    out = cli("reproduce", "--list").out
    listed = json.loads(cli("reproduce", "--list", "--json").out)
    assert [entry["name"] for entry in listed] == list(REPRODUCTIONS)
    assert all(name in out for name in REPRODUCTIONS)
    assert all(entry["minutes"] > 0 for entry in listed)
    assert {entry["on"] for entry in listed} == {"table", "model", "formula"}


def test_the_list_says_how_long_all_take(cli, table):
    assert "2 reproductions, 1.0 minutes in all" in cli("reproduce", "--list").out


def test_a_property_that_holds(cli, table):
    result = cli("reproduce", "large", "--seeds", "2")
    assert result.status == 0
    for part in (
        "Shares are large.",
        "by the shipped loop; source: a paper",
        "0.75",
        "0.8",
        ">= 0.5",
        "a remark",
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
    share, seen = found["rows"]
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


def test_a_figure_that_is_no_number_is_null_in_json(cli, monkeypatch):
    odd = Reproduction(
        "odd", "p.", "s", 1.0, lambda seeds: Outcome((Row("x", (float("nan"),), low=0),)), "table"
    )
    monkeypatch.setattr(TABLE, {"odd": odd})
    result = cli("reproduce", "odd", "--json")
    assert result.status == 1
    assert json.loads(result.out)["rows"][0]["mean"] is None


def test_five_seeds_unless_others_are_asked_for(cli, monkeypatch):
    seen: list[list[int]] = []
    monkeypatch.setattr(TABLE, {"large": made("large", seen=seen)})
    cli("reproduce", "large")
    cli("reproduce", "large", "--seeds", "1")
    assert seen == [[0, 1, 2, 3, 4], [0]]


def test_all_runs_every_one_and_fails_with_one(cli, table):
    result = cli("reproduce", "all")
    assert result.status == 1
    assert "larger of 2 do not hold" in result.out
    listed = json.loads(cli("reproduce", "all", "--json").out)
    assert [(c["name"], c["holds"]) for c in listed] == [("large", True), ("larger", False)]
    del table["larger"]
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


def test_an_interrupted_reproduction_exits_130(cli, monkeypatch):
    def interrupted(seeds):
        raise KeyboardInterrupt

    monkeypatch.setattr(TABLE, {"long": Reproduction("long", "p.", "s", 1.0, interrupted, "table")})
    result = cli("reproduce", "long")
    assert result.status == 130
    assert result.err == "coevo: interrupted\n"


def test_a_real_one_from_the_command_line(cli):
    found = json.loads(cli("reproduce", "mars_centre", "--json").out)
    assert found["holds"]
    assert {row["label"]: row["mean"] for row in found["rows"]}[
        "Kuhn: payoff of the first player"
    ] == pytest.approx(1 / 8)
