"""A chat server that fails in every way: one line or data, no reply lost, equal results after."""

import json
import sqlite3
import time

import pytest

from coevo.agents.table import load_table
from tests.agents.api.conftest import ChatStub, drop, echo, said, send
from tests.faults import child
from tests.faults.conftest import ends, newest
from tests.faults.cycles import KUHN, TABLE
from tests.faults.results import tables

pytestmark = pytest.mark.faults


def good(number, body, handler):
    """Answer with a legal move, drawn from what was said."""
    said_last = len(str(body["messages"][-1]))
    send(handler, data=said(("[check]", "[bet]", "[fold]", "[call]")[said_last % 4]))


def drip(number, body, handler):
    """Send a byte now and then, without an end."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(20):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(1)


def endless(number, body, handler):
    """Send more than any reply has."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(40):
        handler.wfile.write(b" " * 2**20)


def cut(number, body, handler):
    """Promise more than is sent."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def torn(number, body, handler):
    """Reset the connection in the middle of a body."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    drop(handler)


def silent(number, body, handler):
    """Say nothing for longer than anybody waits."""
    time.sleep(20)
    handler.close_connection = True


def huge(number, body, handler):
    """Answer rightly, in 100 MB."""
    send(handler, data=said("[check]" + " " * 100_000_000))


def answer(status=200, data=None, **more):
    """Return a behaviour that answers always alike."""
    return lambda number, body, handler: send(handler, status, data, **more)


BAD = {
    "500": answer(500, {"error": {"message": "\x1b[31mno\nway"}}),
    "503": answer(503, {}),
    "503 for an hour": answer(503, {}, headers=[("Retry-After", "3600")]),
    "429": answer(429, {"error": {"message": "slow down"}}),
    "429 with a time": answer(429, {"error": {}}, headers=[("Retry-After", "1")]),
    "429 with a time that is none": answer(429, {}, headers=[("Retry-After", "nan")]),
    "429 without money": answer(429, {"error": {"message": "insufficient_quota"}}),
    "401": answer(401, {"error": {"message": "Incorrect API key: sk-abcdefgh"}}),
    "402": answer(402, {}),
    "404": answer(404, {"error": {"message": "no such model"}}),
    "400 too long": answer(400, {"error": {"message": "context length exceeded"}}),
    "301": answer(301, {}, headers=[("Location", "http://elsewhere/")]),
    "HTML": answer(raw=b"<html>hello</html>"),
    "malformed JSON": answer(raw=b'{"choices": [{"message": '),
    "an empty body": answer(raw=b""),
    "deep JSON": answer(raw=b"[" * 100_000),
    "no choices": answer(data={"choices": []}),
    "a null message": answer(data={"choices": [{"message": None}]}),
    "a list of numbers": answer(data={"choices": [{"message": {"content": [1, 2]}}]}),
    "a message that is text": answer(data={"choices": [{"message": "hello"}]}),
    "a dropped connection": lambda number, body, handler: drop(handler),
    "a cut body": cut,
    "a body torn by a reset": torn,
    "no answer": silent,
    "a body of 100 MB": huge,
    "an endless body": endless,
    "a dripping body": drip,
}


@pytest.fixture
def evaluate(tmp_path, monkeypatch):
    """Return a function that evaluates a model behind an address."""
    usual = {"TIMEOUT": "1.5", "MAX_RETRIES": "1", "BACKOFF": "0.01", "MAX_WAIT": "1"}
    for name, value in {**usual, "GIVE_UP_AFTER": "3", "CACHE": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(f"COEVO_API_{name}", value)

    def call(url: str, fault=None, begin=child.run):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        words = ["evaluate", "--agent", "openai:m", "--env", KUHN, "--games", "4", "--json"]
        return begin(words, tmp_path / "out", fault)

    return call


def served(behave):
    """Return a server."""
    return ChatStub(behave)


def test_every_failure_of_a_server(evaluate, fault, tmp_path):
    server = served(good)
    whole = evaluate(server.url)
    server.close()
    assert whole.status == 0, whole.err
    for name, behave in BAD.items():
        (tmp_path / "cache" / "replies.sqlite").unlink(missing_ok=True)
        server, state = _failing_after(behave, 3)
        done = evaluate(server.url)
        state["bad"] = False
        again = evaluate(server.url)
        server.close()
        told = done.status == 0 or (done.status in (1, 2) and done.one_line)
        held = told and "\x1b" not in done.err and "abcdefgh" not in done.err
        held = held and done.seconds < 60 and _same(again, whole)
        fault("failing server", held, (name, done, again))


MEMBER = "population={name: past_selves, size: 0, latest: 0.2, members: ['openai:m']}"
TABLES = 5
"""Kinds of failure that are tried in a run, and in a tournament, with each seed."""


@pytest.fixture
def elsewhere(evaluate, monkeypatch):
    """Return a function that begins a command whose model is behind an address."""

    def call(url, words, place):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        return child.run(words, place)

    return call


def test_a_failing_server_in_a_run(elsewhere, fault, tmp_path, rng):
    """What is learnt from is what was played; a run that stops goes on to the same weights."""
    words = ["train", "mars", *TABLE, MEMBER, "--env", KUHN, "--out"]
    server = served(good)
    calm = tmp_path / "calm" / "run"
    whole = elsewhere(server.url, [*words, str(calm)], calm.parent)
    server.close()
    assert whole.status == 0, whole.err
    for name in rng.permutation(list(BAD))[:TABLES]:
        (tmp_path / "cache" / "replies.sqlite").unlink(missing_ok=True)
        server, state = _failing_after(BAD[name], int(rng.integers(20)))
        folder = tmp_path / name / "run"
        done = elsewhere(server.url, [*words, str(folder)], folder.parent)
        state["bad"] = False
        command = ["train", "--resume", str(folder), "--no-eval"]
        again = elsewhere(server.url, command, folder.parent / "again")
        server.close()
        told = done.status == 0 or (done.status in (1, 2) and done.one_line)
        held = told and again.status == 0 and _steps(folder) == _steps(calm)
        if done.status:
            held = held and _learnt(folder) == _learnt(calm)
        fault("failing server in a run", held, (name, done, again))


def test_a_failing_server_in_a_tournament(elsewhere, fault, tmp_path, rng):
    """Who could not be asked is asked again: the tables are equal, and no reply is lost."""
    words = ["tournament", "--agents", "openai:m,random,oracle", "--env", KUHN, "--games", "40"]
    server = served(good)
    calm = tmp_path / "calm" / "results"
    whole = elsewhere(server.url, [*words, "--out", str(calm)], calm.parent)
    server.close()
    assert whole.status == 0, whole.err
    for name in rng.permutation(list(BAD))[:TABLES]:
        (tmp_path / "cache" / "replies.sqlite").unlink(missing_ok=True)
        server, state = _failing_after(BAD[name], int(rng.integers(20)))
        folder = tmp_path / name / "results"
        done = elsewhere(server.url, [*words, "--out", str(folder)], folder.parent)
        state["bad"] = False
        again = elsewhere(server.url, ["tournament", "--out", str(folder)], folder.parent / "2")
        server.close()
        told = done.status == 0 or (done.status in (1, 2) and done.one_line)
        held = told and again.status == 0 and tables(folder) == tables(calm)
        fault("failing server in a tournament", held, (name, done, again))


def _failing_after(behave, number):
    """Return a server that fails from its so manieth request on, until it is told otherwise."""
    state = {"bad": True}

    def now(asked, body, handler):
        (behave if state["bad"] and asked >= number else good)(asked, body, handler)

    return served(now), state


def _learnt(folder):
    """Return what a run of a table ends with; the order of its rows is that of the replies."""
    found = {k: v for k, v in ends(folder).items() if not k.startswith("policy/")}
    table = load_table(newest(folder) / "policy")
    rows = [table.model.logits_RA[row].tolist() for row in table.rows.of.values()]
    return found | {"rows": dict(zip(table.rows.of, rows, strict=True))}


def _steps(folder):
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["step"] for line in lines]


def _same(one, two) -> bool:
    """Compare results without what was used to get them."""
    if one.status or two.status:
        return False
    tables = [json.loads(done.out) for done in (one, two)]
    first, second = ({k: v for k, v in t.items() if k != "usage"} for t in tables)
    return first == second


def test_no_server(evaluate, fault):
    server = served(echo)
    server.close()
    done = evaluate(server.url)
    fault("no server", done.status == 1 and done.one_line, done)


@pytest.mark.parametrize("part", [0.2, 0.5, 0.8])
def test_a_killed_evaluation_asks_only_for_the_rest(evaluate, fault, tmp_path, part, rng):
    server = served(good)
    whole = evaluate(server.url)
    total = len(server.asked)
    (tmp_path / "cache" / "replies.sqlite").unlink()
    server.asked.clear()
    begun = evaluate(server.url, begin=child.Child)
    until = time.monotonic() + 60
    while len(server.asked) < part * total and time.monotonic() < until:
        time.sleep(0.0005)
    begun.kill()
    begun.wait()
    again = evaluate(server.url)
    most = total + 8  # what was at the server
    held = _same(again, whole) and len(server.asked) <= most
    server.close()
    fault("killed client", held, (total, len(server.asked), again))


CACHES = {
    "cut": lambda p: p.write_bytes(p.read_bytes()[:700]),
    "of other bytes": lambda p: p.write_bytes(b"\xff\x00" * 9000),
    "empty": lambda p: p.write_bytes(b""),
    "with other answers": lambda p: _run(p, "UPDATE replies SET answer = '{\"text\": 3}'"),
    "with no JSON": lambda p: _run(p, "UPDATE replies SET answer = '{'"),
    "with another table": lambda p: _run(p, "ALTER TABLE replies RENAME COLUMN answer TO a"),
    "a folder": lambda p: (p.unlink(), p.mkdir()),
}


def _run(path, statement):
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()


def test_a_damaged_cache(evaluate, fault, tmp_path):
    for name, harm in CACHES.items():
        server = served(good)
        path = tmp_path / "cache" / "replies.sqlite"
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
        evaluate(server.url)
        harm(path)
        done = evaluate(server.url)
        server.close()
        held = done.status == 0 or (done.status == 2 and done.one_line and "cache" in done.err)
        fault("damaged cache", held, (name, done))


def test_a_cache_on_a_full_disk(evaluate, fault):
    server = served(good)
    for kind, injected in {
        "full": child.small_files(20_000),
        "fuller": child.small_files(5_000),
    }.items():
        done = evaluate(server.url, injected)
        held = done.status == 0 or (done.status in (1, 2) and done.one_line)
        fault("cache on a full disk", held, (kind, done))
    server.close()
