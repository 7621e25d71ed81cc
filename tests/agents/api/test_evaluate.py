"""`coevo evaluate --agent openai:MODEL`: results, the cache, and failures in one line."""

import json
import socket

import pytest

from coevo.__main__ import main

EVALUATE = ["evaluate", "--env", "coevo/kuhn_poker-v0", "--env-option", "prompt_style=terse"]


@pytest.fixture
def evaluate(capsys, tmp_path, monkeypatch):
    """Return a function that evaluates a model of a server, and gives status, output and errors."""
    monkeypatch.setenv("COEVO_API_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COEVO_API_BACKOFF", "0.01")

    def call(url, *words):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        capsys.readouterr()
        status = main([*EVALUATE, "--agent", "openai:m", "--games", "20", *words])
        return status, *capsys.readouterr()

    return call


def check(web):
    return lambda n, b, h: web.send(h, data=web.said("[check]" if n % 2 else "[bet]"))


def test_a_second_evaluation_comes_from_the_cache(web, evaluate, monkeypatch):
    server = web.serve(check(web))
    status, out, err = evaluate(server.url, "--json")
    assert status == 0, err
    result = json.loads(out)
    assert result["episodes"] == 20 and result["errors"] == 0
    asked = len(server.asked)
    monkeypatch.setenv("COEVO_API_TOKEN_LIMIT", "0")  # nothing may be asked any more
    status, out, err = evaluate(server.url, "--json")
    assert status == 0, err
    again = json.loads(out)
    assert again["value"] == result["value"] and again["seats"] == result["seats"]
    assert len(server.asked) == asked > 0


def test_plays_without_a_reply_are_errors_and_not_scored(web, evaluate, monkeypatch):
    """The mean is that of the episodes that went on; a failure is no zero."""
    monkeypatch.setenv("COEVO_API_MAX_RETRIES", "0")

    def behave(number, body, handler):
        if "king" in body["messages"][0]["content"].lower():
            web.send(handler, data={"choices": [{"message": None}]})
        else:
            web.send(handler, data=web.said("[check]"))

    status, out, err = evaluate(web.serve(behave).url, "--json")
    assert status == 0, err
    result = json.loads(out)
    assert 0 < result["errors"] < 20
    assert result["episodes"] == 20 - result["errors"]


def test_a_limit_is_one_line(web, evaluate, monkeypatch):
    monkeypatch.setenv("COEVO_API_TOKEN_LIMIT", "700")
    status, out, err = evaluate(web.serve(check(web)).url)
    assert status == 1 and out == "" and err.count("\n") == 1
    assert "stopped before token_limit=700" in err


def test_a_refused_name_is_one_line(web, evaluate):
    server = web.serve(lambda n, b, h: web.send(h, 404, {"error": {"message": "no model 'm'"}}))
    status, _, err = evaluate(server.url)
    assert status == 2 and err.count("\n") == 1 and "no model 'm'" in err


def test_no_server_is_one_line(evaluate):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        status, _, err = evaluate(f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
    assert status == 1 and err.count("\n") == 1 and "cannot reach http://127.0.0.1" in err


@pytest.fixture
def withheld(web, capsys, tmp_path, monkeypatch):
    """Return a function that runs a command on a model whose every reply is withheld."""
    behave = lambda n, b, h: web.send(h, data=web.said("", finish="content_filter"))  # noqa: E731
    monkeypatch.setenv("COEVO_API_CACHE", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", web.serve(behave).url)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "coevo.benchmarks.suites.names.available", lambda: {"games": ["coevo/kuhn_poker-v0"]}
    )

    def call(*words):
        capsys.readouterr()
        return main(list(words)), *capsys.readouterr()

    return call


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "--agent", "openai:m", "--env", "coevo/kuhn_poker-v0", "--games", "4"),
        ("evaluate", "--agent", "openai:m", "--suite", "games", "--games", "4"),
        ("evaluate", "--agent", "openai:m", "--scenario", "kuhn3_visitor", "--games", "4"),
        (
            "tournament",
            "--agents",
            "openai:m,random",
            "--env",
            "coevo/kuhn_poker-v0",
            "--games",
            "4",
        ),
    ],
    ids=lambda words: " ".join(words[:4:3]),
)
def test_nothing_but_failures_is_no_success(withheld, words):
    status, _, err = withheld(*words, "--out", "kept")
    assert status == 1 and err.count("\n") == 1
    assert "a content filter withheld the reply" in err


def test_failed_requests_stand_in_the_row_by_cause(web, evaluate, monkeypatch):
    monkeypatch.setattr(
        "coevo.benchmarks.suites.names.available", lambda: {"games": ["coevo/kuhn_poker-v0"]}
    )

    def behave(number, body, handler):
        held = "king" in body["messages"][0]["content"].lower()
        finish = "content_filter" if held else "stop"
        web.send(handler, data=web.said("[check]", finish=finish))

    server = web.serve(behave)
    monkeypatch.setattr(f"{__name__}.EVALUATE", ["evaluate", "--suite", "games"])
    status, out, err = evaluate(server.url, "--env-option", "prompt_style=terse")
    assert status == 0, err
    assert "failed requests" in " ".join(out.split()) and "content filter" in " ".join(out.split())
