"""Advantage Alignment on the shipped language model: the dilemma of `aa_ipd` in words."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch

from coevo.agents.agent import Request, request_of
from coevo.agents.policy import Policy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.claims.aa_ipd import ALWAYS_DEFECT, CONTEXTS, DILEMMA, ROUNDS
from coevo.benchmarks.reproductions.repeated_table import expected_returns
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.tabular import REAL
from coevo.envs import make
from coevo.envs.core.parsing import answer, parse_move
from coevo.trainers import components as c

ENV, MODEL = "coevo/iterated_game-v0", "starter"
OPTIONS = {"unparsable": "B", "illegal": {"retries": 0}}
DRAWS, ELSEWHERE = 32, 0.05
"""Replies drawn per situation, and the largest share of them that may cooperate in another spelling
than the usual one, whose probability is what is computed."""
CHOICES = ("A", "B")
"""To cooperate and to defect, as players read it."""
TABULAR = {
    "before": ("before training", None, None, None, None),
    "naive": ("naive", 1.003, 0.999, None, None),
    "total": ("sum of rewards", 2.999, 0.022, 0.999, 0.978),
    "aligned": ("alignment", 2.781, 0.899, 0.985, 0.005),
}
"""Label, and payoff, payoff against always-defect, P(C | CC) and P(C | CD) of the numpy experiment
with tables."""


@torch.no_grad()
def manners(agent: Policy, rounds: int = ROUNDS) -> dict[str, float]:
    """Return what a policy does in the dilemma of some rounds, and earns; see `CLAIM.measured`."""
    asked, game = list(situations(rounds)), replace(DILEMMA, rounds=rounds)
    logp_NA = np.array(agent.move_logprobs([request for _, _, request in asked]))
    odds_TCA = torch.zeros(rounds, len(CONTEXTS), 2, dtype=REAL)
    for (t, context, _), odds in zip(asked, np.exp(logp_NA), strict=True):
        odds_TCA[t, context, 0] = float(odds[0])
    odds_TCA[..., 1] = 1.0 - odds_TCA[..., 0]  # what is no choice is a defection
    cooperation = {"start": float(odds_TCA[0, 0, 0])}
    cooperation |= {seen: float(odds_TCA[1:, k, 0].mean()) for k, seen in enumerate(CONTEXTS) if k}
    return cooperation | {
        "payoff": expected_returns(game, odds_TCA, odds_TCA)[0] / rounds,
        "robust": expected_returns(game, odds_TCA, ALWAYS_DEFECT)[0] / rounds,
        "usual": float(np.exp(logp_NA).sum(1).mean()),
        "elsewhere": _elsewhere(agent, [request for _, _, request in asked]),
    }


def _elsewhere(agent: Policy, requests: list[Request]) -> float:
    """Return the share of drawn replies that cooperate in another spelling; odds miss them."""
    drawn = agent.act([request for request in requests for _ in range(DRAWS)])
    trusting = [parse_move(reply.text, CHOICES).move == CHOICES[0] for reply in drawn]
    other = [reply.text.strip() != answer(CHOICES[0]) for reply in drawn]
    return float(np.mean(np.logical_and(trusting, other)))


def situations(rounds: int) -> Iterator[tuple[int, int, Request]]:
    """Give round, context and prompt of all situations that a prompt can tell apart."""
    yield 0, 0, _situation(0, (), rounds)
    for t in range(1, rounds):
        for k, last in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
            yield t, 1 + k, _situation(t, last, rounds)


def _situation(t: int, last: tuple[int, ...], rounds: int) -> Request:
    """Play until round t; a prompt has the last round alone, so those before may be anything."""
    env = make(ENV, prompt_style="terse", rounds=rounds, **OPTIONS)
    env.reset(seed=0)
    for k in range(t):
        for choice in last if k == t - 1 else (0, 0):
            env.step(answer(CHOICES[choice]))
    return request_of(env, env.possible_agents[0], np.random.default_rng(0))


def _measure(end: Trained) -> dict[str, float]:
    return manners(end.policy())


def _rows(arm: str) -> Iterator[Expect]:
    label, payoff, robust, trusts, forgives = TABULAR[arm]
    tabular = {"CC": trusts, "CD": forgives}
    yield Expect(f"{label}: payoff", f"{arm}.payoff", payoff)
    yield Expect(f"{label}: against always-defect", f"{arm}.robust", robust)
    for seen in CONTEXTS:
        yield Expect(f"{label}: P(C | {seen})", f"{arm}.{seen}", tabular.get(seen))


CLAIM = Claim(
    property="""The shipped language model, too, learns under advantage alignment to cooperate more
        than naively and to be exploited less than with the sum of rewards.""",
    source="""Piche et al. 2025, arXiv 2511.19405 (naive learners defect, aligned ones cooperate and
        are not exploited); figures of tables: our numpy experiment, studies/alignment_numpy.py""",
    minutes=14.0,
    on="model",
    setting="""`coevo/iterated_game-v0`, terse prompts, ten rounds, a reply that cannot be read is a
        defection (choice B). `advantage_alignment` and its two controls, trained from the shipped
        model; 50 updates of 128 episodes. Past selves are kept more often than in `aa_ipd`, since
        there are fewer updates, and KL to the start model, with the strength of the record's
        variants for language models, takes the place of the entropy bonus, which would reward
        unreadable text, no loss to a defector, and other spellings of a choice.""",
    measured="""Exact, by the probability of either choice in every situation that a prompt can tell
        apart (10 rounds, last choices of both): payoff per round in self-play and against
        always-defect, and the probability of cooperating, averaged over rounds.""",
    chosen="""Bounds are ours. The references are those of `aa_ipd`: a policy of five contexts that
        starts from chance, where this one starts from what it was taught and tells rounds
        apart.""",
    note="50 updates per arm; the references are figures of tables",
    world=World(ENV, 50, OPTIONS, settings={"model": MODEL, "threads": 1}),
    changes={"population.every": 5, "loss.regularise": (c.Kl(coef=0.001, kind="k3"),)},
    arms={
        "naive": Arm("advantage_alignment:naive"),
        "total": Arm("advantage_alignment:sum_of_rewards"),
        "aligned": Arm("advantage_alignment"),
        "before": Arm("advantage_alignment", steps=0, once=True),
    },
    measure=_measure,
    expect=(
        *(row for arm in TABULAR for row in _rows(arm)),
        Expect("before training: probability of the usual spelling", "before.usual"),
        *(
            Expect(
                f"{TABULAR[arm][0]}: cooperation spelt otherwise",
                f"{arm}.elsewhere",
                high=ELSEWHERE,
            )
            for arm in ("naive", "total", "aligned")
        ),
        Expect("payoff, alignment - naive", "aligned.payoff - naive.payoff", 1.778, low=0.2),
        Expect(
            "against always-defect, alignment - sum of rewards",
            "aligned.robust - total.robust",
            0.877,
            low=0.1,
        ),
        Expect("alignment: P(C | CC) - P(C | CD)", "aligned.CC - aligned.CD", 0.98, low=0.2),
    ),
    seeds=3,
)
