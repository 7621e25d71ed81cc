import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from coevo.__main__ import main
from coevo.agents.engines.settings import Vllm
from coevo.benchmarks.provenance import hardware
from coevo.benchmarks.report.run import MEASURES
from coevo.commands.arguments import Train
from coevo.commands.measure import ExploitabilityProbe
from coevo.commands.parse import parse
from coevo.commands.run_setup import prepare, seconds
from coevo.commands.train import unfamiliar
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.registry import ENVS
from coevo.trainers.config import load_config

KUHN = "coevo/kuhn_poker-v0"
TINY = ("--set", "collect.episodes=8", "--max-new-tokens", "3", "--no-eval")


def metrics_of(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def start(*words: str | Path) -> subprocess.Popen:
    command = [sys.executable, "-P", "-m", "coevo", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_run_leaves_everything_that_it_promises(finished):
    names = {p.name for p in finished.path.iterdir()}
    assert {"config.yaml", "metrics.jsonl", "episodes.jsonl", "summary.json"} <= names
    assert [line["step"] for line in metrics_of(finished.path)] == [1, 2, 3]
    for picture, magic in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        assert (finished.path / f"learning_curve.{picture}").read_bytes().startswith(magic)


def test_the_summary_holds_both_tables_and_where_they_come_from(finished):
    summary = json.loads((finished.path / "summary.json").read_text())
    wanted = set(MEASURES) - {"return_self_play"}
    for table in ("before", "after"):
        assert all(isinstance(summary[table][key], float) for key in wanted)
    assert summary["before"]["exploitability"] != summary["after"]["exploitability"]
    assert summary["steps"] == 3
    assert summary["tokens"] == sum(line["tokens"] for line in metrics_of(finished.path))
    assert 0 < summary["seconds"] < 600
    assert summary["command"].startswith(f"coevo train mars --env {KUHN}")
    assert len(summary["config_hash"]) == 64
    assert summary["hardware"]["cores"] >= 1


@pytest.mark.parametrize(
    ("trained", "options", "unseen"),
    [(True, (), False), (False, (), True), (False, ("--set", "sampling.guided=choice"), False)],
)
def test_a_run_on_what_the_starter_model_never_saw_says_so(monkeypatch, trained, options, unseen):
    monkeypatch.setitem(ENVS, KUHN, replace(ENVS[KUHN], starter_trained=trained))
    config = prepare(parse(["train", "mars", "--env", KUHN, *options])).config
    assert unfamiliar(config) == unseen


@pytest.mark.parametrize(
    ("words", "engine"),
    [
        (["engine=vllm"], Vllm()),
        (["engine=vllm", "engine.own_process=true"], Vllm(own_process=True)),
        (["engine={name: vllm, sleep_level: 2}"], Vllm(sleep_level=2)),
    ],
)
def test_the_engine_is_a_setting_of_the_run(words, engine):
    changes = [part for word in words for part in ("--set", word)]
    assert prepare(parse(["train", "mars", "--env", KUHN, *changes])).config.engine == engine


def test_the_end_of_a_run_is_told_in_words(finished):
    last = metrics_of(finished.path)[-1]
    assert f"{last['exploitability']:.3f}" in finished.out
    for part in (
        "before",
        "after",
        "Win rate against random play",
        "reads: Kuhn poker",
        "learning_curve",
    ):
        assert part in finished.out
    assert "100.0 % update 3 | tokens/s" in finished.out
    assert "\x1b" not in finished.out
    assert "Loading weights" not in finished.out


def test_the_probe_is_the_exact_exploitability(cli, finished):
    last = metrics_of(finished.path)[-1]["exploitability"]
    words = ("exploitability", "--agent", finished.path, "--env", KUHN, "--json")
    assert json.loads(cli(*words).out)["exploitability"] == pytest.approx(last, abs=1e-5)


def test_the_probe_measures_only_small_hidden_information_games(finished):
    base = load_config(finished.path / "config.yaml")
    active = {
        env: bool(ExploitabilityProbe(replace(base, env=env)).sizes)
        for env in (KUHN, "coevo/leduc_poker-v0", "coevo/tic_tac_toe-v0", "coevo/goofspiel-v0")
    }
    assert active == {
        KUHN: True,
        "coevo/leduc_poker-v0": True,
        "coevo/tic_tac_toe-v0": False,
        "coevo/goofspiel-v0": False,
    }


def test_the_configuration_repeats_the_run(cli, here, finished):
    again = cli("train", "--config", finished.path / "config.yaml", "--no-eval", "--out", "again")
    assert again.status == 0, again.err
    first, second = metrics_of(finished.path), metrics_of(here / "again")
    for name in ("return/player_0", "entropy", "loss/policy", "exploitability", "tokens"):
        assert [m.get(name) for m in first] == [m.get(name) for m in second]


def test_resuming_extends_a_finished_run_and_keeps_its_first_table(cli, run_folder):
    before = json.loads((run_folder / "summary.json").read_text())["before"]
    done = cli("train", "--resume", run_folder, "--steps", "5", "--eval-games", "2")
    assert done.status == 0, done.err
    summary = json.loads((run_folder / "summary.json").read_text())
    assert summary["before"] == before
    assert summary["steps"] == 5
    assert [m["step"] for m in metrics_of(run_folder)] == [1, 2, 3, 4, 5]
    assert yaml.safe_load((run_folder / "config.yaml").read_text())["steps"] == 5


def test_a_run_of_another_version_or_machine_goes_on_and_says_that_bits_may_differ(cli, run_folder):
    path = run_folder / "summary.json"
    summary = json.loads(path.read_text())
    summary |= {"version": "0.0.1", "hardware": summary["hardware"] | {"torch": "1.0", "gpu": "X"}}
    path.write_text(json.dumps(summary))
    done = cli("train", "--resume", run_folder, "--steps", "4", "--no-eval")
    assert done.status == 0, done.err
    said = " ".join(f"{done.out} {done.err}".split())
    assert "made with coevo 0.0.1 (here " in said and "torch 1.0 (here " in said
    assert "gpu X (here none)" in said and "not to the last bit" in said
    again = cli("train", "--resume", run_folder, "--steps", "5", "--no-eval")
    assert again.status == 0 and "last bit" not in again.out + again.err


def test_a_limit_that_is_reached_is_refused(cli, run_folder):
    line = cli("train", "--resume", run_folder, "--steps", "2").error_line()
    assert "--steps 2" in line
    assert "3" in line


@pytest.mark.parametrize("rest", [("--no-eval",), ()])
def test_a_model_that_does_not_load_leaves_no_folder(cli, here, tiny_model_dir, rest):
    shutil.copytree(tiny_model_dir, here / "harmed")
    weights = here / "harmed" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    words = ("train", "mars", "--env", KUHN, "--model", "harmed", "--steps", "1", "--out", "new")
    assert "model.safetensors is damaged" in cli(*words, *rest).error_line()
    assert sorted(p.name for p in here.iterdir()) == ["harmed"]


def test_a_gpu_is_named_only_where_it_is_used(cli, here, tiny_model_dir, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "a large one")
    assert hardware("cpu")["gpu"] is None
    assert hardware("auto")["gpu"] == hardware("cuda")["gpu"] == "a large one"
    words = ("train", "mars", "--env", KUHN, "--model", tiny_model_dir, "--steps", "1", *TINY)
    assert cli(*words, "--device", "cpu", "--out", "run").status == 0
    assert json.loads((here / "run/summary.json").read_text())["hardware"]["gpu"] is None


def test_a_new_limit_that_cannot_be_written_leaves_the_old_ones(cli, run_folder, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = (run_folder / "config.yaml").read_bytes()
    names = sorted(p.name for p in run_folder.iterdir())
    monkeypatch.setattr("coevo.trainers.files.os.fsync", full)
    line = cli("train", "--resume", run_folder, "--steps", "9").error_line()
    assert "config.yaml: the disk is full" in line
    assert (run_folder / "config.yaml").read_bytes() == before
    assert sorted(p.name for p in run_folder.iterdir()) == names


def test_folders_without_a_name_get_a_free_one(cli, here, tiny_model_dir):
    words = ("train", "reinforce", "--env", KUHN, "--model", tiny_model_dir, "--steps", "1")
    for _ in range(2):
        assert cli(*words, "--seed", "4", *TINY).status == 0
    assert sorted(p.name for p in (here / "runs").iterdir()) == [
        "reinforce-kuhn_poker-4",
        "reinforce-kuhn_poker-4-2",
    ]


def test_settings_reach_the_configuration(here, tiny_model_dir):
    args = Train(
        algo="mars",
        env=KUHN,
        model=str(tiny_model_dir),
        budget="1h30m",
        budget_tokens=2e6,
        variant="code",
        set=("optim.lr=1e-3", "probe_every=7", "collect.episodes=16"),
        env_option=("illegal=penalty", "max_cycles=9"),
        temperature=0.5,
        seed=3,
        threads=1,
    )
    job = prepare(args)
    config = job.config
    assert (config.budget_seconds, config.budget_tokens, config.steps) == (5400.0, 2_000_000, None)
    assert config.algorithm.optim.lr == 1e-3
    assert config.algorithm.collect.episodes == 16
    assert config.algorithm.advantage.credit.name == "mars_code"
    assert config.env_options == {"illegal": "penalty", "max_cycles": 9, "prompt_style": "full"}
    assert (config.probe_every, config.sampling.temperature, config.seed) == (7, 0.5, 3)
    assert job.folder.path == Path("runs/mars-kuhn_poker-3")
    assert not job.folder.path.exists()


def test_separate_policies_are_measured_as_one_agent(cli, here, tiny_model_dir):
    words = ("train", "mars", "--env", KUHN, "--model", tiny_model_dir, "--steps", "1", *TINY[:4])
    done = cli(*words, "--set", "population=separate", "--eval-games", "2", "--out", "apart")
    assert done.status == 0, done.err
    assert metrics_of(here / "apart")[-1]["exploitability"] > 0
    assert json.loads((here / "apart/summary.json").read_text())["after"]["forfeit_rate"] >= 0


def test_a_run_of_separate_policies_is_an_agent_to_every_command(
    cli, here, tiny_model_dir, monkeypatch
):
    # Guided, so that both seats learn.
    guided = ("--env", KUHN, "--set", "sampling.guided=choice")
    apart = ("--set", "population=separate", "--set", "optim.lr=0.01", "--out", "apart")
    words = ("train", "reinforce", *guided, "--model", tiny_model_dir, "--steps", "2", *apart)
    assert cli(*words, *TINY[:2], "--max-new-tokens", "8", "--no-eval").status == 0
    probed = metrics_of(here / "apart")[-1]["exploitability"]
    newest = here / "apart" / "checkpoints" / "step_000002"

    def exploited(agent: Path | str) -> dict:
        done = cli("exploitability", "--agent", agent, "--env", KUHN, "--json")
        assert done.status == 0, done.err
        return json.loads(done.out)

    together = exploited("apart")
    assert together["exploitability"] == pytest.approx(probed, abs=1e-5)
    alone = [exploited(newest / seat)["exploitability"] for seat in ("player_0", "player_1")]
    assert all(value != pytest.approx(probed, abs=1e-5) for value in alone)

    for agent in ("apart", newest, newest / "player_1"):
        done = cli("evaluate", "--agent", agent, "--env", KUHN, "--games", "4", "--json")
        assert done.status == 0, done.err
        assert json.loads(done.out)["episodes"] == 4
    monkeypatch.setattr("builtins.input", lambda prompt="": "1")
    monkeypatch.setattr("coevo.agents.human.HumanAgent.__init__.__defaults__", (input, None))
    played = cli("play", "--agent", "apart", "--env", KUHN, "--seat", "1", "--seed", "0")
    assert played.status == 0, played.err
    assert "player_0 says:" in played.out
    again = cli("train", "mars", "--env", KUHN, "--model", "apart", "--steps", "1")
    assert "several policies; name one" in again.error_line()


@pytest.mark.parametrize(
    ("text", "wanted"), [("90s", 90), ("5m", 300), ("1.5h", 5400), ("1h30m", 5400), ("45", 45)]
)
def test_durations(text, wanted):
    assert seconds(text) == wanted


@pytest.mark.parametrize("text", ["", "m", "five", "5x", "-5m", "5 m"])
def test_what_is_no_duration(text):
    with pytest.raises(ConfigError, match="is not a time"):
        seconds(text)


@pytest.mark.usefixtures("usual_signals")
def test_ctrl_c_saves_and_the_run_goes_on(cli, here, tiny_model_dir):
    words = ("train", "mars", "--env", KUHN, "--model", tiny_model_dir, "--steps", "100000")
    process = start(*words, *TINY, "--out", here / "long")
    metrics = here / "long" / "metrics.jsonl"
    until = time.monotonic() + 120
    while not (metrics.exists() and metrics.stat().st_size) and time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.count("\n") == 1
    assert f"--resume {here / 'long'}" in err
    stopped = metrics_of(here / "long")[-1]["step"]
    assert f"{stopped} updates" in err
    done = cli("train", "--resume", here / "long", "--steps", stopped + 1, "--no-eval")
    assert done.status == 0, done.err
    assert [m["step"] for m in metrics_of(here / "long")] == list(range(1, stopped + 2))


@pytest.mark.skipif(os.name != "posix", reason="limits of file sizes are a POSIX feature")
def test_a_disk_that_refuses_leaves_one_line_and_what_was_written(here, tiny_model_dir):
    words = f"train mars --env {KUHN} --model {tiny_model_dir} --steps 2 --out full"
    command = f"ulimit -f 60; exec {sys.executable} -P -m coevo {words} {' '.join(TINY)}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "cannot write full/checkpoints" in done.stderr
    assert len(metrics_of(here / "full")) == 2
    assert not list((here / "full" / "checkpoints").glob("*"))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            "population={name: past_selves, members: ['expert:9']}",
            "members: 'expert:9': skill=9.0 must",
        ),
        ("population={name: past_selves, members: ['expert:9']}", "in 0..1; the nearest is 1"),
        ("population={name: separate, agents: {player_1: 'expert:-1'}}", "the nearest is 0"),
        ("advantage.reward_weights={formt: 0.5}", "reward_weights 'formt'; did you mean 'format'"),
    ],
)
def test_agents_and_rewards_of_nobody_are_refused_before_a_word(tmp_path, capsys, setting, said):
    words = ["train", "mars", "--env", "coevo/kuhn_poker-v0", "--set", setting]
    assert main([*words, "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr()
    assert said in told.err and not told.out
    assert not (tmp_path / "run").exists()
