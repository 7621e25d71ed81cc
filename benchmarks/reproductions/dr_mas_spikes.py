"""Statistics per agent (Dr. MAS) where agents are called unequally often: gradients do not spike.

Identity  1000 episodes, one in ten hard; agent A acts once in all, agent B three times in hard
          ones. Under pooled statistics the mean square of B's advantages is
          (sigma_B^2 + (mu_B - mu)^2) / sigma^2; under statistics of its own it is 1. With 957 right
          in all and 64 of 100 for B: (0.64 0.36 + 0.317^2) / (0.957 0.043) = 8.04.
Scales    Two agents with a table of four arms each. Agent 0 is paid quality + noise for each of
          64 episodes of an update; agent 1 is called in bursts, in 2 to 40 % of the episodes, and
          is paid 5 + 0.1 (quality + noise). 300 updates of both tables in one run.
Team      Router, searcher and answerer of `search_team`: 16 tasks times 8 rollouts, 300 updates,
          two teams per seed. The record `dr_mas` and its variants give advantage and loss.
Measured  Norm of every agent's gradient in every update: its peak, its mean, and the peak over
          the median; what the tables have learnt.
Chosen    Tables, rewards, steps and bounds; the paper shows the spikes of models of 3B to 8B. The
          directions are what is asserted. With scope `task`, as in the released code, the norms do
          not fall at this size, and nothing is asserted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.reproduction import Outcome, Reproduction, Row, gaps, near
from coevo.benchmarks.reproductions.search_team import (
    HARD,
    NAMES,
    SEARCHER,
    SearchTeam,
    Setting,
    Traces,
)
from coevo.benchmarks.reproductions.tabular import (
    REAL,
    SoftmaxTable,
    episodes,
    generators,
    moves,
    normal,
    uniform,
)
from coevo.trainers.algorithms import algorithm
from coevo.trainers.estimators import AdvantageConfig, Denominators, advantages, policy_loss

UPDATES, TEAMS = 300, 2
LAST = 50
"""Updates at the end over which accuracy is averaged."""
OFFSET, SCALE = (0.0, 5.0), (1.0, 0.1)
EPISODES, ARMS, LR = 64, 4, 0.06
RARE, OFTEN = 0.02, 0.4
EASY_RIGHT, HARD_RIGHT, CALLS = (893, 900), (64, 100), 3
"""Right answers among easy and hard episodes, and how often agent B acts in a hard one."""


def statistics(by: str) -> AdvantageConfig:
    """Return the advantage of the record with the statistics of these groups."""
    return algorithm(
        "dr_mas", changes={"advantage.baseline.by": by, "advantage.normalise.by": by}
    ).advantage


def run(seeds: Sequence[int]) -> Outcome:
    """Compare pooled statistics with statistics per agent, on one stream of random numbers."""
    return Outcome((*_identity(), *_scales(seeds), *_team(seeds)))


# ---- The identity ----------------------------------------------------------------------------


def _identity() -> tuple[Row, ...]:
    easy, hard = (_outcomes(*counts) for counts in (EASY_RIGHT, HARD_RIGHT))
    reward_B, replies_B = torch.cat([easy, hard]), torch.ones(len(easy) + len(hard)).long()
    replies_B[len(easy) :] += CALLS
    mask_BT = torch.arange(1 + CALLS) < replies_B.unsqueeze(1)
    reward_BT1 = torch.zeros(*mask_BT.shape, 1, dtype=REAL)
    reward_BT1[torch.arange(len(reward_B)), replies_B - 1, 0] = reward_B
    whole = episodes(reward_BT1, mask_BT=mask_BT)  # an episode is one observation
    alone = episodes(hard.repeat_interleave(CALLS))
    exact = {"advantage.ddof": 0, "advantage.eps": 0.0, "advantage.weights": "row"}
    changes = {"advantage.baseline.by": "agent", "advantage.normalise.by": "agent", **exact}
    spec = algorithm("dr_mas", changes=changes).advantage
    hard_BT = advantages(spec, whole).advantage_BS[len(easy) :, 1:]
    square = float(hard_BT.square().mean())
    away = (hard.mean() - reward_B.mean()) ** 2
    theory = float((hard.var(correction=0) + away) / reward_B.var(correction=0))
    own = float(advantages(spec, alone).advantage_BS.square().mean())
    return (
        near("E[A^2] of agent B, pooled", [square], theory, 1e-6),
        near("E[A^2] of agent B, per agent", [own], 1.0, 1e-6),
    )


def _outcomes(right: int, count: int) -> Tensor:
    return (torch.arange(count) < right).to(REAL)


# ---- Two scales ------------------------------------------------------------------------------


@dataclass
class _Bandits:
    """Norms of both agents' gradients [updates, seeds, 2], and P(best arm) at the end."""

    norm_UN2: Tensor
    best_N2: Tensor

    @property
    def spike_N2(self) -> Tensor:
        return self.norm_UN2.amax(0) / self.norm_UN2.median(0).values


def _scales(seeds: Sequence[int]) -> tuple[Row, ...]:
    pooled, own = (_bandits(statistics(by), seeds) for by in ("game", "agent"))
    factor_N = pooled.spike_N2[:, 1] / own.spike_N2[:, 1]
    better_N = (own.best_N2 - pooled.best_N2).amin(1)
    return (
        Row("scales: agent 1's peak over median, pooled", _each(pooled.spike_N2[:, 1])),
        Row("scales: agent 1's peak over median, per agent", _each(own.spike_N2[:, 1])),
        Row("scales: factor between them", _each(factor_N), low=2.0),
        Row("scales: agent 0's peak over median, pooled", _each(pooled.spike_N2[:, 0])),
        Row("scales: agent 0's peak over median, per agent", _each(own.spike_N2[:, 0])),
        Row("scales: P(best arm) of agent 1, pooled", _each(pooled.best_N2[:, 1])),
        Row("scales: P(best arm) of agent 1, per agent", _each(own.best_N2[:, 1])),
        Row("scales: least gain in P(best arm) of both", _each(better_N), low=-0.02),
    )


def _bandits(spec: AdvantageConfig, seeds: Sequence[int]) -> _Bandits:
    """Train both agents of every seed; a row of the tables is an agent of a seed."""
    sources, size = generators(seeds), len(seeds)
    quality_RA = normal(sources, 2, ARMS).reshape(-1, ARMS)
    policy, loss = SoftmaxTable(torch.zeros_like(quality_RA)), algorithm("dr_mas").loss
    row_RP = torch.arange(2 * size).unsqueeze(1).expand(-1, EPISODES)
    norms = []
    for _ in range(UPDATES):
        rate_N = RARE + (OFTEN - RARE) * uniform(sources, 1)
        called_RP = (uniform(sources, EPISODES) < rate_N).repeat_interleave(2, 0)
        called_RP[0::2] = True
        arm_RP = policy.draw(uniform(sources, 2, EPISODES).reshape(-1, EPISODES))
        paid_RP = quality_RA.gather(1, arm_RP) + normal(sources, 2, EPISODES).reshape(-1, EPISODES)
        offset, scale = (torch.tensor(x, dtype=REAL).repeat(size)[:, None] for x in (OFFSET, SCALE))
        row_B, arm_B = row_RP[called_RP], arm_RP[called_RP]
        reward_B = (offset + scale * paid_RP)[called_RP]
        batch = episodes(reward_B, game=row_B // 2, seat=row_B % 2, agent=row_B)
        a_B = advantages(spec, batch).advantage_BS[:, 0]
        a_B = a_B / called_RP.sum(1)[row_B]  # a mean over each agent's replies
        inputs = policy.inputs(moves(row_B, arm_B), a_B.unsqueeze(1))
        step_RA = policy.gradient_CA(policy_loss(loss, inputs, Denominators(1, 1, 1)).loss)
        norms.append(step_RA.norm(dim=1).reshape(size, 2))
        with torch.no_grad():
            policy.logits_CA += LR * step_RA
    best_R1 = quality_RA.argmax(1, keepdim=True)
    chosen = policy.probabilities_CA().gather(1, best_R1).reshape(size, 2)
    return _Bandits(torch.stack(norms), chosen)


# ---- The team --------------------------------------------------------------------------------


@dataclass
class _Team:
    """Per seed, the mean over its teams."""

    peak: tuple[float, ...]
    mean: tuple[float, ...]
    search: tuple[float, ...]
    success: tuple[float, ...]
    query: tuple[float, ...]
    share: tuple[float, ...]


def _team(seeds: Sequence[int]) -> tuple[Row, ...]:
    found = {
        by: _trained(statistics(by), seeds) for by in ("game", "agent", "group", "group+agent")
    }
    pooled, own, task, task_own = found.values()
    batch = "team, batch"
    return (
        Row(f"{batch}: searcher's peak norm, pooled", pooled.peak),
        Row(f"{batch}: searcher's peak norm, per agent", own.peak),
        Row(f"{batch}: factor between the peaks", _ratio(pooled.peak, own.peak), low=1.5),
        Row(f"{batch}: searcher's mean norm, pooled", pooled.mean),
        Row(f"{batch}: searcher's mean norm, per agent", own.mean),
        Row(f"{batch}: factor between the means", _ratio(pooled.mean, own.mean), low=1.2),
        Row(f"{batch}: P(search | hard), pooled", pooled.search),
        Row(f"{batch}: P(search | hard), per agent", own.search),
        Row(f"{batch}: gain in P(search | hard)", gaps(own.search, pooled.search), low=-0.01),
        Row(f"{batch}: gain in P(good query | hard)", gaps(own.query, pooled.query), low=-0.01),
        Row(f"{batch}: gain in accuracy", gaps(own.success, pooled.success), low=-0.005),
        Row(f"{batch}: searcher's share of the replies, per agent", own.share),
        Row("team, task: searcher's mean norm, pooled", task.mean),
        Row("team, task: searcher's mean norm, per agent", task_own.mean),
        Row("team, task: accuracy, pooled", task.success),
        Row("team, task: accuracy, per agent", task_own.success),
    )


def _trained(spec: AdvantageConfig, seeds: Sequence[int]) -> _Team:
    own = [TEAMS * seed + i for seed in seeds for i in range(TEAMS)]
    team, traces = SearchTeam(own, Setting()), Traces()
    for _ in range(UPDATES):
        team.update(spec, algorithm("dr_mas").loss, traces)
    norm_UN = torch.stack(traces.norm_UKN)[:, :, SEARCHER]
    odds_NC = team.tables[SEARCHER].probabilities_CA().reshape(len(own), 2, -1)
    found = (
        norm_UN.amax(0),
        norm_UN.mean(0),
        traces.search_UN[-1],
        torch.stack(traces.success_UN[-LAST:]).mean(0),
        odds_NC[:, HARD, 0],
        torch.stack(traces.share_UKN).mean(0)[:, NAMES.index("searcher")],
    )
    return _Team(*(_each(value_N.reshape(len(seeds), TEAMS).mean(1)) for value_N in found))


def _each(value_N: Tensor) -> tuple[float, ...]:
    found: list[float] = value_N.tolist()
    return tuple(found)


def _ratio(one: Sequence[float], two: Sequence[float]) -> tuple[float, ...]:
    return tuple(a / b for a, b in zip(one, two, strict=True))


REPRODUCTION = Reproduction(
    name="dr_mas_spikes",
    property="Where an agent is called mostly in unusual episodes, pooled statistics make its "
    "gradients spike; statistics per agent do not, and what the team learns is not worse.",
    source="Feng et al. 2026, Dr. MAS, arXiv 2602.08847 (gradient-norm inflation under a global "
    "baseline; spikes in its training curves); the reference is the formula, bounds are ours",
    minutes=0.6,
    run=run,
    on="alone",
)
