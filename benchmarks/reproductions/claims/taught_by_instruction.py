"""On-policy distillation: what an instruction makes a policy play, it learns to play without it."""

from functools import cache
from typing import Any

import torch

from coevo.agents.population import MakePolicy
from coevo.agents.strategies.oracle import OracleAgent
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.benchmarks.exact import exact_payoffs, exploitability, requests, tree_of
from coevo.benchmarks.reproductions.claim import Claim, Expect, Once
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.envs import make
from coevo.trainers.algorithms.on_policy_distillation import HINT
from coevo.trainers.collect.injected import Injected

ENV = "coevo/leduc_poker-v0"
OPTIONS: dict[str, Any] = {"prompt_style": "terse"}
TREMBLE = 0.02
"""Share of even odds in what the teacher plays: no move is impossible to it."""
TOKENS = 20_000


@cache
def _start() -> tuple[Rows, torch.Tensor, torch.Tensor]:
    """Return the rows of all prompts, the logits of the start, and those of the teacher.

    The start plays the equilibrium where its prompt has the instruction, the teacher always.
    """
    env, known, oracle = make(ENV, **OPTIONS), Rows(), OracleAgent()
    found: list[tuple[torch.Tensor, bool]] = []
    for request in requests(env, tree_of(ENV).decisions):
        legal = request.info["legal_actions"]
        odds = torch.from_numpy(oracle.odds(request))
        logits = ((1 - TREMBLE) * odds + TREMBLE / len(legal)).log()
        for shown in (False, True):
            chat = Injected("", HINT).added(request.chat) if shown else request.chat
            known.add(known.key([m["content"] for m in chat], legal), len(legal))
            found.append((logits, shown))
    teacher = torch.nn.utils.rnn.pad_sequence([x for x, _ in found], batch_first=True)
    return known, torch.where(torch.tensor([[shown] for _, shown in found]), teacher, 0.0), teacher


def _policy(name: str, logits_RA: torch.Tensor) -> TabularPolicy:
    table = Table(*logits_RA.shape)
    with torch.no_grad():
        table.logits_RA.copy_(logits_RA)
    return TabularPolicy(table, _start()[0], name=name)


def _maker(seed: int) -> MakePolicy:
    return lambda name, **given: _policy(name, _start()[1])


def _played(policy: TabularPolicy) -> dict[str, float]:
    """Return exact measures of a policy that is given no instruction."""
    found = exploitability(policy, ENV, OPTIONS).exploitability
    assert found is not None  # poker
    teacher = _policy("teacher", _start()[2])
    return {"gap": found, "payoff": exact_payoffs(policy, teacher, ENV, OPTIONS)[0]}


def _teacher(seed: int) -> dict[str, float]:
    return _played(_policy("teacher", _start()[2]))


def _before(seed: int) -> dict[str, float]:
    return _played(_policy("student", _start()[1]))


def _measure(end: Trained) -> dict[str, float]:
    policy = end.policy()
    assert isinstance(policy, TabularPolicy)  # made here
    return _played(policy) | {"tokens": end.run.progress.tokens}


CLAIM = Claim(
    name="taught_by_instruction",
    property="""A student without an instruction learns from its own games to play as the same
        policy does with it, and is harder to exploit than one that imitates as many tokens of the
        instructed policy's games.""",
    source="""Agarwal et al. 2024, GKD, arXiv 2306.13649 (on-policy against supervised
        distillation); Self-Distilled Reasoner 2026, arXiv 2601.18734 (the same model with
        privileged context as teacher); measures are exact, the bounds are ours""",
    minutes=3.0,
    on="table",
    setting="""Leduc poker. A table plays an equilibrium, with 2 % of even play, where the
        instruction is in its prompt, and evenly where it is not. `on_policy_distillation` from the
        sampled token and its variant `full`; the control `off_policy` plays with the instruction
        and imitates that without it. 256 games an update until 20,000 tokens were sampled, Adam
        0.3.""",
    measured="""Exact exploitability of the policy without the instruction, and its exact payoff in
        the first seat against the instructed one.""",
    theory="""Against the teacher every student earns what the teacher does, once it plays as the
        teacher in the situations of their games. A best response goes where these games seldom
        lead: there the control has seen little, while a student that starts with even play comes
        everywhere and is corrected there.""",
    limits="""A table does not generalise: what it was not taught in a situation it does not know.
        That the instruction is worth something to begin with is given. Moves are single tokens;
        `top_k` has nothing to leave out.""",
    chosen="""The 2 %, the budget, and for every arm the best of the rates 0.1, 0.3 and 1 on seed 99
        (exploitability of the control 1.16, 0.88, 1.29; of `full` 0.58 at 0.3 and 0.77 at 1; of the
        sampled token 0.60 at 0.3). The bounds were set after that seed, before the others.""",
    world=World(ENV, None, OPTIONS, _maker, {"threads": 1, "budget_tokens": TOKENS}),
    changes={
        "collect.episodes": 256,
        "optim.lr": 0.3,
        "optim.beta2": 0.999,
        "optim.warmup": 0,
    },
    arms={
        "teacher": Once(_teacher),
        "before": Once(_before),
        "sampled": Arm("on_policy_distillation"),
        "full": Arm("on_policy_distillation:full"),
        "imitated": Arm("on_policy_distillation:off_policy"),
    },
    measure=_measure,
    expect=(
        Expect("exploitability, with the instruction", "teacher.gap"),
        Expect("exploitability before", "before.gap"),
        Expect("exploitability, sampled token", "sampled.gap", high=0.8),
        Expect("exploitability, whole distribution", "full.gap", high=0.8),
        Expect("exploitability, teacher's games imitated", "imitated.gap"),
        Expect("imitated - sampled token", "imitated.gap - sampled.gap", low=0.1),
        Expect("imitated - whole distribution", "imitated.gap - full.gap", low=0.1),
        Expect("payoff against the teacher before", "before.payoff"),
        Expect("payoff, sampled - teacher's own", "sampled.payoff - teacher.payoff", low=-0.1),
        Expect("payoff, whole - teacher's own", "full.payoff - teacher.payoff", low=-0.1),
        Expect("payoff, imitated - teacher's own", "imitated.payoff - teacher.payoff", low=-0.1),
        Expect("tokens, sampled / imitated", "sampled.tokens / imitated.tokens"),
    ),
)
