"""Payoffs by hand on a torus of three by three, where a row is a ring."""

import numpy as np
import pytest

from coevo.envs import make

ID = "coevo/lattice_dilemma-v0"


def played(moves, **options):
    """Play rounds of moves, each a string of C and D; return what was paid in each."""
    env = make(ID, prompt_style="terse", rounds=len(moves), **options)
    env.reset(seed=3)
    paid, before = [], np.zeros(len(env.possible_agents))
    for signs in moves:
        for sign in signs:
            env.step("[cooperate]" if sign == "C" else "[defect]")
        now = np.array([env.episode.total(seat, "payoff") for seat in env.possible_agents])
        paid.append((now - before).round(9).tolist())
        before = now
    return env, paid


def test_one_defector_gains_from_four_neighbours():
    """Neighbours of the middle lose 1 + strength in one of four games; corners lose nothing."""
    env, (first, second, third) = played(["CCCCDCCCC", "DDDDDDDDD", "CDDDDDDDD"], strength=0.5)
    near = (3 - 0.5) / 4
    assert first == [1, near, 1, near, 1.5, near, 1, near, 1]
    assert second == [0.0] * 9
    assert third == [-0.5, 0.375, 0.375, 0.375, 0, 0, 0.375, 0, 0][:9]
    assert env.task.outcome() == pytest.approx({"cooperation": 1 / 3, "cooperation/last": 1 / 9})


@pytest.mark.parametrize("mixing", ["local", "random"])
def test_to_defect_is_better_in_a_round_whatever_others_do(mixing):
    rng = np.random.default_rng(0)
    for _ in range(8):
        signs = rng.choice(["C", "D"], 9)
        both = []
        for own in "CD":
            signs[4] = own
            both.append(played(["".join(signs)], strength=0.3, mixing=mixing)[1][0][4])
        assert both[1] == pytest.approx(both[0] + 0.3)


def test_what_is_seen_is_the_own_move_and_how_many_neighbours_cooperate():
    env, _ = played(["CCCCDCCCC", "CCCCDCCCC"])
    env = make(ID, prompt_style="terse", rounds=2)
    env.reset(seed=0)
    assert not env.task.array("player_4").any()
    for sign in "CCCCDCCCD":
        env.step("[cooperate]" if sign == "C" else "[defect]")
    assert env.task.array("player_4").tolist() == [1, 0, 1]
    assert env.task.array("player_5").tolist() == [1, 1, 0.5]
    assert "you defect, 4 of 4" in env.chat("player_4")[-1]["content"]
    assert env.task.draw() == "C C C\nC D C\nC C D"


def test_neighbours_are_drawn_anew_where_players_mix():
    """Each has four different others; over rounds a lone cooperator helps different players."""
    _, paid = played(["CDDDDDDDD"] * 6, mixing="random")
    helped = [tuple(i for i, x in enumerate(one) if x > 0) for one in paid]
    assert len(set(helped)) > 1 and all(0 not in one for one in helped)
