"""Promise: a late step costs what an early one costs, by what is called and not by the clock."""

import sys

import numpy as np
import pytest

import coevo.envs

LONG = {
    "a repeated game": ("coevo/iterated_game-v0", {"rounds": 200}),
    "a repeated game with talk": ("coevo/iterated_game-v0", {"rounds": 100, "messages": True}),
    "trust and split": ("coevo/trust_and_split-v0", {"rounds": 100}),
    "strangers": ("coevo/sanctioned_dilemma-v0", {"rounds": 100}),
    "reviews": ("coevo/peer_review-v0", {"rounds": 50}),
    "chess": ("coevo/openspiel-v0", {"game": "chess"}),
    "pig": ("coevo/openspiel-v0", {"game": "pig(winscore=500)"}),
    "backgammon": ("coevo/backgammon-v0", {}),
    "connect four": ("coevo/connect_four-v0", {}),
    "mancala": ("coevo/mancala-v0", {}),
}
TURNS = 300
GROWS = {"backgammon": 2.0}
"""What late steps may cost of early ones, where boards and moves grow by the rules; else half more:
games of chess open up, and every eighth step of a game is another kind of step than its neighbour.
"""


def replied(env, rng):
    legal = env.infos[env.agent_selection]["legal_actions"]
    return "hello [3]" if legal is None else f"[{rng.choice(legal)}]"


def calls_of(step, *arguments):
    """Return how many functions of Python and C a step calls."""
    count = [0]

    def noted(frame, event, argument):
        count[0] += event in ("call", "c_call")

    sys.setprofile(noted)
    try:
        step(*arguments)
    finally:
        sys.setprofile(None)
    return count[0]


@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize("name", LONG)
def test_late_steps_call_no_more_than_early_ones(name, style):
    id, options = LONG[name]
    env, rng = coevo.envs.make(id, prompt_style=style, **options), np.random.default_rng(0)
    env.reset(seed=0)
    calls = []
    while env.awaiting and len(calls) < TURNS:
        moves = env.infos[env.agent_selection]["legal_actions"] or ()
        calls.append(calls_of(env.step, replied(env, rng)) / (10 + len(moves)))
    half = len(calls) // 2
    early, late = np.median(calls[:half]), np.median(calls[half:])
    assert late <= GROWS.get(name, 1.5) * early, (early, late)
