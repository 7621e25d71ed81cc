"""Complementary RL: lessons from experience are kept for what they add (arXiv 2603.17621).

A bank of lessons in words. Half of the episodes of every task are played with a lesson in the
prompt, drawn by weight among those nearest to the task; the other half without. Each half is
compared with itself alone, and GRPO learns from both under the prompt that was seen. A lesson's
weight follows its uplift: what it added to the reward of the same task. Its reward alone would keep
the lessons of easy tasks, which add nothing: the variant `reward`, a control. Now and then the
worst lessons go, new ones are written from the episodes, and the best on held-out tasks joins.

The abstract and headings were read: the uplift, the moving average, shares and numbers are ours.
The policy itself writes lessons unless `by.agent` of `replace_texts` names another model. Left out:
the writer's own reward, by which the source trains it with its actor, and asynchronous training.
"""

from coevo.trainers import parts as p

FIRST = ("Before you answer, think of what went wrong in tasks like this one.",)
ACT = (p.Collect(), p.BuildBatch(), p.ComputeAdvantages(), p.Update())
TOLD = p.InjectText(kind="experience", by=p.Nearest(among=4), share=0.5, first=FIRST)
WRITE = p.Every(
    updates=10,
    first=10,
    step=p.ReplaceTexts(kind="experience", keep=16, by=p.Distil(), candidates=2, tasks=16),
)

ALGORITHM = p.Algorithm(
    name="complementary",
    summary="lessons in the prompts of half of a group, kept by what they add; GRPO in each half",
    paper="2026, Complementary RL, arXiv 2603.17621",
    formula=r"w_e \leftarrow (1 - \rho) w_e + \rho \, (\mean R_{\text{with } e} - "
    r"\mean R_{\text{without}}) \\ A_i = \frac{R_i - \mean R}{\std R + \epsilon} \text{ within one "
    r"task and half}",
    status="toy",
    shows="which lessons survive; the lessons are given, and their writer does not learn",
    reproductions=("experience_uplift",),
    cycle=(TOLD, *ACT, p.WeighArtifacts(rate=0.1, by="uplift"), WRITE, p.FitRewards()),
    collect=p.CollectConfig(episodes=256, group_size=8),
    optim=p.OptimConfig(lr=1e-3),
    variants={"reward": {"cycle.weigh_artifacts.by": "reward"}},
)
