import itertools

import numpy as np
import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.societies.sequential_goods import (
    GoodsConfig,
    equilibrium,
    payoff_bounds,
    payoffs,
)

ID = "coevo/sequential_public_goods-v0"
PLAIN = {"bonus": 0.0, "penalty": 0.0}


def everything(given):
    levels = np.linspace(0, 1, given.levels)
    return [list(path) for path in itertools.product(levels, repeat=given.players)]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        (PLAIN, (0, 0, 0)),
        ({}, (0.4, 1, 1)),
        ({"bonus": 0.0}, (0, 0, 1)),
        ({"bonus": 0.0, "threshold": 2.5}, (0.6, 1, 1)),
        ({**PLAIN, "multiplier": 3.3}, (1, 1, 1)),
        ({"cost": 0.5, "power": 2.0}, (0.6, 1, 1)),
        ({"cost": 0.5, "power": 2.0, **PLAIN}, (0.6, 0.6, 0.6)),
    ],
)
def test_backward_induction_finds_the_known_paths(changes, path):
    assert equilibrium(GoodsConfig(**changes)).path == pytest.approx(path)


def test_the_payoffs_on_the_path():
    assert equilibrium(GoodsConfig()).payoffs == pytest.approx((1.04, 1.1459, 2.9106), abs=1e-4)


@pytest.mark.parametrize("changes", [{}, PLAIN, {"power": 2.0, "threshold": 1.7}])
def test_nobody_gains_by_one_deviation_anywhere_in_the_tree(changes):
    """The one-shot deviation principle, after every prefix, on or off the path."""
    given = GoodsConfig(players=3, levels=4, **changes)
    best = equilibrium(given).best

    def played_out(prefix):
        while len(prefix) < given.players:
            prefix = [*prefix, int(best[len(prefix), sum(prefix)])]
        return prefix

    for i in range(given.players):
        for prefix in itertools.product(range(given.levels), repeat=i):
            worth = [
                payoffs(given, [c / 3 for c in played_out([*prefix, own])])[i]
                for own in range(given.levels)
            ]
            assert worth[best[i, sum(prefix)]] == pytest.approx(max(worth))


@pytest.mark.parametrize("changes", [{}, PLAIN, {"power": 2.0, "threshold": 2.2, "penalty": 9.0}])
def test_the_bounds_are_reached_and_never_left(changes):
    given = GoodsConfig(**changes)
    found = [payoffs(given, path) for path in everything(given)]
    assert payoff_bounds(given) == pytest.approx((np.min(found), np.max(found)))


def test_references_are_those_of_all_paths():
    found = [np.mean(payoffs(GoodsConfig(), path)) for path in everything(GoodsConfig())]
    refs = spec(ID).refs
    assert refs["random"] == pytest.approx(np.mean(found))
    assert refs["oracle"] == pytest.approx(max(found))
    assert refs["equilibrium"] == pytest.approx(
        np.mean(equilibrium(GoodsConfig()).payoffs), abs=1e-3
    )
    assert evaluate(ExpertAgent(1.0), ID, None, 2).value == pytest.approx(
        refs["equilibrium"], abs=1e-3
    )
    assert evaluate(RandomAgent(), ID, None, 300).value == pytest.approx(refs["random"], abs=0.2)


def test_an_episode_pays_by_the_formula_and_says_what_was_given():
    env = make(ID)
    env.reset(seed=0)
    for move in ("0.2", "0", "0.4"):
        env.step(f"I give [{move}]")
    total = 0.6
    wanted = [
        -0.2 + 0.6 * total - 1.5,
        0.6 * total - 1.5,
        -0.4 + 1.5 * 0.4 * 0.2 / 0.85 + 0.36 - 1.5,
    ]
    assert [env.episode.total(a) for a in env.possible_agents] == pytest.approx(wanted)
    assert env.episode.outcome["contributed"] == pytest.approx(total)
    assert env.episode.outcome["threshold_met"] == 0


@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize("sees", ["all", "last"])
def test_as_much_is_shown_as_the_arguments_say(style, sees):
    env = make(ID, prompt_style=style, sees=sees)
    env.reset(seed=0)
    for move in ("0.8", "0.2"):
        env.step(f"[{move}]")
    shown = env.chat("player_2")[-1]["content"]
    past = shown.split("Before:")[1] if style == "terse" else shown.split("Legal")[0]
    assert "0.2" in past
    assert ("0.8" in past.split("Answer")[0]) == (sees == "all")
    assert env.infos["player_2"]["given"] == ([0.8, 0.2] if sees == "all" else [0.2])


@pytest.mark.parametrize(
    "options", [{"players": 1}, {"levels": 1}, {"threshold": 0}, {"sees": "x"}]
)
def test_bad_arguments_are_named(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        make(ID, **options)
