"""The policy cliff: where two actions are equally good, the reward's last digits choose one."""

from collections.abc import Callable, Sequence
from math import exp

from coevo.benchmarks.reproductions.claim import Claim, Expect, Found
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import BANDIT, odds
from coevo.trainers.components import Entropy

EPSILON, TAU, ARMS = 0.01, 0.2, 3


def _paid(better: int) -> dict[str, object]:
    """Return payoffs 1, 1, 0, of which one of the first two is a little higher."""
    return {"payoffs": (tuple(float(a < 2) + EPSILON * (a == better) for a in range(ARMS)),)}


def _measure(end: Trained) -> dict[str, float]:
    return {f"p{a}": p for a, p in enumerate(odds(end.learnt(), 1, ARMS)[0].tolist())}


def _moved(kind: str) -> Callable[[Found], Sequence[float]]:
    """Return what gives the total variation between the policies of both rewards."""

    def apart(found: Found) -> Sequence[float]:
        first, second = found[f"{kind}0"], found[f"{kind}1"]
        gaps = [
            [abs(a - b) for a, b in zip(first[f"p{arm}"], second[f"p{arm}"], strict=True)]
            for arm in range(ARMS)
        ]
        return [sum(gap) / 2 for gap in zip(*gaps, strict=True)]

    return apart


def _exact(tau: float) -> float:
    """Return that distance for softmax(reward / tau)."""
    weights = [exp((1 + EPSILON) / tau), exp(1 / tau), 1.0]
    return (weights[0] - weights[1]) / sum(weights)


def _arms(kind: str, *terms: Entropy) -> dict[str, Arm]:
    changes = {"loss.regularise": terms}
    return {f"{kind}{better}": Arm("reinforce", changes, _paid(better)) for better in (0, 1)}


CLAIM = Claim(
    property="""Where two actions are optimal, a change of the reward by a hundredth turns the
        learnt policy round; with an entropy bonus it moves it by no more than the change over
        twice the bonus.""",
    source="""Xu 2025, The Policy Cliff, arXiv 2507.20150 (discontinuity of optimal policies, and
        the Lipschitz bound of entropy regularisation); reference: softmax(reward / bonus)""",
    minutes=2.0,
    on="toy",
    setting=f"""Three arms that pay 1, 1 and 0; one of the first two pays {EPSILON} more.
        `reinforce`, a table, 64 episodes an update, 200 plain gradient steps of size 10, without
        and with an entropy bonus of {TAU}, once for each of the two rewards.""",
    measured="Total variation between the policies of both rewards.",
    chosen="Sizes; bounds before anything was run.",
    theory="""Greedy policies of the two rewards share no action: 1. The policy that is best with
        the bonus is softmax(r / tau), and moves by at most epsilon / (2 tau) if every reward may
        move by epsilon: .025 here.""",
    world=World(BANDIT, 200, {}, lambda seed: sized(1, ARMS)),
    changes={**PLAIN, "collect.episodes": 64, "optim.lr": 10.0},
    arms={**_arms("greedy"), **_arms("bonus", Entropy(coef=TAU))},
    measure=_measure,
    expect=(
        Expect("distance, no bonus", _moved("greedy"), 1.0, low=0.4),
        Expect(f"distance, bonus {TAU}", _moved("bonus"), _exact(TAU), high=0.03),
    ),
)
