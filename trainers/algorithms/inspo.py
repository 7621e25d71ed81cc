"""INSPO: instructions and policy evolve together (Zhou et al. 2025, arXiv 2512.01945).

Every group of episodes is told an instruction I_j, drawn with probability softmax(w_j / tau); the
policy learns from its groups by GRPO, under the prompt that it saw. Groups hold one instruction
each: the difference between two instructions must not become advantage. w_j follows what the
episodes under I_j earn. Every M updates the worst are pruned, a reflector that is shown failures
writes new ones, these are tried on held-out tasks, and the best joins the others.

The abstract and summaries were read; the code could not be read: how w is updated (here a moving
average), the number of instructions, tau, M and the start weight of new ones (here the highest) are
ours. Failures are those of the update at hand; the paper draws them from a replay buffer. The
policy itself reflects unless `by.agent` of `refresh` names another model; a table cannot.
"""

from coevo.trainers import parts as p

FIRST = (
    "Think about what the others will do before you answer.",
    "Check that your answer is allowed before you give it.",
    "Look at everything you were told; use all of it.",
    "Prefer the safe answer unless another is clearly better.",
)
BANDIT = (
    p.InjectText(by=p.Softmax(tau=0.2), first=FIRST),
    p.Collect(),
    p.BuildBatch(),
    p.ComputeAdvantages(),
    p.Update(),
    p.WeighArtifacts(rate=0.3),
)
REFLECT = p.Every(updates=20, first=20, step=p.ReplaceTexts(keep=4, candidates=2, tasks=16))

ALGORITHM = p.Algorithm(
    name="inspo",
    summary="a bandit over instructions, refreshed by reflection on failures; GRPO per instruction",
    paper="Zhou et al. 2025, INSPO, arXiv 2512.01945",
    formula=r"I \sim \softmax(w / \tau), \quad w_I \leftarrow (1 - \rho) w_I + \rho \mean R_I \\ "
    r"A_i = \frac{R_i - \mean R}{\std R + \epsilon} \text{ within one task and } I",
    status="inferred",
    shows="the rewriter is a script",
    reproductions=("inspo_procedure",),
    cycle=(*BANDIT, REFLECT, p.FitRewards()),
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=256, group_size=8),
    optim=p.OptimConfig(lr=1e-3),
    variants={"bandit": {"cycle": (*BANDIT, p.FitRewards())}},
)
