"""Every skin is its OpenSpiel game in other words, tells no seat what it must not know, is brief.

`pytest tests/envs/games/test_skins.py --games 10000` plays so many games of each instead of two.
"""

import numpy as np
import pyspiel
import pytest
from tokenizers import Tokenizer

from coevo.agents.models.folders import STARTER_MODEL
from coevo.envs import list_envs, make
from coevo.envs.core.parsing import answer
from coevo.envs.games.openspiel import OpenSpielTask
from coevo.envs.games.states import decisions, movers, view

IDS = [spec.id for spec in list_envs() if isinstance(make(spec.id).task, OpenSpielTask)]
SKINS = [env_id for env_id in IDS if env_id != "coevo/openspiel-v0"]
CLOSED = [
    env_id
    for env_id in SKINS
    if make(env_id).task.game.get_type().information
    == pyspiel.GameType.Information.IMPERFECT_INFORMATION
    and not make(env_id).task.simultaneous
]
"""Games in which something is hidden from a seat that moves in turn."""
LONG = {
    "coevo/backgammon-v0": 112,
    "coevo/bargaining-v0": 80,
    "coevo/battleship-v0": 72,
    "coevo/hanabi-v0": 116,
    "coevo/leduc_poker-v0": 64,
    "coevo/liars_dice-v0": 66,
    "coevo/mini_hanabi-v0": 84,
    "coevo/othello-v0": 104,
    "coevo/simple_hanabi-v0": 100,
    "coevo/sheriff-v0": 76,
    "coevo/go-v0": 68,
    "coevo/breakthrough-v0": 80,
    "coevo/chess-v0": 112,
}
"""Most tokens of a terse prompt where boards or hands need more than 64."""


@pytest.fixture(scope="module")
def tokens():
    tokenizer = Tokenizer.from_file(str(STARTER_MODEL / "tokenizer.json"))
    return lambda text: len(tokenizer.encode(text).ids)


# ---- The game itself ---------------------------------------------------------------------------


def follow(engine, state, known):
    """Let an engine of its own take the steps of a state after the first `known` ones."""
    history = state.full_history()
    while known < len(history):
        if engine.is_simultaneous_node():
            joint = [h.action for h in history[known : known + engine.num_players()]]
            engine.apply_actions(joint)
            known += len(joint)
            continue
        if engine.is_chance_node():
            assert history[known].action in engine.legal_actions()
        assert history[known].player == engine.current_player()
        engine.apply_action(history[known].action)
        known += 1
    return known


def play_beside_the_engine(task, engine, rng):
    """Play one game by names; compare movers, moves, knowledge and payoffs at every step."""
    task.reset(rng, {})
    known, paid = follow(engine, task.state, 0), np.zeros(len(task.seats))
    while seats := task.to_move():
        players = [task.seats.index(seat) for seat in seats]
        assert players == movers(engine)
        chosen = {}
        for seat, player in zip(seats, players, strict=True):
            legal, actions = task.legal(seat), engine.legal_actions(player)
            assert len(set(legal)) == len(legal) == len(actions)
            assert task.info(seat)["information_state"] == view(engine, player)
            place = int(rng.integers(len(legal)))
            chosen[seat] = (legal[place], actions[place])
        paid += list(task.play({seat: name for seat, (name, _) in chosen.items()}).values())
        if engine.is_simultaneous_node():
            engine.apply_actions([action for _, action in chosen.values()])
            known += len(chosen)
        else:
            engine.apply_action(next(action for _, action in chosen.values()))
            known += 1
        known = follow(engine, task.state, known)
    assert engine.is_terminal()
    assert engine.history() == task.state.history()
    assert paid == pytest.approx(engine.returns())


@pytest.mark.parametrize("env_id", SKINS)
def test_a_skin_is_its_openspiel_game_move_by_move(env_id, games):
    task = make(env_id).task
    game = pyspiel.load_game(str(task.game))
    rng = np.random.default_rng(0)
    for _ in range(games):
        play_beside_the_engine(task, game.new_initial_state(), rng)


@pytest.mark.parametrize("env_id", [i for i in SKINS if make(i).task.fixed_names])
def test_fixed_names_depend_on_player_and_action_alone(env_id, games):
    task, rng, known = make(env_id).task, np.random.default_rng(0), {}
    for _ in range(5 * games):
        task.reset(rng, {})
        while seats := task.to_move():
            chosen = {}
            for player in map(task.seats.index, seats):
                moves = task.legal_moves(task.state, player)
                for name, action in moves.items():
                    assert known.setdefault((player, action), name) == name
                    assert task.move_name(task.state, player, action) == name
                chosen[task.seats[player]] = str(rng.choice(list(moves)))
            task.play(chosen)


# ---- What a seat is told -----------------------------------------------------------------------


def replayed(game, history):
    """Return the state after other steps than those that were made; None where that cannot be."""
    state = game.new_initial_state()
    for player, action in history:
        if state.is_terminal() or state.current_player() != player:
            return None
        if action not in state.legal_actions():
            return None
        state.apply_action(action)
    return state


def knowledge(state, player):
    """Return all that OpenSpiel has told a player on the way to its move, and what it did.

    Hanabi has no information states, and its observations leave out the partner's moves, which are
    made openly.
    """
    seen = [(view(s, player), a[player]) for s, a in decisions(state) if player in a]
    hanabi = state.get_game().get_type().short_name == "hanabi"
    moves = [h.action for h in state.full_history() if h.player >= 0] if hanabi else []
    return (*seen, *moves, view(state, player))


def hidden_changes(state, player, rng, tries):
    """Return states that a player cannot tell from this one: one hidden step was another."""
    game, known = state.get_game(), knowledge(state, player)
    history = [(int(h.player), int(h.action)) for h in state.full_history()]
    others = [i for i, (who, _) in enumerate(history) if who != player]
    for place in rng.permutation(others)[:tries]:
        past = replayed(game, history[:place])
        for action in past.legal_actions()[:40]:
            other = replayed(
                game, [*history[:place], (history[place][0], action), *history[place + 1 :]]
            )
            if other is None or action == history[place][1] or player not in movers(other):
                continue
            if knowledge(other, player) == known:
                yield other


@pytest.mark.parametrize("env_id", CLOSED)
def test_what_is_hidden_shows_nowhere(env_id):
    """Chats and infos are equal wherever OpenSpiel's own texts are equal."""
    task = make(env_id).task
    rng = np.random.default_rng(1)
    changed = 0
    for _ in range(12):
        task.reset(rng, {})
        while task.to_move() and changed < 12:
            for player in movers(task.state):
                changed += sum(looks_the_same(task, player, rng))
            (seat,) = task.to_move()
            legal = task.legal(seat)
            task.play({seat: legal[int(rng.integers(len(legal)))]})
    assert changed >= 6, "the test has found too little to hide"


def looks_the_same(task, player, rng):
    """Compare the chat and infos of a player with those at states that it cannot tell apart."""
    for other in hidden_changes(task.state, player, rng, tries=2):
        for style in ("full", "terse"):
            mine, same = (task.chat_at(s, player, style) for s in (task.state, other))
            assert mine == same
        assert task.known_at(other, player) == task.known_at(task.state, player)
        assert task.good_moves(other, player) == task.good_moves(task.state, player)
        yield str(other) != str(task.state)


@pytest.mark.parametrize("env_id", SKINS)
def test_the_chat_at_a_state_is_the_chat_of_a_play(env_id):
    rng = np.random.default_rng(3)
    for style in ("full", "terse"):
        env = make(env_id, prompt_style=style, max_cycles=12)
        env.reset(seed=3)
        while env.awaiting:
            seat = env.agent_selection
            player = env.possible_agents.index(seat)
            assert env.task.chat_at(env.task.state, player, style) == env.chat(seat)
            legal = env.infos[seat]["legal_actions"]
            env.step(answer(legal[int(rng.integers(len(legal)))]))


@pytest.mark.parametrize("env_id", SKINS)
def test_terse_prompts_are_lines_of_about_64_tokens(env_id, walks, tokens):
    env, prompts = make(env_id, prompt_style="terse"), []
    for seed in range(2):
        walks.random_play(env, seed, lambda e, a: prompts.append(e.chat(a)[-1]["content"]))
    assert max(map(tokens, prompts)) <= LONG.get(env_id, 64)
    assert all("\n" not in p and p.endswith("Answer [move]") for p in prompts)


@pytest.mark.parametrize("env_id", SKINS)
def test_two_states_with_other_moves_are_worded_otherwise(env_id, walks):
    """A full prompt names every legal move, in the spelling in which it is read."""
    env = make(env_id)

    def look(env, seat):
        said = env.chat(seat)[-1]["content"].rpartition("Legal moves: ")[2]
        assert said == ", ".join(map(answer, env.infos[seat]["legal_actions"]))

    walks.random_play(env, 0, look)


# ---- Experts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("env_id", SKINS)
def test_an_expert_mixes_good_moves_with_random_ones(env_id):
    task = make(env_id).task
    rng = np.random.default_rng(5)
    task.reset(rng, {})
    for _ in range(6):
        if not task.to_move():
            break
        seat = task.to_move()[0]
        legal, sharp = task.legal(seat), task.expert(seat, 1.0)
        if sharp is None:
            assert not task.good_moves(task.state, task.seats.index(seat))
            return
        assert sharp.texts == tuple(map(answer, legal))
        even = np.full(len(legal), 1 / len(legal))
        assert task.expert(seat, 0.0).probabilities == pytest.approx(even)
        half = task.expert(seat, 0.5).probabilities
        assert half == pytest.approx((sharp.probabilities + even) / 2)
        task.play({seat: legal[int(rng.integers(len(legal)))] for seat in task.to_move()})
