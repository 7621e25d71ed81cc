"""The gate of search self-play: what the proposer is paid for decides whether anybody learns.

Questions  30 relations, and one broken question that nobody can answer. The solver is a softmax
           over 8 answers per relation, one of them right, from zero logits; the proposer a softmax
           over the 31 questions, Zipf with exponent 2 at first, the broken one as likely as rank 2.
Play       32 questions per step, 5 solvers each, 800 steps. Payoffs are those of the environment,
           advantages and loss those of the record `ssp` without its KL term (there is no
           reference here), one phase per role: step 0.3 for the proposer, 8 for the solver.
Held out   accuracy over all relations alike, exactly; in play: mean payoff of the solvers over
           the questions of the last 50 steps that were opened.
Gate       on: the broken question is rejected, paid `invalid`, and nobody solves it; off: it goes
           to the solvers, who all fail, so that it is paid like the hardest of questions.
Chosen     All of it but 1 - s and the gate: the paper reports models of 7B to 32B. Variants with
           edges pay -0.5 where all or none succeed, and 4 s (1 - s) between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps
from coevo.benchmarks.reproductions.tabular import (
    REAL,
    Moves,
    SoftmaxTable,
    episodes,
    generators,
    moves,
    uniform,
)
from coevo.envs.search.payoffs import proposer_payoff, solver_payoff, success_share
from coevo.trainers.algorithms.ssp import ALGORITHM
from coevo.trainers.estimators import Denominators, advantages

RELATIONS, ANSWERS, GROUP, QUESTIONS, STEPS, LAST = 30, 8, 5, 32, 800, 50
BROKEN = RELATIONS
"""Number of the broken question."""
PROPOSER_LR, SOLVER_LR = 0.3, 8.0
LOSS = replace(ALGORITHM.loss, regularise=())


@dataclass(frozen=True)
class Variant:
    """One row of the table."""

    kind: str = "one_minus"
    gate: bool = True
    invalid: float = 0.0
    edge: float = 0.0
    learns: bool = True
    """Whether the proposer does."""


VARIANTS = {
    "solver only, frozen proposer": Variant(learns=False),
    "1 - s, gate on": Variant(),
    "1 - s, gate off": Variant(gate=False),
    "4s(1 - s), gate on": Variant("learnability"),
    "-0.5 at the edges, rejected paid 0": Variant("learnability", edge=-0.5),
    "-0.5 at the edges, rejected paid -1": Variant("learnability", edge=-0.5, invalid=-1.0),
}


@dataclass(frozen=True)
class Ended:
    """What a variant came to, one value per seed."""

    held_out: tuple[float, ...]
    in_play: tuple[float, ...]
    broken: tuple[float, ...]
    """Probability of the broken question."""
    still: tuple[float, ...]
    """Share of the solver groups without variance, over the whole run."""


def run(seeds: Sequence[int]) -> Outcome:
    """Train every variant and compare."""
    found = {name: trained(variant, seeds, STEPS) for name, variant in VARIANTS.items()}
    frozen, gated, open_, hard, fled, held = found.values()
    gain, cost = gaps(gated.held_out, frozen.held_out), gaps(gated.held_out, open_.held_out)
    same = tuple(map(abs, gaps(gated.in_play, frozen.in_play)))
    return Outcome(
        (
            Row("held out: solver only, frozen proposer", frozen.held_out, 0.774, 0.7, 0.9),
            Row("held out: 1 - s, gate on", gated.held_out, 0.965, 0.94),
            Row("held out: 1 - s, gate off", open_.held_out, 0.384, high=0.7),
            Row("held out: 4s(1 - s), gate on", hard.held_out, 0.97, 0.94),
            Row("held out: edges -0.5, rejected 0", fled.held_out, 0.584, high=0.85),
            Row("held out: edges -0.5, rejected -1", held.held_out, 0.986, 0.94),
            Row("gain of a learning proposer, held out", gain, 0.19, low=0.1),
            Row("gain of the gate, held out", cost, 0.581, low=0.25),
            Row("in play: solver only", frozen.in_play, 0.99, low=0.95),
            Row("in play: difference to gate on", same, 0.002, high=0.05),
            Row("in play: gate off", open_.in_play, 0.004, high=0.1),
            Row("P(broken): gate on", gated.broken, 0.129, high=0.3),
            Row("P(broken): gate off", open_.broken, 0.995, low=0.9),
            Row("P(broken): edges -0.5, rejected 0", fled.broken, 0.982, low=0.9),
            Row("P(broken): edges -0.5, rejected -1", held.broken, 0.01, high=0.1),
            Row("solver groups without variance: gate on", gated.still, 0.92, low=0.7),
        ),
        note="reward in play is as high without a learning proposer, so it says nothing about what "
        "was learnt",
    )


def trained(variant: Variant, seeds: Sequence[int], steps: int = STEPS) -> Ended:
    """Train proposer and solver of every seed side by side.

    Args:
        variant: what is paid, and whether there is a gate.
        seeds: of what is drawn, and of which answers are right.
        steps: updates.
    """
    sources, count = generators(seeds), len(seeds)
    right_ZR = (uniform(sources, RELATIONS) * ANSWERS).long()
    proposer = SoftmaxTable(_zipf().repeat(count, 1))
    solver = SoftmaxTable(torch.zeros(count * RELATIONS, ANSWERS))
    paid_Z, shown_Z, still_Z, groups_Z = (torch.zeros(count, dtype=REAL) for _ in range(4))
    for step in range(steps):
        asked_ZQ = proposer.draw(uniform(sources, QUESTIONS))
        drawn_ZQG = uniform(sources, QUESTIONS, GROUP)
        said_ZQG = _answered(solver, asked_ZQ, drawn_ZQG)
        sound_ZQ = asked_ZQ != BROKEN
        correct_ZQG = (said_ZQG == _looked_up(right_ZR, asked_ZQ).unsqueeze(-1)) & sound_ZQ[
            ..., None
        ]
        opened_ZQ = sound_ZQ if variant.gate else torch.ones_like(sound_ZQ)
        reward_ZQG, payoff_ZQ = _payoffs(variant, correct_ZQG, opened_ZQ)
        advantage_ZQ, advantage_ZQG = _advantages(payoff_ZQ, reward_ZQG, opened_ZQ)
        if variant.learns:
            _move_proposer(proposer, asked_ZQ, advantage_ZQ)
        _move_solver(solver, asked_ZQ, said_ZQG, advantage_ZQG)
        constant_ZQ = opened_ZQ & (reward_ZQG == reward_ZQG[..., :1]).all(-1)
        still_Z += constant_ZQ.sum(1)
        groups_Z += opened_ZQ.sum(1)
        if step >= steps - LAST:
            paid_Z += (reward_ZQG.mean(-1) * opened_ZQ).sum(1)
            shown_Z += opened_ZQ.sum(1)
    p_ZRA = solver.probabilities_CA().reshape(count, RELATIONS, ANSWERS)
    held_out_Z = p_ZRA.gather(2, right_ZR.unsqueeze(-1)).mean((1, 2))
    broken_Z = proposer.probabilities_CA()[:, BROKEN]
    in_play_Z = paid_Z / shown_Z.clamp(min=1)
    shares = (held_out_Z, in_play_Z, broken_Z, still_Z / groups_Z.clamp(min=1))
    return Ended(*(tuple(share.tolist()) for share in shares))


def _zipf() -> Tensor:
    """Return the logits of the proposer at first, [questions]."""
    rank_R = torch.arange(1, RELATIONS + 1, dtype=REAL)
    return torch.cat([-2.0 * rank_R.log(), -2.0 * rank_R[1:2].log()])


def _looked_up(right_ZR: Tensor, asked_ZQ: Tensor) -> Tensor:
    """Return the right answer of every question; of the broken one, that of another (unused)."""
    return right_ZR.gather(1, asked_ZQ.clamp(max=RELATIONS - 1))


def _contexts(asked_ZQ: Tensor) -> Tensor:
    """Return the solver's context of every question."""
    seed_Z1 = torch.arange(len(asked_ZQ)).unsqueeze(1)
    return seed_Z1 * RELATIONS + asked_ZQ.clamp(max=RELATIONS - 1)


def _answered(solver: SoftmaxTable, asked_ZQ: Tensor, drawn_ZQG: Tensor) -> Tensor:
    cumulative_ZQA = solver.probabilities_CA()[_contexts(asked_ZQ)].cumsum(-1)
    said_ZQG = torch.searchsorted(cumulative_ZQA, drawn_ZQG.contiguous(), right=True)
    return said_ZQG.clamp(max=ANSWERS - 1)


def _payoffs(variant: Variant, correct_ZQG: Tensor, opened_ZQ: Tensor) -> tuple[Tensor, Tensor]:
    """Pay as the environment does: solvers [Z, Q, G], proposers [Z, Q]."""
    paid = [solver_payoff(False), solver_payoff(True)]
    reward_ZQG = torch.where(correct_ZQG, paid[1], paid[0]).to(REAL)
    table = [
        proposer_payoff(
            success_share([paid[1]] * n + [paid[0]] * (GROUP - n)), variant.kind, edge=variant.edge
        )
        for n in range(GROUP + 1)
    ]
    rejected = proposer_payoff(None, variant.kind, invalid=variant.invalid)
    payoff_ZQ = torch.tensor(table, dtype=REAL)[correct_ZQG.sum(-1)]
    return reward_ZQG, torch.where(opened_ZQ, payoff_ZQ, rejected)


def _advantages(payoff_ZQ: Tensor, reward_ZQG: Tensor, opened_ZQ: Tensor) -> tuple[Tensor, Tensor]:
    """Return advantages by the record; solvers of rejected questions did not play: 0."""
    play_ZQ = torch.arange(payoff_ZQ.numel()).reshape(payoff_ZQ.shape)
    play_ZQG = play_ZQ.unsqueeze(-1).expand_as(reward_ZQG)
    solved_ZQG = opened_ZQ.unsqueeze(-1).expand_as(reward_ZQG)
    reward_B = torch.cat([payoff_ZQ.reshape(-1), reward_ZQG[solved_ZQG]])
    play_B = torch.cat([play_ZQ.reshape(-1), play_ZQG[solved_ZQG]])
    role_B = (torch.arange(len(play_B)) >= payoff_ZQ.numel()).long()
    batch = episodes(reward_B, ("payoff",), play=play_B, role=role_B)
    a_B = advantages(ALGORITHM.advantage, batch).advantage_BS.squeeze(1).to(REAL)
    advantage_ZQG = torch.zeros_like(reward_ZQG)
    advantage_ZQG[solved_ZQG] = a_B[payoff_ZQ.numel() :]
    return a_B[: payoff_ZQ.numel()].reshape(payoff_ZQ.shape), advantage_ZQG


def _move_proposer(proposer: SoftmaxTable, asked_ZQ: Tensor, advantage_ZQ: Tensor) -> None:
    seed_ZQ = torch.arange(len(asked_ZQ)).unsqueeze(1).expand_as(asked_ZQ)
    played = moves(seed_ZQ.reshape(-1), asked_ZQ.reshape(-1))
    denom = Denominators(QUESTIONS, QUESTIONS, 1)
    proposer.update(LOSS, played, advantage_ZQ.reshape(-1, 1), denom, lr=PROPOSER_LR)


def _move_solver(
    solver: SoftmaxTable, asked_ZQ: Tensor, said_ZQG: Tensor, advantage_ZQG: Tensor
) -> None:
    """Move the solver; an advantage of 0 is as good as not having played."""
    context_ZQG = _contexts(asked_ZQ).unsqueeze(-1).expand_as(said_ZQG)
    taught = advantage_ZQG != 0
    if not taught.any():
        return
    played: Moves = moves(context_ZQG[taught], said_ZQG[taught])
    denom = Denominators(QUESTIONS * GROUP, QUESTIONS * GROUP, 1)
    solver.update(LOSS, played, advantage_ZQG[taught].reshape(-1, 1), denom, lr=SOLVER_LR)


REPRODUCTION = Reproduction(
    name="ssp_gate",
    property="A proposer paid 1 - s teaches solvers what a fixed one does not, and only behind a "
    "gate; rejected questions paid above the worst valid ones make it flee to rejection.",
    source="Lu et al. 2025, Search Self-play, arXiv 2510.18821 (proposers are paid 1 - s, behind a "
    "check by retrieval); figures: our numpy experiment, benchmarks/studies/search_gate_numpy.py",
    minutes=0.7,
    run=run,
    on="alone",
)
