"""The server of ours: OpenAI's JSON, streams, errors, batches; and `openai:seed` playing on it."""

import http.client
import json
import math
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from coevo.agents.agent import Request
from coevo.agents.api.completion import Written
from coevo.agents.api.desk import Desk
from coevo.agents.api.server import ChatServer
from coevo.agents.api.wire import ChatRequest, WireError
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_agent, load_model
from coevo.agents.sampling import SamplingConfig
from coevo.envs import make
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import parse_move

HELLO = [{"role": "user", "content": "Your card is the king."}]


class Served:
    """A running server and a client for it."""

    def __init__(self, agent: LanguageModelAgent, name: str) -> None:
        self.agent, self.name = agent, name
        self.desk = Desk(agent, np.random.default_rng(0))
        self.server = ChatServer("127.0.0.1", 0, self.desk, name)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def ask(self, method, path, body=None, headers=()):
        """Give status, headers and body of one request."""
        connection = http.client.HTTPConnection(*self.server.server_address[:2], timeout=60)
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, data, dict(headers))
        response = connection.getresponse()
        raw = response.read()
        connection.close()
        return response.status, response.headers, raw

    def chat(self, messages=HELLO, **settings):
        """Give the JSON of a reply."""
        body = {"model": self.name, "messages": messages, "max_tokens": 8} | settings
        status, _, raw = self.ask("POST", "/v1/chat/completions", body)
        return status, json.loads(raw)

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()
        self.desk.close()


@pytest.fixture(scope="module")
def served(tiny_model_dir):
    model, tokenizer = load_model(str(tiny_model_dir), device="cpu")
    agent = LanguageModelAgent(model, tokenizer, sampling=SamplingConfig(max_new_tokens=12))
    server = Served(agent, "org/tiny")
    yield server
    server.close()


# ---- Replies -------------------------------------------------------------------------------------


def test_a_reply_has_the_form_of_openais(served):
    status, answer = served.chat(temperature=0)
    assert status == 200
    assert set(answer) == {"id", "object", "created", "model", "choices", "usage"}
    assert answer["object"] == "chat.completion" and answer["model"] == "org/tiny"
    (choice,) = answer["choices"]
    assert set(choice) == {"index", "message", "logprobs", "finish_reason"}
    chat = tuple(HELLO)
    request = Request("", chat, {"legal_actions": None}, np.random.default_rng(0))
    local = served.agent.greedy("cold")
    local.sampling = SamplingConfig(temperature=0, max_new_tokens=8)
    (reply,) = local.act([request])
    assert choice["message"]["content"] == reply.text
    assert answer["usage"] == {
        "prompt_tokens": len(reply.prompt_ids),
        "completion_tokens": len(reply.token_ids),
        "total_tokens": len(reply.prompt_ids) + len(reply.token_ids),
    }
    ended = reply.token_ids[-1] in served.agent.tokens.end_ids
    assert choice["finish_reason"] == ("stop" if ended else "length")


def test_equal_seeds_give_equal_replies_whoever_else_asks(served):
    first = served.chat(seed=5, n=3)[1]["choices"]
    with ThreadPoolExecutor(8) as pool:
        others = [pool.submit(served.chat, seed=5, n=3) for _ in range(4)]
        others += [pool.submit(served.chat) for _ in range(4)]
    assert all(o.result()[1]["choices"] == first for o in others[:4])
    assert served.chat(seed=6, n=3)[1]["choices"] != first
    assert served.chat(seed=2**64 - 1)[0] == served.chat(seed=-1)[0] == 200


def test_without_a_seed_samples_differ(served):
    texts = {served.chat()[1]["choices"][0]["message"]["content"] for _ in range(3)}
    assert len(texts) == 3


def test_n_gives_independent_samples(served):
    _, answer = served.chat(n=4)
    assert [c["index"] for c in answer["choices"]] == [0, 1, 2, 3]
    assert len({c["message"]["content"] for c in answer["choices"]}) == 4
    assert answer["usage"]["completion_tokens"] > 8


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_the_length_is_kept(served, field):
    body = {"model": "org/tiny", "messages": HELLO, field: 3, "seed": 1}
    answer = json.loads(served.ask("POST", "/v1/chat/completions", body)[2])
    assert answer["usage"]["completion_tokens"] == 3
    assert answer["choices"][0]["finish_reason"] == "length"


def test_without_a_length_the_models_usual_one_is_taken(served):
    _, answer = served.chat(max_tokens=None, n=8)
    cut = [c for c in answer["choices"] if c["finish_reason"] == "length"]
    assert cut and 12 * len(cut) <= answer["usage"]["completion_tokens"] <= 8 * 12


def test_stop_texts_end_a_reply_and_are_cut_off(served):
    _, whole = served.chat(seed=3)
    text = whole["choices"][0]["message"]["content"]
    middle = text[3:5]
    _, answer = served.chat(seed=3, stop=["never there", middle])
    choice = answer["choices"][0]
    assert choice["message"]["content"] == text[: text.index(middle)]
    assert choice["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] < whole["usage"]["completion_tokens"]
    assert served.chat(seed=3, stop=text[0])[1]["choices"][0]["message"]["content"] == ""


def test_logprobs_are_those_of_the_model(served):
    _, answer = served.chat(seed=4, logprobs=True, temperature=0.7)
    choice = answer["choices"][0]
    content = choice["logprobs"]["content"]
    assert "".join(c["token"] for c in content) == choice["message"]["content"]
    served.agent.sampling = SamplingConfig(temperature=0.7, max_new_tokens=8)
    import torch

    from coevo.agents.sampling import Prompt, sample

    prompt = Prompt(tuple(served.agent.tokens.prompt(tuple(HELLO))))
    generator = torch.Generator().manual_seed(4)
    config = served.agent.sampling
    (drawn,) = sample(served.agent.model, [prompt], served.agent.tokens.end_ids, config, generator)
    served.agent.sampling = SamplingConfig(max_new_tokens=12)
    expected = drawn.logprobs[: len(content)]
    assert [c["logprob"] for c in content] == pytest.approx(expected, abs=1e-5)
    assert all(c["bytes"] == list(c["token"].encode()) for c in content)


@pytest.mark.parametrize("settings", [{"n": 2}, {"n": 1, "stop": "e"}, {"n": 2, "logprobs": True}])
def test_a_stream_says_the_same_in_parts(served, settings):
    _, whole = served.chat(seed=7, **settings)
    body = {"model": "org/tiny", "messages": HELLO, "max_tokens": 8, "seed": 7, "stream": True}
    body |= settings | {"stream_options": {"include_usage": True}}
    status, headers, raw = served.ask("POST", "/v1/chat/completions", body)
    assert status == 200 and headers["Content-Type"] == "text/event-stream"
    events = [e.removeprefix(b"data: ") for e in raw.strip().split(b"\n\n")]
    assert events.pop() == b"[DONE]"
    parts = [json.loads(e) for e in events]
    assert parts.pop()["usage"] == whole["usage"]
    assert {p["object"] for p in parts} == {"chat.completion.chunk"}
    assert len({p["id"] for p in parts}) == 1
    for choice in whole["choices"]:
        own = [c for p in parts for c in p["choices"] if c["index"] == choice["index"]]
        assert own[0]["delta"]["role"] == "assistant"
        assert "".join(c["delta"].get("content", "") for c in own) == choice["message"]["content"]
        assert [c["finish_reason"] for c in own if c["finish_reason"]] == [choice["finish_reason"]]
        if settings.get("logprobs"):
            told = [c["logprobs"]["content"][0] for c in own if c["logprobs"]]
            assert told == choice["logprobs"]["content"]


def test_content_may_come_in_parts_and_from_developers(served):
    parts = [{"type": "text", "text": "Your card "}, {"type": "text", "text": "is the king."}]
    _, answer = served.chat([{"role": "user", "content": parts}], temperature=0)
    assert answer["choices"] == served.chat(temperature=0)[1]["choices"]
    developer = [{"role": "developer", "content": "Play."}, *HELLO]
    system = [{"role": "system", "content": "Play."}, *HELLO]
    assert (
        served.chat(developer, temperature=0)[1]["choices"]
        == (served.chat(system, temperature=0)[1]["choices"])
    )


def test_neutral_settings_and_unknown_fields_are_taken(served):
    settings = {"top_p": 1, "presence_penalty": 0.0, "user": "me", "tools": [], "store": False}
    assert served.chat(**settings)[0] == 200


# ---- Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "status", "param", "hint"),
    [
        ({"model": "gpt"}, 404, "model", "'gpt' is not served here; there is 'org/tiny'"),
        ({"model": None}, 400, "model", "name of a model"),
        ({"messages": []}, 400, "messages", "at least one message"),
        ({"messages": "hi"}, 400, "messages", "must be a list"),
        ({"messages": [{"role": "tool", "content": "x"}]}, 400, "messages", "messages[0].role"),
        ({"messages": [{"role": "user"}]}, 400, "messages", "messages[0].content must be text"),
        ({"messages": [*HELLO, 3]}, 400, "messages", "messages[1].role"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            400,
            "messages",
            "must be text",
        ),
        ({"temperature": 3}, 400, "temperature", "0..2"),
        ({"temperature": "hot"}, 400, "temperature", "'hot' must be a number"),
        ({"max_tokens": 0}, 400, "max_tokens", "whole number"),
        ({"max_tokens": True}, 400, "max_tokens", "whole number"),
        ({"n": 1000}, 400, "n", "1..128"),
        ({"seed": 1.5}, 400, "seed", "whole number"),
        ({"stop": [1]}, 400, "stop", "must be a text"),
        ({"stop": ""}, 400, "stop", "must be a text"),
        ({"stream": "yes"}, 400, "stream", "true or false"),
        ({"top_p": 0.5}, 400, "top_p", "not supported"),
        ({"tools": [{}]}, 400, "tools", "not supported"),
        ({"response_format": {"type": "json_object"}}, 400, "response_format", "not supported"),
        ({"max_tokens": 5000}, 400, "messages", "context length is 2048 tokens"),
    ],
)
def test_a_wrong_request_is_an_error_in_openais_form(served, settings, status, param, hint):
    got, answer = served.chat(**settings)
    assert got == status and set(answer) == {"error"}
    error = answer["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error" and error["param"] == param
    assert hint in error["message"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/chat/completions", b"{", 400),
        ("POST", "/v1/chat/completions", b"[]", 400),
        ("POST", "/v1/chat/completions", b"[" * 100_000, 400),
        ("POST", "/v1/completions", {"prompt": "x"}, 404),
        ("GET", "/v1/nothing", None, 404),
        ("GET", "/v1/models/other", None, 404),
        ("DELETE", "/v1/models/other", None, 501),
    ],
)
def test_what_is_no_request_at_all_is_json_too(served, method, path, body, status):
    got, headers, raw = served.ask(method, path, body)
    assert got == status and headers["Content-Type"] == "application/json"
    assert json.loads(raw)["error"]["message"]


def test_a_body_needs_a_length_that_fits(served):
    status, _, raw = served.ask(
        "POST", "/v1/chat/completions", headers={"Content-Length": str(2**40)}
    )
    assert status == 413 and "bytes" in json.loads(raw)["error"]["message"]
    with socket.create_connection(served.server.server_address[:2], timeout=10) as raw_socket:
        raw_socket.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 411 " in raw_socket.recv(1000).splitlines()[0]


def test_text_that_no_tokenizer_takes_is_an_answer_of_some_kind(served):
    status, answer = served.chat([{"role": "user", "content": "half \ud800 a pair"}])
    assert status == 200 or answer["error"]["message"]
    assert served.chat()[0] == 200


def test_a_client_that_leaves_harms_nobody(served, capsys):
    body = json.dumps({"model": "org/tiny", "messages": HELLO, "stream": True}).encode()
    for _ in range(3):
        leaver = socket.create_connection(served.server.server_address[:2])
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        leaver.sendall(head % len(body) + body)
        leaver.close()
    assert served.chat()[0] == 200
    assert capsys.readouterr() == ("", "")


def test_models_and_health(served):
    model = json.loads(served.ask("GET", "/v1/models")[2])["data"][0]
    assert model["id"] == "org/tiny" and model["object"] == "model"
    for path in ("/v1/models/org/tiny", "/v1/models/org%2Ftiny"):
        assert json.loads(served.ask("GET", path)[2]) == model
    assert served.ask("GET", "/health")[0] == 200


def test_a_connection_serves_many_requests(served):
    connection = http.client.HTTPConnection(*served.server.server_address[:2], timeout=60)
    for wrong in (False, True, False):
        body = json.dumps({"model": "no" if wrong else "org/tiny", "messages": HELLO})
        connection.request("POST", "/v1/chat/completions", body)
        response = connection.getresponse()
        response.read()
        assert response.status == (404 if wrong else 200)
        assert response.headers["Connection"] is None
    connection.close()


def test_an_address_in_use_is_one_line(served):
    port = served.server.server_address[1]
    with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}: .*--port 0"):
        ChatServer("127.0.0.1", port, served.desk, "x")
    with pytest.raises(ConfigError, match=r"99999: ports are 0 to 65535"):
        ChatServer("127.0.0.1", 99999, served.desk, "x")


# ---- Batches -------------------------------------------------------------------------------------


def test_what_arrives_while_the_model_computes_is_one_batch(served, monkeypatch):
    import coevo.agents.api.desk as desk_module

    gate, entered, real = threading.Event(), threading.Event(), desk_module.sample

    def sample(*args):
        entered.set()
        gate.wait(20)
        return real(*args)

    monkeypatch.setattr(desk_module, "sample", sample)
    desk = Desk(served.agent, np.random.default_rng(0))
    chat = tuple(HELLO)
    first = desk.submit(ChatRequest(chat))
    assert entered.wait(20)
    rest = [desk.submit(ChatRequest(chat)) for _ in range(7)]
    cold = [desk.submit(ChatRequest(chat, temperature=0.0)) for _ in range(2)]
    seeded = [desk.submit(ChatRequest(chat, seed=1)) for _ in range(2)]
    wrong = desk.submit(ChatRequest(chat, max_tokens=10**6))
    gate.set()
    results = [f.result(60) for f in (first, *rest, *cold, *seeded)]
    assert len({r.replies[0].text for r in results[:8]}) == 8
    assert results[8] == results[9] and results[10] == results[11]
    assert desk.batches == [1, 7, 2, 1, 1]
    assert isinstance(wrong.exception(60), WireError)
    desk.close()


def test_a_closing_desk_turns_away_what_waits(served, monkeypatch):
    import coevo.agents.api.desk as desk_module

    gate, entered, real = threading.Event(), threading.Event(), desk_module.sample

    def sample(*args):
        entered.set()
        gate.wait(20)
        return real(*args)

    monkeypatch.setattr(desk_module, "sample", sample)
    desk = Desk(served.agent, np.random.default_rng(0))
    first = desk.submit(ChatRequest(tuple(HELLO)))
    assert entered.wait(20)
    second = desk.submit(ChatRequest(tuple(HELLO)))
    closing = threading.Thread(target=desk.close)
    closing.start()
    gate.set()
    closing.join()
    assert first.result(60).replies
    assert second.exception(60).status == 503


def test_a_model_that_fails_is_an_error_of_the_server(served, monkeypatch):
    import coevo.agents.api.desk as desk_module

    monkeypatch.setattr(desk_module, "sample", lambda *args: 1 / 0)
    status, answer = served.chat()
    assert status == 500 and answer["error"]["type"] == "server_error"
    assert "ZeroDivisionError" in answer["error"]["message"]
    monkeypatch.undo()
    assert served.chat()[0] == 200


def test_characters_of_several_tokens_are_whole_in_every_piece(served):
    ids = served.agent.tokens.tokenizer("né → 🂡", add_special_tokens=False)["input_ids"]
    from coevo.agents.sampling import Sample

    drawn = Sample(list(ids), [-1.0] * len(ids), [[]] * len(ids))
    written = served.desk._written(drawn, ChatRequest(tuple(HELLO)))
    assert written.text == "né → 🂡" and len(written.pieces) == len(ids)
    assert all("\ufffd" not in piece for piece in written.pieces)
    assert written == Written(written.pieces, (-1.0,) * len(ids), len(ids), "length")


# ---- The shipped model behind its own server -----------------------------------------------------


@pytest.fixture(scope="module")
def seed_served():
    agent = load_agent("seed", sampling=SamplingConfig(max_new_tokens=16), device="cpu")
    server = Served(agent, "seed")
    yield server
    server.close()


def first_replies(agent, deals):
    """Give an agent's replies to the first turn of many deals of Kuhn poker, and their requests."""
    env = make("coevo/kuhn_poker-v0", prompt_style="terse")
    requests = []
    for seed in range(deals):
        env.reset(seed=seed)
        seat = env.agent_selection
        info = dict(env.infos[seat])
        requests.append(Request(seat, env.chat(seat), info, np.random.default_rng(seed)))
    return requests, agent.act(requests)


def test_the_seed_model_plays_as_legally_over_the_wire(seed_served, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_BASE_URL", seed_served.server.base_url)
    monkeypatch.setenv("COEVO_API_CACHE", str(tmp_path))
    sampling = SamplingConfig(max_new_tokens=16)
    remote = load_agent("openai:seed", sampling=sampling)
    deals = 120
    rates, moves = {}, {}
    for name, agent in (("here", seed_served.agent), ("there", remote)):
        requests, replies = first_replies(agent, deals)
        parses = [
            parse_move(reply.text, request.info["legal_actions"])
            for request, reply in zip(requests, replies, strict=True)
        ]
        rates[name] = sum(p.ok for p in parses) / deals
        moves[name] = sum(p.move == "bet" for p in parses) / deals
    remote.close()
    assert rates["here"] > 0.9
    # Two samples of 120: four standard errors of their difference.
    assert abs(rates["here"] - rates["there"]) < 4 * math.sqrt(2 * 0.1 * 0.9 / deals)
    assert abs(moves["here"] - moves["there"]) < 4 * math.sqrt(2 * 0.5 * 0.5 / deals)
    usage = remote.usage
    assert usage.requests == deals and usage.failures == 0 and usage.hits == 0
    assert 20 * deals < usage.prompt_tokens < 100 * deals
    assert deals <= usage.completion_tokens <= 16 * deals
    assert any(size > 1 for size in seed_served.desk.batches)


def test_the_server_reads_the_chat_as_the_local_agent_does(seed_served, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", seed_served.server.base_url)
    monkeypatch.setenv("COEVO_API_CACHE", "none")
    cold = SamplingConfig(temperature=0, max_new_tokens=16)
    remote = load_agent("openai:seed", sampling=cold)
    local = seed_served.agent.greedy("cold")
    _, there = first_replies(remote, 12)
    requests, here = first_replies(local, 12)
    remote.close()
    assert [r.text for r in there] == [r.text for r in here]
    distinct = len({str(r.chat) for r in requests})
    assert 1 < remote.usage.requests == distinct == 12 - remote.usage.hits
