"""An agent of ours behind an OpenAI-compatible chat API, on the standard library's HTTP server.

POST /v1/chat/completions   temperature, max_tokens (or max_completion_tokens), seed, n, stop,
                            logprobs, stream
GET  /v1/models             the one model that is served
GET  /health                whether the server is there

Every reply is sampled whole, in a batch with others; a stream then sends it token by token.
For experiments on one machine or in one network: there are no keys and no encryption.
"""

from __future__ import annotations

import itertools
import json
import socket
import socketserver
import sys
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from coevo.agents.api.completion import chunks, completion
from coevo.agents.api.desk import Desk
from coevo.agents.api.wire import WireError, read_request, unknown_model
from coevo.envs.core.errors import ConfigError

MOST_BYTES = 16 * 2**20
"""Longest body of a request."""
IDLE_SECONDS = 120
"""How long a connection may say nothing."""


class ChatServer(ThreadingHTTPServer):
    """Serves one model.

    Args:
        host: address to listen on.
        port: 0 takes a free one.
        desk: answers.
        model: name that requests give.

    Raises:
        ConfigError: the address or the port cannot be used.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, desk: Desk, model: str) -> None:
        self.desk, self.model = desk, model
        self.created = int(time.time())
        self.count = itertools.count(1)
        if ":" in host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__((host, port), Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "ports are 0 to 65535"
            raise ConfigError(
                f"cannot listen on {host}:{port}: {reason}; --port 0 takes a free port"
            ) from None

    @property
    def base_url(self) -> str:
        """Give the address for clients."""
        host, port = self.server_address[:2]
        name = str(host)
        return f"http://{f'[{name}]' if ':' in name else name}:{port}/v1"

    def server_bind(self) -> None:
        """Listen without asking the network for this machine's name."""
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing about clients that leave."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "coevo"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True
    server: ChatServer

    def do_GET(self) -> None:
        """Tell what is served."""
        try:
            self._json(200, self._found(self._path()))
        except WireError as error:
            self._error(error)

    def do_POST(self) -> None:
        """Answer a chat."""
        try:
            body = self._body()
            if self._path() != "/chat/completions":
                raise _no_such(self.path)
            request = read_request(body, self.server.model)
            result = self.server.desk.submit(request).result()
        except WireError as error:
            self._error(error)
            return
        if request.stream:
            self._stream(chunks(self._head(), request, result))
        else:
            self._json(200, completion(self._head(), request, result))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no proper request, as JSON too."""
        self.close_connection = True
        self._error(WireError(message or HTTPStatus(code).phrase, status=code))

    def log_message(self, format: str, *args: object) -> None:
        """Keep the terminal free."""

    def _found(self, path: str) -> dict[str, Any]:
        name = self.server.model
        served = {"id": name, "object": "model", "created": self.server.created}
        served["owned_by"] = "coevo"
        if path == "/health":
            return {"status": "ok"}
        if path == "/models":
            return {"object": "list", "data": [served]}
        if path.startswith("/models/"):
            asked = unquote(path.removeprefix("/models/"))
            if asked != name:
                raise unknown_model(asked, name)
            return served
        raise _no_such(self.path)

    def _path(self) -> str:
        path = urlsplit(self.path).path.rstrip("/")
        return path.removeprefix("/v1")

    def _head(self) -> dict[str, Any]:
        number = next(self.server.count)
        made = {"id": f"chatcmpl-{self.server.created:x}-{number}", "created": int(time.time())}
        return {**made, "model": self.server.model}

    def _body(self) -> bytes:
        """Read the whole body, so that the connection can be used again."""
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal():
            self.close_connection = True
            raise WireError("a request needs a Content-Length", status=411)
        if int(size) > MOST_BYTES:
            self.close_connection = True
            raise WireError(f"a request may have {MOST_BYTES} bytes, not {size}", status=413)
        return self.rfile.read(int(size))

    def _json(self, status: int, data: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(data).encode("ascii"))

    def _error(self, error: WireError) -> None:
        self._json(error.status, error.body())

    def _stream(self, parts: Iterator[dict[str, Any]]) -> None:
        """Send server-sent events; the end of the connection is the end of the stream."""
        self.close_connection = True
        self._begin(200, "text/event-stream")
        for part in parts:
            self.wfile.write(f"data: {json.dumps(part)}\n\n".encode("ascii"))
        self.wfile.write(b"data: [DONE]\n\n")

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self._begin(status, kind, len(body))
        if self.command != "HEAD":
            self.wfile.write(body)

    def _begin(self, status: int, kind: str, size: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if size is not None:
            self.send_header("Content-Length", str(size))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()


def _no_such(path: str) -> WireError:
    return WireError(
        f"there is no {path} here; there are /v1/chat/completions and /v1/models", status=404
    )
