"""SALT: steps that several plays have in common share the mean advantage (arXiv 2510.20022).

Plays of a start form a graph of transitions (state, move, next state). A transition that good and
bad plays both took earns the mean of what they earn, so little; one that a single play took keeps
that play's advantage. It comes after GRPO; `--set advantage.baseline=leave_one_out --set
advantage.normalise=no_normalisation` puts it after RLOO.

Read in a description inside a later paper: the original's steps may look further back than one
state, over a window whose size could not be read.
"""

from coevo.trainers import parts as p

ALGORITHM = p.Algorithm(
    name="salt",
    summary="GRPO whose advantages are averaged over plays that took the same step",
    paper="Li et al. 2025, SALT, arXiv 2510.20022",
    formula=r"A_t = \mean \{ A_j^\GRPO : (s_t, a_t, s_{t+1}) \in j \}",
    status="inferred",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(transform=(p.MergeEdges(),)),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
)
