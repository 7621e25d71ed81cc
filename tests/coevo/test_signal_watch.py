"""A run in which nothing is learnt says so, and what to change."""

import json

import pytest

from coevo.commands.parse import parse
from coevo.commands.run_setup import prepare
from coevo.commands.signal_watch import STREAK, SignalWatch, conclusion

KUHN = "coevo/kuhn_poker-v0"
NOTHING = {"signal": 0.0, "forfeit_rate": 0.1}
FORFEITED = {"signal": 0.0, "forfeit_rate": 1.0}
UNREAD = {"signal": 0.0, "forfeit_rate": 0.0, "parse_fail/player_0": 1.0, "parse_fail/player_1": 1}
LEARNT = {"signal": 1.0, "forfeit_rate": 0.5}


@pytest.fixture
def planned():
    def plan(*words):
        return prepare(parse(["train", "grpo", "--env", KUHN, *words])).config

    return plan


def said(config, *updates):
    watch = SignalWatch(config)
    return [line for line in map(watch.warning, updates) if line]


@pytest.mark.parametrize(
    ("words", "updates", "wanted"),
    [
        ((), [FORFEITED], ["first update", "all episodes were forfeited", "guided=choice"]),
        (
            (),
            [UNREAD],
            ["no reply could be read", "guided=choice", "imitate --model starter"],
        ),
        ((), [NOTHING] * STREAK, [f"{STREAK} updates in a row", "collect.group_size=16"]),
        (("--set", "collect.group_size=4"), [NOTHING] * STREAK, ["collect.group_size=8"]),
        (("--temperature", "0.5"), [LEARNT, *[NOTHING] * STREAK], ["--temperature above 0.5"]),
    ],
)
def test_a_run_without_a_signal_says_what_to_change(planned, words, updates, wanted):
    (line,) = said(planned(*words), *updates, updates[-1])
    assert "\n" not in line
    assert all(part in line for part in wanted), line


def test_a_guided_run_is_not_told_to_guide_its_replies(planned):
    (line,) = said(planned("--set", "sampling.guided=choice"), UNREAD)
    assert "guided" not in line and "coevo imitate" in line


@pytest.mark.parametrize(
    "updates", [[NOTHING] * (STREAK - 1), [NOTHING, LEARNT] * STREAK, [{"forfeit_rate": 1.0}]]
)
def test_a_pause_in_what_is_learnt_is_no_news(planned, updates):
    assert said(planned(), *updates) == []


def test_the_summary_counts_updates_without_a_signal(planned):
    assert conclusion([LEARNT, NOTHING, {}], planned()) == {"updates_without_signal": 1}
    found = conclusion([NOTHING, FORFEITED], planned())
    assert found["updates_without_signal"] == 2
    assert "forfeited" in found["nothing_learnt"] and "guided" in found["nothing_learnt"]


def test_a_run_of_forfeits_goes_on_and_tells(cli, here):
    small = ("--set", "collect.episodes=8", "--max-new-tokens", "1", "--no-eval", "--steps", "2")
    done = cli("train", "mars", "--env", KUHN, *small, "--out", "run")
    assert done.status == 0
    assert done.out.count("nothing was learnt in the first update: all episodes were forf") == 1
    assert "\nNothing was learnt: all episodes were forfeited" in done.out
    lines = [json.loads(line) for line in (here / "run/metrics.jsonl").read_text().splitlines()]
    assert [line["signal"] for line in lines] == [0.0, 0.0]
    summary = json.loads((here / "run/summary.json").read_text())
    assert summary["updates_without_signal"] == 2
    assert "--set sampling.guided=choice" in summary["nothing_learnt"]


def test_a_run_that_learns_tells_nothing(cli, here):
    small = ("--set", "collect.episodes=16", "--max-new-tokens", "3", "--no-eval", "--steps", "1")
    done = cli("train", "mars", "--env", KUHN, *small, "--out", "run")
    assert done.status == 0 and "othing was learnt" not in done.out
    assert json.loads((here / "run/summary.json").read_text())["updates_without_signal"] == 0
