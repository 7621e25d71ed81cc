"""A judge action that is paid for itself: who rejects useless documents recovers from them."""

from collections.abc import Mapping
from statistics import fmean
from typing import Annotated, Any, Literal

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import Micro, world
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.protocol import One, Pay, Protocol
from coevo.envs.search.reader import JUDGE

SEARCHER = "searcher_0"
DOCUMENTS, HOPS, SEARCHES, WRONG = 64, 2, 4, 0.4


@config
class NoisySearchConfig:
    """What a noisy search takes."""

    useful: tuple[Annotated[int, whole(0)], ...] = (0,)
    """Documents that help; the others mislead."""
    wrong: Annotated[float, real(0, 1)] = WRONG
    """Probability that a search returns a document that misleads."""
    judge: Literal["off", "plain", "asymmetric"] = "off"
    """By which table judgements are paid."""


class NoisySearch(Micro[NoisySearchConfig]):
    """Two documents are accepted, of four that are found; both must help."""

    env_id = "coevo/noisy_search-v0"
    config_class = NoisySearchConfig
    about = "Accept documents that help, and reject others."
    seats = (SEARCHER,)
    payoff_range = (0.0, 1.0)
    components = ("judge",)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        given = self.config
        rest = tuple(n for n in range(DOCUMENTS) if n not in given.useful)
        judged: list[tuple[bool, bool]] = []
        for _ in range(SEARCHES):
            useful = bool(rng.random() >= given.wrong)
            found = rng.choice(given.useful if useful else rest)
            verdict = yield One(SEARCHER, terse=f"Document {found}", moves=("yes", "no"))
            judged.append((verdict == "yes", useful))
            if sum(said for said, _ in judged) == HOPS:
                break
        accepted = [useful for said, useful in judged if said]
        yield Pay({SEARCHER: float(accepted == [True] * HOPS)})
        if given.judge != "off":
            table = JUDGE[given.judge]
            yield Pay({SEARCHER: fmean(table[pair] for pair in judged)}, "judge")


raw_env, env = world(NoisySearch, "two documents of four searches", kind="cooperative", seats=1)


def _useful(seed: int) -> list[int]:
    drawn = np.random.default_rng(seed).permutation(DOCUMENTS)[: DOCUMENTS // 2]
    return sorted(int(n) for n in drawn)


def right_after(left: int, need: int, good: float, bad: float) -> float:
    """Return the probability to accept only documents that help, as many as are needed.

    Args:
        left: searches that are left.
        need: documents still to be accepted.
        good: probability to accept one that helps.
        bad: the same of one that misleads.
    """
    if not need or not left:
        return float(not need)
    rejected = (1 - WRONG) * (1 - good) + WRONG * (1 - bad)
    taken = (1 - WRONG) * good * right_after(left - 1, need - 1, good, bad)
    return taken + rejected * right_after(left - 1, need, good, bad)


def _measure(end: Trained) -> dict[str, float]:
    said, useful = end.learnt(), set(_useful(end.seed))
    yes = [
        float(said[f"Document {n}"][0]) if f"Document {n}" in said else 0.5
        for n in range(DOCUMENTS)
    ]
    good = fmean(p for n, p in enumerate(yes) if n in useful)
    bad = fmean(p for n, p in enumerate(yes) if n not in useful)
    accepted = (1 - WRONG) * good + WRONG * bad
    return {
        "recovered": (1 - bad) * right_after(SEARCHES - 1, HOPS, good, bad),
        "right": right_after(SEARCHES, HOPS, good, bad),
        "precision": (1 - WRONG) * good / accepted,
        "recall": good,
    }


def _arm(judge: str) -> Arm:
    return Arm("grpo", options={"judge": judge})


CLAIM = Claim(
    property="""Rewards for judging each search as useful or useless make an agent recover more
        often from a useless first search than the reward for the answer alone.""",
    source="""ReSeek 2025, arXiv 2510.00568 (judge action, both of its reward tables; there models
        of 3B and 7B: exact match .288 without a judge, .312 with it); bounds are ours""",
    minutes=1.5,
    on="toy",
    setting="""64 documents, half of which help; which ones is drawn by the seed. A search returns
        one that misleads with probability .4, whatever was found before. The agent, a table,
        accepts or rejects each of up to four; two that it accepts make the answer, which is right
        if both help. `grpo` in groups of 5, 40 episodes per update, 100 updates, equal in all
        arms.""",
    measured="""Recovered: probability of a right answer if the first document misleads, exactly
        from the table; right: the same without a condition; precision and recall of the
        judgements.""",
    chosen="""All sizes. The judgements of an episode are averaged, so that they are worth .6 at
        most beside 1 for the answer.""",
    world=World(NoisySearch.env_id, 100, lambda seed: {"useful": _useful(seed)}),
    changes={
        **PLAIN,
        "collect.episodes": 40,
        "collect.group_size": 5,
        "loss.regularise": (),
        "optim.lr": 4.0,
    },
    arms={"answer": _arm("off"), "plain": _arm("plain"), "asymmetric": _arm("asymmetric")},
    measure=_measure,
    expect=(
        *(
            Expect(f"{what}, {arm}", f"{arm}.{what}")
            for what in ("recovered", "right", "precision", "recall")
            for arm in ("answer", "plain", "asymmetric")
        ),
        Expect("gain in recovery, plain", "plain.recovered - answer.recovered", low=0.05),
        Expect("gain in recovery, asymmetric", "asymmetric.recovered - answer.recovered", low=0.05),
    ),
)
