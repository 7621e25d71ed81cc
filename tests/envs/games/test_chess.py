"""Chess: known numbers of positions, both notations, and a game that is known."""

import numpy as np
import pyspiel
import pytest

from coevo.envs import make
from coevo.envs.core.parsing import Status
from coevo.envs.games.chess import cells, worth

ID = "coevo/chess-v0"
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


def positions(task, state, depth):
    """Return the number of ways to make so many moves, each by its name."""
    if depth == 0:
        return 1
    moves = task.legal_moves(state, state.current_player())
    return sum(positions(task, state.child(action), depth - 1) for action in moves.values())


@pytest.mark.parametrize(
    ("fen", "counts"), [(START, (20, 400, 8902)), (KIWIPETE, (48, 2039))], ids=["start", "kiwipete"]
)
def test_the_numbers_of_positions_are_those_of_chess_programming(fen, counts):
    """Perft: castling, taking in passing, promotion, pins and checks are all in the second."""
    task = make(ID).task
    state = task.game.new_initial_state(fen)
    assert [positions(task, state, depth) for depth in range(1, len(counts) + 1)] == list(counts)


def test_the_scholars_mate_in_both_notations():
    for moves in (
        "e4 e5 Qh5 Nc6 Bc4 Nf6 Qxf7#",
        "e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7",
    ):
        env = make(ID)
        env.reset(seed=0)
        assert env.agent_selection == "player_1"
        for move in moves.split():
            env.step(f"I think. [{move}]")
        assert [t.move for t in env.episode.turns][-1] == "Qxf7#"
        assert [env.episode.total(a) for a in env.possible_agents] == [-1, 1]


def test_special_moves_by_their_squares():
    task = make(ID).task
    state = task.game.new_initial_state("r3k3/1P6/8/3pP3/8/8/8/R3K2R w KQq d6 0 2")
    names = task.squares(state, 1)
    assert names["e1g1"] == "O-O" and names["e1c1"] == "O-O-O"
    assert names["e5d6"] == "exd6"
    assert names["b7a8q"] == "bxa8=Q+" and names["b7b8n"] == "b8=N"
    assert len(names) == len(state.legal_actions())


def test_what_is_no_move_is_none():
    env = make(ID)
    env.reset(seed=0)
    task = env.task
    assert task.read("player_1", "[e2e5]").status is not Status.LEGAL
    assert task.read("player_1", "[e4]").move == task.read("player_1", "[e2e4]").move == "e4"


def test_every_move_has_squares_of_its_own():
    task, rng = make(ID).task, np.random.default_rng(0)
    state = pyspiel.load_game("chess").new_initial_state()
    while not state.is_terminal():
        player = state.current_player()
        assert sorted(task.squares(state, player).values()) == sorted(
            task.legal_moves(state, player)
        )
        state.apply_action(int(rng.choice(state.legal_actions())))


def test_the_board_and_what_it_is_worth():
    state = pyspiel.load_game("chess").new_initial_state("4k3/8/8/8/8/8/4P3/4KQ2 w - - 0 1")
    assert cells(state)[0] == "....k..." and cells(state)[-1] == "....KQ.."
    assert worth(state, 1) == pytest.approx(10) and worth(state, 0) == pytest.approx(-10)
