"""Causal levels: against rational replies they are worth nothing that classical play has not."""

from collections.abc import Callable
from statistics import fmean

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.envs.dilemmas.matrices import MatrixGame
from coevo.envs.societies.causal_game import CausalGame, blind, drawn, normal_form, solve
from coevo.envs.societies.commitment import EQUAL, stackelberg

GAMES = 100


def _gains(confounded: bool) -> Callable[[int], dict[str, float]]:
    def measure(seed: int) -> dict[str, float]:
        rng = np.random.default_rng([seed, confounded])
        rows = [_gain(drawn(rng, confounded=confounded)) for _ in range(GAMES)]
        names = ("pure", "mixed", "alone", "welfare")
        return {n: fmean(column) for n, column in zip(names, zip(*rows, strict=True), strict=True)}

    return measure


def _gain(game: CausalGame) -> tuple[float, float, float, float]:
    ours, matrix, without = solve(game), normal_form(game), stackelberg(blind(game))
    return (
        ours.leader - _pure(matrix),
        ours.leader - stackelberg(matrix).leader,
        ours.leader - without.leader,
        ours.leader + ours.follower - without.leader - without.follower,
    )


def _pure(matrix: MatrixGame) -> float:
    """Return the best pure commitment of a matrix, ties in favour of the leader."""
    own, other = matrix.payoffs[..., 0], matrix.payoffs[..., 1]
    best = other >= other.max(1, keepdims=True) - EQUAL
    return float(np.where(best, own, -np.inf).max())


CLAIM = Claim(
    property="""Acting on, setting or seeing one's inclination gains a leader nothing over classical
        Stackelberg play of the same policies, where replies are rational.""",
    source="Thumm 2025, arXiv 2511.06934 (abstract: no gain in welfare)",
    minutes=0.5,
    on="formula",
    setting="""100 random games a seed (`coevo.envs.societies.causal_game`): two causes, two actions
        a seat, payoffs 0 to 9; the cause inclines both seats, and enters payoffs or not.""",
    measured="""What the leader expects at its best level by backward induction, less what it
        expects from the best pure commitment in the same game written as a matrix; less the
        classical Stackelberg value of that matrix, by linear programmes; less that of the game of
        actions alone, in which nothing inclines a seat. Welfare is the sum of both.""",
    chosen="""Sizes. The first two are identities; that the third is positive where the cause enters
        payoffs, and not elsewhere, was seen on 60 games of each kind before it was bounded.""",
    note="""built from the abstract; gains over actions alone are the value of what an inclination
        tells of the cause, and classical commitments to maps have them too""",
    arms={"joined": _gains(confounded=True), "apart": _gains(confounded=False)},
    expect=(
        Expect("gain over pure commitments", "joined.pure", 0.0, low=-1e-6, high=1e-6),
        Expect("gain over the Stackelberg value", "joined.mixed", 0.0, high=1e-6),
        Expect("gain over actions alone", "joined.alone"),
        Expect("gain in welfare over actions alone", "joined.welfare"),
        Expect("gain over actions alone, cause not in payoffs", "apart.alone", 0.0, high=1e-6),
    ),
)
