"""Advantage Alignment on the shipped language model: the prisoner's dilemma of `aa_ipd` in words.

Setting   `coevo/iterated_game-v0`, terse prompts, ten rounds, a reply that cannot be read is a
          defection (choice B). The record `advantage_alignment` and its two controls, trained from
          the shipped model by the same loop as any other run; 128 episodes per update. Past selves
          are kept more often than in `aa_ipd`, since there are fewer updates, and KL to the start
          model takes the place of the entropy bonus.
Measured  Exact, by the probability of either choice in every situation that a prompt can tell
          apart (10 rounds, last choices of both): payoff per round in self-play and against
          always-defect, and the probability of cooperating, averaged over rounds.
Beside    The references are those of `aa_ipd`: a policy of five contexts that starts from chance,
          where this one starts from what it was taught and tells rounds apart. Bounds are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from coevo.agents.agent import Request, request_of
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_model
from coevo.agents.policy import Policy
from coevo.benchmarks.reproductions.aa_ipd import ALWAYS_DEFECT, CONTEXTS, ROUNDS, dilemma
from coevo.benchmarks.reproductions.repeated_table import expected_returns
from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row
from coevo.benchmarks.reproductions.table_run import started
from coevo.benchmarks.reproductions.tabular import REAL
from coevo.envs import make
from coevo.envs.core.parsing import answer, parse_move
from coevo.trainers.algorithms import algorithm
from coevo.trainers.estimators import Kl
from coevo.trainers.loop import finish
from coevo.trainers.run import output_policy

ENV = "coevo/iterated_game-v0"
OPTIONS = {"prompt_style": "terse", "unparsable": "B"}
MODEL = "starter"
UPDATES = 50
MOST = 3
"""Seeds that are run."""
CHANGES = {"population.every": 5, "loss.regularise": (Kl(coef=0.001, kind="k3"),)}
"""The pull is that of the record's variants for language models. The entropy bonus of the dilemma
pays for unreadable text, which costs a defector nothing, and for other spellings of a choice."""
DRAWS, ELSEWHERE = 32, 0.05
"""Replies drawn per situation, and the largest share of them that may cooperate in another spelling
than the usual one, whose probability is what is computed."""
CHOICES = ("A", "B")
"""To cooperate and to defect, as players read it."""
WAYS = {"naive": "naive", "sum of rewards": "sum_of_rewards", "alignment": None}
"""What a way is called -> variant of the record."""
TABULAR = {
    "naive": (1.003, 0.999, None, None),
    "sum of rewards": (2.999, 0.022, 0.999, 0.978),
    "alignment": (2.781, 0.899, 0.985, 0.005),
}
"""Payoff, payoff against always-defect, P(C | CC) and P(C | CD) of the numpy experiment."""


@dataclass(frozen=True)
class Manners:
    """What a policy does in every situation."""

    odds_TCA: Tensor
    """Probability of both choices by round and context; what is no choice is a defection."""
    readable: float
    """Share of the probability that is on the usual spelling of a choice, over situations."""
    elsewhere: float
    """Share of drawn replies that cooperate in another spelling; the odds do not count them."""

    def cooperation(self, context: str) -> float:
        """Return the probability of cooperating after a round, averaged over rounds."""
        at = CONTEXTS.index(context)
        reached = self.odds_TCA[:1] if context == "start" else self.odds_TCA[1:]
        return float(reached[:, at, 0].mean())

    @property
    def payoff(self) -> float:
        """Expected payoff per round against itself."""
        return expected_returns(dilemma(), self.odds_TCA, self.odds_TCA)[0] / ROUNDS

    @property
    def robust(self) -> float:
        """Expected payoff per round against always-defect."""
        return expected_returns(dilemma(), self.odds_TCA, ALWAYS_DEFECT)[0] / ROUNDS


def run(seeds: Sequence[int]) -> Outcome:
    """Train the shipped model in three ways and look at what it does."""
    found = {
        way: [_learnt(variant, seed) for seed in seeds[:MOST]] for way, variant in WAYS.items()
    }
    before = manners(_agent())
    apart = [m.cooperation("CC") - m.cooperation("CD") for m in found["alignment"]]
    payoff = {way: [m.payoff for m in many] for way, many in found.items()}
    more = np.subtract(payoff["alignment"], payoff["naive"])
    safer = np.subtract(
        [m.robust for m in found["alignment"]], [m.robust for m in found["sum of rewards"]]
    )
    return Outcome(
        (
            *_rows("before training", [before]),
            *(row for way, many in found.items() for row in _rows(way, many)),
            *(
                Row(
                    f"{way}: cooperation spelt otherwise",
                    tuple(m.elsewhere for m in many),
                    high=ELSEWHERE,
                )
                for way, many in found.items()
            ),
            Row("payoff, alignment - naive", tuple(more.tolist()), 1.778, low=0.2),
            Row(
                "against always-defect, alignment - sum of rewards",
                tuple(safer.tolist()),
                0.877,
                low=0.1,
            ),
            Row("alignment: P(C | CC) - P(C | CD)", tuple(apart), 0.98, low=0.2),
        ),
        note=f"{UPDATES} updates per way; the references are figures of tables; "
        f"before training {before.readable:.1%} of the probability is on the usual spelling",
    )


@torch.no_grad()
def manners(agent: Policy) -> Manners:
    """Ask a policy for its choice in every situation that a prompt can tell apart."""
    asked = situations()
    logp_NA = np.array(agent.move_logprobs([request for _, _, request in asked]))
    odds_TCA = torch.zeros(ROUNDS, len(CONTEXTS), 2, dtype=REAL)
    for (t, context, _), odds in zip(asked, np.exp(logp_NA), strict=True):
        odds_TCA[t, context, 0] = float(odds[0])
    odds_TCA[..., 1] = 1.0 - odds_TCA[..., 0]
    readable = float(np.exp(logp_NA).sum(1).mean())
    return Manners(odds_TCA, readable, _elsewhere(agent, [request for _, _, request in asked]))


def _elsewhere(agent: Policy, requests: Sequence[Request]) -> float:
    drawn = agent.act([request for request in requests for _ in range(DRAWS)])
    usual = answer(CHOICES[0])
    trusting = [parse_move(reply.text, CHOICES).move == CHOICES[0] for reply in drawn]
    return float(
        np.mean([t and r.text.strip() != usual for t, r in zip(trusting, drawn, strict=True)])
    )


def situations() -> list[tuple[int, int, Request]]:
    """Return every situation of the first seat: round, context, and what it is asked."""
    found = [(0, 0, _situation(0, ()))]
    lasts = [(own, other) for own in range(2) for other in range(2)]
    found += [
        (t, 1 + k, _situation(t, last)) for t in range(1, ROUNDS) for k, last in enumerate(lasts)
    ]
    return found


def _situation(t: int, last: tuple[int, ...]) -> Request:
    """Play until round t; only the last round is told, so the ones before may be anything."""
    env = make(ENV, **OPTIONS)
    env.reset(seed=0)
    for k in range(t):
        for choice in last if k == t - 1 else (0, 0):
            env.step(answer(CHOICES[choice]))
    seat = env.possible_agents[0]
    return request_of(env, seat, np.random.default_rng(0))


def _learnt(variant: str | None, seed: int) -> Manners:
    made = algorithm("advantage_alignment", variant, CHANGES)
    with started(made, ENV, OPTIONS, model=MODEL, seed=seed, steps=UPDATES, threads=1) as run:
        finish(run)
        return manners(output_policy(run.learners["policy"]))


def _agent() -> LanguageModelAgent:
    model, tokenizer = load_model(MODEL, device="cpu")
    return LanguageModelAgent(model, tokenizer)


def _rows(way: str, many: Sequence[Manners]) -> list[Row]:
    """Report a way, beside what a table learns in it."""
    payoff, robust, trusts, forgives = TABULAR.get(way, (None,) * 4)
    tabular = {"CC": trusts, "CD": forgives}
    return [
        Row(f"{way}: payoff", tuple(m.payoff for m in many), payoff),
        Row(f"{way}: against always-defect", tuple(m.robust for m in many), robust),
        *(
            Row(f"{way}: P(C | {c})", tuple(m.cooperation(c) for m in many), tabular.get(c))
            for c in CONTEXTS
        ),
    ]


REPRODUCTION = Reproduction(
    name="aa_starter",
    property="The shipped language model, too, learns under advantage alignment to cooperate more "
    "than naively and to be exploited less than with the sum of rewards.",
    source="Piche et al. 2025, arXiv 2511.19405 (naive learners defect, aligned ones cooperate and "
    "are not exploited); figures of tables: our numpy experiment, "
    "studies/alignment_numpy.py",
    minutes=14.0,
    run=run,
    on="model",
)
