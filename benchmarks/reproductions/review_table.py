"""Peer review between tabular agents: the record, the reward and the estimators of CoMAS.

A world is a group of agents of its own; worlds run side by side in one batch, and since every
agent is whitened with its own replies only, each moves as it would alone. Every step makes real
`Episode` objects, pays them by the reward module and turns them into rows as training does.

Contexts   per agent: 20 questions to solve; 100 solutions to evaluate; 200 evaluated solutions to
           score. Arms: 5 answers; flaw or none; scores 1, 2, 3 and one that cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.tabular import REAL, SoftmaxTable, generators, moves, uniform
from coevo.envs.core.apply import apply_batch
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import InteractionReward
from coevo.trainers.estimators import AdvantageConfig, Denominators, LossConfig, advantages
from coevo.trainers.items.sequences import Batch, build

QUESTIONS, ANSWERS, AGENTS = 20, 5, 2
EVALUATE, SCORE = QUESTIONS, QUESTIONS * (1 + ANSWERS)
"""First context of the roles."""
CONTEXTS = SCORE + 2 * QUESTIONS * ANSWERS
ROLES = ("solver", "evaluator", "scorer")
WORDS = {"evaluator": ("wrong", "right"), "scorer": ("1", "2", "3", None)}
"""What an arm says."""
SWAY, READABLE, AGREEABLE = 0.5, 2.5, 1.5
"""Start: how a score follows the evaluation; how seldom it is unreadable; how seldom an evaluator
names a flaw (logits)."""


@dataclass(frozen=True)
class Setting:
    """How worlds learn."""

    advantage: AdvantageConfig
    loss: LossConfig
    lr: float
    steps: int
    size: int
    """Questions per step."""
    votes: bool = False
    """Whether evaluations are votes and nobody scores."""


@dataclass(frozen=True)
class Course:
    """What a world was like, step after step, [steps, worlds]."""

    accuracy_TW: Tensor
    """Probability of the right answer, over agents and questions."""
    reward_TW: Tensor
    """Mean reward of solutions and evaluations."""
    invalid_TW: Tensor
    """Share of scores that cannot be read."""
    unshared_TW: Tensor
    """Mean of r(solution) + r(evaluation), less the share of readable scores: 0 in theory."""


def start(margins: Sequence[float]) -> SoftmaxTable:
    """Return the agents of one world per margin: solvers that guess, judges better than chance.

    Args:
        margins: how much likelier (logit) a scorer calls a right solution right than a wrong one.
    """
    worlds = len(margins)
    logits = torch.full((worlds, AGENTS, CONTEXTS, ANSWERS), -inf, dtype=REAL)
    logits[:, :, :EVALUATE] = 0.0
    logits[:, :, EVALUATE:SCORE, 0], logits[:, :, EVALUATE:SCORE, 1] = 0.0, AGREEABLE
    right_S = (torch.arange(QUESTIONS)[:, None] % ANSWERS == torch.arange(ANSWERS)).reshape(-1, 1)
    fine_E = torch.tensor([False, True])
    margin_W = torch.tensor(margins, dtype=REAL)[:, None, None, None]
    for arm, of, says in ((0, ~right_S, ~fine_E), (2, right_S, fine_E)):
        learnt = margin_W * of + SWAY * says
        logits[:, :, SCORE:, arm] = learnt.reshape(worlds, 1, -1)
    logits[:, :, SCORE:, 1], logits[:, :, SCORE:, 3] = 0.0, -READABLE
    return SoftmaxTable(logits.reshape(-1, ANSWERS))


def learn(margins: Sequence[float], seeds: Sequence[int], setting: Setting) -> Course:
    """Let one world per margin and seed discuss and learn.

    Args:
        margins: of the scorers, one per world.
        seeds: of the randomness, one per world.
        setting: rewards, estimators and sizes.
    """
    policy, sources = start(margins), generators(seeds)
    module = InteractionReward(ablate="scoring" if setting.votes else None)
    notes: list[Tensor] = []
    for _ in range(setting.steps):
        roles = ROLES[:2] if setting.votes else ROLES
        episodes = discuss(policy, sources, setting.size, roles)
        apply_batch([module], episodes)
        notes.append(_noted(policy, episodes, len(margins)))
        batch = build(episodes, list(range(len(episodes))))
        assert batch is not None  # every turn has tokens
        _update(policy, batch, setting)
    return Course(*torch.stack(notes, 1))


def discuss(
    policy: SoftmaxTable, sources: Sequence[torch.Generator], size: int, roles: Sequence[str]
) -> list[Episode]:
    """Return one round of review on `size` questions in every world."""
    worlds = len(sources)
    drawn = uniform(sources, size, 1 + 5 * AGENTS)
    question_WN = (drawn[..., 0] * QUESTIONS).long()
    agent_WNA = torch.arange(AGENTS).expand(worlds, size, AGENTS)
    first_WNA = (torch.arange(worlds)[:, None, None] * AGENTS + agent_WNA) * CONTEXTS
    deal_WNA, second_WNA = (u.argsort(-1) for u in drawn[..., 1 + 3 * AGENTS :].split(AGENTS, -1))
    solved, uses = question_WN[..., None].expand_as(agent_WNA), drawn[..., 1:]
    context, arm = [first_WNA + solved], []
    arm.append(_sample(policy, context[0], uses[..., :AGENTS]))
    item_WNA = solved * ANSWERS + arm[0]
    dealt = item_WNA.gather(-1, deal_WNA)
    context.append(first_WNA + EVALUATE + dealt)
    arm.append(_sample(policy, context[1], uses[..., AGENTS : 2 * AGENTS]))
    scored = (dealt * 2 + arm[1]).gather(-1, second_WNA)
    context.append(first_WNA + SCORE + scored)
    arm.append(_sample(policy, context[2], uses[..., 2 * AGENTS : 3 * AGENTS]))
    table = torch.stack([torch.stack(context, 2), torch.stack(arm, 2)], -1).tolist()
    deals = torch.stack([deal_WNA, second_WNA], 2).tolist()
    return [
        _episode(w, roles, table[w][n], deals[w][n]) for w in range(worlds) for n in range(size)
    ]


def _sample(policy: SoftmaxTable, context: Tensor, drawn: Tensor) -> Tensor:
    cumulative = policy.probabilities_CA()[context].cumsum(-1)
    return (cumulative <= drawn.unsqueeze(-1)).sum(-1).clamp(max=ANSWERS - 1)


def _episode(
    world: int, roles: Sequence[str], spoken: list[list[list[int]]], deals: list[list[int]]
) -> Episode:
    """Write down one discussion as an environment would: [role][agent] -> (context, arm)."""
    seats = tuple(f"agent_{a}" for a in range(AGENTS))
    turns: list[Turn] = []
    for k, role in enumerate(roles):
        for a, (context, arm) in enumerate(spoken[k]):
            turn = Turn(seats[a], (), "", str(arm), Status.LEGAL, None, role=role)
            turn.player = f"{world:03d}/{seats[a]}"
            turn.prompt_ids, turn.token_ids, turn.logprobs = [context], [arm], [0.0]
            if k:
                turn.about = (k - 1) * AGENTS + deals[k - 1][a]
                turn.answer = WORDS[role][arm]
            turns.append(turn)
    return Episode("tabular review", None, {}, seats, str(world), turns, StopReason.FINISHED)


def _noted(policy: SoftmaxTable, episodes: Sequence[Episode], worlds: int) -> Tensor:
    """Return accuracy, reward, invalid rate and what pairs lack of their share: [4, worlds]."""
    p_WCA = policy.probabilities_CA().reshape(worlds, AGENTS, CONTEXTS, ANSWERS).mean(1)
    question_Q = torch.arange(QUESTIONS)
    right_W = p_WCA[:, question_Q, question_Q % ANSWERS].mean(1)
    paid = [[t.rewards["interaction"].get(t.agent, 0.0) for t in e.turns] for e in episodes]
    paid_WNT = torch.tensor(paid, dtype=REAL).reshape(worlds, -1, len(paid[0]))
    pairs_W = paid_WNT[..., : 2 * AGENTS].mean((1, 2))
    invalid_W = (paid_WNT[..., 2 * AGENTS :] < 0).to(REAL).mean((1, 2)).nan_to_num()
    return torch.stack([right_W, pairs_W, invalid_W, 2 * pairs_W - (1 - invalid_W)])


def _update(policy: SoftmaxTable, batch: Batch, setting: Setting) -> None:
    """Credit, whiten and take one step; every row is one reply of one token."""
    rows = batch.sequences
    advantage_BS = advantages(setting.advantage, batch.trajectories).advantage_BS
    spoken = torch.tensor([span.ids for span in rows.spans])[rows.span_C]
    per_agent = len(rows.policy_C) // len(set(rows.policy_C))
    denom = Denominators(per_agent, per_agent, 1)
    played = moves(spoken[:, 0], spoken[:, 1])
    policy.update(setting.loss, played, rows.cut(advantage_BS), denom, lr=setting.lr)
