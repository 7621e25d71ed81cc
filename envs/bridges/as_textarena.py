"""Our environments as TextArena's: register them, then `textarena.make("coevo/kuhn_poker-v0")`.

A game has TextArena's four methods and its state, so that its wrappers and agents work on it. Its
players are our seats in order; illegal moves cost what our environment says.
"""

from __future__ import annotations

import importlib
from typing import Any

from coevo.envs.core.errors import ConfigError, missing_extra
from coevo.envs.core.registry import list_envs, make


class CoevoGame:
    """An environment behind TextArena's interface."""

    def __init__(self, coevo_id: str, **options: Any) -> None:
        self._textarena = textarena()
        self.env = make(coevo_id, **options)
        self.seats = list(self.env.possible_agents)

    def reset(self, num_players: int, seed: int | None = None) -> None:
        if num_players != len(self.seats):
            raise ConfigError(f"num_players={num_players}: {self.env} is for {len(self.seats)}")
        self.env.reset(seed=seed)
        self.state = self._textarena.State(num_players=num_players)
        self.state.standard_resets(role_mapping=dict(enumerate(self.seats)))
        self._told = dict.fromkeys(self.seats, 0)
        self._go_on()

    def get_observation(self) -> tuple[int, list[tuple[int, str, Any]]]:
        """Return who moves, and what this player has not seen yet."""
        return self.state.current_player_id, self.state.get_current_player_observation()

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Take the reply of the player who moves; return whether the game is over, and notes."""
        player = self.state.current_player_id
        self.env.step(action)
        turn = self.env.episode.turns[-1]
        self.state.game_info[player]["turn_count"] += 1
        self.state.game_info[player]["invalid_move"] |= turn.status != "legal"
        self._go_on()
        return self.state.step()

    def close(self) -> tuple[dict[int, float] | None, dict[int, dict[str, Any]]]:
        """Return what every player got, None while the game goes on, and notes on every player."""
        return self.state.close()

    def _go_on(self) -> None:
        """Tell the next player what its chat holds beyond what it knows; notice the end."""
        env, state = self.env, self.state
        if not env.awaiting:
            state.done = True
            state.rewards = {p: env.episode.total(a) for p, a in enumerate(self.seats)}
            for info in state.game_info.values():
                info["reason"] = env.episode.note or str(env.episode.stop)
            return
        seat = env.agent_selection
        player = state.current_player_id = self.seats.index(seat)
        chat, kinds = env.chat(seat), self._textarena.ObservationType
        start = self._told[seat] if env.prompt_style == "full" else 0
        for message in chat[start:]:
            own = message["role"] == "assistant"
            first = message["role"] == "system"
            kind = kinds.PLAYER_ACTION if own else kinds.PROMPT if first else kinds.GAME_MESSAGE
            sender = player if own else self._textarena.GAME_ID
            state.add_observation(message["content"], kind, from_id=sender, to_id=player)
        self._told[seat] = len(chat)


def textarena() -> Any:
    """Return the package, or say in one line what is missing."""
    try:
        return importlib.import_module("textarena")
    except ImportError as error:
        raise missing_extra(error.name or "textarena", "bridges") from None


def register_games() -> list[str]:
    """Put every listed environment into TextArena's registry; return the ids, which are ours.

    As with its own games, an id ends in `-raw` for messages instead of one text.
    """
    package = textarena()
    registry = importlib.import_module("textarena.envs.registration")
    wrappers = {"default": [package.wrappers.LLMObservationWrapper]}
    ids = [spec.id for spec in list_envs() if spec.id not in registry.ENV_REGISTRY]
    for id in ids:
        entry = f"{__name__}:{CoevoGame.__name__}"
        registry.register_with_versions(id, entry, wrappers, coevo_id=id)
    return ids
