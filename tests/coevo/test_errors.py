"""Bad input: one line on stderr, an exit status, and the nearest valid name."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coevo.commands import envs

KUHN = "coevo/kuhn_poker-v0"
TRAIN = ("train", "mars", "--env", KUHN, "--model", "{model}", "--steps", "1")

TABLE = [
    (("trian",), "'train'"),
    (("starter", "biuld"), "'build'"),
    (("train", "--evn", KUHN), "'--env'"),
    (("train", "--env", KUHN), "needs an algorithm"),
    (("train", "mars"), "needs --env"),
    (("train", "marz", "--env", KUHN), "'mars'"),
    (("train", "mars", "--env", "coevo/kuhn-v0"), "'coevo/kuhn_poker-v0'"),
    (("train", "mars", "--env", KUHN, "--model", "./no/such/folder"), "./no/such/folder"),
    (("train", "mars", "--env", KUHN, "--model", "startr"), "'starter'"),
    (("train", "mars", "--env", KUHN, "--model", "random"), "scripted player"),
    (("train", "mars", "--env", KUHN, "--model", "empty"), "holds no model"),
    (("train", "mars", "--env", KUHN, "--model", "broken"), "model.safetensors is damaged"),
    ((*TRAIN, "--variant", "cod"), "'code'"),
    (
        ("train", "grpo", "--env", "coevo/quest-v0", "--set", "collect.options={errands: [5]}"),
        "5 must be one of lamp",
    ),
    ((*TRAIN, "--set", "optim.rl=1"), "'lr'"),
    ((*TRAIN, "--set", "optin.lr=1"), "'optim'"),
    ((*TRAIN, "--set", "optim.lr=fast"), "optim.lr='fast' must be a valid number"),
    ((*TRAIN, "--set", "optim.lr=0"), "must be greater than 0"),
    ((*TRAIN, "--set", "advantage.credit.name=to_gone"), "'to_go'"),
    ((*TRAIN, "--set", "optim.lr"), "must be key=value"),
    ((*TRAIN, "--set", "magnet=null"), "contradict each other"),
    ((*TRAIN, "--set", "probe_every=0"), "probe_every=0"),
    ((*TRAIN, "--env-option", "ilegal=random"), "'illegal'"),
    ((*TRAIN, "--env-option", "prompt_style=tense"), "must be 'full' or 'terse'"),
    ((*TRAIN, "--temperature", "nan"), "--temperature nan must be a number"),
    ((*TRAIN, "--temperature", "1e-320"), "at least 0.0001"),
    ((*TRAIN, "--seed", "9" * 26), "--seed"),
    ((*TRAIN, "--threads", "100000000000"), "threads=100000000000 must be"),
    ((*TRAIN, "--budget", "0s"), "must be more than 0"),
    ((*TRAIN, "--budget", "4M4"), "'4M4' is not a time"),
    ((*TRAIN, "--set", "collect.component=nope"), "unknown reward in collect.component 'nope'"),
    (
        (*TRAIN, "--set", "collect.options={max_cycle: 3}"),
        "unknown option of a reset in collect.options 'max_cycle'; did you mean 'max_cycles'?",
    ),
    ((*TRAIN, "--set", "optim.lr=1", "optim.lr=2"), "--set optim.lr is given twice"),
    ((*TRAIN, "--out", "x\0y"), "no name or path may hold"),
    ((*TRAIN, "--set", "optim.alternate=[nope]"), "unknown role in optim.alternate 'nope'"),
    ((*TRAIN, "--set", "advantage.ddof=5"), "ddof=5 must be"),
    ((*TRAIN, "--set", "sampling.token_budget=0"), "token_budget=0 must be"),
    ((*TRAIN, "--set", "collect.high=.nan"), "collect.high=nan must be"),
    ((*TRAIN, "--set", "loss.regularise.magnet_kl.coef=-1"), "coef=-1 must be"),
    ((*TRAIN, "--set", "trust_remote_code=true"), "unknown setting 'trust_remote_code'"),
    ((*TRAIN, "--device", "gpu"), "--device 'gpu' must be one of 'auto', 'cpu', 'cuda'"),
    ((*TRAIN, "--temperature", "-1"), "--temperature -1 must be 0 or more"),
    ((*TRAIN, "--max-new-tokens", "0"), "--max-new-tokens 0 must be 1 or more"),
    ((*TRAIN, "--steps", "ten"), "--steps ten is not a whole number"),
    ((*TRAIN, "--steps", "0"), "--steps 0 must be 1 or more"),
    ((*TRAIN, "--budget", "soon"), "'soon' is not a time"),
    ((*TRAIN, "--out", "taken"), "cannot write"),
    ((*TRAIN, "extra"), "extra"),
    (
        ("train", "mars", "--resume", "runs/x", "--seed", "1"),
        "'mars', --seed contradict each other",
    ),
    (("train", "--config", "c.yaml", "--steps", "3"), "--config and --steps"),
    (("train", "--config", "none.yaml"), "none.yaml"),
    (("train", "--config", "list.yaml"), "must be a mapping"),
    (("train", "--config", "text.yaml"), "is not YAML"),
    (("train", "--resume", "runs/other"), "no run folder runs/other"),
    (("train", "--resume", "empty"), "is not a run folder"),
    (("algos", "grop"), "'grpo'"),
    (("evaluate", "--env", KUHN), "needs --agent"),
    (("evaluate", "--agent", "randon", "--env", KUHN), "'random'"),
    (("evaluate", "--agent", "random", "--env", "kuhn"), "'coevo/kuhn_poker-v0'"),
    (("evaluate", "--agent", "random", "--env", KUHN, "--games", "0"), "games=0"),
    (("evaluate", "--agent", "random", "--env", KUHN, "--opponent", "orakle"), "'oracle'"),
    (
        ("evaluate", "--agent", "{model}", "--env", KUHN, "--greedy", "--temperature", "0.5"),
        "contradict",
    ),
    (("exploitability", "--agent", "random", "--env", "coevo/goofspiel-v0"), "too many to walk"),
    (("replay", "none.jsonl"), "none.jsonl"),
    (("replay", "text.yaml"), "text.yaml, line 1: not an episode"),
    (("replay", "nothing.jsonl"), "holds no episodes"),
    (("replay", "empty"), "episodes.jsonl"),
    (("play", "--env", KUHN, "--agent", "random", "--seat", "2"), "0 (player_0), 1 (player_1)"),
    (("starter", "build", "--minutes", "0"), "--minutes 0"),
]


@pytest.fixture
def clutter(here, tiny_model_dir) -> Path:
    """Return a folder with files that are not what they seem to be."""
    (here / "empty").mkdir()
    (here / "list.yaml").write_text("[1, 2]\n")
    (here / "text.yaml").write_text("{ never closed\n")
    (here / "nothing.jsonl").touch()
    (here / "taken").write_text("a file\n")
    broken = Path(shutil.copytree(tiny_model_dir, here / "broken"))
    weights = broken / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    return here


@pytest.mark.parametrize(("words", "hint"), TABLE, ids=[" ".join(words) for words, _ in TABLE])
def test_bad_input_is_one_line(cli, clutter, tiny_model_dir, words, hint):
    result = cli(*(w.replace("{model}", str(tiny_model_dir)) for w in words))
    assert result.status == 2
    line = result.error_line()
    assert line.startswith("error: ")
    assert hint in line
    assert "Traceback" not in line


def test_a_model_that_does_not_load_leaves_no_folder(cli, clutter):
    cli("train", "mars", "--env", KUHN, "--model", "broken")
    assert not (clutter / "runs").exists()


def test_a_second_run_in_one_folder_is_refused(cli, finished, tiny_model_dir):
    words = (w.replace("{model}", str(tiny_model_dir)) for w in TRAIN)
    line = cli(*words, "--out", finished.path).error_line()
    assert "holds a run already" in line
    assert f"--resume {finished.path}" in line


def test_a_misspelled_run_folder_finds_its_neighbour(cli, run_folder):
    assert run_folder.name in cli("train", "--resume", f"{run_folder}s").error_line()


def test_a_configuration_with_an_unknown_key(cli, here, finished):
    text = (finished.path / "config.yaml").read_text()
    Path("bad.yaml").write_text(text.replace("checkpoint_every:", "checkpoint_evry:"))
    assert "'checkpoint_every'" in cli("train", "--config", "bad.yaml").error_line()


def test_a_truncated_checkpoint_names_the_file_and_the_way_back(cli, run_folder):
    newest = sorted((run_folder / "checkpoints").glob("step_*"))[-1]
    weights = newest / "policy" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-7])
    result = cli("train", "--resume", run_folder, "--steps", "4", "--no-eval")
    assert result.status == 2
    assert result.err.count("\n") == 1
    assert "model.safetensors" in result.err
    assert "step_000002" in result.err
    shutil.rmtree(newest)
    again = cli("train", "--resume", run_folder, "--steps", "4", "--no-eval")
    assert again.status == 0, again.err


def test_a_damaged_summary_is_not_written_over(cli, run_folder):
    (run_folder / "summary.json").write_text("{")
    result = cli("train", "--resume", run_folder, "--steps", "4", "--no-eval")
    assert result.status == 2
    assert "summary.json is damaged" in result.err


def test_a_full_disk_in_the_middle_of_a_run(cli, run_folder, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("coevo.trainers.run_state._write", refuse)
    result = cli("train", "--resume", run_folder, "--steps", "5", "--no-eval")
    assert result.status == 2
    assert result.err.count("\n") == 1
    assert "the disk is full" in result.err
    assert "coevo train --resume" in result.err
    monkeypatch.undo()
    assert cli("train", "--resume", run_folder, "--no-eval").status == 0


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "runs/x"),
            2,
            "runs/x: Permission denied",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device"),
        (ModuleNotFoundError("No module named 'torch'", name="torch"), 2, "'.[train]'"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ZeroDivisionError("of\na kind"), 1, "unexpected ZeroDivisionError: of a kind"),
    ],
)
def test_every_failure_is_one_line(cli, monkeypatch, error, status, said):
    def fail(args: object) -> int:
        raise error

    monkeypatch.delenv("COEVO_TRACEBACK", raising=False)
    monkeypatch.setattr(envs, "run", fail)
    result = cli("envs")
    assert result.status == status
    assert said in result.error_line()


def test_the_traceback_is_there_for_those_who_ask(cli, monkeypatch):
    monkeypatch.setenv("COEVO_TRACEBACK", "1")
    with pytest.raises(KeyError):
        cli("algos", "marz")


def subprocess_of(code: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"], ["envs"], ["train", "--evn"]])
def test_quick_answers_do_not_wait_for_torch(words):
    code = "import sys; from coevo.__main__ import main; "
    done = subprocess_of(code + f"main({words!r}); sys.exit('torch' in sys.modules)")
    assert done.returncode == 0, done.stderr


def test_a_reader_that_leaves_is_no_error():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-P", "-m", "coevo", "envs"]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert done.returncode == 141
    assert done.stderr == ""


def test_json_output_is_json_even_through_a_pipe():
    command = [sys.executable, "-P", "-m", "coevo", "envs", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert KUHN in {entry["id"] for entry in json.loads(done.stdout)}
    assert done.stderr == ""
