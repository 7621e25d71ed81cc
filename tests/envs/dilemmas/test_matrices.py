import itertools
from typing import NamedTuple

import numpy as np
import pytest

from coevo.envs.core.config import components
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.envs.dilemmas.catalogue import TABLES, Matrix, matrix_game
from coevo.envs.dilemmas.matrices import game_of_payoffs, payoff
from coevo.envs.dilemmas.ordinal import ordinal_games, ordinal_pairs

DILEMMAS = [
    "prisoners_dilemma",
    "prisoners_dilemma_repeated_llm",
    "prisoners_dilemma_partner_selection",
    "prisoners_dilemma_centred",
    "donation",
]
HUNTS = ["stag_hunt", "stag_hunt_melting_pot", "stag_hunt_risky"]
CELLS = {
    "prisoners_dilemma": "3,3 0,5 5,0 1,1",
    "prisoners_dilemma_repeated_llm": "8,8 0,10 10,0 5,5",
    "prisoners_dilemma_partner_selection": "3,3 0,4 4,0 1,1",
    "prisoners_dilemma_centred": "1,1 -1,2 2,-1 0,0",
    "donation": "1,1 -1,2 2,-1 0,0",
    "stag_hunt": "4,4 1,3 3,1 2,2",
    "stag_hunt_melting_pot": "4,4 0,2 2,0 2,2",
    "stag_hunt_risky": "4,4 0,3 3,0 2,2",
    "chicken": "3,3 2,4 4,2 1,1",
    "chicken_melting_pot": "3,3 2,5 5,2 0,0",
    "hawk_dove": "1,1 0,2 2,0 -1,-1",
    "battle_of_sexes": "10,7 0,0 0,0 7,10",
    "battle_of_sexes_melting_pot": "3,2 0,0 0,0 2,3",
    "matching_pennies": "1,-1 -1,1 -1,1 1,-1",
    "harmony": "4,4 3,2 2,3 1,1",
    "commitment": "2,1 4,0 1,0 3,1",
    "no_conflict": "4,4 2,3 3,2 1,1",
    "deadlock": "2,2 1,4 4,1 3,3",
    "assurance": "4,4 1,2 2,1 3,3",
    "coordination": "4,4 2,1 1,2 3,3",
    "battle": "2,2 3,4 4,3 1,1",
    "hero": "1,1 3,4 4,3 2,2",
    "pure_coordination": "1,1 0,0 0,0 1,1",
}
"""Published and textbook tables, cells (0,0) (0,1) (1,0) (1,1)."""
EQUILIBRIA = {
    **{key: [(1, 1)] for key in DILEMMAS},
    **{key: [(0, 0), (1, 1)] for key in HUNTS},
    **{key: [(0, 1), (1, 0)] for key in ["chicken", "hawk_dove", "battle", "hero"]},
    # against a dove the Melting Pot hawk gains, against a hawk the dove does
    "chicken_melting_pot": [(0, 1), (1, 0)],
    **{key: [(0, 0), (1, 1)] for key in ["battle_of_sexes", "battle_of_sexes_melting_pot"]},
    "matching_pennies": [],
    **{key: [(0, 0)] for key in ["harmony", "no_conflict"]},
    "deadlock": [(1, 1)],
    **{key: [(0, 0), (1, 1)] for key in ["assurance", "coordination", "pure_coordination"]},
}


CLOSE = 1e-12


class Dilemma(NamedTuple):
    """Why a symmetric game of two actions is a social dilemma, or why not."""

    all_better: bool
    """R_C(N-1) > R_D(0): all gain if all cooperate."""
    never_exploited: bool
    """R_C(N-1) > R_C(0): a cooperator is better off among cooperators."""
    fear: bool
    """R_D(k) > R_C(k) for some small k, under half of the others: defecting against defectors."""
    greed: bool
    """R_D(k) > R_C(k) for some large k, half of the others or more: defecting among cooperators."""

    @property
    def holds(self):
        """Whether it is a social dilemma: both inequalities, and fear or greed."""
        return self.all_better and self.never_exploited and (self.fear or self.greed)


def schelling_curves(game):
    """Return R_C(k) and R_D(k): payoffs with k other cooperators, k = 0..N-1.

    Args:
        game: symmetric, with two actions; action 0 is to cooperate.
    """
    if set(game.sizes) != {2} or not game.symmetric:
        raise ConfigError(
            f"{game.name} must be symmetric with two actions to have Schelling curves"
        )
    count = game.players
    curves = np.empty((2, count))
    for action, k in itertools.product(range(2), range(count)):
        joint = (action, *[0] * k, *[1] * (count - 1 - k))
        curves[action, k] = game.payoffs[(*joint, 0)]
    return curves[0], curves[1]


def social_dilemma(game):
    """Check the inequalities of a social dilemma on the Schelling curves (Hughes et al., 2018)."""
    give, keep = schelling_curves(game)
    tempted = keep > give + CLOSE
    few = np.arange(game.players) < (game.players - 1) / 2
    return Dilemma(
        all_better=bool(give[-1] > keep[0] + CLOSE),
        never_exploited=bool(give[-1] > give[0] + CLOSE),
        fear=bool((tempted & few).any()),
        greed=bool((tempted & ~few).any()),
    )


def pure_equilibria(game):
    """List the joint moves from which nobody gains by moving alone."""
    stable = np.ones(game.sizes, dtype=bool)
    for player in range(game.players):
        own = game.payoffs[..., player]
        stable &= own >= own.max(axis=player, keepdims=True) - CLOSE
    return [tuple(map(int, cell)) for cell in np.argwhere(stable)]


def dominant_action(game, player):
    """Return the action that is strictly best whatever the others do; None where there is none."""
    own = np.moveaxis(game.payoffs[..., player], player, 0)
    own = own.reshape(own.shape[0], -1)
    best = int(own[:, 0].argmax())
    rest = np.delete(own, best, axis=0).max(axis=0)
    return best if (own[best] > rest + CLOSE).all() else None


def risk_dominance(game):
    """Compare the products of deviation losses at (0,0) and (1,1) of a 2x2 game.

    Returns:
        1 where (0,0) risk-dominates, -1 where (1,1) does, 0 where they tie (Harsanyi, Selten).

    """
    if game.sizes != (2, 2) or not {(0, 0), (1, 1)} <= set(pure_equilibria(game)):
        raise ConfigError(f"{game.name}: risk dominance compares two equilibria on the diagonal")
    u, v = game.payoffs[..., 0], game.payoffs[..., 1]
    first = (u[0, 0] - u[1, 0]) * (v[0, 0] - v[0, 1])
    second = (u[1, 1] - u[0, 1]) * (v[1, 1] - v[1, 0])
    return 0 if abs(first - second) <= CLOSE else int(np.sign(first - second))


def rstp(name):
    own = matrix_game(name).payoffs[..., 0]
    return own[0, 0], own[0, 1], own[1, 0], own[1, 1]


@pytest.mark.parametrize("name", CELLS)
def test_every_table_is_the_published_one(name):
    game = matrix_game(name)
    cells = [tuple(map(float, cell.split(","))) for cell in CELLS[name].split()]
    assert [tuple(game.payoffs[i, j]) for i in range(2) for j in range(2)] == cells
    assert game.name == name
    assert len(game.actions) in (0, 2)
    assert set(TABLES) <= set(CELLS)


@pytest.mark.parametrize("name", DILEMMAS)
def test_a_prisoners_dilemma_is_one(name):
    r, s, t, p = rstp(name)
    assert t > r > p > s
    assert 2 * r > t + s
    assert dominant_action(matrix_game(name), 0) == dominant_action(matrix_game(name), 1) == 1


@pytest.mark.parametrize("name", HUNTS)
def test_a_stag_hunt_is_one(name):
    r, s, t, p = rstp(name)
    assert r > t >= p > s


@pytest.mark.parametrize("name", ["chicken", "chicken_melting_pot", "hawk_dove"])
def test_chicken_is_one(name):
    r, s, t, p = rstp(name)
    assert t > r > s > p


@pytest.mark.parametrize("name", ["harmony", "no_conflict"])
def test_harmony_has_no_conflict(name):
    r, s, t, p = rstp(name)
    assert r > t and r > s and t > p and s > p
    assert dominant_action(matrix_game(name), 0) == 0


def test_deadlock_is_one():
    r, s, t, p = rstp("deadlock")
    assert t > p > r > s


@pytest.mark.parametrize("name", EQUILIBRIA)
def test_pure_equilibria_are_the_known_ones(name):
    assert pure_equilibria(matrix_game(name)) == EQUILIBRIA[name]


def test_mixed_equilibria_make_the_other_indifferent():
    doves = 1 / 2
    own = matrix_game("chicken_melting_pot").payoffs[..., 0]
    assert own @ [doves, 1 - doves] == pytest.approx([2.5, 2.5])
    first = 10 / 17
    other = matrix_game("battle_of_sexes").payoffs
    assert np.array([first, 1 - first]) @ other[..., 1] == pytest.approx([70 / 17] * 2)
    stable = 2 / 4  # hawks: V / C
    assert matrix_game({"name": "hawk_dove", "value": 2, "cost": 4}).payoffs[..., 0] @ [
        1 - stable,
        stable,
    ] == (pytest.approx([0.5, 0.5]))


def test_an_expensive_value_turns_hawk_dove_into_a_dilemma():
    assert social_dilemma(matrix_game({"name": "hawk_dove", "value": 4, "cost": 2})).holds
    assert pure_equilibria(matrix_game({"name": "hawk_dove", "value": 4, "cost": 2})) == [(1, 1)]


def test_risk_dominance_is_computed_and_ties_are_ties():
    found = {name: risk_dominance(matrix_game(name)) for name in HUNTS}
    assert found == {"stag_hunt": 0, "stag_hunt_melting_pot": 0, "stag_hunt_risky": -1}
    assert risk_dominance(matrix_game("coordination")) == 1
    with pytest.raises(ConfigError, match="two equilibria"):
        risk_dominance(matrix_game("chicken"))


@pytest.mark.parametrize(
    ("name", "fear", "greed", "holds"),
    [
        *((name, True, True, True) for name in DILEMMAS),
        *((name, True, False, True) for name in HUNTS),
        ("chicken", False, True, True),
        ("harmony", False, False, False),
        ("pure_coordination", True, False, False),
        ({"name": "n_player_prisoners_dilemma", "players": 5}, True, True, True),
        ({"name": "public_goods", "players": 4, "multiplier": 2}, True, True, True),
        ({"name": "volunteers_dilemma", "players": 4}, True, True, False),
    ],
)
def test_the_dilemma_checker(name, fear, greed, holds):
    found = social_dilemma(matrix_game(name))
    assert (found.fear, found.greed, found.holds) == (fear, greed, holds)


def test_deadlock_is_no_dilemma_though_everybody_is_tempted():
    found = social_dilemma(matrix_game("deadlock"))
    assert found.fear and found.greed and not found.all_better and not found.holds


def test_the_checker_wants_a_symmetric_game_of_two_actions():
    for name in ("matching_pennies", "rock_paper_scissors"):
        with pytest.raises(ConfigError, match="symmetric"):
            social_dilemma(matrix_game(name))


# ---- All ordinal games ------------------------------------------------------------------------


def test_there_are_144_strict_ordinal_games():
    assert len(ordinal_pairs()) == len(ordinal_games()) == 144
    for game in ordinal_games():
        for player in range(2):
            assert sorted(game.payoffs[..., player].ravel()) == [1, 2, 3, 4]


def test_no_two_ordinal_games_are_one_after_swapping_rows_or_columns():
    seen = set()
    for game in ordinal_games():
        for rows, columns in itertools.product((1, -1), repeat=2):
            seen.add(game.payoffs[::rows, ::columns].tobytes())
    assert len(seen) == 576


def test_twelve_ordinal_games_are_symmetric_up_to_the_order_of_actions():
    """The 12 symmetric games of Robinson and Goforth stand among the 144."""
    symmetric = {
        min(game.payoffs[::r, ::c].tobytes() for r, c in itertools.product((1, -1), repeat=2))
        for game in ordinal_games()
        if any(
            np.array_equal(p[..., 0], p[..., 1].T)
            for p in (game.payoffs, game.payoffs[::-1], game.payoffs[:, ::-1])
        )
    }
    assert len(symmetric) == 12


def test_ordinal_games_have_numbers():
    assert matrix_game({"name": "ordinal", "number": 144}).name == "ordinal_144"
    with pytest.raises(ConfigError, match="less than or equal to 144"):
        matrix_game({"name": "ordinal", "number": 145})


# ---- Three actions, many players --------------------------------------------------------------


def test_rock_paper_scissors():
    game = matrix_game({"name": "rock_paper_scissors", "win": 10})
    assert game.zero_sum and game.range == (-10, 10) and pure_equilibria(game) == []
    assert payoff(game, [[0, 2], [1, 0], [2, 1], [1, 1]])[:, 0].tolist() == [10, 10, 10, 0]
    assert game.payoffs[..., 0] @ np.full(3, 1 / 3) == pytest.approx([0, 0, 0])


def test_rationalizable_coordination_has_its_best_diagonal_last():
    game = matrix_game("rationalizable_coordination")
    assert pure_equilibria(game) == [(0, 0), (1, 1), (2, 2)]
    assert game.welfare == 6
    assert payoff(game, [2, 2]).tolist() == [3, 3]


def big_dilemma(players):
    return matrix_game({"name": "n_player_prisoners_dilemma", "players": players})


def test_two_players_of_the_big_dilemma_play_the_small_one():
    big, small = (
        matrix_game({"name": "n_player_prisoners_dilemma", "players": 2}),
        TABLES["prisoners_dilemma"],
    )
    assert np.array_equal(big.payoffs, small.payoffs)


def test_the_big_dilemma_is_the_mean_over_pairs():
    game, pair = (
        matrix_game({"name": "n_player_prisoners_dilemma", "players": 4}),
        TABLES["prisoners_dilemma"],
    )
    for joint in itertools.product(range(2), repeat=4):
        for i in range(4):
            others = [pair.payoffs[joint[i], joint[j], 0] for j in range(4) if j != i]
            assert game.payoffs[(*joint, i)] == pytest.approx(np.mean(others))


@pytest.mark.parametrize(("players", "multiplier"), [(3, 1.8), (4, 2.0), (5, 1.2)])
def test_public_goods(players, multiplier):
    game = matrix_game({"name": "public_goods", "players": players, "multiplier": multiplier})
    assert pure_equilibria(game) == [(1,) * players]
    gap = game.welfare - payoff(game, [1] * players).sum()
    assert gap == pytest.approx(players * 2 * (multiplier - 1))
    assert payoff(game, [0] * players).sum() == pytest.approx(game.welfare)


def test_public_goods_in_steps_are_linear():
    game = matrix_game(
        {"name": "public_goods", "players": 3, "multiplier": 1.5, "endowment": 10, "levels": 11}
    )
    given = np.array([10, 4, 0])
    wanted = 10 - given + 1.5 / 3 * given.sum()
    assert payoff(game, 10 - given) == pytest.approx(wanted)


@pytest.mark.parametrize("players", [2, 3, 5])
def test_volunteers(players):
    game = matrix_game({"name": "volunteers_dilemma", "players": players})
    lone = [tuple(int(i != j) for i in range(players)) for j in range(players)]
    assert sorted(pure_equilibria(game)) == sorted(lone)
    wait = (1 / 2) ** (1 / (players - 1))  # symmetric mixed equilibrium: (c/b)^(1/(N-1))
    nobody = wait ** (players - 1)
    assert (1 - nobody) * 2 == pytest.approx(2 - 1)
    give, keep = schelling_curves(game)
    assert give.tolist() == [1] * players and keep.tolist() == [0, *[2] * (players - 1)]


def test_a_threshold_may_be_refunded():
    lost = matrix_game({"name": "threshold_public_goods", "players": 3, "threshold": 2})
    back = matrix_game(
        {"name": "threshold_public_goods", "players": 3, "threshold": 2, "refund": True}
    )
    assert payoff(lost, [0, 1, 1]).tolist() == [-1, 0, 0]
    assert payoff(back, [0, 1, 1]).tolist() == [0, 0, 0]
    assert payoff(lost, [0, 0, 1]).tolist() == payoff(back, [0, 0, 1]).tolist() == [2, 2, 3]


def test_many_players_are_paid_at_once():
    game = matrix_game({"name": "volunteers_dilemma", "players": 3})
    joint = np.array(list(itertools.product(range(2), repeat=3)))
    paid = payoff(game, joint.reshape(2, 4, 3))
    assert paid.shape == (2, 4, 3)
    assert paid[1, 3].tolist() == [0, 0, 0]


# ---- Bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payoffs", "message"),
    [
        ([[3, 0], [5, 1]], "shape"),
        ([[[3, 3], [0, 5]], [[5, 0]]], "no tensor"),
        ([[[3, 3, 3], [0, 5, 0]], [[5, 0, 0], [1, 1, 1]]], "one payoff per player"),
        ([[[1, 1]]], "2 actions"),
        ([[[3, "x"], [0, 5]], [[5, 0], [1, 1]]], "no tensor"),
        ([[[3, np.inf], [0, 5]], [[5, 0], [1, 1]]], "finite"),
        ({"a": 1}, "no tensor"),
    ],
)
def test_payoffs_of_another_form_are_errors(payoffs, message):
    with pytest.raises(ConfigError, match=message):
        game_of_payoffs(payoffs)


def test_players_may_differ_in_size():
    game = game_of_payoffs([[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]])
    assert game.sizes == (2, 3) and not game.symmetric
    assert payoff(game, [1, 2]).tolist() == [11, 12]
    with pytest.raises(ConfigError, match="action names"):
        game_of_payoffs(game.payoffs, actions=("x", "y"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("prisoner_dilemma", "prisoners_dilemma"),
        ({"name": "chicken", "players": 3}, "unknown setting of game.chicken 'players'"),
        ({"name": "public_goods", "player": 3}, "'players'"),
        ({"name": "public_goods", "players": "x"}, "valid integer"),
        ({"name": "public_goods", "players": 3.5}, "valid integer"),
        ({"name": "public_goods", "players": 40}, "less than or equal to 10"),
        ({"name": "public_goods", "players": 8, "levels": 9}, "too many"),
        ({"name": "public_goods", "players": 3, "multiplier": 3}, "multiplier"),
        ({"name": "volunteers_dilemma", "cost": 5}, "benefit=2.0 must be more than cost=5"),
        ({"name": "donation", "benefit": 1, "cost": 2}, "benefit=1.0 must be more"),
        ("", "unknown"),
    ],
)
def test_a_wrong_name_or_parameter_says_what_is_right(name, message):
    with pytest.raises((ConfigError, UnknownNameError), match=message):
        matrix_game(name)


@pytest.mark.parametrize("name", sorted(components(Matrix).keys() - {"ordinal"}))
def test_every_name_can_be_looked_up_as_it_is(name):
    assert matrix_game(name).name == name


@pytest.mark.parametrize("actions", [[0], [0, 2], [0, -1], [0.0, 1.0]])
def test_actions_out_of_range_are_errors(actions):
    with pytest.raises(ConfigError, match="action"):
        payoff(TABLES["prisoners_dilemma"], actions)


def test_a_table_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        TABLES["chicken"].payoffs[0, 0, 0] = 9
