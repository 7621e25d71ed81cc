"""Our environments as OpenEnv servers: an episode per connection, whose client has seats.

    from coevo.envs.bridges.as_openenv import serve

    serve("coevo/kuhn_poker-v0", port=8000)

A client says `reset(seed=3, seats=["player_1"])`; an agent of ours then has the other seats. Every
observation is that of the seat that is asked next, so a client never sees what only the seats of
others see. This module needs openenv.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import uvicorn
from openenv.core.env_server.http_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import (
    Action,
    ConcurrencyConfig,
    EnvironmentMetadata,
    Observation,
    State,
)
from pydantic import Field

from coevo.envs.core.addresses import LOOPBACK
from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.opponents import Opponent, opponent
from coevo.envs.core.registry import make, spec

__all__ = ["CoevoEnvironment", "Reply", "SeatObservation", "serve", "server"]

LONGEST = 65_536
"""Characters of a reply."""
LARGEST = 2**20
"""Bytes of a message or request that are read."""


class Reply(Action):
    """What a seat says."""

    text: str = Field(max_length=LONGEST)
    """The reply, as of a model."""
    seat: str | None = None
    """Whose it is; None for the seat that is asked."""


class SeatObservation(Observation):
    """What the seat that is asked sees; `reward` is what the last reply was paid at once."""

    seats: list[str] = []  # noqa: RUF012  # pydantic copies defaults
    """All seats of the environment."""
    seat: str | None = None
    """Who is asked; None when the episode is over."""
    messages: list[dict[str, str]] = []  # noqa: RUF012  # pydantic copies defaults
    """Its chat so far: role and content."""
    legal_actions: list[str] | None = None
    """Its legal moves; None where any text is one."""
    rewards: dict[str, float] = {}  # noqa: RUF012  # pydantic copies defaults
    """What every seat of the client was paid since the last observation."""
    outcome: dict[str, float] = {}  # noqa: RUF012  # pydantic copies defaults
    """At the end, the measures of the episode."""


class CoevoEnvironment(Environment[Reply, SeatObservation, State]):
    """One environment of ours, as OpenEnv drives it.

    Args:
        env_id: registered id.
        opponents: who has the seats that the client leaves: random, expert:0.5, oracle.
        **options: arguments of the environment.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, env_id: str, opponents: str | Opponent = "random", **options: Any) -> None:
        super().__init__()
        self.env: TextEnv = make(env_id, **options)
        self._other = opponent(opponents)
        self._mine: tuple[str, ...] = ()
        self._paid: dict[str, float] = {}
        self._state = State()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        seats: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> SeatObservation:
        """Start an episode.

        Args:
            seed: as of the environment; None draws one.
            episode_id: a name for it.
            seats: whose replies the client gives; None for all.
            **kwargs: ignored.

        Raises:
            ConfigError: there is no such seat, or none is given.
        """
        every = self.env.possible_agents
        mine = every if seats is None else [seats] if isinstance(seats, str) else list(seats)
        for seat in mine:
            if seat not in every:
                raise unknown("seat", str(seat), every)
        if not mine:
            raise ConfigError(f"seats=[] must name at least one of {every}")
        seed = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        self.env.reset(seed=seed)
        self._rng = np.random.default_rng([seed, 7])
        self._mine = tuple(mine)
        self._paid = dict.fromkeys(mine, 0.0)
        self._state = State(episode_id=episode_id)
        self._play_others()
        return self._seen(None)

    def step(self, action: Reply, timeout_s: float | None = None, **kwargs: Any) -> SeatObservation:
        """Take the reply of the seat that is asked, and let the other seats move.

        Raises:
            ConfigError: nobody is asked, or another seat is.
        """
        if not self._mine or not self.env.awaiting:
            raise ConfigError("no seat is asked: call reset before the next step")
        asked = self.env.agent_selection
        if action.seat not in (None, asked):
            raise ConfigError(f"seat={action.seat!r} replied, but {asked} is asked")
        self.env.step(action.text)
        self._state.step_count += 1
        self._play_others()
        return self._seen(asked)

    @property
    def state(self) -> State:
        """Name and length of the episode: nothing that is hidden from a seat."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """Return what the environment is."""
        about = spec(self.env.env_id)
        return EnvironmentMetadata(name=about.id, description=about.summary)

    def _play_others(self) -> None:
        env = self.env
        while env.awaiting and env.agent_selection not in self._mine:
            env.step(self._other(env, env.agent_selection, self._rng))

    def _seen(self, replied: str | None) -> SeatObservation:
        env, over = self.env, not self.env.awaiting
        totals = {seat: float(env.episode.total(seat)) for seat in self._mine}
        rewards = {seat: total - self._paid[seat] for seat, total in totals.items()}
        self._paid = totals
        asked = None if over else env.agent_selection
        return SeatObservation(
            done=over,
            reward=None if replied is None else rewards[replied],
            seats=list(env.possible_agents),
            seat=asked,
            messages=[] if asked is None else [dict(m) for m in env.chat(asked)],
            legal_actions=None if asked is None else env.info(asked).get("legal_actions"),
            rewards=rewards,
            outcome=dict(env.episode.outcome) if over else {},
        )


class Guard:
    """ASGI middleware: who may connect, and how much they may send.

    Args:
        app: what is guarded.
        hosts: names by which the server may be called; a page in a browser that calls it by
            another name, or from another page, is refused.
        token: what a client must know, as `Authorization: Bearer TOKEN`; None for nothing.
    """

    def __init__(self, app: Any, hosts: Sequence[str], token: str | None = None) -> None:
        self._app, self._hosts, self._token = app, tuple(hosts), token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        status = 200 if scope["type"] == "lifespan" else self._status(scope)
        if status == 200:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body"})

    def _status(self, scope: Any) -> int:
        headers = {key.decode("latin-1"): text.decode("latin-1") for key, text in scope["headers"]}
        called = [f"//{headers.get('host', '')}"]
        if "origin" in headers:
            called.append(headers["origin"])
        if any(_host(name) not in self._hosts for name in called):
            return 403
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if self._token and not hmac.compare_digest(given.encode(), self._token.encode()):
            return 401
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdigit() or int(length) > LARGEST:
            return 413
        return 200


def server(
    env_id: str,
    *,
    opponents: str = "random",
    sessions: int = 64,
    idle: float = 600.0,
    hosts: Sequence[str] = LOOPBACK,
    token: str | None = None,
    **options: Any,
) -> Any:
    """Return the server as an ASGI application.

    Args:
        env_id: registered id.
        opponents: who has the seats that a client leaves.
        sessions: most connections at a time.
        idle: seconds after which a silent connection is closed.
        hosts: names by which it may be called.
        token: what a client must know; None for nothing.
        **options: arguments of the environment; a client cannot change them.

    Raises:
        ConfigError: an argument is out of range.
    """
    CoevoEnvironment(env_id, opponents, **options)  # refuses what cannot be made

    def made() -> CoevoEnvironment:
        return CoevoEnvironment(env_id, opponents, **options)

    if sessions < 1 or idle <= 0:
        raise ConfigError(f"sessions={sessions} must be at least 1, idle={idle} above 0")
    limits = ConcurrencyConfig(max_concurrent_envs=sessions, session_timeout=idle)
    app = create_fastapi_app(  # `production`: episodes only in sessions, which are counted
        made, Reply, SeatObservation, concurrency_config=limits, env_name=env_id, mode="production"
    )
    return Guard(app, hosts, token)


def serve(
    env_id: str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    hosts: Sequence[str] = (),
    **settings: Any,
) -> None:
    """Serve an environment until interrupted.

    Args:
        env_id: registered id.
        host: address to listen at; one that other machines reach needs a token.
        port: its port.
        token: what a client must know.
        hosts: further names by which the server may be called.
        **settings: as of `server`.

    Raises:
        ConfigError: other machines could connect without a token.
    """
    if host not in LOOPBACK and not token:
        raise ConfigError(f"host={host!r} is reached by other machines: set token=...")
    app = server(env_id, hosts=(*LOOPBACK, host, *hosts), token=token, **settings)
    uvicorn.run(app, host=host, port=port, ws_max_size=LARGEST, log_level="warning")


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
