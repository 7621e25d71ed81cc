"""On-policy distillation: the student writes, a teacher says how likely that was to it.

The teacher is the reference: it scores the tokens that the student sampled, so there is no gap
between what is learnt from and what will be played. By default it is the start model with an
instruction in its prompt that the student does not see (privileged context: `inject_text` with
`trained=hidden`), so that the student learns to play without the instruction as the teacher plays
with it; an instruction of your own is `cycle.inject_text.first`. No reward of the task is read.

The default loss is the estimate from the sampled token: its reward is log pi_teacher - log
pi_student, the discount is 0, so that a token answers for itself alone. Its mean is the slope of
KL(student || teacher) at every position. `full` takes that slope exactly, over the vocabulary;
`top_k` tells the 32 likeliest tokens apart and joins all others, a bound from below.

Teachers: `model` is another model, such as a stronger one (`reference`: a folder or a Hub id, with
the student's tokenizer); `past_self` is the student itself of at most 20 updates ago, with the
instruction. `off_policy` is the control: the policy plays with the instruction and imitates its
replies without it, so that a student never sees its own mistakes; `sft` imitates any other player.

Left out: several teachers for different tasks, teachers with another tokenizer, partial rollouts,
and a discounted sum of later differences, which the source found not to help.
"""

from coevo.trainers import parts as p

CODE = "released code (tinker-cookbook)"
HINT = "Think about what the others will do, then choose the move that pays you most."
LEARN = (p.Collect(), p.BuildBatch(), p.ComputeAdvantages(), p.Update())
TAUGHT = (p.InjectText(first=(HINT,), trained="hidden"), *LEARN)
IMITATE = (
    p.InjectText(first=(HINT,), trained="stripped"),
    p.Collect(),
    p.BuildBatch(),
    p.MakeItems(to=p.Replies(most=None)),
    p.Update(losses=(p.Sft(),)),
)
NO_REWARD = {"advantage.kl_in_reward": 0.0}
REFRESH = p.Every(updates=20, first=20, step=p.UpdateReference())

ALGORITHM = p.Algorithm(
    name="on_policy_distillation",
    summary="the student's own tokens, scored by a teacher: reverse KL, sampled or exact",
    paper="Agarwal et al. 2024, GKD, arXiv 2306.13649",
    formula=r"A_t = \log \pi_\teacher(y_t) - \log \pi_\student(y_t), \quad y \sim \pi_\student \\ "
    r"\text{full: } L = \sum_t \KL(\pi_\student \| \pi_\teacher)",
    status="table",
    shows="an instruction is the teacher; no stronger model was tried",
    reproductions=("taught_by_instruction",),
    cycle=TAUGHT,
    collect=p.CollectConfig(episodes=512),
    advantage=p.AdvantageConfig(
        reward_weights={"payoff": 0.0, "illegal": 0.0},
        credit=p.ToGo(gamma=0.0, level="token"),
        baseline=p.NoBaseline(),
        normalise=p.NoNormalisation(),
        kl_in_reward=1.0,
    ),
    loss=p.LossConfig(surrogate=p.Unclipped(), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.kl_in_reward": p.Published(1.0, CODE),
        "advantage.credit.gamma": p.Published(0.0, CODE),
        "loss.surrogate": p.Published("importance sampling, no clip", CODE),
        "collect.episodes": p.Published("512 prompts, 4 replies each", CODE, p.CHEAP),
        "optim.lr": p.Published("1e-4 (LoRA), 5e-5 (all weights)", CODE, p.SMALL),
    },
    variants={
        "full": {**NO_REWARD, "loss.regularise": (p.ReferenceKl(),)},
        "top_k": {**NO_REWARD, "loss.regularise": (p.ReferenceKl(top_k=32),)},
        "model": {"cycle": LEARN, "reference": "starter"},
        "past_self": {"cycle": (*TAUGHT, REFRESH)},
        "off_policy": {**NO_REWARD, "cycle": IMITATE},
    },
)
