"""Exact values where some replies are no legal move."""

import numpy as np
import pytest

from coevo.agents.scripted import FirstLegalAgent, RandomAgent
from coevo.benchmarks.exact import exact_payoffs, exploitability
from coevo.envs import make

KUHN = "coevo/kuhn_poker-v0"


class Careless(RandomAgent):
    """Plays at random, and is legal with a given probability."""

    def __init__(self, legal):
        super().__init__()
        self.legal = legal

    def move_logprobs(self, requests):
        sizes = [len(r.info["legal_actions"]) for r in requests]
        return [np.full(n, np.log(max(self.legal, 1e-300) / n)) for n in sizes]


def test_who_forfeits_everything_scores_below_who_plays_at_random():
    gone, random = exploitability(Careless(0.0), KUHN), exploitability(RandomAgent(), KUHN)
    assert random.exploitability == pytest.approx(11 / 24)
    assert gone.exploitability == pytest.approx(1.0)  # it loses 2 in the first seat, the rival 0
    assert gone.on_policy_values == pytest.approx((-2.0, 0.0))
    assert gone.conditional == pytest.approx(11 / 24)
    assert exact_payoffs(Careless(0.0), RandomAgent(), KUHN) == pytest.approx((-2.0, -2.0))


@pytest.mark.parametrize("game", ["kuhn_poker", "goofspiel(num_cards=3)", "matrix_pd"])
def test_ever_rarer_slips_lead_to_the_values_of_legal_play(game):
    options = {"game": game}
    clean = exploitability(RandomAgent(), "coevo/openspiel-v0", options)
    near = exploitability(Careless(1 - 1e-7), "coevo/openspiel-v0", options)
    assert near.best_response_values == pytest.approx(clean.best_response_values, abs=1e-5)
    assert near.on_policy_values == pytest.approx(clean.on_policy_values, abs=1e-5)


@pytest.mark.parametrize(
    ("illegal", "values"),
    [
        # Rock, paper, scissors at random is worth 0, and a seat in two slips.
        ("forfeit", (-0.5, -0.5)),  # the slip costs 1 and gives the other nothing
        ("random", (0.0, 0.0)),
        ("penalty", (-0.05, -0.05)),
        ("spiral", (-0.625, -0.625)),  # -1.5 for a slip; 0.5 for the other's where one is alone
        ("textarena", (-0.0625, -0.0625)),  # a second try; -1 for a slip, 1 for the other's
    ],
)
def test_what_a_slip_costs_is_decided_by_the_illegal_move_policy(illegal, values):
    options = {"game": "matrix_rps", "illegal": illegal}
    found = exploitability(Careless(0.5), "coevo/openspiel-v0", options)
    assert found.on_policy_values == pytest.approx(values)


@pytest.mark.parametrize("illegal", ["forfeit", "spiral", "penalty", "textarena"])
def test_payoffs_are_those_of_many_plays(illegal):
    agent = Careless(0.7)
    wanted = exact_payoffs(agent, FirstLegalAgent(), KUHN, {"illegal": illegal})
    env, rng = make(KUHN, illegal=illegal), np.random.default_rng(0)
    for seat in range(2):
        paid = []
        for number in range(1500):
            env.reset(seed=number)
            while env.awaiting:
                env.step(said(env, seat, rng))
            paid.append(env.episode.total(f"player_{seat}"))
        error = np.std(paid) / len(paid) ** 0.5
        assert np.mean(paid) == pytest.approx(wanted[seat], abs=4 * error)


def said(env, seat, rng):
    legal = env.infos[env.agent_selection]["legal_actions"]
    if env.agent_selection != f"player_{seat}":
        return f"[{legal[0]}]"
    return f"[{rng.choice(legal)}]" if rng.random() < 0.7 else "no move"
