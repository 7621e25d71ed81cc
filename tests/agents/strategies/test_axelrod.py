"""Scripted players of repeated dilemmas against axelrod: the same moves, scores and vectors."""

import itertools

import numpy as np
import pytest

from coevo.agents import SCRIPTED
from coevo.agents.strategies.iterated import STRATEGIES, probe
from coevo.envs.dilemmas.catalogue import matrix_game
from coevo.envs.dilemmas.matrices import payoff
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

ITERATED = "coevo/iterated_game-v0"
SAME = {
    "always_c": "Cooperator",
    "always_d": "Defector",
    "tft": "TitForTat",
    "suspicious_tft": "SuspiciousTitForTat",
    "reverse_tft": "Bully",
    "wsls": "WinStayLoseShift",
    "grim": "Grudger",
    "tf2t": "TitFor2Tats",
    "hard_tft": "HardTitForTat",
    "alternator": "Alternator",
}
"""Our name -> axelrod's, for players without chance."""
VECTORS = {
    "gtft": "GTFT",
    "extort2": "ZDExtort2",
    "extort3": "ZDExtort3",
    "extort4": "ZDExtort4",
    "zd_gtft2": "ZDGTFT2",
}
R, S, T, P = 3.0, 0.0, 5.0, 1.0
PAYOFFS = matrix_game("prisoners_dilemma").payoffs
pytestmark = pytest.mark.slow  # axelrod imports its 240 strategies, dask and pandas


@pytest.fixture(scope="module")
def axelrod():
    return pytest.importorskip("axelrod")


def rule_of(name, player=0):
    return STRATEGIES[name]().rule(PAYOFFS, player)


def meet(first, second, seed=0, **options):
    match = EpisodeSpec(seed, {"player_0": "a", "player_1": "b"})
    return rollout(ITERATED, [match], {"a": SCRIPTED[first](), "b": SCRIPTED[second]()}, options)[0]


@pytest.mark.parametrize("name", SAME)
def test_the_same_moves_as_axelrod_over_random_histories(axelrod, name):
    rng = np.random.default_rng(3)
    for share in (0.2, 0.5, 0.8, 0.95):
        others = (rng.random(60) > share).astype(int).tolist()
        theirs = [axelrod.Action.D if move else axelrod.Action.C for move in others]
        player = getattr(axelrod, SAME[name])()
        match = axelrod.Match((player, axelrod.MockPlayer(theirs)), turns=60)
        wanted = [int(mine is axelrod.Action.D) for mine, _ in match.play()]
        own = []
        for at in range(60):
            chance = rule_of(name)(own, others[:at])
            assert chance in (0.0, 1.0)
            own.append(int(chance == 0))
        assert own == wanted


@pytest.mark.parametrize("pair", list(itertools.combinations_with_replacement(sorted(SAME), 2)))
def test_matches_end_with_axelrods_scores(axelrod, pair):
    players = [getattr(axelrod, SAME[name])() for name in pair]
    match = axelrod.Match(players, turns=12)
    match.play()
    episode = meet(*pair, rounds=12)
    returns = tuple(episode.total(a, "payoff") for a in episode.agents)
    assert returns == match.final_score()
    wanted = [(int(a is axelrod.Action.D), int(b is axelrod.Action.D)) for a, b in match.result]
    moves = [t.move for t in episode.turns]
    assert list(zip(moves[::2], moves[1::2], strict=True)) == [
        ("AB"[a], "AB"[b]) for a, b in wanted
    ]


@pytest.mark.parametrize("pair", list(itertools.combinations_with_replacement(sorted(SAME), 2)))
def test_two_hundred_rounds_end_with_axelrods_scores(axelrod, pair):
    match = axelrod.Match([getattr(axelrod, SAME[name])() for name in pair], turns=200)
    match.play()
    rules, own = [rule_of(name, i) for i, name in enumerate(pair)], ([], [])
    for _ in range(200):
        shares = rules[0](own[0], own[1]), rules[1](own[1], own[0])
        for past, share in zip(own, shares, strict=True):
            past.append(int(share == 0))
    game = matrix_game("prisoners_dilemma")
    assert tuple(payoff(game, np.array(own).T).sum(axis=0)) == match.final_score()


@pytest.mark.parametrize("name", VECTORS)
def test_vectors_are_axelrods(axelrod, name):
    actions = axelrod.Action.C, axelrod.Action.D
    player = getattr(axelrod, VECTORS[name])()
    player.set_match_attributes(game=axelrod.Game(r=R, s=S, t=T, p=P))
    wanted = [player._four_vector[pair] for pair in itertools.product(actions, repeat=2)]
    mine = STRATEGIES[name]()
    assert mine.vector(R, S, T, P) == pytest.approx(wanted)
    assert mine.first == float(player._initial is axelrod.Action.C)


@pytest.mark.parametrize("chance", [0.1, 0.2])
def test_the_naive_prober_is_axelrods(axelrod, chance):
    match = axelrod.Match((axelrod.NaiveProber(chance), axelrod.Cooperator()), turns=4000, seed=5)
    probed = np.mean([mine is axelrod.Action.D for mine, _ in match.play()])
    name = "naive_prober" if chance == 0.1 else "naive_prober20"
    assert 1 - rule_of(name)([0], [0]) == pytest.approx(chance)
    assert probed == pytest.approx(chance, abs=0.02)
    assert probe(chance, [], []) == 1
    assert probe(chance, [0], [1]) == 0
    for first, other in (("C", "D"), ("D", "D")):
        own = axelrod.MockPlayer([axelrod.Action.from_char(other)])
        found = axelrod.Match((axelrod.NaiveProber(chance), own), turns=2, seed=1).play()
        assert found[1][0] is axelrod.Action.D, first
