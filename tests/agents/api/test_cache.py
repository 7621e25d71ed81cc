"""The cache: what is interrupted continues with the same replies and asks only for the rest."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from coevo.agents.agent import Reply
from coevo.agents.api.cache import Keys, ReplyCache
from coevo.agents.api.outcome import Answer, ApiError
from coevo.agents.api.settings import ApiSettings
from coevo.envs.core.errors import DataError

SETTINGS = ApiSettings(model="m", temperature=1.0)
CHAT = [{"role": "user", "content": "hello"}]


def shuffled(web, server_seed=0):
    """Serve a different reply to every request, in an order of its own: the slow are random."""
    rng = np.random.default_rng(server_seed)
    lock = threading.Lock()

    def behave(number, body, handler):
        with lock:
            patience, word = rng.integers(3), rng.integers(10**9)
        until = number + patience  # waits for others that come later, at most for a moment
        for _ in range(int(patience) * 10):
            if len(server.asked) > until:
                break
            server.released.wait(0.001)
        web.send(handler, data=web.said(f"{body['messages'][0]['content']} {word}"))

    server = web.serve(behave)
    return server


def texts(replies):
    return [r.text for r in replies]


def test_equal_chats_get_samples_of_their_own_and_the_same_again_in_order(web, agent_of, tmp_path):
    server = shuffled(web)
    requests = [web.request(("a", "b")[i % 2]) for i in range(12)]
    before = agent_of(server, cache=tmp_path, concurrency=6)
    first = texts(before.act(requests))
    assert len(set(first)) == 12 and len(server.asked) == 12
    again = agent_of(server, cache=tmp_path)
    assert texts(again.act(requests)) == first
    assert len(server.asked) == 12 and again.usage.hits == 12 and again.usage.requests == 0
    assert again.usage.prompt_tokens == 0
    assert again.usage.cached_tokens == before.usage.prompt_tokens + before.usage.completion_tokens
    # In other batches, and more of them: the same order, then new samples.
    third = agent_of(server, cache=tmp_path)
    in_turn = [third.act([r])[0].text for r in requests]
    assert in_turn == first
    assert third.act([web.request("a")])[0].text not in first


def test_without_sampling_one_reply_serves_all(web, agent_of, tmp_path):
    server = shuffled(web)
    agent = agent_of(server, cache=tmp_path, temperature=0.0)
    replies = texts(agent.act([web.request("a"), web.request("b"), web.request("a")]))
    assert replies[0] == replies[2] != replies[1]
    assert len(server.asked) == 2 and agent.usage.hits == 1 and agent.usage.requests == 2
    assert texts(agent.act([web.request("a", task="other")])) == [replies[0]]


def test_plays_of_another_deal_never_share_samples(web, agent_of, tmp_path):
    """A tournament that continues plays other deals: it must not get the replies of the first."""
    server = shuffled(web)
    (one,) = agent_of(server, cache=tmp_path).act([web.request("a", task="seed-1")])
    (two,) = agent_of(server, cache=tmp_path).act([web.request("a", task="seed-2")])
    assert one != two and len(server.asked) == 2


def test_an_evaluation_stopped_halfway_asks_only_for_the_rest(web, agent_of, tmp_path):
    requests = [web.request(f"chat {i % 5}", task=str(i % 3)) for i in range(30)]
    whole = shuffled(web)

    def fails_at_17(number, body, handler):
        if number == 17:
            web.send(handler, 401, {"error": {"message": "revoked"}})
        else:
            whole.behave(number, body, handler)

    server = web.serve(fails_at_17)
    whole.asked = server.asked
    with pytest.raises(ApiError):
        agent_of(server, cache=tmp_path).act(requests)
    before = len(server.asked) - 1
    known = kept(tmp_path)
    assert 9 < len(known) <= before < 30
    agent = agent_of(server, cache=tmp_path)
    replies = texts(agent.act(requests))
    assert agent.usage.hits == len(known)
    assert len(server.asked) - 1 - before == 30 - len(known)
    assert set(known.values()) <= set(replies)
    assert texts(agent_of(server, cache=tmp_path).act(requests)) == replies


KILLED = """
import sys
import numpy as np
from pathlib import Path
from coevo.agents.agent import Inside, Request
from coevo.agents.api.agent import ApiAgent
from coevo.agents.api.settings import ApiSettings

agent = ApiAgent(ApiSettings(
    model="m", base_url=sys.argv[1], temperature=1.0, max_tokens=16, cache=Path(sys.argv[2])
))
def request(i):
    chat = ({"role": "user", "content": f"chat {i % 5}"},)
    inside = Inside(lambda skill: None, "seed-1", lambda: None)
    return Request("p", chat, {}, np.random.default_rng(0), inside=inside)
replies = agent.act([request(i) for i in range(40)])
print("\\n".join(r.text for r in replies))
"""


def test_a_killed_process_continues(web, tmp_path):
    def behave(number, body, handler):
        if number >= 25 and not killed.is_set():
            killed.wait(20)
        shuffle.behave(number, body, handler)

    shuffle, killed = shuffled(web), threading.Event()
    server = web.serve(behave)
    shuffle.asked = server.asked
    command = [sys.executable, "-P", "-c", KILLED, server.url, str(tmp_path)]
    first = subprocess.Popen(command, stdout=subprocess.PIPE)
    web.until(lambda: len(kept(tmp_path)) == 25, 60)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    killed.set()
    asked = len(server.asked)
    known = kept(tmp_path)
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(server.asked) - asked == 40 - 25
    third = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(server.asked) - asked == 40 - 25
    assert second.stdout == third.stdout and second.stdout.count("\n") == 40
    assert set(known.values()) <= set(second.stdout.split("\n"))


def kept(folder):
    """Return what is in the file, as another process sees it."""
    if not (folder / "replies.sqlite").exists():
        return {}
    with contextlib.closing(sqlite3.connect(folder / "replies.sqlite")) as file:
        try:
            rows = file.execute("SELECT key, answer FROM replies").fetchall()
        except sqlite3.OperationalError:  # made at this moment
            return {}
    return {key: json.loads(answer)["text"] for key, answer in rows}


# ---- The file ------------------------------------------------------------------------------------


def test_a_file_of_another_kind_is_one_line(tmp_path):
    (tmp_path / "replies.sqlite").write_bytes(b"hello, this is no database\n" * 100)
    with pytest.raises(DataError, match=r"cannot use the cache .*replies\.sqlite"):
        ReplyCache(tmp_path)


def test_the_oldest_make_room(tmp_path):
    cache = ReplyCache(tmp_path, most=3)
    for i in range(5):
        cache.put(f"k{i}", Answer("x"))
    cache.put("k3", Answer("again"))
    cache.close()
    assert kept(tmp_path) == {"k4": "x", "k3": "again"}  # numbers 5 and 6; 4 was written anew


@pytest.mark.parametrize("size", [10, 5_000, 400_000])
def test_the_oldest_make_room_for_bytes(tmp_path, size):
    most = 2**20
    cache = ReplyCache(tmp_path, most_bytes=most)
    count = 5 * most // size if size > 10 else 200
    for i in range(count):
        cache.put(f"k{i}", Answer(str(i % 10) * size))
    cache.close()
    names = [int(name[1:]) for name in kept(tmp_path)]
    assert names == list(range(count - len(names), count)), "the newest, without a gap"
    assert (tmp_path / "replies.sqlite").stat().st_size < 1.2 * most + 2 * size
    assert len(names) * size > (0.3 * most if size > 10 else 1999)


def test_an_answer_larger_than_the_cache_is_not_kept_and_harms_nothing(tmp_path):
    cache = ReplyCache(tmp_path, most_bytes=2**20)
    cache.put("large", Answer("x" * 2**21))
    assert cache.get("large") is None
    cache.put("small", Answer("y"))
    assert cache.get("small") == Answer("y")


def test_any_text_survives(tmp_path):
    text = "é\ud800\n\r\u2028\x00 <|end|>"
    cache = ReplyCache(tmp_path)
    cache.put("k", Answer(text))
    cache.close()
    assert ReplyCache(tmp_path).get("k") == Answer(text)


def test_two_processes_may_write_at_once(tmp_path):
    first, second = ReplyCache(tmp_path), ReplyCache(tmp_path)
    for i in range(50):
        first.put(f"a{i}", Answer("x" * 5000))
        second.put(f"b{i}", Answer("y" * 5000))
    first.close()
    second.close()
    both = ReplyCache(tmp_path)
    assert all(both.get(f"a{i}") and both.get(f"b{i}") for i in range(50))


def test_a_folder_that_cannot_be_written_is_one_line(web, agent_of, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot use the cache .*replies\.sqlite"):
        agent_of(web.serve(), cache=tmp_path / "file")


def test_a_cache_that_cannot_be_written_any_more_stops_the_evaluation(web, agent_of, tmp_path):
    agent = agent_of(web.serve(), cache=tmp_path)
    with sqlite3.connect(tmp_path / "replies.sqlite") as file:
        file.execute("DROP TABLE replies")
    with pytest.raises(DataError, match="cannot use the cache"):
        agent.act([web.request("a")])


def test_failures_are_not_kept(web, agent_of, tmp_path):
    def behave(number, body, handler):
        web.send(handler, 500) if number < 2 else web.echo(number, body, handler)

    server = web.serve(behave)
    agent_of(server, cache=tmp_path, max_retries=1).act([web.request("a")])
    assert agent_of(server, cache=tmp_path).act([web.request("a")]) == [Reply("a #2")]


# ---- Keys ----------------------------------------------------------------------------------------


def test_samples_of_a_bounded_number_of_chats_are_counted(monkeypatch):
    monkeypatch.setattr("coevo.agents.api.cache.MOST_CHATS", 100)
    keys = Keys(SETTINGS)
    first = keys.next(CHAT, "first")
    assert keys.next(CHAT, "first") != first
    for number in range(100):
        keys.next(CHAT, f"task {number}")
    assert keys.next(CHAT, "first") == first  # forgotten
    assert len(keys._asked) == 100


def test_keys_count_the_samples_of_a_chat():
    keys = Keys(SETTINGS)
    first = [keys.next(CHAT, "t") for _ in range(3)]
    other = keys.next([{"role": "system", "content": "hello"}], "t")
    assert len({*first, other}) == 4
    again = Keys(SETTINGS)
    assert [again.next(CHAT, "t") for _ in range(3)] == first


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"base_url": "http://x/v1"},
        {"temperature": 0.5},
        {"temperature": None},
        {"max_tokens": 5},
        {"seed": 1},
        {"extra_body": {"top_p": 0.5}},
    ],
)
def test_everything_that_a_reply_depends_on_is_in_the_key(change):
    assert Keys(replace(SETTINGS, **change)).next(CHAT, "t") != Keys(SETTINGS).next(CHAT, "t")


@pytest.mark.parametrize(
    "change", [{"timeout": 1.0}, {"concurrency": 2}, {"token_limit": 5}, {"price_in": 3.0}]
)
def test_what_it_does_not_depend_on_is_not(change):
    assert Keys(replace(SETTINGS, **change)).next(CHAT, "t") == Keys(SETTINGS).next(CHAT, "t")


def test_without_sampling_neither_seed_nor_task_nor_order_matter():
    cold = replace(SETTINGS, temperature=0.0)
    keys = Keys(cold)
    same = {keys.next(CHAT, "t"), keys.next(CHAT, "u"), Keys(replace(cold, seed=3)).next(CHAT, "")}
    assert len(same) == 1


def test_reseeding_starts_another_series_and_comes_back(web, agent_of):
    agent = agent_of(shuffled(web))
    first = agent.act([web.request("a")])
    agent.reseed(1)
    assert agent.act([web.request("a")]) != first
    agent.reseed(0)
    assert agent.act([web.request("a")]) == first
