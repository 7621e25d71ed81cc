"""A clock that nobody waits for, and a chat server that fails as it is told."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import numpy as np
import pytest

from coevo.agents.agent import Inside, Request
from coevo.agents.api.agent import ApiAgent
from coevo.agents.api.limits import Clock, Limits
from coevo.agents.api.settings import ApiSettings

KEY = "sk-very-secret-0123456789"


class FakeClock(Clock):
    """Jumps to where a sleeper wants to be."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        wake = self.time + seconds
        await asyncio.sleep(0)
        self.time = max(self.time, wake)


class ChatStub:
    """A chat server; `behave(number, body, handler)` answers request 0, 1, 2, ... as it likes."""

    def __init__(self, behave: Callable) -> None:
        self.behave = behave
        self.asked: list[dict] = []
        self.headers: list[dict] = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        self.released = threading.Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with stub.lock:
                    number = len(stub.asked)
                    stub.asked.append(body)
                    stub.headers.append({k.title(): v for k, v in self.headers.items()})
                    stub.at_once += 1
                    stub.most_at_once = max(stub.most_at_once, stub.at_once)
                try:
                    with contextlib.suppress(ConnectionError):
                        stub.behave(number, body, self)
                finally:
                    with stub.lock:
                        stub.at_once -= 1

            def log_message(self, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *args: object) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def send(handler, status=200, data=None, headers=(), raw: bytes | None = None) -> None:
    """Send one response."""
    body = json.dumps(data).encode() if raw is None else raw
    handler.send_response(status)
    for name, value in headers:
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def said(text, prompt=10, completion=2, finish="stop", **choice) -> dict:
    """Return the body of a reply."""
    message = {"role": "assistant", "content": text}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": finish, **choice}]}
    return body | {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


def echo(number, body, handler) -> None:
    """Repeat the last message, and the number of the request."""
    send(handler, data=said(f"{body['messages'][-1]['content']} #{number}"))


def drop(handler) -> None:
    """Reset the connection."""
    linger = b"\x01\x00\x00\x00\x00\x00\x00\x00"
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.connection.close()
    handler.close_connection = True


def request(*contents: str, task: str = "seed-1") -> Request:
    """Return a request whose chat has these messages."""
    roles = ("user", "assistant")
    chat = tuple({"role": roles[i % 2], "content": c} for i, c in enumerate(contents))
    info = {"legal_actions": ["pass", "bet"]}
    inside = Inside(lambda skill: None, task, lambda: None)
    return Request("player_0", chat, info, np.random.default_rng(0), inside=inside)


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait for another thread."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def web() -> Iterator[SimpleNamespace]:
    """Return `web.serve(behave)`, and what behaviours and requests are made of."""
    with contextlib.ExitStack() as stack:

        def serve(behave: Callable = echo) -> ChatStub:
            made = ChatStub(behave)
            stack.callback(made.close)
            return made

        yield SimpleNamespace(
            serve=serve, send=send, said=said, echo=echo, drop=drop, request=request, until=until
        )


@pytest.fixture
def agent_of(clock, monkeypatch) -> Iterator[Callable[..., ApiAgent]]:
    """Return a function that makes an agent of a server, closed in the end."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with contextlib.ExitStack() as stack:

        def make(server: ChatStub, *, limits=None, **settings) -> ApiAgent:
            usual = {"temperature": 1.0, "max_tokens": 16, "timeout": 5.0}
            chosen = ApiSettings(model="m", base_url=server.url, **(usual | settings))
            agent = ApiAgent(chosen, limits=limits or Limits(chosen, clock))
            stack.callback(agent.close)
            return agent

        yield make
