"""Replies that were seldom compared and won by luck: DPO ends on them, RPO cannot."""

import torch
from torch import Tensor, nn

from coevo.agents.population import MakePolicy
from coevo.agents.table import MOVES
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.preferences import noted, pairs_of, policies
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.worlds import BANDIT, given

ARMS, COMMON, SELDOM, PAIRS = 60, 6, 0.2, 400
"""Arms; those that are compared often; the share of the others; pairs."""
ETA = 0.2
WORTH_A = torch.cat([torch.linspace(1, -1, COMMON), torch.full((ARMS - COMMON,), -1.0)]).double()
START_A = torch.cat(
    [
        torch.full((COMMON,), (1 - SELDOM) / COMMON),
        torch.full((ARMS - COMMON,), SELDOM / (ARMS - COMMON)),
    ]
).double()
ODDS_AA = torch.sigmoid(WORTH_A.unsqueeze(1) - WORTH_A)


class Unequal(nn.Module):
    """Logits of the arms, the same for every prompt, from the start policy."""

    def __init__(self) -> None:
        super().__init__()
        self.logits_A = nn.Parameter(START_A.log())

    def forward(self, row_N: Tensor) -> Tensor:
        return nn.functional.pad(self.logits_A, (0, MOVES - ARMS)).expand(len(row_N), -1)


def _maker(seed: int) -> MakePolicy:
    return given(Unequal())


def _measure(end: Trained) -> dict[str, float]:
    won_N = torch.cat(pairs_of(end)[0])[:, 0]
    won_A = torch.bincount(won_N, minlength=ARMS).double() / len(won_N)
    p_A = end.seen[-1]
    return {
        "seldom": float(p_A[COMMON:].sum()),
        "bound": float(won_A[COMMON:].sum()) * (1 + 1 / ETA),
        "preferred": float((won_A * (p_A / START_A).log()).sum()),
        "true": float(p_A @ ODDS_AA @ START_A),
    }


def _arm(eta: float) -> Arm:
    return Arm("rpo", {"cycle.update.losses.rpo.eta": eta}, edit=noted(lambda seed: ODDS_AA))


CLAIM = Claim(
    property="""Replies that were seldom compared and won by luck take all of the probability under
        DPO; beside imitation of what is preferred they cannot, and the policy stays better than it
        was.""",
    source="""Liu et al. 2024, RPO, arXiv 2405.16436 (over-optimisation under partial coverage); the
        bound is that of the gradient of its loss in a table, derived here""",
    minutes=2.0,
    on="toy",
    setting="""60 arms, one table. Six arms have 0.8 of the start policy, worths from 1 to -1; the
        other 54 share 0.2, and each is worth -1. 400 pairs of the start policy's replies, each
        decided once with odds s(worth - worth'): a seldom compared arm is in about three. `rpo`,
        beta 0.1, all pairs in every one of 1000 steps of Adam, with eta 0.2, and 0, which is
        DPO.""",
    theory="""In a table, N pairs push arm a, which won W_a of them, by beta (sum over its wins of
        s(-m) - sum over its losses of s(-m)) + eta beta (W_a - N pi_a), with m the margin of a
        pair. DPO: an arm that never lost is pushed without end, so that arms of few lucky pairs
        take everything. RPO: where nothing is pushed, pi_a <= (1 + 1 / eta) W_a / N; what was
        seldom preferred cannot become likely, however well it did. This is the source's partial
        coverage: the policy is measured against replies that are compared often.""",
    measured="""Probability of the seldom compared arms, that over the bound, how far the
        log-probability of what was preferred has fallen, and how often the policy is preferred to
        that of the start in truth (0.5 at the start, 0.33 for the seldom compared arms, 0.745 for
        the best).""",
    chosen="""Sizes, worths and eta, on exact gradients of other draws; bounds before the loop was
        run. Until then the setting was 60 arms of 6 features, 48 of which were never compared;
        there five seeds left the sign of RPO's gain open (0.10, standard error 0.11).""",
    world=World(BANDIT, 1, {"payoffs": ((0.0,) * ARMS,)}, _maker, watch=policies),
    changes={
        "collect.episodes": 2 * PAIRS,
        "collect.component": "win_rate",
        "advantage.reward_weights": {"payoff": 0.0},
        "cycle.update.losses.rpo.beta": 0.1,
        "optim.lr": 0.05,
        "optim.warmup": 0,
        "optim.epochs": 1000,
    },
    arms={"dpo": _arm(0.0), "rpo": _arm(ETA)},
    measure=_measure,
    expect=(
        Expect("DPO: probability of seldom compared arms", "dpo.seldom", 1.0, low=0.5),
        Expect("RPO: probability of seldom compared arms", "rpo.seldom"),
        Expect("RPO: that over its bound", "rpo.seldom / rpo.bound", high=1.0),
        Expect("DPO: change of log pi(preferred)", "dpo.preferred"),
        Expect("RPO: change of log pi(preferred)", "rpo.preferred"),
        Expect("RPO above DPO", "rpo.preferred - dpo.preferred", low=1.0),
        Expect("DPO: preferred to the start", "dpo.true", high=0.5),
        Expect("RPO: preferred to the start", "rpo.true", low=0.5),
        Expect("gain", "rpo.true - dpo.true", low=0.1),
    ),
)
