"""`coevo compare` as a person uses it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.coevo.conftest import KUHN

SMALL = (
    "--seeds", "1", "--budget-tokens", "200", "--points", "2", "--games", "2",
    "--set", "collect.episodes=8", "--max-new-tokens", "3",
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "--algos NAMES and --env IDS"),
        (("--algos", "marz", "--env", KUHN), "mars"),
        (("--algos", "mars,mars", "--env", KUHN), "each once"),
        (("--algos", "mars", "--env", "coevo/khun_poker-v0"), "kuhn_poker"),
        (("--algos", "mars", "--env", KUHN, "--budget-tokens", "many"), "must be a number"),
        (("--algos", "mars", "--env", KUHN, "--budget-tokens", "leduc_poker=3"), "leduc_poker"),
        (("--algos", "mars", "--env", KUHN, "--baseline", "grpo"), "baseline"),
        (("--algos", "mars", "--env", KUHN, "--seeds", "0"), "seeds"),
        (("--algos", "mars", "--env", KUHN, "--on", "rya"), "ray"),
        (("--algos", "mars", "--env", KUHN, "--workers", "-1"), "--workers -1"),
        (("--algos", "mars", "--env", KUHN, "--set", "mars.optim.lrr=1"), "lr"),
        (("--out", "nowhere"), "holds no comparison"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_one_line_and_leaves_nothing(cli, here, words, said):
    found = cli("compare", *words)
    assert found.status == 2
    assert said in found.error_line()
    assert not list(here.iterdir())


def test_one_seed_prints_its_tables_and_a_killed_comparison_ends_with_the_same(
    cli, here, tiny_model_dir
):
    """Kill the command and all its workers in the middle; what is left is done by a second call."""
    words = ("compare", "--algos", "mars,reinforce", "--env", KUHN, "--model", str(tiny_model_dir))
    what = (*words, *SMALL, "--set", "mars.optim.epochs=2", "--workers", "1")
    found = cli(*what, "--out", "whole")
    assert found.status == 0, found.err
    told = ("mars*", "mars* is not mars as it is registered", "lower collect.episodes")
    told += ("forfeited", "unread", "near", "misses")
    for said in ("IQM", "not separated", "n = 1 seeds", *told):
        assert said in found.out, said
    assert "nan" not in found.out
    command = [sys.executable, "-P", "-m", "coevo", *what, "--out", "killed"]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    while not list(here.glob("killed/runs/*/*/*/result.json")):
        assert killed.poll() is None
        time.sleep(0.01)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert not (here / "killed/comparison.json").exists()
    done = cli("compare", "--out", "killed", "--json")
    assert done.status == 0, done.err

    def table(folder):
        rows = (here / folder / "records.jsonl").read_text().splitlines()
        return [{k: v for k, v in json.loads(r).items() if k != "seconds"} for r in rows]

    assert table("killed") == table("whole")
    wanted = json.loads((here / "whole/comparison.json").read_text())
    again = json.loads(done.out)
    assert again["headline"] == wanted["headline"]
    assert again["overall"]["comparisons"] == wanted["overall"]["comparisons"]


def test_tables_are_compared_and_evaluated(cli, here):
    words = ("--algos", "reinforce,grpo", "--env", KUHN, "--model", "table", *SMALL)
    found = cli("compare", *words, "--workers", "1", "--out", "tables", "--json")
    assert found.status == 0, found.err
    folders = sorted(here.glob("tables/runs/*/*/0"))
    assert [f.parent.name for f in folders] == ["grpo", "reinforce"]
    # what nothing was taught is uniform, and its exploitability known: 11/24
    (start,) = (e["references"]["start"] for e in json.loads(found.out)["environments"].values())
    assert start == pytest.approx(11 / 24)
    run = cli("evaluate", "--agent", str(folders[0]), "--env", KUHN, "--games", "4", "--json")
    assert run.status == 0, run.err
    assert json.loads(run.out)["env_options"]["prompt_style"] == "terse"
