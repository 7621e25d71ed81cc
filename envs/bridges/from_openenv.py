"""Any OpenEnv server as a text environment.

Agents        the seats in the server's words; player_0 where it has one
Observation   chat: what the server says of itself, then at each turn what it shows, in words
Action        a move of those that the server lists (`legal_actions`), in square brackets; else any
              text, or a number or an object of JSON, as the server's schema has it
Reward        the server's own
Ends          when the server says so
Options       url; seats; arguments of its reset; field: of the action, for the reply; token_from:
              environment variable with the token; allow_hosts; timeout; payoffs
References    none

A server of ours (as_openenv) says who is asked and pays every seat. The episode ends, and who
replied loses, where the server refuses a reply. A copy of an episode is made by replay, so the
server must give the same episode for the same seed; one that does not is refused when it is copied.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field

from coevo.envs.bridges.observations import described
from coevo.envs.bridges.openenv_session import OpenEnvServer, Refused, Session
from coevo.envs.core.config import config, real
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Parse, Status, answer, last_mark, missing, spoken
from coevo.envs.core.quoting import encodable, visible
from coevo.envs.core.task import Task
from coevo.envs.games.states import shorten

SEEN, TERSE, SAID = 8000, 400, 8000
"""Characters of an observation in full and in terse style, and of a reply that are sent."""
MOST = 4096
"""Legal moves that are taken from a server."""


@config
class OpenEnvConfig:
    """Which server, and how it is played."""

    url: str = "http://localhost:8000"
    """http on this machine, https, or http on a host of `allow_hosts`."""
    seats: tuple[str, ...] = ("player_0",)
    """Who plays: all seats of a server that has several, or some."""
    arguments: Mapping[str, Any] = Field(default_factory=dict)
    """Arguments of the server's reset, beside the seed."""
    field: str | None = None
    """Field of the action that holds the reply; None for the only one that is required, and for the
    whole action as JSON where there are several."""
    token_from: str | None = None
    """Environment variable that holds the token of the server."""
    allow_hosts: tuple[str, ...] = ()
    """Further hosts that are asked without encryption."""
    timeout: Annotated[float, real(above=0)] = 60.0
    """Seconds until an answer is given up."""
    payoffs: tuple[Annotated[float, real()], Annotated[float, real()]] = (-1.0, 1.0)
    """Lowest and highest return of a seat."""


class OpenEnvTask(Task[OpenEnvConfig]):
    env_id = "coevo/openenv-v0"
    config_class = OpenEnvConfig
    slow = True

    def __init__(self, config: OpenEnvConfig) -> None:
        super().__init__(config)
        if not config.seats or len(set(config.seats)) < len(config.seats):
            raise ConfigError(f"seats={list(config.seats)} must be different names, at least one")
        self.seats = config.seats
        self.payoff_range = config.payoffs
        token = os.environ.get(config.token_from or "")
        if config.token_from and not token:
            raise ConfigError(f"token_from={config.token_from!r} names no environment variable")
        self.server = OpenEnvServer(config.url, config.allow_hosts, config.timeout, token)
        self.session = Session(self.server)
        self.moves: list[str] | None = None
        self.asks = False

    def __copy__(self) -> Self:
        made = super().__copy__()
        made.session = Session(self.server)
        return made

    @property
    def field(self) -> str | None:
        """Field of the action that holds the reply."""
        return self.config.field or _only_field(self.server.action)

    # ---- Rules ---------------------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        self.shown: dict[str, list[Any]] = {seat: [] for seat in self.seats}
        self.told = dict.fromkeys(self.seats, "")
        asked = dict(self.config.arguments)
        if len(self.seats) > 1:
            asked.setdefault("seats", list(self.seats))
        self._take(self.session.reset(asked | {"seed": int(rng.integers(2**31))}))

    def to_move(self) -> Sequence[str]:
        return () if self.over else (self.mover,)

    def legal(self, seat: str) -> Sequence[str] | None:
        """Return the moves that the server lists; None where it reads what is said."""
        return self.moves

    def read(self, seat: str, text: str) -> Parse:
        if self.moves is not None:
            return super().read(seat, text)
        kind = self._kind()
        if kind == "string":
            return Parse(encodable(spoken(text))[:SAID], Status.LEGAL)
        said = spoken(text)
        if kind in ("integer", "number", "boolean"):
            mark = last_mark(text)
            said = said if mark is None else mark.text
        try:
            move = json.loads(said)
        except (ValueError, RecursionError):
            return missing(text, self.form(seat))
        if not isinstance(move, _PYTHON.get(kind, object)) or (kind != "boolean" and move is True):
            return missing(text, self.form(seat))
        return Parse(json.dumps(move)[:SAID], Status.LEGAL)

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        ((seat, said),) = moves.items()
        move = said if self._kind() == "string" else json.loads(said)
        if self.moves is not None and self.asks:
            move = answer(said)
        try:
            found = self.session.step(move if self.field is None else {self.field: move})
        except Refused:  # a reply that the server cannot take: the player of that reply loses
            self.over = True
            return {seat: self.payoff_range[0]}
        self._take(found)
        given = found["observation"].get("rewards")
        if not isinstance(given, Mapping):
            given = {seat: found["reward"] or 0.0}
        return {who: _paid(reward) for who, reward in given.items() if who in self.seats}

    def _take(self, found: Mapping[str, Any]) -> None:
        """Take in who is asked and what is shown to them."""
        seen, self.over = found["observation"], found["done"]
        self.asks = isinstance(seen.get("seat"), str)  # a server of ours: see as_openenv
        self.mover = seen["seat"] if self.asks else self.seats[0]
        self.moves = _moves(seen.get("legal_actions"), self._kind())
        if self.over:
            return
        if self.mover not in self.seats:
            raise ConfigError(
                f"seats={list(self.seats)}, but the server asks {self.mover}: name its seats, "
                "or give the one that you play in arguments, {seats: [..]}"
            )
        messages = seen.get("messages")
        if not _is_chat(messages):
            self.told[self.mover] = visible(described(seen)).strip()
            return
        before, self.shown[self.mover] = self.shown[self.mover], messages
        new = messages[len(before) :] if messages[: len(before)] == before else messages
        texts = (m["content"] for m in new if m["role"] != "assistant")
        self.told[self.mover] = visible("\n\n".join(texts)).strip()

    def _kind(self) -> str:
        """Return the kind of what a seat replies, in the words of JSON's schemas."""
        if self.field is None:
            return "object"
        known = self.server.action.get("properties", {}).get(self.field)
        return str(known.get("type", "string")) if isinstance(known, Mapping) else "string"

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        name, what = self.server.about.get("name", ""), self.server.about.get("description", "")
        said = visible(shorten(f"{name}: {what}", SEEN // 4))
        return f"An environment of OpenEnv. You are {seat}. {said}\n{self._how()}"

    def _how(self) -> str:
        if self.moves is not None:
            return "End your reply with a legal move in square brackets."
        kind = self._kind()
        if kind == "string":
            return "All of your reply but its thoughts goes to it."
        if kind != "object":
            return f"Your reply is {self.form('')}."
        fields = self.server.action.get("properties", {})
        return f"Your reply is {self.form('')} with fields of: {visible(json.dumps(fields))[:SEEN]}"

    def form(self, seat: str) -> str:
        kind = self._kind()
        if kind == "string" or self.moves is not None:
            return ""
        return "an object of JSON" if kind == "object" else f"a JSON {kind} in square brackets"

    def situation(self, seat: str) -> str:
        return shorten(self.told.get(seat) or "It is your turn.", SEEN)

    def terse(self, seat: str) -> str:
        told = shorten(" ".join(self.situation(seat).split()), TERSE)
        return f"You are {seat}. {told} {self.form(seat)}".strip()

    def draw(self) -> str:
        return "\n\n".join(f"{seat}:\n{told}" for seat, told in self.told.items() if told)

    def at_risk(self, seat: str) -> float:
        return max(0.0, -self.payoff_range[0])


_PYTHON: dict[str, Any] = {
    "integer": int, "number": int | float, "boolean": bool, "object": dict, "array": list,
}  # fmt: skip


def _only_field(schema: Mapping[str, Any]) -> str | None:
    """Return the only field that an action must have."""
    required = schema.get("required")
    return str(required[0]) if isinstance(required, list) and len(required) == 1 else None


def _moves(listed: Any, kind: str) -> list[str] | None:
    """Return the moves that a server lists, where each is one reply."""
    wanted = {"string": str, "integer": int}.get(kind)
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST or wanted is None:
        return None
    if not all(type(move) is wanted for move in listed):
        return None
    moves = [str(move) for move in listed]
    plain = all(m.isprintable() and m == m.strip() != "" and not set("[]") & set(m) for m in moves)
    return moves if plain and len(set(moves)) == len(moves) else None


def _is_chat(messages: Any) -> bool:
    return isinstance(messages, list) and all(
        isinstance(m, Mapping) and isinstance(m.get("content"), str) and "role" in m
        for m in messages
    )


def _paid(reward: Any) -> float:
    if isinstance(reward, int | float) and np.isfinite(reward):
        return float(reward)
    raise DataError(f"the server pays {reward!r}, a finite number is expected")


raw_env, env = turn_based(OpenEnvTask)
