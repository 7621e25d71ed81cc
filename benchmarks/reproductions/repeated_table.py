"""Two tabular players of a repeated game, taught by a record of the registry, past selves included.

An episode is two seats and some rounds; every move is one token. Groups, past selves and who sits
where follow the configuration, as in the training loop: episodes of a group have the same roles and
the same players, past selves are credited where the record says so, and nobody learns what they
did.

Shapes   M episodes, 2 seats, T rounds, C contexts, A arms, V versions of the policy (the first is
         today's); rows of a batch are the seats, episode by episode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from coevo.benchmarks.reproductions.tabular import REAL, Moves, SoftmaxTable, episodes
from coevo.envs.core.config import plain
from coevo.envs.core.errors import ConfigError
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.estimators import (
    AdvantageConfig,
    Trajectories,
    advantages,
    count,
    exact_entropy,
    policy_loss,
)

PER_PLAY = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class RoundGame:
    """A game of two seats in rounds that remembers the last round."""

    memories: int
    """What a seat may remember of the last round, numbered; 0 is the start."""
    arms: int
    rounds: int
    roles: int
    """1: the seats are equal. 2: each round one has role 1 and the other 0, by chance."""
    pay: PER_PLAY
    """Roles and arms [..., 2] -> payoffs [..., 2]."""
    remember: PER_PLAY
    """Roles and arms [..., 2] -> what either seat remembers, [..., 2]."""

    @property
    def contexts(self) -> int:
        """Number of contexts: own role times memory."""
        return self.roles * self.memories

    def context(self, role: Tensor, memory: Tensor) -> Tensor:
        """Number what a seat knows."""
        return role * self.memories + memory


@dataclass(frozen=True)
class Table:
    """What was played, a row per seat: [2M, T]."""

    context_BT: Tensor
    arm_BT: Tensor
    reward_BT: Tensor
    version_B: Tensor
    """0 is the policy that learns."""
    group_B: Tensor


@dataclass(frozen=True, kw_only=True)
class Course:
    """How long a policy learns, and how fast."""

    episodes: int
    """Episodes per update; a multiple of the record's group size."""
    steps: int
    lr: float
    """Step size of Adam."""

    def groups(self, config: Algorithm) -> int:
        """Number of groups of an update."""
        size = config.collect.group_size
        if self.episodes < size or self.episodes % size:
            raise ConfigError(f"episodes={self.episodes} must be a multiple of group_size={size}")
        return self.episodes // size


def learn(game: RoundGame, config: Algorithm, course: Course, seed: int) -> Tensor:
    """Train one policy from uniform play; give its probabilities [C, A]."""
    source = torch.Generator().manual_seed(seed)
    policy = SoftmaxTable(torch.zeros(game.contexts, game.arms))
    optimiser = torch.optim.Adam([policy.logits_CA], lr=course.lr)
    past: list[Tensor] = []
    every, size, latest = _past_selves(config)
    for step in range(course.steps):
        version_G2 = seated(course.groups(config), len(past), latest, step, source)
        table = play(
            game, torch.stack([policy.probabilities_CA(), *past]), version_G2, config, source
        )
        optimiser.zero_grad()
        policy.logits_CA.grad = -policy.gradient_CA(loss(policy, table, config))
        optimiser.step()
        if size and (step + 1) % every == 0:
            past = [*past, policy.probabilities_CA()][-size:]
    return policy.probabilities_CA()


def _past_selves(config: Algorithm) -> tuple[int, int, float]:
    """Return how often past selves are kept, how many, and the share of groups without one."""
    if config.population.name not in ("shared", "pool"):
        raise ConfigError(
            f"population={config.population.name!r} must be shared or pool on a table"
        )
    alone: dict[str, Any] = {"every": 1, "size": 0, "latest": 1.0}
    kept = alone | plain(config.population)
    return kept["every"], kept["size"], kept["latest"]


def seated(groups: int, past: int, latest: float, step: int, source: torch.Generator) -> Tensor:
    """Seat the players of every group as a pool does: the policy against itself or a past self.

    Returns:
        Version per group and seat, [G, 2]; 0 is the policy. Its seat rotates from group to group.

    >>> seated(2, 0, 0.5, 0, torch.Generator()).tolist()
    [[0, 0], [0, 0]]
    """
    version_G2 = torch.zeros(groups, 2, dtype=torch.int64)
    drawn_G = torch.rand(groups, generator=source) >= latest
    which_G = torch.randint(max(past, 1), (groups,), generator=source) + 1
    index_G = torch.arange(groups)
    seat_G = 1 - (step * groups + index_G) % 2
    version_G2[index_G, seat_G] = torch.where(drawn_G & (past > 0), which_G, 0)
    return version_G2


def play(
    game: RoundGame,
    odds_VCA: Tensor,
    version_G2: Tensor,
    config: Algorithm,
    source: torch.Generator,
) -> Table:
    """Play every group; its episodes share roles and players."""
    group_M = torch.arange(len(version_G2)).repeat_interleave(config.collect.group_size)
    version_M2, size = version_G2[group_M], len(group_M)
    role_TG = torch.randint(game.roles, (game.rounds, len(version_G2)), generator=source)
    draw_TM2 = torch.rand(game.rounds, size, 2, 1, generator=source, dtype=REAL)
    most_VCA, memory_M2 = odds_VCA.cumsum(-1), torch.zeros(size, 2, dtype=torch.int64)
    seen, did, paid = [], [], []
    for role_G, draw_M2 in zip(role_TG, draw_TM2, strict=True):
        role_M2 = roles(game, role_G[group_M])
        context_M2 = game.context(role_M2, memory_M2)
        arm_M2 = (draw_M2 >= most_VCA[version_M2, context_M2]).sum(-1).clamp(max=game.arms - 1)
        seen.append(context_M2)
        did.append(arm_M2)
        paid.append(game.pay(role_M2, arm_M2))
        memory_M2 = game.remember(role_M2, arm_M2)

    def rows(steps: list[Tensor]) -> Tensor:
        return torch.stack(steps, dim=-1).reshape(2 * size, game.rounds)

    version_B, group_B = version_M2.reshape(-1), group_M.repeat_interleave(2)
    return Table(rows(seen), rows(did), rows(paid), version_B, group_B)


def roles(game: RoundGame, first: Tensor) -> Tensor:
    """Return both seats their roles, from that of the first."""
    return torch.stack([first, game.roles - 1 - first], dim=-1)


def trajectories(table: Table, spec: AdvantageConfig) -> Trajectories:
    """Return the seats to the estimators; what a past self did has no tokens."""
    learns_B = table.version_B == 0
    kept_B = learns_B | spec.others
    row_B = torch.arange(len(learns_B))
    keys = {"group": table.group_B, "seat": row_B % 2, "agent": row_B % 2, "play": row_B // 2}
    batch = episodes(
        table.reward_BT[kept_B].unsqueeze(-1),
        ("payoff",),
        **{k: v[kept_B] for k, v in keys.items()},
    )
    return replace(batch, turn_of_BS=torch.where(learns_B[kept_B, None], batch.turn_of_BS, -1))


def loss(policy: SoftmaxTable, table: Table, config: Algorithm) -> Tensor:
    """Return the record's loss on what the policy did, with the record's advantages."""
    batch = trajectories(table, config.advantage)
    advantage_BT = advantages(config.advantage, batch).advantage_BS[batch.token_mask_BS.any(1)]
    own_B = table.version_B == 0
    context_BT, arm_BT = table.context_BT[own_B], table.arm_BT[own_B]
    mask_BT = torch.ones_like(context_BT, dtype=torch.bool)
    inputs = policy.inputs(Moves(context_BT, arm_BT, mask_BT), advantage_BT)
    entropy_BT = exact_entropy(policy.logp_CA())[context_BT]
    inputs = replace(inputs, entropy_CL=entropy_BT, logp_behaviour_CL=inputs.logp_old_CL)
    return policy_loss(config.loss, inputs, count(mask_BT, context_BT.shape[1])).loss


def expected_returns(
    game: RoundGame, first: Tensor, second: Tensor, gamma: float = 1.0
) -> tuple[float, float]:
    """Compute both seats' expected returns, sum_t gamma^t r_t, without drawing anything.

    The distribution over what both remember is carried from round to round.

    Args:
        game: the game.
        first: probabilities of the first seat, [C, A], or [T, C, A] if they change over rounds.
        second: those of the second seat.
        gamma: discount per round.
    """
    sizes = (game.memories, game.memories, game.roles, game.arms, game.arms)
    cells = torch.cartesian_prod(*(torch.arange(size) for size in sizes))
    memory_N2, arm_N2, role_N2 = cells[:, :2], cells[:, 3:], roles(game, cells[:, 2])
    context_N2 = game.context(role_N2, memory_N2)
    paid_N2, then_N2 = game.pay(role_N2, arm_N2), game.remember(role_N2, arm_N2)
    now_N, next_N = (m[:, 0] * game.memories + m[:, 1] for m in (memory_N2, then_N2))
    odds = [
        p.to(REAL).expand(game.rounds, -1, -1)[:, context_N2[:, i], arm_N2[:, i]]
        for i, p in enumerate((first, second))
    ]
    state_K, total_2 = torch.zeros(game.memories**2, dtype=REAL), torch.zeros(2, dtype=REAL)
    state_K[0] = 1.0
    for t, odds_N in enumerate(odds[0] * odds[1] / game.roles):
        weight_N = state_K[now_N] * odds_N
        total_2 += gamma**t * (weight_N.unsqueeze(1) * paid_N2).sum(0)
        state_K = torch.zeros_like(state_K).index_add(0, next_N, weight_N)
    return float(total_2[0]), float(total_2[1])
