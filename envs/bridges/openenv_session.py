"""A connection to an OpenEnv server; its episode is copied by replay on another connection.

    GET  /metadata, /schema
    WS   /ws  {"type": "reset", "data": {"seed": ..}}, {"type": "step", "data": ACTION}
              -> {"type": "observation", "data": {"observation": {..}, "reward", "done"}}
              or {"type": "error", "data": {"message", "code"}}

What a server says is data: it is checked and bounded. Redirects are not followed.
"""

from __future__ import annotations

import copy
import functools
import http.client
import importlib
import json
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Self

from coevo.envs.core.addresses import checked
from coevo.envs.core.errors import CoevoError, ConfigError, DataError, missing_extra

LARGEST = 2**22
"""Bytes of an answer that are read."""
REFUSALS = ("VALIDATION_ERROR", "EXECUTION_ERROR")
"""Codes of errors that are due to what was sent."""


class ServerFailedError(DataError):
    """A server did not answer, or not in the agreed form."""

    exit_code = 1


class Refused(CoevoError):
    """The server cannot take an action."""


class OpenEnvServer:
    """Where a server is, and how it is asked.

    Args:
        url: `http://HOST:PORT` or `https://HOST`, with the path that it is under.
        allow_hosts: further hosts that are asked without encryption.
        timeout: seconds until an answer is given up.
        token: sent as `Authorization: Bearer TOKEN`.
    """

    def __init__(
        self, url: str, allow_hosts: Sequence[str], timeout: float, token: str | None
    ) -> None:
        self.url, self.timeout = url.rstrip("/"), timeout
        self.parts = checked(self.url, allow_hosts, "replies")
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    @functools.cached_property
    def about(self) -> dict[str, Any]:
        """What the server says of itself: name and description."""
        return self.get("metadata")

    @functools.cached_property
    def action(self) -> dict[str, Any]:
        """The schema of an action."""
        found = self.get("schema").get("action")
        return found if isinstance(found, dict) else {}

    def get(self, name: str) -> dict[str, Any]:
        """Return the object at a path of the server; nothing where there is none.

        Raises:
            ServerFailedError: the server does not answer.
        """
        secure = self.parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        line = kind(str(self.parts.hostname), self.parts.port, timeout=self.timeout)
        try:
            line.request("GET", f"{self.parts.path}/{name}", headers=self.headers)
            answer = line.getresponse()
            text = answer.read(LARGEST + 1)
            if answer.status != http.HTTPStatus.OK or len(text) > LARGEST:
                return {}
            return dict(json.loads(text))
        except (OSError, http.client.HTTPException) as error:
            raise self.failed(error) from None
        except (ValueError, TypeError, RecursionError):
            return {}
        finally:
            line.close()

    def connect(self) -> Any:
        """Return an open connection.

        Raises:
            ServerFailedError: there is none.
            MissingExtraError: websockets is not installed.
        """
        try:
            client = importlib.import_module("websockets.sync.client")
            refused = importlib.import_module("websockets.exceptions").WebSocketException
        except ImportError as error:
            raise missing_extra(error.name or "websockets", "bridges") from None
        address = f"{self.url.replace('http', 'ws', 1)}/ws"
        try:
            return client.connect(
                address,
                additional_headers=self.headers,
                open_timeout=self.timeout,
                max_size=LARGEST,
                proxy=None,
            )
        except (OSError, refused) as error:
            raise self.failed(error) from None

    def failed(self, why: object) -> ServerFailedError:
        """Return the error for a server that does not answer as it should."""
        text = " ".join(str(why).split())[:200] or type(why).__name__
        return ServerFailedError(f"{self.url}: {text}")


class Session:
    """One episode after the other on a server; a copy goes on by itself.

    Args:
        server: where.
    """

    def __init__(self, server: OpenEnvServer) -> None:
        self.server = server
        self._sent: list[dict[str, Any]] = []
        self._last: dict[str, Any] = {}
        self._line: Any = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        made = type(self)(self.server)
        made._sent, made._last = list(self._sent), copy.deepcopy(self._last, memo)
        return made

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_line": None}

    def reset(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Start an episode; return observation, reward and done.

        Raises:
            ConfigError: the server refuses the arguments.
            ServerFailedError: it does not answer, or not in the agreed form.
        """
        self._sent = []
        try:
            return self._ask({"type": "reset", "data": dict(arguments)})
        except Refused as error:
            raise ConfigError(f"arguments={dict(arguments)} are refused: {error}") from None

    def step(self, action: Any) -> dict[str, Any]:
        """Send an action; return observation, reward and done.

        Raises:
            Refused: the server cannot take it.
            ServerFailedError: it does not answer, or not in the agreed form.
        """
        if self._line is None:
            self._replay()
        return self._ask({"type": "step", "data": action})

    def _replay(self) -> None:
        sent, last, self._sent = self._sent, self._last, []
        for message in sent:
            again = self._ask(message)
        if not sent or again != last:
            raise ServerFailedError(
                f"{self.server.url}: the same seed and replies gave another episode, so that it "
                "cannot be copied"
            )

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        if self._line is None:
            self._line = self.server.connect()
            weakref.finalize(self, self._line.close)
        errors = importlib.import_module("websockets.exceptions")
        try:
            self._line.send(json.dumps(message))
            said = json.loads(self._line.recv(timeout=self.server.timeout))
        except (OSError, ValueError, RecursionError, errors.WebSocketException) as error:
            self._line = None
            raise self.server.failed(error) from None
        answer = self._answer(said)
        self._sent, self._last = [*self._sent, message], answer
        return answer

    def _answer(self, said: Any) -> dict[str, Any]:
        """Return what the server answers, in its agreed form."""
        data = said.get("data") if isinstance(said, Mapping) else None
        if not isinstance(data, Mapping):
            raise self.server.failed("an answer must be {type, data}")
        if said.get("type") == "error":
            why = " ".join(str(data.get("message")).split())[:200]
            if data.get("code") in REFUSALS:
                raise Refused(why)
            raise self.server.failed(f"{data.get('code')}: {why}")
        seen, done = data.get("observation"), data.get("done")
        if not isinstance(seen, Mapping) or not isinstance(done, bool):
            raise self.server.failed("an answer must have {observation, reward, done}")
        return {"observation": dict(seen), "reward": data.get("reward"), "done": done}
