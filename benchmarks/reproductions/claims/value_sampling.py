"""VAS: a frozen policy, weighed by values of its own samples, nears the best that it can say."""

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import torch
from torch import Tensor

from coevo.agents.engines.logit_processors import Place, ValueAugmented
from coevo.agents.sampling import Ids
from coevo.benchmarks.reproductions.claim import Claim, Expect

LENGTH, TOKENS, SHARE, SAMPLES = 4, 4, 0.1, 4000
STRENGTHS = (3, 10, 30)
STRINGS = tuple(product(range(TOKENS), repeat=LENGTH))


def _measure(seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    first_V, after_VV = rng.normal(size=TOKENS), rng.normal(size=(TOKENS, TOKENS))
    paid = set(rng.choice(len(STRINGS), round(SHARE * len(STRINGS)), replace=False).tolist())
    reward = {s: float(n in paid) for n, s in enumerate(STRINGS)}

    def logits(before: Ids) -> Tensor:
        return torch.tensor(after_VV[before[-1]] if before else first_V)

    base = _odds(logits, None)
    drawn = rng.choice(len(STRINGS), SAMPLES, p=list(base.values()))
    values = _means([STRINGS[n] for n in drawn], reward)

    def valued(contexts: Sequence[Ids]) -> Tensor:
        return torch.tensor([values.get(c, 0.0) for c in contexts], dtype=torch.float64)

    def paid_by(odds: dict[Ids, float]) -> float:
        return sum(p * reward[s] for s, p in odds.items())

    mean = paid_by(base)
    return {
        "base": mean,
        **{f"best{n}": 1 - (1 - mean) ** n for n in (4, 16)},
        **{f"beta{b}": paid_by(_odds(logits, ValueAugmented(valued, b))) for b in STRENGTHS},
    }


def _odds(logits: Callable[[Ids], Tensor], process: ValueAugmented | None) -> dict[Ids, float]:
    """Return the probability of every string."""
    odds: dict[Ids, float] = {(): 1.0}
    for at in range(LENGTH):
        grown = {}
        for before, p in odds.items():
            z_1V = logits(before).unsqueeze(0)
            z_1V = z_1V if process is None else process(z_1V, [Place((), before, at)])
            for token, q in enumerate(z_1V[0].softmax(-1).tolist()):
                grown[*before, token] = p * q
        odds = grown
    total = sum(odds.values())
    return {s: p / total for s, p in odds.items()}


def _means(drawn: list[Ids], reward: dict[Ids, float]) -> dict[Ids, float]:
    """Return the mean reward of the samples that begin so, for every beginning."""
    seen: dict[Ids, list[float]] = {}
    for string in drawn:
        for at in range(1, LENGTH + 1):
            seen.setdefault(string[:at], []).append(reward[string])
    return {begun: sum(found) / len(found) for begun, found in seen.items()}


CLAIM = Claim(
    property="""A policy that never moves, weighed token by token by the values of its own samples,
        earns more the stronger the weight, and with a moderate one more than the best of 16
        replies.""",
    source="""Han et al. 2024, VAS, arXiv 2405.06639 (about equal to the best of 128);
        bounds are ours""",
    minutes=0.2,
    on="formula",
    setting=f"""Strings of {LENGTH} tokens out of {TOKENS}; the policy is a Markov chain with
        normal logits, and a tenth of all strings are rewarded, both drawn by the seed. Values are
        means over {SAMPLES} samples of the policy. The shipped logit processor decodes.""",
    measured="Probability of a rewarded string, exactly; best of n is 1 - (1 - p)^n.",
    chosen="""Sizes are those of an earlier sketch with other draws, which found .094 for the
        policy, .461, .863 and .994 for beta 3, 10 and 30, .315 and .742 for the best of 4 and 16;
        bounds have room for other draws, and were set before anything was run.""",
    limits="""Values are counted, not learnt: what a critic with errors does to unlikely tokens is
        not shown.""",
    arms={"strings": _measure},
    expect=(
        Expect("the policy", "strings.base"),
        Expect("best of 4", "strings.best4"),
        Expect("best of 16", "strings.best16"),
        Expect("beta 3", "strings.beta3"),
        Expect("beta 10", "strings.beta10", low=0.75),
        Expect("beta 30", "strings.beta30", low=0.95),
        Expect("beta 3 over the policy", "strings.beta3 - strings.base", low=0.1),
        Expect("beta 30 over best of 16", "strings.beta30 - strings.best16", low=0.05),
    ),
)
