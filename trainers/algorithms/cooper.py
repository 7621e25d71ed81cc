"""Cooper: the reward model learns beside the policy, so that it is not hacked (arXiv 2508.05613).

A reward model that sees the right answer pays the policy sigmoid(f); GRPO. After every update of
the policy it is fitted by Bradley-Terry to pairs of the same replies: of every task the first that
a rule-based verifier certifies, and a wrong one. The verifier need only be right where it says
"right": it may miss many. Policy and reward model have parameters of their own.

The paper's wrong replies are written by an assistant from the right one (`negatives=rewrite`, the
default). They share its style, and so never teach what a style is worth: where a reward model is
hacked by style, it must learn fast to win the race. The variant `own_wrong` takes the policy's own
replies that were not certified; `both` takes both. `frozen` is the control: the same reward model,
never fitted. `regression`, ours, fits it to the verdicts themselves.

Tasks without a certified reply never correct the reward model: `pairs/valid` is their rate. The
reward is normalised within a group, since comparisons leave a constant open.

Ours: the right answer is what the environment notes as `reference`, as those of questions do. Left
out: the training of the reward model before the run (give it as `judges.judge.model`), and masking
of what is cut off.
"""

from coevo.envs.core.config import plain
from coevo.trainers import parts as p

PAPER = "paper and released code"
FIT = p.Update(losses=(p.BradleyTerry(),))
POLICY = (p.Collect(), p.BuildBatch(), p.ComputeAdvantages(), p.Update())


def _with(negatives: str) -> dict[str, object]:
    """Return the cycle with wrong replies from elsewhere."""
    cycle = (*POLICY, p.MakeItems(to=p.Certified(negatives=negatives)), FIT)  # type: ignore[arg-type]
    return {"cycle": plain(cycle)}


ALGORITHM = p.Algorithm(
    name="cooper",
    summary="a reward model that is fitted to verified pairs beside the policy",
    paper="Hong et al. 2025, Cooper, arXiv 2508.05613",
    formula=r"A = \frac{\sigma(f) - \mean_g \sigma(f)}{\std_g \sigma(f) + \epsilon} \\ "
    r"L_f = -\log \sigma(f(o^+) - f(o^-)), \quad o^+ \text{ certified by a rule}",
    status="table",
    shows="questions with three listed answers; a table that never learns rewrites them",
    reproductions=("cooper_hack",),
    cycle=(*POLICY, p.MakeItems(to=p.Certified()), FIT),
    rewards=(p.RewardModel(),),
    judges={"judge": p.JudgeRole(), "assistant": p.JudgeRole(policy="assistant", learns=False)},
    collect=p.CollectConfig(episodes=512, group_size=16),
    advantage=p.AdvantageConfig(reward_weights={"payoff": 0.0}),
    loss=p.LossConfig(regularise=(p.Kl(kind="k3", coef=0.001),)),
    optim=p.OptimConfig(lr=1e-4),
    optim_of={"judge": {"lr": 1e-3, "weight_decay": 0.01}},
    published={
        "collect.group_size": p.Published(16, PAPER),
        "collect.episodes": p.Published("prompts of a batch, 16 each", PAPER, p.CHEAP),
        "optim.lr": p.Published(1e-6, PAPER, p.SMALL),
        "optim_of.judge.lr": p.Published(1e-5, PAPER, p.SMALL),
        "optim_of.judge.weight_decay": p.Published(0.01, PAPER),
    },
    variants={
        "own_wrong": _with("own_wrong"),
        "both": _with("both"),
        "frozen": {"cycle": plain(POLICY)},
        "regression": {
            "cycle": plain(
                (*POLICY, p.MakeItems(to=p.Verdicts()), p.Update(losses=(p.ValueRegression(),)))
            )
        },
    },
)
