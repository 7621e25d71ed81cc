"""ScalingInter-RL: the rounds that an episode may last grow while it is trained (2509.08755).

Short episodes first, so that a weak policy learns to use its first turns; the bound is then raised
in steps. It is an option of every reset, and a function of the updates done: a resumed run plays
under the bound that it was stopped under. The steps here are of search episodes, 5, 8 and 10; other
tasks need their own, `--set 'schedules={collect.options.max_cycles: {name: steps, values: [13]}}'`.
"""

from coevo.trainers import parts as p

CODE = "released code (AgentGym-RL)"

ALGORITHM = p.Algorithm(
    name="scaling_inter",
    summary="GRPO in which episodes may last longer and longer",
    paper="Xi et al. 2025, AgentGym-RL, arXiv 2509.08755",
    formula=r"h(u) = h_{\min(\lfloor u / 100 \rfloor, K)}, \quad T_i \le h(u)",
    status="toy",
    shows="as good as the longest bound at equal turns; the collapse of long episodes is not shown",
    reproductions=("horizon_steps",),
    collect=p.CollectConfig(episodes=512, group_size=8, options={"max_cycles": 5}),
    schedules={"collect.options.max_cycles": p.Steps(values=(8, 10), every=100)},
    loss=p.LossConfig(regularise=(p.Kl(kind="k3", coef=0.001),)),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "schedules": p.Published("5, 8, 10 (SearchQA), 10, 20, 30 (SciWorld)", CODE),
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
    },
)
