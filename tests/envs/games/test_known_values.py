"""Values of games that are known, from our code paths; and what the docstrings say of experts."""

import itertools

import numpy as np
import pyspiel
import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.agents.strategies.conventions import conventions
from coevo.agents.strategies.game_tree import game_tree
from coevo.agents.strategies.oracle import Minimax, solve
from coevo.benchmarks.exact import expected_returns, exploitability
from coevo.envs import make
from coevo.envs.core.parsing import answer
from coevo.envs.games import bargaining, hanabi, nim, pig

SIZES = [s for s in itertools.product(range(4), repeat=3) if any(s)]


def value(game):
    """Return what player 0 gets where both play the solution of a small game."""
    solution, tree = solve(game), game_tree(game)
    policies = [
        {d.key: list(zip(d.state.legal_actions(d.player), map(float, odds), strict=True))}
        for d in tree.decisions
        for odds in [solution.odds(known(d))]
    ]
    joint = {key: odds for policy in policies for key, odds in policy.items()}
    return expected_returns(tree, [joint, joint])[0]


def known(decision):
    state, player = decision.state, decision.player
    return {"information_state": state.information_state_string(player), "player": player}


@pytest.mark.parametrize("misere", [False, True])
def test_nim_is_won_by_the_binary_sum_of_the_piles(misere):
    for sizes in SIZES:
        piles = ";".join(str(n) for n in sizes if n)
        game = pyspiel.load_game("nim", {"pile_sizes": piles, "is_misere": misere})
        won = Minimax(game).value(game.new_initial_state()) == 1
        assert won == nim.mover_wins(sizes, misere), (sizes, misere)


def test_the_expert_of_nim_takes_what_minimax_takes():
    task = make("coevo/nim-v0", game="nim(pile_sizes=2;3;4,is_misere=True)").task
    oracle, rng = solve(str(task.game)), np.random.default_rng(0)
    for _ in range(10):
        task.reset(rng, {})
        while task.to_move():
            (seat,) = task.to_move()
            odds = oracle.odds({"history": task.state.history()})
            assert task.expert(seat, 1.0).probabilities == pytest.approx(odds)
            legal = task.legal(seat)
            task.play({seat: legal[int(rng.integers(len(legal)))]})


def test_pig_is_the_game_of_neller_and_presser():
    """Piglet with goal 2 in their section 2, and Pig to 100 in section 4 (first player 0.5306)."""
    rolled, stopped = pig._choices(2, (1,))
    wins = np.maximum(rolled, stopped)
    found = [wins[at] for at in [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 1, 0)]]
    assert found == pytest.approx([4 / 7, 5 / 7, 2 / 5, 3 / 5, 4 / 5, 2 / 3], abs=1e-6)


def test_the_expert_of_pig_rolls_on_towards_about_twenty():
    """Far from the goal it stops at some twenty points, close to it it rolls on."""
    rolled, stopped = pig._choices(40, (2, 3, 4, 5, 6))
    rolls_on = rolled > stopped
    assert [bool(rolls_on[0, 0, k]) for k in (5, 15, 25)] == [True, True, False]
    assert rolls_on[0, 39, 25], "the other needs a single point"


@pytest.mark.parametrize(("sides", "expected"), [(2, 1 / 2), (3, 1 / 9)])
def test_values_of_small_liars_dice(sides, expected):
    assert value(f"liars_dice(dice_sides={sides})") == pytest.approx(expected, abs=2e-3)


def test_blotto_is_worth_nothing():
    assert value("blotto(coins=5,fields=3)") == pytest.approx(0, abs=1e-3)
    random = exploitability(RandomAgent(), "coevo/colonel_blotto-v0").exploitability
    assert random == pytest.approx(7 / 22)


def test_the_first_player_wins_hex_and_the_small_box_game():
    for game in ("hex(board_size=2)", "hex(board_size=3)", "dots_and_boxes", "nim(pile_sizes=1;2)"):
        solution = solve(game)
        assert solution.exact
        assert solution.value(pyspiel.load_game(game).new_initial_state()) == 1


def test_signals_and_trade_have_the_values_of_talk_and_of_none():
    best = [value for value, _ in conventions("lewis_signaling")]
    assert best[0] == 1.0
    assert min(best) == pytest.approx(1 / 3)
    assert solve("tiny_hanabi").label == "best pair"
    tree = game_tree("trade_comm(num_items=2)")
    uniform = {
        d.key: [(a, 1 / len(d.state.legal_actions())) for a in d.state.legal_actions()]
        for d in tree.decisions
    }
    assert expected_returns(tree, [uniform, uniform])[0] == pytest.approx(1 / 2**4)


@pytest.mark.parametrize("env_id", ["coevo/lewis_signaling-v0", "coevo/trade_comm-v0"])
def test_experts_of_one_convention_always_score(env_id, walks):
    env = make(env_id)
    for seed in range(20):
        env.reset(seed=seed)
        while env.awaiting:
            replies = env.expert(env.agent_selection, 1.0)
            env.step(replies.texts[int(replies.probabilities.argmax())])
        assert [env.episode.total(a) for a in env.possible_agents] == [1.0, 1.0]


def test_no_pool_is_worth_more_than_its_best_split():
    start = pyspiel.load_game("bargaining").new_initial_state()
    instances = [start.child(a).instance() for a, _ in start.chance_outcomes()]
    best = [bargaining.best_split(i.pool, i.values) for i in instances]
    by_hand = max(
        sum(v * k for v, k in zip(instances[0].values[0], kept, strict=True))
        + sum(
            v * (n - k)
            for v, n, k in zip(instances[0].values[1], instances[0].pool, kept, strict=True)
        )
        for kept in itertools.product(*(range(n + 1) for n in instances[0].pool))
    )
    assert best[0] == by_hand
    assert np.mean(best) / 2 == pytest.approx(7.561)


def test_hanabi_ends_before_small_decks_are_played_out(walks):
    """Two cards are drawn, then each seat moves once more: four plays at most, six were wanted."""
    task = make("coevo/simple_hanabi-v0").task
    assert hanabi.most_points(task.game) == 4 < task.payoff_range[1] == 6
    for seed in range(20):
        env = make("coevo/simple_hanabi-v0")
        walks.random_play(env, seed)
        used = [t.move for t in env.episode.turns if not t.move.startswith("tell")]
        assert len(used) <= 4


def test_a_card_is_told_when_it_can_be_played_and_then_played():
    env = make("coevo/hanabi-v0")
    scores = []
    for seed in range(3):
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        while env.awaiting:
            replies = env.expert(env.agent_selection, 1.0)
            env.step(replies.texts[int(rng.choice(len(replies.texts), p=replies.probabilities))])
        scores.append(env.episode.total("player_0"))
        played = [t.move for t in env.episode.turns if t.move.startswith("play")]
        assert len(played) == scores[-1], "the expert plays nothing but what must fit"
    assert min(scores) >= 12


def test_the_expert_of_battleship_follows_its_hits():
    env = make("coevo/battleship-v0")
    env.reset(seed=0)
    for move in ("across a1", "across a1", "across a3", "down d2", "a1", "c4"):
        env.step(answer(move))
    replies = env.expert("player_0", 1.0)  # a1 was hit: its neighbours come next
    likely = {t for t, p in zip(replies.texts, replies.probabilities, strict=True) if p > 0}
    assert likely <= {"[b1]", "[a2]"}


def test_an_expert_gives_its_probabilities_to_exact_evaluation():
    options = {"game": "blotto(coins=5,fields=3)"}
    found = exploitability(ExpertAgent(1.0), "coevo/colonel_blotto-v0", options).exploitability
    assert found == pytest.approx(0, abs=2e-3)
