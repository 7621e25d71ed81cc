"""Any OpenSpiel game as a text environment; skins give the classic games their words.

Rules, legality, chance and payoffs are OpenSpiel's. A skin is a subclass that says how the
state is described and how moves are named. Every text is a pure function of the OpenSpiel
state and the seat, so exact evaluation can ask for the chat of any state.

Agents        player_0 .. player_n-1, OpenSpiel's players
Observation   chat: rules, then at each turn the state as this seat may see it
Action        text ending in a legal move in square brackets
Reward        change of OpenSpiel's returns
Ends          when OpenSpiel's state is terminal; truncated only by max_cycles
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import pyspiel

from coevo.envs.core.chat import Chat, Message
from coevo.envs.core.env import ANSWER_FORMAT, TextEnv
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.factories import aec_factory
from coevo.envs.core.parsing import answer


@functools.lru_cache(maxsize=64)
def load_game(game: str) -> pyspiel.Game:
    """Load an OpenSpiel game from its string, e.g. `kuhn_poker` or `goofspiel(num_cards=4)`.

    Raises:
        UnknownNameError: no such game; the nearest names are listed.
        ConfigError: a parameter is wrong, or the game is not sequential or simultaneous.
    """
    name = game.partition("(")[0].strip()
    if name not in pyspiel.registered_names():
        raise unknown("OpenSpiel game", name, pyspiel.registered_names())
    try:
        loaded = pyspiel.load_game(game)
    except Exception as error:
        raise ConfigError(f"OpenSpiel refuses {game!r}: {error}") from None
    dynamics = loaded.get_type().dynamics
    if dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        raise ConfigError(f"{name} is a mean-field game; sequential and simultaneous games are offered")
    return loaded


class OpenSpielEnv(TextEnv):
    """Base of every game on OpenSpiel rules; on its own, a generic skin for any game.

    Args:
        game: OpenSpiel game string; skins fix their own.
        **kwargs: of TextEnv.
    """

    env_id = "coevo/openspiel-v0"
    default_game: ClassVar[str] = "nim(pile_sizes=3;4;5,is_misere=false)"
    title: ClassVar[str] = ""
    """Short name used in terse prompts; empty takes OpenSpiel's name."""

    def __init__(self, *, game: str | None = None, **kwargs: Any) -> None:
        self.game = load_game(game or self.default_game)
        super().__init__(**kwargs)
        if game is not None:
            self.options["game"] = game
        kind = self.game.get_type()
        self.payoff_range = (self.game.min_utility(), self.game.max_utility())
        self.zero_sum = kind.utility == pyspiel.GameType.Utility.ZERO_SUM
        self.metadata = {**self.metadata, "name": kind.short_name, "is_parallelizable": self._parallel()}

    def _parallel(self) -> bool:
        return self.game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS

    # ---- Skin: pure functions of state and seat ---------------------------------------------

    def rules_text(self, player: int) -> str:
        """Explain the rules and who this seat is."""
        kind = self.game.get_type()
        return f"You play {kind.long_name} as player {player} of {self.game.num_players()}."

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        """Name an action; names of the legal actions of one state must differ."""
        return clean_name(state.action_to_string(player, action))

    def describe(self, state: pyspiel.State, player: int) -> str:
        """Describe the state as this seat may see it, for the full style."""
        return view(state, player)

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        """Describe the state as this seat may see it, in a few dozen tokens."""
        return " ".join(view(state, player).split())

    def draw_state(self, state: pyspiel.State) -> str:
        """Draw the whole state for an onlooker."""
        return str(state)

    # ---- Texts made from the skin -----------------------------------------------------------

    def legal_moves(self, state: pyspiel.State, player: int) -> dict[str, int]:
        """Give move name -> OpenSpiel action, in OpenSpiel's order."""
        return {self.move_name(state, player, a): a for a in state.legal_actions(player)}

    def turn_text(self, state: pyspiel.State, player: int) -> str:
        """Give the user message of one turn."""
        moves = list(self.legal_moves(state, player))
        if self.prompt_style == "terse":
            title = self.title or self.game.get_type().short_name
            body = self.describe_tersely(state, player)
            return f"{title}. {body}. Moves: {', '.join(moves)}. Answer [move]"
        listed = ", ".join(map(answer, moves))
        return f"{self.describe(state, player)}\nLegal moves: {listed}"

    def system_text(self, state: pyspiel.State, player: int) -> str:
        """Give the system message: rules, seat and answer format."""
        example = answer(next(iter(self.legal_moves(state, player)), "move"))
        return f"{self.rules_text(player)}\n{ANSWER_FORMAT.format(example=example)}"

    def chat_at(self, state: pyspiel.State, player: int) -> Chat:
        """Give the chat of a seat at any state, as if it had answered with bare moves so far."""
        if self.prompt_style == "terse":
            return (Message(role="user", content=self.turn_text(state, player)),)
        chat: list[Message] = []
        for past, action in own_decisions(self.game, state, player):
            self._extend(chat, past, player)
            move = answer(self.move_name(past, player, action))
            chat.append(Message(role="assistant", content=move))
        self._extend(chat, state, player)
        return tuple(chat)

    def known_at(self, state: pyspiel.State, player: int) -> dict[str, Any]:
        """Give what a seat knows, for oracles; the history only where nothing is hidden."""
        known: dict[str, Any] = {"game": str(self.game), "information_state": view(state, player)}
        if self.game.get_type().information == pyspiel.GameType.Information.PERFECT_INFORMATION:
            known["history"] = state.history()
        return known

    def _extend(self, chat: list[Message], state: pyspiel.State, player: int) -> None:
        if not chat:
            chat.append(Message(role="system", content=self.system_text(state, player)))
        chat.append(Message(role="user", content=self.turn_text(state, player)))

    # ---- TextEnv ----------------------------------------------------------------------------

    def _seats(self) -> Sequence[str]:
        return [f"player_{i}" for i in range(self.game.num_players())]

    def _begin(self, options: Mapping[str, Any]) -> None:
        self.state = self.game.new_initial_state()
        self._returns = [0.0] * self.game.num_players()
        self._roll_chance()

    def _roll_chance(self) -> None:
        while self.state.is_chance_node():
            outcomes, chances = zip(*self.state.chance_outcomes(), strict=True)
            self.state.apply_action(int(self.np_random.choice(outcomes, p=chances)))
        self._moves_of: dict[int, dict[str, int]] = {}

    def _to_move(self) -> Sequence[str]:
        return [self.possible_agents[p] for p in movers(self.state)]

    def _names(self, agent: str) -> dict[str, int]:
        player = self.possible_agents.index(agent)
        if player not in self._moves_of:
            self._moves_of[player] = self.legal_moves(self.state, player)
        return self._moves_of[player]

    def _legal(self, agent: str) -> Sequence[str]:
        return list(self._names(agent))

    def _play(self, moves: dict[str, str]) -> dict[str, float]:
        actions = {self.possible_agents.index(a): self._names(a)[m] for a, m in moves.items()}
        if self.state.is_simultaneous_node():
            joint = [actions.get(p, pyspiel.INVALID_ACTION) for p in range(self.game.num_players())]
            self.state.apply_actions([0 if a == pyspiel.INVALID_ACTION else a for a in joint])
        else:
            self.state.apply_action(next(iter(actions.values())))
        self._roll_chance()
        before, self._returns = self._returns, list(self.state.returns())
        gained = [now - then for now, then in zip(self._returns, before, strict=True)]
        return dict(zip(self.possible_agents, gained, strict=True))

    def _rules(self, agent: str) -> str:
        return self.system_text(self.state, self.possible_agents.index(agent))

    def _situation(self, agent: str) -> str:
        return self.turn_text(self.state, self.possible_agents.index(agent))

    def _terse(self, agent: str) -> str:
        return self._situation(agent)

    def _draw(self) -> str:
        return self.draw_state(self.state)

    def _private_info(self, agent: str) -> dict[str, Any]:
        return self.known_at(self.state, self.possible_agents.index(agent))


def movers(state: pyspiel.State) -> list[int]:
    """Give the players who decide at this state; nobody at a terminal one."""
    if state.is_terminal():
        return []
    if state.is_simultaneous_node():
        return [p for p in range(state.num_players()) if state.legal_actions(p)]
    return [state.current_player()]


def view(state: pyspiel.State, player: int) -> str:
    """Give OpenSpiel's own text of what a player knows: information state, else observation."""
    kind = state.get_game().get_type()
    if kind.provides_information_state_string:
        return str(state.information_state_string(player))
    if kind.provides_observation_string:
        return str(state.observation_string(player))
    return str(state)


def own_decisions(
    game: pyspiel.Game, state: pyspiel.State, player: int
) -> Iterable[tuple[pyspiel.State, int]]:
    """Give (state, action) for each earlier decision of a player on the way to `state`."""
    past = game.new_initial_state()
    history = state.full_history()
    at = 0
    while at < len(history):
        if past.is_simultaneous_node():
            joint = [h.action for h in history[at : at + game.num_players()]]
            if past.legal_actions(player):
                yield past.clone(), joint[player]
            past.apply_actions(joint)
            at += game.num_players()
            continue
        action = history[at].action
        if not past.is_chance_node() and past.current_player() == player:
            yield past.clone(), action
        past.apply_action(action)
        at += 1


def clean_name(name: str) -> str:
    """Turn OpenSpiel's name of an action into one that fits between square brackets.

    >>> clean_name("pile:1, take:2;")
    'pile 1 take 2'
    """
    return " ".join(re.sub(r"[\[\]{};:,\"']+", " ", name).split())


raw_env = OpenSpielEnv
env = aec_factory(OpenSpielEnv)
