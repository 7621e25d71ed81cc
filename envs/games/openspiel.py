"""Any OpenSpiel game as a text environment; skins give the classic games their words.

Rules, legality, chance and payoffs are OpenSpiel's. A skin is a subclass that says how the
state is described and how moves are named. Every text is a pure function of the OpenSpiel
state and the seat, so exact evaluation can ask for the chat of any state.

Agents        player_0 .. player_n-1, OpenSpiel's players
Observation   chat: rules, then at each turn what the others did and the state as this seat sees it
Action        text ending in a legal move in square brackets
Reward        change of OpenSpiel's returns
Ends          when OpenSpiel's state is terminal; truncated only by max_cycles
References    default game Pig to 20 points, worth nothing on average in random self-play
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import pyspiel
from gymnasium import spaces

from coevo.envs.core.chat import Chat, Message
from coevo.envs.core.config import config, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.parsing import ANSWER_FORMAT, answer
from coevo.envs.core.settings import PromptStyle
from coevo.envs.core.task import BOUND, Replies, Task, mostly
from coevo.envs.games.moves import Moves, know_moves, known_moves
from coevo.envs.games.openings import drawn, make_moves, opening_moves, random_moves
from coevo.envs.games.states import (
    CHANCE,
    clean_name,
    game_parameters,
    is_open,
    listing,
    load_game,
    movers,
    named,
    own_decisions,
    picture,
    resampled,
    shorten,
    view,
)
from coevo.envs.games.story import Names, narrated, since, story
from coevo.envs.games.tensors import encode, size

FULL_LENGTH, TERSE_LENGTH = 4000, 240
"""Characters of a generic description; the middle of a longer one is cut out."""


@config
class OpenSpielConfig:
    game: str | None = None
    """OpenSpiel game string; None takes the skin's own. A skin takes its own game only, with the
    parameters in `settable`; those that are not given keep the skin's values."""
    openings: Annotated[int, whole(0)] = 0
    """Exploring starts (Sutton & Barto 2018, 5.3): an episode begins after a number of random legal
    moves, drawn evenly from 0 to this. They belong to no seat, and an opening that would end the
    game is drawn again."""


class OpenSpielTask(Task[OpenSpielConfig]):
    """Base of every game on OpenSpiel rules; on its own, a generic skin for any game."""

    config_class = OpenSpielConfig
    env_id = "coevo/openspiel-v0"
    default_game: ClassVar[str] = "pig(winscore=20)"
    settable: ClassVar[Mapping[str, Sequence[Any]] | None] = None
    """Game parameters that a skin can describe, with their values; None for any game at all."""
    title: ClassVar[str] = ""
    """Short name used in terse prompts; empty takes OpenSpiel's name."""
    terse_joint: ClassVar[str] = ", "
    """What stands between the moves of a terse prompt."""
    terse_most: ClassVar[int] = 40
    """Legal moves written out in a terse prompt."""
    fixed_names: ClassVar[bool] = False
    """Whether names depend on player and action alone; they are then remembered. A subclass that
    names moves by the state says so with False."""
    state: pyspiel.State = None
    """What is played; None before the first reset."""

    def __init__(self, config: OpenSpielConfig) -> None:
        super().__init__(config)
        self.game = load_game(self._game_string(config.game))
        self.openings = opening_moves(config.openings, self.game)
        kind = self.game.get_type()
        self.seats = tuple(f"player_{i}" for i in range(self.game.num_players()))
        self.payoff_range = (self.game.min_utility(), self.game.max_utility())
        self.zero_sum = kind.utility == pyspiel.GameType.Utility.ZERO_SUM
        settled = kind.chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC
        self.draws = not settled or self.openings > 0
        self.simultaneous = kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
        # Asked at every turn, and each answer of OpenSpiel is a new copy.
        self._game_text, self._kind, self._open_to_all = str(self.game), kind, is_open(self.game)
        self._perfect = kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION

    def _game_string(self, game: str | None) -> str:
        """Complete a game string by the skin's own parameters."""
        if game is None:
            return self.default_game
        if self.settable is None:
            return game
        name, given = game_parameters(game)
        own, fixed = game_parameters(self.default_game)
        if name != own:
            raise ConfigError(
                f"game={game!r}: {self.env_id} plays {own}; coevo/openspiel-v0 plays any game"
            )
        for parameter, value in given.items():
            allowed = self.settable.get(parameter, ())
            if value not in allowed:
                choice = f"takes {named(allowed)}" if allowed else "cannot be set"
                raise ConfigError(f"game={game!r}: {parameter} {choice} in {self.env_id}")
        return str(pyspiel.load_game(own, {**fixed, **given}))

    # ---- Skin: pure functions of state and seat ---------------------------------------------

    def rules_text(self, player: int) -> str:
        """Explain the rules and who this seat is."""
        kind, (low, high) = self.game.get_type(), self.payoff_range
        goal = {
            pyspiel.GameType.Utility.ZERO_SUM: "what one player wins the others lose",
            pyspiel.GameType.Utility.IDENTICAL: "all players are paid the same",
        }.get(kind.utility, "each player has a payoff of its own")
        turns = "All players move at the same time. " if self.simultaneous else ""
        return (
            f"{kind.long_name}, played by its usual rules. {turns}Your total payoff lies between "
            f"{low:g} and {high:g}, and {goal}.\n"
            f"You are player_{player}, one of {self.game.num_players()} players."
        )

    def move_name(self, state: pyspiel.State, player: int, action: int) -> str:
        """Name an action; equal names of one state are told apart by `legal_moves`."""
        return clean_name(state.action_to_string(player, action))

    def describe_fully(self, state: pyspiel.State, player: int) -> str:
        """Describe the state as this seat may see it, for the full style."""
        news = self.news(state, player)
        body = shorten(picture(state, player), FULL_LENGTH)
        return f"{news}\n{body}" if news else body

    def describe_tersely(self, state: pyspiel.State, player: int) -> str:
        """Describe the state as this seat may see it, in a few dozen tokens."""
        seen = shorten(" ".join(picture(state, player).split()), TERSE_LENGTH)
        return f"You are player {player}. {seen}"

    def draw_state(self, state: pyspiel.State) -> str:
        """Draw the whole state for an onlooker."""
        return str(state)

    def at_risk_at(self, state: pyspiel.State, player: int) -> float:
        """Return what a player loses by giving up here: by default all that can be lost."""
        return max(0.0, -self.payoff_range[0])

    def terse_moves(self, state: pyspiel.State, player: int) -> str:
        """List the legal moves for a terse prompt, or say in a few words which they are."""
        return listing(list(self.legal_moves(state, player)), self.terse_most, self.terse_joint)

    def good_moves(self, state: pyspiel.State, player: int) -> Mapping[int, float]:
        """Return action -> weight of what the skin's expert plays; nothing where it has none.

        An expert knows what its seat may know, and no more.
        """
        return {}

    # ---- Texts made from the skin -----------------------------------------------------------

    def legal_moves(self, state: pyspiel.State, player: int) -> dict[str, int]:
        """Return move name -> OpenSpiel action, in OpenSpiel's order; do not change it."""
        return self._moves(state, player).actions

    def _moves(self, state: pyspiel.State, player: int) -> Moves:
        kept = self._names if state is self.state else {}
        moves = kept.get(player)
        if moves is None:  # prompts, infos and the reply all ask
            actions = state.legal_actions(player)
            key = (type(self), self._game_text, player, *actions) if self.fixed_names else None
            moves = known_moves(key)
            if moves is None:
                names = [self.move_name(state, player, a) for a in actions]
                moves = know_moves(key, Moves(names, actions))
            kept[player] = moves
        return moves

    def name_of(self, state: pyspiel.State, player: int, action: int) -> str:
        """Return the name that an action has among the legal moves of a state."""
        if player == CHANCE:
            return clean_name(state.action_to_string(player, action))
        return next(name for name, a in self.legal_moves(state, player).items() if a == action)

    def news(self, state: pyspiel.State, player: int) -> str:
        """Say what others and chance did since this seat's last move; empty if that is hidden."""
        if not self._open_to_all:
            return ""
        steps = self._steps if state is self.state else story(state, self.name_of)
        own, steps = since(steps, player)
        said = ", ".join(narrated(steps, player))
        when = "Since your last move" if own else "So far"
        return f"{when}: {shorten(said, 400)}." if said else ""

    def terse_text(self, state: pyspiel.State, player: int) -> str:
        """Return the message of one turn in terse style."""
        title = self.title or self.game.get_type().short_name
        body = self.describe_tersely(state, player)
        return f"{title}. {body}. Moves: {self.terse_moves(state, player)}. Answer [move]"

    def turn_text(self, state: pyspiel.State, player: int) -> str:
        """Return the user message of one turn in full style."""
        moves = self._moves(state, player).listed()
        return f"{self.describe_fully(state, player)}\nLegal moves: {moves}"

    def chat_at(self, state: pyspiel.State, player: int, style: PromptStyle) -> Chat:
        """Return the chat of a seat at any state, as if it had answered with bare moves so far."""
        if style == "terse":
            return (Message(role="user", content=self.terse_text(state, player)),)
        chat: list[Message] = []
        for past, action in own_decisions(state, player):
            self._extend(chat, past, player)
            move = answer(self.name_of(past, player, action))
            chat.append(Message(role="assistant", content=move))
        self._extend(chat, state, player)
        return tuple(chat)

    def known_at(self, state: pyspiel.State, player: int) -> dict[str, Any]:
        """Return what a seat knows, for oracles; the history only where nothing is hidden."""
        seen = view(state, player, self._kind)
        known = {"game": self._game_text, "player": player, "information_state": seen}
        if self._perfect:
            known["history"] = state.history()
        return known

    def _extend(self, chat: list[Message], state: pyspiel.State, player: int) -> None:
        if not chat:
            rules = f"{self.rules_text(player)}\n{ANSWER_FORMAT}"
            chat.append(Message(role="system", content=rules))
        chat.append(Message(role="user", content=self.turn_text(state, player)))

    # ---- Task -------------------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        self._rng, self.state = rng, self.game.new_initial_state()
        self._names: dict[int, Moves] = {}
        self._steps: list[Names] = []  # so far, where nothing is hidden
        self._roll()
        if self.openings:
            self._open(int(rng.integers(self.openings + 1)))
        self._returns = list(self.state.returns()) if self.openings else [0.0] * len(self.seats)

    def _open(self, moves: int) -> None:
        """Make random legal moves; where they end the game, make others."""
        start = self.state
        self.state = random_moves(start, moves, self._rng)
        while self.state.is_terminal():  # `opening_moves` has seen that it does not always happen
            self.state = random_moves(start, moves, self._rng)
        self._steps = story(self.state, self.name_of) if self._open_to_all else []

    def _roll(self) -> None:
        """Let chance move until a player moves, and remember what it did."""
        while self.state.is_chance_node():
            action = drawn(self.state, self._rng)
            if self._open_to_all:
                self._steps.append({CHANCE: self.name_of(self.state, CHANCE, action)})
            self.state.apply_action(action)

    def to_move(self) -> Sequence[str]:
        if self.simultaneous:
            return [self.seats[p] for p in movers(self.state)]
        return [] if self.state.is_terminal() else [self.seats[self.state.current_player()]]

    def legal(self, seat: str) -> Sequence[str]:
        return [*self._moves(self.state, self.seats.index(seat)).actions]

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        names: Names = {}
        actions: dict[int, int] = {}
        for seat, move in moves.items():
            player = self.seats.index(seat)
            names[player] = move
            actions[player] = self._moves(self.state, player).actions[move]
        if self._open_to_all:
            self._steps.append(names)
        make_moves(self.state, actions)
        self._names = {}
        if self.draws:
            self._roll()
        before, self._returns = self._returns, list(self.state.returns())
        paid = zip(self.seats, self._returns, before, strict=True)
        return {seat: now - then for seat, now, then in paid}

    def rules(self, seat: str) -> str:
        return self.rules_text(self.seats.index(seat))

    def situation(self, seat: str) -> str:
        return self.turn_text(self.state, self.seats.index(seat))

    def terse(self, seat: str) -> str:
        return self.terse_text(self.state, self.seats.index(seat))

    def draw(self) -> str:
        return self.draw_state(self.state)

    def at_risk(self, seat: str) -> float:
        return self.at_risk_at(self.state, self.seats.index(seat))

    def expert(self, seat: str, skill: float) -> Replies | None:
        """Return the skin's good moves with probability `skill`, else any legal move."""
        player = self.seats.index(seat)
        good, moves = self.good_moves(self.state, player), self.legal_moves(self.state, player)
        weights = {name: good[action] for name, action in moves.items() if action in good}
        return mostly(list(moves), weights, skill) if good else None

    @property
    def numbers(self) -> int:  # type: ignore[override]  # the game says how many there are
        return int(self.game.num_distinct_actions())

    def numbered(self, seat: str) -> Mapping[int, str]:
        return {a: n for n, a in self.legal_moves(self.state, self.seats.index(seat)).items()}

    @property
    def array_space(self) -> spaces.Box:
        return spaces.Box(-BOUND, BOUND, (size(self.game),), np.float32)

    def array(self, seat: str) -> np.ndarray:
        if self.state.is_terminal():
            return self.no_array()
        return encode(self.state, self.seats.index(seat))

    def info(self, seat: str) -> dict[str, Any]:
        return self.known_at(self.state, self.seats.index(seat))

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Draw the state among those that the seat cannot tell apart."""
        other = resampled(self.state, self.seats.index(seat), rng.random)
        if other is not None:
            self.state, self._names = other, {}
        return other is not None


raw_env, env, parallel_env = simultaneous(OpenSpielTask)
