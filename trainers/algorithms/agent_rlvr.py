"""Agent-RLVR: a task that nobody solved is tried again with guidance (Da et al. 2025, 2506.11425).

Every task is played by a group. Where no episode of it solved the task, it is played once more with
guidance in the prompts, such as a plan. What succeeds then is preferred to what failed without
guidance, and learnt under the prompt that has none, by DPO. Sparse rewards thus teach before the
policy can find them. A group that holds a success and a failure of its own gives a pair as well.

Guidance is here the moves of the environment's expert in the same task (`solution`). The variant
`advised` asks a model, by default the policy itself, which is shown the worst attempt and writes
advice; name a teacher with `cycle.guide.by.agent`. `imitate` learns the guided successes alone, by
supervised learning. `unguided` is the control.

SmolLM2-135M follows guidance on sums in one attempt of five, and learns no more by it than by
imitation of its own successes (claim `guided_smollm2`, one seed).

The abstract was read: that pairs are learnt, DPO's strength, and how a teacher words its guidance
are ours. Where an expert sees more than the seat, guidance tells what the seat cannot know, and
what is learnt from it is a guess.
"""

from coevo.trainers import parts as p

LEARN = (p.BuildBatch(), p.MakeItems(to=p.Pairs(margin=0.5)), p.Update(losses=(p.Dpo(),)))
IMITATE = (p.BuildBatch(), p.MakeItems(to=p.Best(above=0.5)), p.Update(losses=(p.Sft(),)))

ALGORITHM = p.Algorithm(
    name="agent_rlvr",
    summary="tasks that nobody solved are tried again with guidance, which is not learnt",
    paper="Da et al. 2025, Agent-RLVR, arXiv 2506.11425",
    formula=r"L = -\log \sigma(\beta (D(y^+ | x) - D(y^- | x))), \quad D = \log (\pi / \pi_0) \\ "
    r"y^+ \sim \pi(\cdot | x, \text{guidance}), \quad y^- \sim \pi(\cdot | x)",
    status="toy",
    shows="a follower is told a plan, and learns to do without it",
    reproductions=("guided_key_door", "guided_smollm2"),
    cycle=(p.Collect(), p.Guide(), *LEARN, p.FitRewards()),
    collect=p.CollectConfig(episodes=256, group_size=8),
    optim=p.OptimConfig(lr=1e-4),
    variants={
        "advised": {"cycle": (p.Collect(), p.Guide(by=p.Advise()), *LEARN, p.FitRewards())},
        "imitate": {"cycle": (p.Collect(), p.Guide(), *IMITATE, p.FitRewards())},
        "unguided": {"cycle": (p.Collect(), *LEARN, p.FitRewards())},
    },
)
