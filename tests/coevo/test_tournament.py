"""`coevo tournament` as a person meets it: printed, stopped, continued, refused."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from coevo.benchmarks.tournament import runner
from coevo.commands import tournament as command
from coevo.envs.core.errors import ConfigError
from tests.coevo.conftest import KUHN

WORDS = ("tournament", "--agents", "random,oracle,first_legal", "--env", KUHN)
TTT = "coevo/tic_tac_toe-v0"


def test_it_prints_verdicts_tables_and_where_everything_is(cli, here):
    result = cli(*WORDS, "--games", "200")
    assert result.status == 0, result.err
    for text in (
        "Exact exploitability (0 cannot be beaten): oracle 0.000",
        "random beats first_legal: ",
        "mean return of row against column",
        "% of points of row against column",
        "Elo (Bradley-Terry)",
        "alpha-Rank over alpha; the last stable is",
        "Written: runs/tournament-kuhn_poker/tournament.json",
    ):
        assert text in result.out
    assert result.err == ""


def test_json_is_the_file_and_nothing_else(cli, here):
    result = cli(*WORDS, "--games", "20", "--out", "t", "--json")
    assert json.loads(result.out) == json.loads((here / "t" / "tournament.json").read_text())
    assert json.loads(result.out)["exploitability"]["agents"]["random"]["exact"]


def test_a_tournament_is_continued_by_its_folder_alone(cli, here):
    first = cli(*WORDS, "--games", "20", "--seed", "3", "--adaptive", "--out", "t", "--json").out
    (here / "t" / "tournament.json").unlink()
    assert cli("tournament", "--out", "t", "--json").out == first
    assert cli(*WORDS, "--games", "20", "--out", "t", "--json").out == first


def test_agents_draw_as_was_said_also_where_the_tournament_is_continued(cli, here):
    words = ("tournament", "--agents", "table,random", "--env", KUHN, "--games", "4", "--out", "t")
    assert cli(*words, "--set", "sampling.temperature=0.5", "sampling.top_p=0.9").status == 0
    manifest = json.loads((here / "t" / "manifest.json").read_text())
    assert manifest["sampling"] == {"temperature": 0.5, "top_p": 0.9}
    assert cli("tournament", "--out", "t").status == 0
    agents = command._agents(command._plan(command.Arguments(out="t"), manifest), "cpu")
    assert agents["table"].sampling_settings["top_p"] == 0.9


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--agents", "random,oracle"), "--env"),
        (("--env", KUHN), "--agents"),
        (("--env", "coevo/khun_poker-v0", "--agents", "random,oracle"), "'coevo/kuhn_poker-v0'"),
        (("--env", KUHN, "--agents", "random"), "two agents or more"),
        (("--env", KUHN, "--agents", "random,random"), "named twice"),
        (("--env", KUHN, "--agents", "random,human"), "coevo play"),
        (("--env", KUHN, "--agents", "random,orakle"), "'oracle'"),
        (("--env", KUHN, "--agents", "random,./no/such"), "./no/such"),
        (("--env", KUHN, "--agents", "random,oracle", "--games", "0"), "--games 0 must be 1"),
        (("--env", KUHN, "--agents", "random,oracle", "--games", "many"), "whole number"),
        (("--env", KUHN, "--agents", "random,oracle", "--exploiter", "soon"), "'soon'"),
        (("--env", KUHN, "--agents", "random,oracle", "--exploiter", "0"), "above 0"),
        (("--env", KUHN, "--agents", "random,oracle", "--exploiter", "nan"), "nan"),
        (("--env", KUHN, "--agents", "random,oracle", "--env-option", "ilegal=x"), "'illegal'"),
        (("--env", KUHN, "--agents", "random,oracle", "--exploite", "1"), "'--exploiter'"),
        (("--out", "nowhere"), "--env"),
        (("--env", KUHN, "--agents", "random,oracle", "--set", "sampling.topk=1"), "'top_k'"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(cli, here, words, hint):
    result = cli("tournament", *words)
    assert result.status == 2
    assert hint in result.error_line()
    assert not list(here.iterdir())


def test_other_settings_in_the_same_folder_are_refused(cli, here):
    cli(*WORDS, "--games", "20", "--out", "t")
    before = (here / "t" / "records.jsonl").read_bytes()
    line = cli(*WORDS, "--games", "40", "--out", "t").error_line()
    assert "holds a tournament with games=20, not 40" in line
    assert (here / "t" / "records.jsonl").read_bytes() == before


def test_a_kill_in_the_middle_loses_nothing(cli, here):
    words = [*WORDS, "--games", "1200", "--out", "killed", "--json"]
    running = subprocess.Popen(
        [sys.executable, "-P", "-m", "coevo", *words], cwd=here, stdout=subprocess.DEVNULL
    )
    plays, deadline = here / "killed" / "records.jsonl", time.monotonic() + 300
    while not (plays.exists() and plays.stat().st_size > 100_000):
        assert running.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    written = plays.read_bytes()
    assert written.count(b"\n") < 3600
    plays.write_bytes(written[:-7])  # a kill of the machine also tears the last line
    assert cli(*words).status == 0
    whole = [w if w != "killed" else "whole" for w in words]
    assert cli(*whole).status == 0
    for name in ("records.jsonl", "tournament.json"):
        assert (here / "killed" / name).read_bytes() == (here / "whole" / name).read_bytes()


def test_ctrl_c_says_how_to_continue(cli, here, monkeypatch):
    real, calls = runner.rollout, []

    def stopped(*args, **kwargs):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    monkeypatch.setattr(runner, "rollout", stopped)
    result = cli(*WORDS, "--games", "20", "--out", "t", "--json")
    assert result.status == 130
    assert result.err == "coevo: interrupted; continue with: coevo tournament --out t\n"
    assert len((here / "t" / "records.jsonl").read_text().splitlines()) == 20
    assert cli("tournament", "--out", "t", "--json").status == 0


def test_an_exploiter_is_trained_where_nothing_is_exact(cli, here, monkeypatch):
    seen = []

    def fake(agent, env, env_options, plan, folder, report=None):
        seen.append(
            (env, env_options["prompt_style"], dict(plan.budget), folder.parent.parent.name)
        )
        return {"score": 0.2, "gain": 0.2, "interval": [0.1, 0.3], "games": 20}

    monkeypatch.setattr("coevo.benchmarks.tournament.best_responses.exploit", fake)
    words = ("tournament", "--agents", "random,oracle", "--env", TTT, "--games", "4", "--out", "t")
    result = cli(*words, "--exploiter", "2e3")
    assert result.status == 0, result.err
    assert seen[:2] == [(TTT, "terse", {"tokens": 2000}, "t")] * 2
    assert seen[2][0] == KUHN  # calibration
    assert "at least 0.2000" in result.out
    assert "A trained exploiter earns +0.200 [+0.100, +0.300] an episode from oracle" in result.out
    assert "of the exact value against the random player, in coevo/kuhn_poker-v0" in result.out
    assert "exploiter=" in cli(*words, "--exploiter", "60s").error_line()


def test_cooperation_is_printed_without_contests(cli, here):
    result = cli(
        "tournament", "--agents", "random,oracle", "--env", "coevo/tiny_hanabi-v0", "--games", "8"
    )
    assert result.status == 0, result.err
    assert "With itself an agent earns" in result.out
    assert "Elo" not in result.out
    assert "+10.00" in result.out


def test_budgets_are_tokens_or_times():
    assert command.budget("1500") == {"tokens": 1500}
    assert command.budget("1h") == {"seconds": 3600}
    with pytest.raises(ConfigError, match="neither a number of tokens"):
        command.budget("1 day")


# ---- Matrices --------------------------------------------------------------------------------


def test_matrices_hold_row_against_column_with_bounds():
    rows = [[None, [0.8, 0.9, 1.0]], [[None, -0.5, None], None]]
    found = {"matrix": {"agents": ["a", "b"], "points": rows, "mean_return": rows}}
    columns, (first, second) = command.matrix(found, "points")
    assert columns == ("", "a", "b")
    assert first == ("a", "-", "90 [80, 100]")
    assert command.matrix(found, "mean_return")[1][1] == ("b", "-0.50", "-")
    assert second == ("b", "-50", "-")
