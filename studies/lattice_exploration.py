"""Cooperation on a lattice under exploration: one network for all, or ten groups with their own.

The rules of `coevo/lattice_dilemma-v0` and of independent Q-learning, written anew so that many
runs go side by side: 20 by 20 players on a torus, a network of 32 units on the own last move and
the share of neighbours that cooperated, double Q-learning with a discount of .9, batches of 256 out
of the last 25 rounds, a slow copy every 10 rounds, 2,000 rounds. Weng and Lee 2026, arXiv
2601.05509, report that exploration lowers cooperation. Greedy cooperation is that of the last ten
of fifty rounds without exploration, from random moves.

    python studies/lattice_exploration.py --seeds 10
"""

import argparse
import sys

import numpy as np
import torch
from torch import Tensor

SIDE, HIDDEN, BATCH, GAMMA, KEPT, EVERY, RATE = 20, 32, 256, 0.9, 25, 10, 1e-3
STRENGTHS, EPSILONS = (0.1, 0.25), (0.01, 0.05, 0.1, 0.3)
SEEN = torch.tensor([[own, k / 4] for own in (0.0, 1.0) for k in range(5)])
"""What there is to see: the own last move (1 cooperates), and the share of neighbours."""


def nets(count: int, draw: torch.Generator) -> list[Tensor]:
    """Return the weights of many networks, drawn as torch draws those of linear layers."""

    def even(inputs: int, *shape: int) -> Tensor:
        drawn = 2 * torch.rand(count, *shape, generator=draw) - 1
        return (drawn / inputs**0.5).requires_grad_()

    return [even(2, 2, HIDDEN), even(2, 1, HIDDEN), even(HIDDEN, HIDDEN, 2), even(HIDDEN, 1, 2)]


def values(net: list[Tensor]) -> Tensor:
    """Return what the networks say of all that there is to see, [M, 10, 2]."""
    first, shift, second, last = net
    return (SEEN @ first + shift).relu() @ second + last


def played(cooperates: Tensor, strength: Tensor) -> tuple[Tensor, Tensor]:
    """Return what players see next, as a row of SEEN, and what they earn; both [R, side * side]."""
    own = cooperates.view(-1, SIDE, SIDE).float()
    near = sum(own.roll(step, axis) for axis in (1, 2) for step in (1, -1))
    paid = near / 4 + strength[:, None, None] * torch.where(own > 0, near / 4 - 1, near / 4)
    return (5 * own + near).long().flatten(1), paid.flatten(1)


def learnt(groups: int, seeds: int, rounds: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Train all runs at once; return greedy cooperation and the gap Q(C) - Q(D).

    Both are [strengths, epsilons, seeds]; the gap is the mean over players and the last round.
    """
    draw = torch.Generator().manual_seed(seed)
    shape = (len(STRENGTHS), len(EPSILONS), seeds)
    strength = torch.tensor(STRENGTHS)[:, None, None].expand(shape).flatten()
    epsilon = torch.tensor(EPSILONS)[None, :, None].expand(shape).flatten()[:, None]
    runs, count = len(strength), SIDE**2
    whose = torch.arange(count) * groups // count + groups * torch.arange(runs)[:, None]
    net = nets(runs * groups, draw)
    adam = torch.optim.Adam(net, lr=RATE)
    slow = values(net).detach()
    seen, _ = played(torch.rand(runs, count, generator=draw) < 0.5, strength)
    kept: list[tuple[Tensor, ...]] = []
    run = torch.arange(runs).repeat_interleave(groups)[:, None]
    size = count // groups
    first = (torch.arange(runs * groups) % groups * size)[:, None]

    def greedy(seen: Tensor) -> Tensor:
        q = values(net).detach()[whose, seen]
        return q[..., 1] > q[..., 0]

    for number in range(rounds):
        explores = torch.rand(runs, count, generator=draw) < epsilon
        at_random = torch.rand(runs, count, generator=draw) < 0.5
        cooperates = torch.where(explores, at_random, greedy(seen))
        then, paid = played(cooperates, strength)
        kept = [*kept, (seen, cooperates.long(), paid, then)][-KEPT:]
        seen = then
        when = torch.randint(len(kept), (runs * groups, BATCH), generator=draw)
        who = first + torch.randint(size, (runs * groups, BATCH), generator=draw)
        o, a, r, o2 = (torch.stack(part)[when, run, who] for part in zip(*kept, strict=True))
        net_of = torch.arange(runs * groups)[:, None]
        q = values(net)
        best = q.detach().argmax(-1)[net_of, o2]
        target = r + GAMMA * slow[net_of, o2, best]
        loss = (q[net_of, o, a] - target).square().mean(1).sum()
        adam.zero_grad()
        loss.backward()
        adam.step()
        if (number + 1) % EVERY == 0:
            slow = values(net).detach()
    q = values(net).detach()[whose, seen]
    gap = (q[..., 1] - q[..., 0]).mean(1)
    seen, _ = played(torch.rand(runs, count, generator=draw) < 0.5, strength)
    shares = []
    for _ in range(50):
        moves = greedy(seen)
        shares.append(moves.float().mean(1))
        seen, _ = played(moves, strength)
    return torch.stack(shares[-10:]).mean(0).view(shape), gap.view(shape)


def rows(groups: int, seeds: int, rounds: int) -> list[str]:
    """Return the rows of the table for one way of sharing: means, and standard errors over runs."""
    shares, gaps = (found.numpy() for found in learnt(groups, seeds, rounds))
    error = shares.std(-1, ddof=1) / seeds**0.5
    return [
        f"| {STRENGTHS[s]} | {groups} | {EPSILONS[e]} | {shares[s, e].mean():.2f} ± "
        f"{error[s, e]:.2f} | {gaps[s, e].mean():.3f} |"
        for s, e in np.ndindex(error.shape)
    ]


if __name__ == "__main__":
    given = argparse.ArgumentParser()
    given.add_argument("--seeds", type=int, default=10)
    given.add_argument("--rounds", type=int, default=2000)
    options = given.parse_args()
    torch.set_num_threads(1)
    heads = ("strength", "networks", "epsilon", "greedy cooperation", "gap Q(C) - Q(D)")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for groups in (1, 10):
        lines += rows(groups, options.seeds, options.rounds)
    sys.stdout.write("\n".join(lines) + "\n")
