"""`coevo algos`: what is listed and what is shown."""

import json
from dataclasses import replace

import pytest

from coevo.commands import screen
from coevo.commands.algos import describe, in_short, source
from coevo.trainers.algorithm import SHARES, STATUS
from coevo.trainers.algorithms import ALGORITHMS

WIDTH = 100


@pytest.fixture
def listing(cli, monkeypatch):
    """Return the list as a terminal of 100 columns shows it."""
    monkeypatch.setattr(screen, "PIPED_WIDTH", WIDTH)
    return cli("algos").out


def test_the_list_fits_a_terminal_of_a_hundred_columns(listing):
    table = [line for line in listing.splitlines() if line.startswith("│")]
    assert max(map(len, table)) <= WIDTH
    assert len(table) <= 4 * len(ALGORITHMS)  # those with steps of their own take more lines


@pytest.mark.parametrize(
    ("paper", "shown"),
    [
        ("none", "none"),
        ("Ours 2026, the docs", "Ours 2026"),
        ("Somebody With Many Names and Others 2026", "Somebody With Many Name…"),
        ("You 2026, A Title, Part 2, arXiv 2601.00000", "2601.00000"),
    ],
)
def test_any_paper_has_a_short_form(paper, shown):
    assert source(replace(ALGORITHMS["grpo"], paper=paper)) == shown


def test_the_list_names_everything(listing):
    cells = [line.split("│")[1:-1] for line in listing.splitlines() if line.startswith("│")]
    names, texts, statuses, sources = (
        [column.strip() for column in columns] for columns in zip(*cells, strict=True)
    )
    assert [name for name in names if name] == list(ALGORITHMS)
    assert [s for s in statuses if s] == [a.status for a in ALGORITHMS.values()]
    assert [s for s in sources if s] == [source(a) for a in ALGORITHMS.values()]
    text = " ".join(texts)
    for record in ALGORITHMS.values():
        advantage, *loss = in_short(record)
        assert advantage in text and " | ".join(loss) in text
        assert ", ".join(record.variants) in text
    counted = [(word, statuses.count(word), meaning) for word, meaning in STATUS.items()]
    assert all(f"{word} ({count}): {meaning}" in listing for word, count, meaning in counted)


def test_json_has_every_setting_of_every_record(cli):
    listed = json.loads(cli("algos", "--json").out)
    assert listed == json.loads(json.dumps([describe(a) for a in ALGORITHMS.values()]))
    for shown, record in zip(listed, ALGORITHMS.values(), strict=True):
        assert shown["status"] == record.status
        assert shown["reproductions"] == list(record.reproductions)
        assert shown["in_short"] == " | ".join(in_short(record))
        assert shown["settings"]["loss.surrogate.name"] == record.loss.surrogate.name
        assert shown["variants"] == {k: dict(v) for k, v in record.variants.items()}


@pytest.mark.parametrize("name", ["g_ra", "bnpo"])
def test_a_record_says_what_shows_its_property(cli, name):
    record = ALGORITHMS[name]
    out = cli("algos", name).out
    assert f"status: {record.status} ({STATUS[record.status]})" in out
    assert all(f"shown by: coevo reproduce {check}" in out for check in record.reproductions)


def test_a_record_with_several_mini_batches_says_what_each_divides_by(cli):
    for name, record in ALGORITHMS.items():
        assert (SHARES in describe(record)["remarks"]) == (record.optim.minibatches > 1), name
    said = f"note: {SHARES}"
    assert said in " ".join(cli("algos", "dapo").out.split())
    assert said not in " ".join(cli("algos", "grpo").out.split())


def test_a_variant_without_changes_says_so(cli):
    out = cli("algos", "rec").out
    assert "--variant oneside_nois: as it is" in out
    assert "--variant oneside_is: loss.surrogate.weight=is" in out


def test_what_is_not_the_usual_is_named():
    assert in_short(ALGORITHMS["dapo"])[-1] == "overlong_penalty, keep_dynamic"
    assert in_short(ALGORITHMS["remax"])[-1] == "greedy episode"
    assert in_short(ALGORITHMS["mars"])[-1] == "ema_magnet"
    assert in_short(ALGORITHMS["reinforce"]) == (
        "to_go / batch_mean / -",
        "policy_gradient",
        "seq_mean_token_sum",
    )
