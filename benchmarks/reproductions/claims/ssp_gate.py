"""The gate of search self-play: what the proposer is paid for decides whether solvers learn.

The last question is broken. Payoffs are those of `coevo/search_self_play-v0`.
"""

from collections.abc import Mapping
from math import log
from statistics import fmean
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from coevo.agents.population import ByRole, MakePolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect, Found, value
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized
from coevo.benchmarks.reproductions.worlds import Micro, arms, world
from coevo.envs.core.config import config, real, whole
from coevo.envs.core.protocol import All, One, Pay, Protocol
from coevo.envs.search.payoffs import (
    ProposerReward,
    proposer_payoff,
    solver_payoff,
    success_share,
)
from coevo.trainers.loop import UpdateResult
from coevo.trainers.run import Run

PROPOSER, ASK = "proposer_0", "Ask"
RELATIONS, ANSWERS, GROUP = 30, 8, 5


@config
class AskingConfig:
    """What asking takes."""

    right: Annotated[tuple[Annotated[int, whole(0)], ...], Field(min_length=1)] = (0, 1)
    """Right answer of every question but the broken one."""
    answers: Annotated[int, whole(1)] = 8
    solvers: Annotated[int, whole(1)] = 5
    gate: Annotated[bool, Field(strict=True)] = True
    """Whether the broken question is rejected."""
    proposer_reward: ProposerReward = "one_minus"
    """What a proposer is paid for a question that was asked."""
    edge_reward: Annotated[float, real()] = 0.0
    """Learnability of what no solver or every solver solves."""
    invalid_reward: Annotated[float, real()] = 0.0
    """What a proposer is paid for a rejected question."""


class Asking(Micro[AskingConfig]):
    """One question, and then the answers of all solvers at the same time."""

    env_id = "coevo/asking-v0"
    config_class = AskingConfig
    about = "Ask a question, or answer it."
    success: float | None = None

    def __init__(self, config: AskingConfig) -> None:
        super().__init__(config)
        self.solvers = tuple(f"solver_{i}" for i in range(config.solvers))
        self.seats = (PROPOSER, *self.solvers)
        paid = (0.0, 1.0, config.invalid_reward, config.edge_reward)
        self.payoff_range = (min(paid), max(paid))
        self.questions = tuple(f"q{i}" for i in range(len(config.right) + 1))

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        given, self.success = self.config, None
        asked = yield One(PROPOSER, terse=ASK, moves=self.questions)
        if asked != self.questions[-1] or not given.gate:
            right = dict(zip(self.questions, given.right, strict=False)).get(asked)
            said = yield All(self.solvers, terse=asked, moves=arms(given.answers))
            paid = {seat: solver_payoff(answer == f"a{right}") for seat, answer in said.items()}
            self.success = success_share(list(paid.values()))
            yield Pay(paid)
        share, kind = self.success, given.proposer_reward
        worth = proposer_payoff(share, kind, invalid=given.invalid_reward, edge=given.edge_reward)
        yield Pay({PROPOSER: worth})

    def outcome(self) -> dict[str, float]:
        return {} if self.success is None else {"success": self.success}


raw_env, env = world(Asking, "questions and answers", kind="mixed", seats=6)


def _right(seed: int) -> list[int]:
    return [int(n) for n in np.random.default_rng(seed).integers(ANSWERS, size=RELATIONS)]


def _options(seed: int) -> dict[str, Any]:
    return {"right": _right(seed), "answers": ANSWERS, "solvers": GROUP}


def _maker(seed: int) -> MakePolicy:
    """Return tables; the proposer starts as Zipf, the broken question as likely as rank 2."""
    every = [-2.0 * log(rank) for rank in range(1, RELATIONS + 1)]
    zipf = {f"q{i}": logit for i, logit in enumerate([*every, every[1]])}
    return sized(RELATIONS + 2, RELATIONS + 1, {ASK: zipf})


def _successes(run: Run, done: UpdateResult) -> list[float]:
    return [e.outcome["success"] for e in done.episodes if "success" in e.outcome]


def _measure(end: Trained) -> dict[str, float]:
    proposer, solver = end.learnt("proposer"), end.learnt("solver")
    late = [share for update in end.seen[-50:] for share in update]
    return {
        "held_out": fmean(
            float(solver[f"q{i}"][n]) if f"q{i}" in solver else 1 / ANSWERS
            for i, n in enumerate(_right(end.seed))
        ),
        "in_play": fmean(late) if late else 0.0,
        "broken": float(proposer[ASK][-1]),
        "still": fmean(share in (0.0, 1.0) for update in end.seen for share in update),
    }


def _same(found: Found) -> list[float]:
    return [abs(gap) for gap in value("gated.in_play - frozen.in_play", found)]


EDGES = {"proposer_reward": "learnability", "edge_reward": -0.5}
CLAIM = Claim(
    property="""A proposer paid 1 - s teaches solvers what a fixed one does not, and only behind a
        gate; rejected questions paid above the worst valid ones make it flee to rejection.""",
    source="""Lu et al. 2025, Search Self-play, arXiv 2510.18821 (proposers are paid 1 - s, behind a
        check by retrieval); figures: our numpy experiment, studies/search_gate_numpy.py""",
    minutes=3.8,
    on="toy",
    setting="""30 relations, and one broken question that has no answer. The solver is a softmax
        over 8 answers per relation, one of them right, from zero logits; the proposer a softmax
        over the 31 questions, Zipf with exponent 2 at first, the broken one as likely as rank 2.
        Which answers are right is drawn by the seed. `ssp` without its KL term, a table per role:
        16 questions per update, 5 solvers each, 400 updates of plain steps, 0.6 for the proposer
        and 16 for the solver. Gate on: the broken question is rejected, paid `invalid`, and never
        solved; off: it goes to the solvers, who all fail, so that it is paid like the hardest of
        questions.""",
    measured="""Held out: accuracy over all relations alike, exactly; in play: share of solvers that
        succeeded over the questions of the last 50 updates that were opened; the probability of the
        broken question; the share of the solver groups without variance, over the whole run.""",
    chosen="""All of it but 1 - s and the gate: the paper reports models of 7B to 32B. Arms with
        edges pay -0.5 where all or none succeed, and 4 s (1 - s) between. The references are from
        32 questions per update and 800 updates of half the step, and divide a solver's step by all
        questions, asked or rejected; here by those that were asked, so that solvers learn more
        (0.74 for 0.58) where a proposer flees to rejection.""",
    note="""reward in play is as high without a learning proposer, so it says nothing about what was
        learnt""",
    world=World(Asking.env_id, 400, _options, _maker, watch=_successes),
    changes={
        **PLAIN,
        "population": ByRole(),
        "collect.episodes": 16,
        "loss.regularise": (),
        "optim.minibatches": 1,
        "optim.lr": 0.6,
        "optim_of": {"solver": {"lr": 16.0}},
    },
    arms={
        "frozen": Arm("ssp:solver_only"),
        "gated": Arm("ssp"),
        "open": Arm("ssp", options={"gate": False}),
        "hard": Arm("ssp", options={"proposer_reward": "learnability"}),
        "fled": Arm("ssp", options=EDGES),
        "held": Arm("ssp", options={**EDGES, "invalid_reward": -1.0}),
    },
    measure=_measure,
    expect=(
        Expect("held out: solver only, frozen proposer", "frozen.held_out", 0.774, 0.7, 0.9),
        Expect("held out: 1 - s, gate on", "gated.held_out", 0.965, 0.94),
        Expect("held out: 1 - s, gate off", "open.held_out", 0.384, high=0.7),
        Expect("held out: 4s(1 - s), gate on", "hard.held_out", 0.97, 0.94),
        Expect("held out: edges -0.5, rejected 0", "fled.held_out", 0.584, high=0.85),
        Expect("held out: edges -0.5, rejected -1", "held.held_out", 0.986, 0.94),
        Expect(
            "gain of a learning proposer, held out",
            "gated.held_out - frozen.held_out",
            0.19,
            low=0.1,
        ),
        Expect("gain of the gate, held out", "gated.held_out - open.held_out", 0.581, low=0.25),
        Expect("in play: solver only", "frozen.in_play", 0.99, low=0.95),
        Expect("in play: difference to gate on", _same, 0.002, high=0.05),
        Expect("in play: gate off", "open.in_play", 0.004, high=0.1),
        Expect("P(broken): gate on", "gated.broken", 0.129, high=0.3),
        Expect("P(broken): gate off", "open.broken", 0.995, low=0.9),
        Expect("P(broken): edges -0.5, rejected 0", "fled.broken", 0.982, low=0.9),
        Expect("P(broken): edges -0.5, rejected -1", "held.broken", 0.01, high=0.1),
        Expect("solver groups without variance: gate on", "gated.still", 0.92, low=0.7),
    ),
)
