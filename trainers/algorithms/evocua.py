"""EvoCUA: what succeeded is imitated, and failures become corrections (arXiv 2601.15876).

Tasks come with programs that validate them, so that an episode is known to have succeeded. Plays
that did are imitated. Of every other one the first step that was wrong is found, and the right step
is learnt in its place, after the same beginning.

Here the expert of the environment says which step was wrong and what is right; in the source a
model analyses the failure. Left out: the synthesis of tasks with their validators, and the
preference pairs of later rounds. `successes` is the control, without corrections.

The abstract was read; the full text could not be read.
"""

from coevo.trainers import parts as p

IMITATE = p.Update(losses=(p.Sft(),))
SUCCESSES = (
    p.Collect(),
    p.BuildBatch(),
    p.MakeItems(to=p.Replies(most=None, above=0.5)),
    IMITATE,
    p.FitRewards(),
)
CORRECTIONS = (p.Correct(), p.BuildBatch(), p.MakeItems(to=p.Replies(most=None)), IMITATE)

ALGORITHM = p.Algorithm(
    name="evocua",
    summary="imitates successes, and the right step at the first wrong one of every failure",
    paper="Xue et al. 2026, EvoCUA, arXiv 2601.15876",
    formula=r"L = -\log \pi(y^+) - \log \pi(a^* | s_k), \quad k \text{ the first wrong step of a "
    r"failure}",
    status="toy",
    shows="an expert corrects; no desktop, and no synthesis of tasks",
    reproductions=("corrections",),
    cycle=(*SUCCESSES, *CORRECTIONS),
    collect=p.CollectConfig(episodes=64),
    advantage=p.AdvantageConfig(baseline=p.NoBaseline(), normalise=p.NoNormalisation()),
    optim=p.OptimConfig(lr=1e-3),
    variants={"successes": {"cycle": SUCCESSES}},
)
