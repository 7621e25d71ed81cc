"""The agent over a real local server: chats, failures, retries, concurrency, stops."""

import gzip
import json
import threading
import time

import numpy as np
import pytest

from coevo.agents import FixedTextAgent
from coevo.agents.agent import Reply, Unanswered
from coevo.agents.api.agent import ApiAgent
from coevo.agents.api.limits import Limits
from coevo.agents.api.outcome import ApiError, ApiRefusedError
from coevo.agents.api.settings import ApiSettings
from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

KEY = "sk-very-secret-0123456789"


def first_bad(web, bad, count=1):
    """Answer like a bad server for some requests, then like a good one."""

    def behave(number, body, handler):
        (bad if number < count else web.echo)(number, body, handler)

    return behave


# ---- What is sent and given back ---------------------------------------------------------------


def test_the_chat_goes_over_as_it_is_and_the_text_comes_back(web, agent_of):
    server = web.serve()
    agent = agent_of(server, temperature=0.7, max_tokens=9, extra_body={"top_p": 0.5})
    replies = agent.act([web.request("a", "b", "c <é>\ud800")])
    assert server.asked == [
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b"},
                {"role": "user", "content": "c <é>?"},  # half a surrogate pair has no UTF-8 form
            ],
            "temperature": 0.7,
            "max_tokens": 9,
            "top_p": 0.5,
        }
    ]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert replies == [Reply("c <é>? #0")]
    assert agent.name == "openai:m" and agent.version == -1


def test_replies_come_in_the_order_of_the_requests(web, agent_of):
    def slow_first(number, body, handler):
        if number == 0:
            web.until(lambda: len(server.asked) == 8)
        web.echo(number, body, handler)

    server = web.serve(slow_first)
    replies = agent_of(server).act([web.request(f"chat {i}") for i in range(8)])
    assert [r.text.split(" #")[0] for r in replies] == [f"chat {i}" for i in range(8)]


def test_no_key_is_sent_where_there_is_none(web, agent_of, monkeypatch):
    server = web.serve()
    agent_of(server).act([web.request("a")])
    monkeypatch.delenv("OPENAI_API_KEY")
    agent_of(server).act([web.request("a")])
    assert ["Authorization" in h for h in server.headers] == [True, False]


def test_openai_itself_needs_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="needs a key: set OPENAI_API_KEY, or set"):
        ApiAgent(ApiSettings(model="m"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-\nabc")
    with pytest.raises(ConfigError, match="characters that no key has") as caught:
        ApiAgent(ApiSettings(model="m"))
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None, "refusal": "I will not."}, "I will not."),
        ({"content": None}, ""),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": "x", "reasoning_content": "hm"}, "x"),
    ],
)
def test_every_form_of_content_is_read(web, agent_of, message, text):
    server = web.serve(lambda n, b, h: web.send(h, data=web.said("", message=message)))
    assert agent_of(server).act([web.request("a")]) == [Reply(text)]


def test_a_cut_reply_is_a_reply_and_is_counted(web, agent_of):
    server = web.serve(lambda n, b, h: web.send(h, data=web.said("I thi", finish="length")))
    agent = agent_of(server)
    assert agent.act([web.request("a")]) == [Reply("I thi")]
    assert agent.usage.truncated == 1


def test_a_filtered_reply_is_no_reply_and_is_not_asked_for_again(web, agent_of, tmp_path):
    server = web.serve(lambda n, b, h: web.send(h, data=web.said("", finish="content_filter")))
    for _ in range(2):
        (reply,) = agent_of(server, cache=tmp_path).act([web.request("a")])
        assert isinstance(reply, Unanswered) and "content filter" in reply.reason
    assert len(server.asked) == 1


def test_seeds_of_tournaments_and_of_populations_are_taken(web, agent_of):
    agent = agent_of(web.serve(), send_seed=True).reseeded(2**63 - 1)
    assert all(reply.text for reply in agent.act([web.request("a")] * 2))


def test_seeds_are_sent_only_on_request_and_differ_by_sample(web, agent_of):
    server = web.serve()
    agent = agent_of(server, send_seed=True)
    agent.act([web.request("a")] * 3)
    seeds = [body["seed"] for body in server.asked]
    assert len(set(seeds)) == 3 and all(0 <= s < 2**31 for s in seeds)
    agent_of(server, send_seed=True).act([web.request("a")] * 3)
    assert sorted(body["seed"] for body in server.asked[3:]) == sorted(seeds)


# ---- Failures that pass --------------------------------------------------------------------------

BROKEN = {
    "408": lambda web: lambda n, b, h: web.send(h, 408),
    "409": lambda web: lambda n, b, h: web.send(h, 409),
    "429": lambda web: lambda n, b, h: web.send(h, 429, {"error": {"message": "slow down"}}),
    "500": lambda web: lambda n, b, h: web.send(h, 500, raw=b"<html>oops</html>"),
    "502": lambda web: lambda n, b, h: web.send(h, 502),
    "503": lambda web: lambda n, b, h: web.send(h, 503),
    "dropped": lambda web: lambda n, b, h: web.drop(h),
    "cut json": lambda web: lambda n, b, h: web.send(h, raw=b'{"choices": [{"mess'),
    "not json": lambda web: lambda n, b, h: web.send(h, raw=b"hello"),
    "a list": lambda web: lambda n, b, h: web.send(h, data=[1]),
    "no choices": lambda web: lambda n, b, h: web.send(h, data={"choices": []}),
    "null choices": lambda web: lambda n, b, h: web.send(h, data={"choices": None}),
    "odd choice": lambda web: lambda n, b, h: web.send(h, data={"choices": ["text"]}),
    "null message": lambda web: lambda n, b, h: web.send(h, data={"choices": [{"message": None}]}),
    "odd content": lambda web: lambda n, b, h: web.send(h, data=web.said(7)),
    "hidden 502": lambda web: (
        lambda n, b, h: web.send(h, data={"error": {"code": 502, "message": "upstream"}})
    ),
    "short body": lambda web: lambda n, b, h: short_body(h),
}


def short_body(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


@pytest.mark.parametrize("kind", BROKEN)
def test_what_may_pass_is_tried_again(web, agent_of, clock, kind):
    server = web.serve(first_bad(web, BROKEN[kind](web), 3))
    agent = agent_of(server)
    assert agent.act([web.request("a")]) == [Reply("a #3")]
    assert agent.usage.retries == 3 and not agent.usage.failures and agent.usage.requests == 1
    # Full jitter: retry k waits evenly in 0 .. 0.5 * 2^(k-1).
    assert len(clock.slept) == 3
    assert all(0 < wait <= 0.5 * 2**k for k, wait in enumerate(clock.slept))


@pytest.mark.parametrize("kind", BROKEN)
def test_what_does_not_pass_becomes_data(web, agent_of, kind):
    """The play of this request ends as an error; others go on."""
    bad = BROKEN[kind](web)

    def behave(number, body, handler):
        (bad if body["messages"][0]["content"] == "bad" else web.echo)(number, body, handler)

    server = web.serve(behave)
    agent = agent_of(server, max_retries=2)
    good, lost, also = agent.act([web.request("x"), web.request("bad"), web.request("y")])
    assert good.text.startswith("x #") and also.text.startswith("y #")
    assert isinstance(lost, Unanswered) and lost.text == ""
    assert "after 3 attempts" in lost.reason and lost.reason.startswith("openai:m: ")
    assert len(server.asked) == 5
    assert agent.usage.failures == {"server": 1} and agent.usage.retries == 2


def test_a_timeout_is_tried_again(web, agent_of):
    server = web.serve(first_bad(web, lambda n, b, h: server.released.wait(5)))
    agent = agent_of(server, timeout=0.05, max_retries=50)
    (reply,) = agent.act([web.request("a")])
    assert reply.text.startswith("a #") and agent.usage.retries
    assert agent.usage.unsure_tokens > 16  # the server may have written a reply and billed it


def drip(handler, chunk):
    """Send chunks until the other side has had enough."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(10**6):
        handler.wfile.write(chunk)
        if len(chunk) < 100:
            time.sleep(0.02)


def test_a_server_that_drips_is_left_after_the_time_for_one_attempt(web, agent_of):
    server = web.serve(lambda n, b, h: drip(h, b" "))
    agent = agent_of(server, timeout=0.3, max_retries=1)
    start = time.monotonic()
    (reply,) = agent.act([web.request("a")])
    assert isinstance(reply, Unanswered) and "no answer in time" in reply.reason
    assert time.monotonic() - start < 3 and len(server.asked) == 2
    assert agent.usage.unsure_tokens > 0


@pytest.mark.parametrize("status", [200, 500])
def test_a_body_without_an_end_is_left_at_the_size_limit(web, agent_of, status, monkeypatch):
    monkeypatch.setattr("coevo.agents.api.outcome.MOST_BYTES", 2**20)
    monkeypatch.setattr("coevo.agents.api.client.MOST_BYTES", 2**20)

    def endless(number, body, handler):
        handler.send_response_only = lambda code, message=None: None
        handler.wfile.write(b"HTTP/1.1 %d X\r\n" % status)
        drip(handler, b" " * 10_000)

    server = web.serve(endless)
    (reply,) = agent_of(server, max_retries=1).act([web.request("a")])
    assert isinstance(reply, Unanswered) and len(server.asked) == 2
    assert ("more than 1 MiB" if status == 200 else "answered 500") in reply.reason


def test_a_compressed_body_is_not_unpacked(web, agent_of):
    """A few bytes can stand for gigabytes."""
    packed = gzip.compress(json.dumps(web.said("a")).encode())
    headers = [("Content-Encoding", "gzip")]
    server = web.serve(lambda n, b, h: web.send(h, headers=headers, raw=packed))
    (reply,) = agent_of(server, max_retries=0).act([web.request("a")])
    assert server.headers[0]["Accept-Encoding"] == "identity"
    assert isinstance(reply, Unanswered) and "not a JSON object" in reply.reason


def test_a_server_cannot_write_to_the_terminal(web, agent_of):
    error = {"error": {"message": "\x1b[2J\x07busy\u202e"}}
    server = web.serve(lambda n, b, h: web.send(h, 500, error))
    (reply,) = agent_of(server, max_retries=0).act([web.request("a")])
    assert "busy" in reply.reason and reply.reason.isprintable()


def test_waits_grow_and_are_drawn_from_the_whole_range(web, agent_of, clock):
    server = web.serve(lambda n, b, h: web.send(h, 500))
    agent_of(server, max_retries=8, max_wait=10.0).act([web.request("a")])
    assert len(clock.slept) == 8
    assert all(wait <= min(0.5 * 2**k, 10.0) for k, wait in enumerate(clock.slept))
    draws = np.random.default_rng([0, 5]).random(8)
    expected = np.minimum(0.5 * 2.0 ** np.arange(8) * draws, 10.0)
    np.testing.assert_allclose(clock.slept, expected)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([("Retry-After", "7")], 7.0),
        ([("retry-after", "0.25")], 0.25),
        ([("Retry-After-Ms", "1500"), ("Retry-After", "9")], 1.5),
        ([("Retry-After", "Sun, 13 Sep 2020 12:43:30 GMT")], 10.0),  # the clock: 12:43:20
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_asks_to_wait_is_left_alone(web, agent_of, clock, headers, seconds, status):
    def busy(number, body, handler):
        handler.date_time_string = lambda *a: "Sun, 13 Sep 2020 12:43:20 GMT"
        web.send(handler, status, headers=headers)

    server = web.serve(first_bad(web, busy))
    assert agent_of(server).act([web.request("a")]) == [Reply("a #1")]
    assert seconds <= clock.slept[0] <= seconds + 0.5


def test_others_wait_too_while_a_server_asks_for_it(web, agent_of, clock):
    def behave(number, body, handler):
        if number == 0:
            web.send(handler, 429, headers=[("Retry-After", "30")])
        else:
            web.echo(number, body, handler)

    limits, held = Limits(ApiSettings(model="m"), clock), []
    hold = limits.rate.pause
    limits.rate.pause = lambda seconds: (held.append(seconds), hold(seconds))
    agent_of(web.serve(behave), limits=limits).act([web.request("a")])
    assert held == [30.0]


def test_a_wait_that_is_too_long_is_a_failure(web, agent_of, clock):
    server = web.serve(lambda n, b, h: web.send(h, 429, headers=[("Retry-After", "3600")]))
    (reply,) = agent_of(server).act([web.request("a")])
    assert "asks to wait 3600 s, more than max_wait=60" in reply.reason
    assert len(server.asked) == 1 and clock.slept == []


def test_a_play_without_a_reply_ends_as_an_error_and_no_other_does(web, agent_of):
    def behave(number, body, handler):
        bad = "Card: king" in body["messages"][0]["content"]
        web.send(handler, 500) if bad else web.send(handler, data=web.said("I [check]"))

    env_id, terse = "coevo/kuhn_poker-v0", {"prompt_style": "terse"}
    agent = agent_of(web.serve(behave), max_retries=1)
    matches = [EpisodeSpec(s, {"player_0": "api", "player_1": "calm"}) for s in range(12)]
    players = {"api": agent, "calm": FixedTextAgent("[check]")}
    episodes = rollout(env_id, matches, players, terse)
    lost = [e for e in episodes if e.stop is StopReason.ERROR]
    assert 0 < len(lost) < 12
    for episode in lost:
        assert episode.note.startswith("player_0: openai:m: the server answered 500, after 2")
        assert episode.turns == [] and episode.outcome == {}
    assert {e.stop for e in episodes if e not in lost} == {StopReason.FINISHED}


# ---- Failures that do not pass -------------------------------------------------------------------

REFUSED = {
    400: ("unknown field 'top_q'", "change the settings"),
    401: (f"Incorrect API key provided: {KEY}", "it does not take the key in OPENAI_API_KEY"),
    403: ("no access", "the key in OPENAI_API_KEY may not use"),
    404: ("no such model", "check the model's name and OPENAI_BASE_URL"),
    422: ("extra fields", "change the settings"),
    402: ("pay first", "the account has no money left"),
    429: ("You exceeded your current quota", "the account has no money left"),
    301: ("moved", "set OPENAI_BASE_URL to that"),
}


@pytest.mark.parametrize("status", REFUSED)
def test_a_refusal_stops_at_once_in_one_line_without_the_key(web, agent_of, clock, status):
    said, hint = REFUSED[status]
    server = web.serve(lambda n, b, h: web.send(h, status, {"error": {"message": said}}))
    agent = agent_of(server, concurrency=1)
    with pytest.raises(ApiRefusedError) as caught:
        agent.act([web.request(f"chat {i}") for i in range(5)])
    line = str(caught.value)
    assert f"openai:m at {server.url}: the server answered {status}" in line and hint in line
    assert KEY not in line and "secret" not in line and "\n" not in line
    assert len(server.asked) == 1 and clock.slept == []


def test_what_is_at_the_server_when_something_stops_is_kept(web, agent_of, tmp_path):
    """It may be billed; what waits for its turn is not sent any more."""
    refused = threading.Event()

    def behave(number, body, handler):
        if body["messages"][0]["content"] == "bad":
            web.until(lambda: len(server.asked) == 2)
            web.send(handler, 401)
            refused.set()
        else:
            refused.wait(5)
            web.until(lambda: agent._client.error is not None)
            web.echo(number, body, handler)

    server = web.serve(behave)
    agent = agent_of(server, concurrency=2, cache=tmp_path)
    with pytest.raises(ApiRefusedError):
        agent.act([web.request("slow"), web.request("bad"), web.request("later")])
    assert len(server.asked) == 2
    assert agent_of(server, cache=tmp_path).act([web.request("slow")])[0].text.startswith("slow #")
    assert len(server.asked) == 2


def test_a_key_without_a_usual_form_is_not_shown_either(web, agent_of, monkeypatch):
    server = web.serve(lambda n, b, h: web.send(h, 500, {"error": {"message": "key hunter2!"}}))
    agent = agent_of(server)
    monkeypatch.setenv("OPENAI_API_KEY", "hunter2")
    (reply,) = agent_of(server, max_retries=0).act([web.request("a")])
    assert "hunter2" not in reply.reason and "(key)" in reply.reason
    assert "hunter2" not in repr(agent.settings) and KEY not in repr(vars(agent))


@pytest.mark.parametrize(
    "error",
    [
        {"message": "This model's maximum context length is 4096 tokens."},
        {"message": "no", "code": "context_length_exceeded"},
        {"message": "blocked by our content management policy", "code": "content_filter"},
    ],
)
def test_a_refusal_of_one_chat_concerns_this_chat_alone(web, agent_of, error):
    def behave(number, body, handler):
        if body["messages"][0]["content"] == "bad":
            web.send(handler, 400, {"error": error})
        else:
            web.echo(number, body, handler)

    server = web.serve(behave)
    lost, good = agent_of(server).act([web.request("bad"), web.request("good")])
    assert isinstance(lost, Unanswered) and "answered 400" in lost.reason
    assert good.text.startswith("good") and len(server.asked) == 2


def test_a_server_that_is_not_there_is_said_soon(web, agent_of, clock):
    server = web.serve()
    agent = agent_of(server)
    server.close()
    with pytest.raises(ApiError, match=r"cannot reach http://127.0.0.1:\d+/v1: .*is the server ru"):
        agent.act([web.request(f"chat {i}") for i in range(50)])
    assert len(clock.slept) <= 2 * 8  # two retries of each of eight at a time


def test_a_server_that_answers_nothing_for_long_is_given_up(web, agent_of):
    def behave(number, body, handler):
        web.echo(number, body, handler) if number < 4 else web.send(handler, 500)

    server = web.serve(behave)
    agent = agent_of(server, concurrency=2, max_retries=1, give_up_after=5)
    agent.act([web.request(f"a{i}") for i in range(4)])
    with pytest.raises(ApiError, match=r"left 5 requests in a row without a reply.*continues"):
        agent.act([web.request(f"b{i}") for i in range(100)])
    assert len(server.asked) <= 4 + 2 * (5 + 2)


def test_an_answer_in_between_means_that_the_server_lives(web, agent_of):
    def behave(number, body, handler):
        bad = int(body["messages"][0]["content"]) % 4
        web.send(handler, 500) if bad else web.echo(number, body, handler)

    server = web.serve(behave)
    agent = agent_of(server, concurrency=1, max_retries=0, give_up_after=4)
    replies = agent.act([web.request(str(i)) for i in range(40)])
    assert sum(isinstance(r, Unanswered) for r in replies) == 30


# ---- Many at a time ------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 3, 8])
def test_concurrency_is_used_and_bounded(web, agent_of, most):
    full = threading.Event()

    def behave(number, body, handler):
        if server.at_once >= most:
            full.set()
        full.wait(5)
        web.echo(number, body, handler)

    server = web.serve(behave)
    agent_of(server, concurrency=most).act([web.request(f"chat {i}") for i in range(24)])
    assert full.is_set() and server.most_at_once == most and len(server.asked) == 24


def test_retries_stay_within_the_concurrency(web, agent_of):
    server = web.serve(first_bad(web, lambda n, b, h: web.send(h, 500), 30))
    agent_of(server, concurrency=4, max_retries=30).act([web.request(f"c{i}") for i in range(20)])
    assert server.most_at_once <= 4


def test_act_works_where_an_event_loop_runs_already(web, agent_of):
    """As in a notebook."""
    import asyncio

    agent = agent_of(web.serve())

    async def notebook():
        return agent.act([web.request("a")])

    assert asyncio.run(notebook()) == [Reply("a #0")]


def test_a_copy_outlives_the_agent_that_it_was_made_of(web, agent_of):
    """Evaluations ask a copy with another seed."""
    import copy

    server = web.serve()
    agent = ApiAgent(ApiSettings(model="m", base_url=server.url))
    twin = copy.copy(agent)
    twin.reseed(1)
    agent.act([web.request("a")])
    del agent
    assert twin.act([web.request("a")]) == [Reply("a #1")]


def test_ctrl_c_sends_nothing_more_and_keeps_what_is_at_the_server(
    web, agent_of, monkeypatch, tmp_path
):
    server = web.serve(lambda n, b, h: (server.released.wait(5), web.echo(n, b, h)))
    agent = agent_of(server, concurrency=1, cache=tmp_path)

    def interrupted(futures, **_):
        web.until(lambda: len(server.asked) == 1)
        raise KeyboardInterrupt

    monkeypatch.setattr("coevo.agents.futures.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        agent.act([web.request("a"), web.request("b")])
    monkeypatch.undo()
    server.released.set()
    web.until(lambda: not agent._open)
    assert agent_of(server, cache=tmp_path).act([web.request("a")]) == [Reply("a #0")]
    assert len(server.asked) == 1


def test_an_interrupted_rollout_waits_for_what_is_at_the_server(
    web, agent_of, monkeypatch, tmp_path
):
    """What is under way is paid: it is kept, and not asked for again."""
    slowly = lambda n, b, h: (time.sleep(0.3), web.send(h, data=web.said("[bet]")))  # noqa: E731
    server = web.serve(slowly)
    agent = agent_of(server, cache=tmp_path)

    def interrupted(futures, **_):
        web.until(lambda: len(server.asked) == 1)
        raise KeyboardInterrupt

    monkeypatch.setattr("coevo.agents.futures.wait", interrupted)
    specs = [EpisodeSpec(1, {"player_0": "m", "player_1": "m"})]
    with pytest.raises(KeyboardInterrupt):
        rollout("coevo/kuhn_poker-v0", specs, {"m": agent})
    web.until(lambda: not agent._open)  # waiters are told before what is done is forgotten
    monkeypatch.undo()
    again = agent_of(server, cache=tmp_path)
    rollout("coevo/kuhn_poker-v0", specs, {"m": again})
    assert again.usage.hits == 1 and again.usage.requests == len(server.asked) - 1


def test_all_stops_are_errors_for_a_person():
    assert issubclass(ApiError, CoevoError) and ApiRefusedError.exit_code == 2
