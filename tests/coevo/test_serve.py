"""`coevo serve`, and `coevo evaluate` on what it serves."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from coevo.agents.api.server import ChatServer

KUHN = "coevo/kuhn_poker-v0"
COMMAND = [sys.executable, "-P", "-m", "coevo", "serve"]


def started(*words: str | Path) -> tuple[subprocess.Popen, str]:
    """Give a serving process and its address."""
    process = subprocess.Popen(
        [*COMMAND, "--port", "0", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )
    said = ""
    while "Ctrl-C ends" not in said:
        line = process.stdout.readline()
        if not line:
            raise AssertionError(said + process.stderr.read())
        said += line
    return process, re.search(r"at (http://\S+/v1)", said).group(1)


def ended(process: subprocess.Popen, number: int = signal.SIGINT) -> tuple[int, str, str]:
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@pytest.fixture(scope="module")
def seed_url():
    process, url = started("--agent", "seed")
    yield url
    status, out, err = ended(process)
    assert (status, out, err) == (130, "", "coevo: interrupted\n")


def test_the_seed_model_is_served_until_ctrl_c(seed_url):
    with urllib.request.urlopen(f"{seed_url}/models", timeout=60) as response:
        assert json.load(response)["data"][0]["id"] == "seed"
    body = {"model": "seed", "messages": [{"role": "user", "content": "hi"}]}
    request = urllib.request.Request(f"{seed_url}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as response:
        usage = json.load(response)["usage"]
    assert 1 <= usage["completion_tokens"] <= 16  # what the model is used to


def test_a_served_model_is_evaluated_and_a_second_time_from_the_cache(
    seed_url, cli, tmp_path, monkeypatch
):
    monkeypatch.setenv("OPENAI_BASE_URL", seed_url)
    monkeypatch.setenv("COEVO_API_CACHE", str(tmp_path / "cache"))
    words = ["evaluate", "--agent", "openai:seed", "--env", KUHN, "--games", "20", "--json"]
    words += ["--env-option", "prompt_style=terse", "--max-new-tokens", "16"]
    first = cli(*words)
    assert first.status == 0, first.err
    result = json.loads(first.out)
    assert result["total"]["plays"] == 20 and result["errors"] == 0
    assert result["total"]["forfeit_rate"] < 0.3
    (file,) = (tmp_path / "cache").glob("seed-*.jsonl")
    kept = file.read_bytes()
    monkeypatch.setenv("COEVO_API_TOKEN_LIMIT", "0")  # nothing may be asked any more
    again = cli(*words)
    assert again.status == 0, again.err
    assert json.loads(again.out)["total"] == result["total"]
    assert file.read_bytes() == kept


def test_a_limit_ends_an_evaluation_in_one_line(seed_url, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", seed_url)
    monkeypatch.setenv("COEVO_API_CACHE", str(tmp_path))
    monkeypatch.setenv("COEVO_API_TOKEN_LIMIT", "500")
    result = cli("evaluate", "--agent", "openai:seed", "--env", KUHN, "--games", "20")
    assert result.status == 1
    assert "stopped before token_limit=500" in result.error_line()


def test_a_wrong_name_is_said_by_the_server(seed_url, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", seed_url)
    monkeypatch.setenv("COEVO_API_CACHE", str(tmp_path))
    result = cli("evaluate", "--agent", "openai:sead", "--env", KUHN, "--games", "2")
    assert result.status == 2
    assert "the model 'sead' is not served here; there is 'seed'" in result.error_line()


def test_no_server_is_one_line(cli, tmp_path, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        monkeypatch.setenv("COEVO_API_CACHE", str(tmp_path))
        monkeypatch.setenv("COEVO_API_BACKOFF", "0.01")
        result = cli("evaluate", "--agent", "openai:m", "--env", KUHN, "--games", "2")
    assert result.status == 1
    assert "cannot reach http://127.0.0.1" in result.error_line()


def test_a_folder_is_served_under_its_own_name(cli, tiny_model_dir, monkeypatch):
    served = []

    def interrupted(server):
        served.append((server.model, server.desk.agent.sampling.max_new_tokens))
        raise KeyboardInterrupt

    monkeypatch.setattr(ChatServer, "serve_forever", interrupted)
    result = cli("serve", "--agent", tiny_model_dir, "--port", "0")
    assert result.status == 130 and result.err == "coevo: interrupted\n"
    assert served == [(str(tiny_model_dir), 128)]
    assert f"serving {tiny_model_dir} (0.0 M parameters) at http://127.0.0.1:" in result.out
    assert f"coevo evaluate --agent openai:{tiny_model_dir} " in result.out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--agent", "random"), "what is served is a language model of ours"),
        (("--agent", "openai:gpt"), "what is served is a language model of ours"),
        (("--agent", "sed"), "did you mean 'seed'"),
        (("--agent", "{model}", "--port", "70000"), "ports are 0 to 65535"),
        (("--agent", "{model}", "--host", "192.0.2.1"), "cannot listen on 192.0.2.1:8000"),
        (("--agent", "{model}", "--port", "http"), "--port http is not a whole number"),
    ],
)
def test_wrong_arguments_are_one_line(cli, tiny_model_dir, words, hint):
    result = cli("serve", *(w.replace("{model}", str(tiny_model_dir)) for w in words))
    assert result.status == 2 and hint in result.error_line()


def test_a_run_with_several_policies_says_which_there_are(cli, tiny_model_dir, tmp_path):
    for seat in ("player_0", "player_1"):
        shutil.copytree(tiny_model_dir, tmp_path / seat)
    (tmp_path / "manifest.json").write_text("{}")
    result = cli("serve", "--agent", tmp_path)
    assert result.status == 2 and "name one: " in result.error_line()
