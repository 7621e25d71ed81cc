"""MPO: a rubric that a judge grades by is rewritten while the policy learns (arXiv 2504.20157).

A judge that never learns grades answers by a rubric that the policy does not see; PPO. Every so
many updates a meta-reviewer is shown answers with their grades and the rubric, and writes a better
one: what the policy exploits loses its points. The rubric is an artifact of the archive; its
versions stay on record. Since every version has a scale of its own, grades are standardised within
a version (ours; the released code leaves the scale to move, and its critic with it).

Ours too: one reviewer writes the whole rubric at once, where the paper analyses, refines and
merges; an answer of the judge that cannot be read is left out, where the released code counts it as
the worst. Left out: rubrics by domain and cluster, and the coin that gives half of the batches to a
rule. Who reviews is `cycle.every.step.by`; who judges is `judges.judge.model`. `fixed` is the
control: the first rubric stays. In `unscaled` grades are measured by those of the whole run.
"""

from coevo.trainers import parts as p

PAPER = "paper and released code"
FIRST = "Quality of the answer: correct, complete, clear."
JUDGED = (
    p.InjectText(kind="rubric", role="judge", first=(FIRST,)),
    p.Collect(),
    p.BuildBatch(),
    p.ComputeAdvantages(),
    p.Update(),
)
META = p.Every(updates=10, first=9, step=p.RewriteText())

ALGORITHM = p.Algorithm(
    name="mpo",
    summary="PPO on a judge's grades; its rubric is rewritten from what the policy makes of it",
    paper="Kim et al. 2025, MPO, arXiv 2504.20157",
    formula=r"R = \frac{q - \mean_v q}{\std_v q}, \quad q = \text{score by rubric } v \\ "
    r"v \leftarrow \meta(v, \text{records}) \text{ every } k \text{ updates}",
    status="toy",
    shows="the judge and the reviewer are scripts",
    reproductions=("mpo_rubric",),
    cycle=(*JUDGED, META, p.FitRewards()),
    rewards=(p.Rubric(),),
    judges={"judge": p.JudgeRole(learns=False, guided="choice")},
    collect=p.CollectConfig(episodes=64),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="token", gamma=1.0, lam=0.95),
        baseline=p.BatchMean(),
        normalise=p.TokenStd(),
        kl_in_reward=0.05,
        reward_weights={"payoff": 0.0},
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    critic=p.ValueCritic(lr=5e-4),
    optim=p.OptimConfig(lr=5e-4, epochs=4),
    published={
        "cycle.every.updates": p.Published("10; 20 for mathematics", PAPER),
        "collect.episodes": p.Published("7500 episodes in all", PAPER, p.CHEAP),
        "optim.lr": p.Published(3e-6, PAPER, p.SMALL),
        "optim.epochs": p.Published(4, PAPER),
        "advantage.kl_in_reward": p.Published("0.05; 0.02 for mathematics", PAPER),
        "loss.surrogate.eps_lo": p.Published(0.2, PAPER),
        "advantage.credit.lam": p.Published(0.95, PAPER),
    },
    variants={
        "fixed": {"cycle": (*JUDGED, p.FitRewards())},
        "unscaled": {"rewards": (p.Rubric(scale="run"),)},
    },
)
