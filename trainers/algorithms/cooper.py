"""Cooper: the reward model learns beside the policy, so that it is not hacked (arXiv 2508.05613).

A reward model that sees the right answer pays the policy sigmoid(f); GRPO. After every update of
the policy it is fitted by Bradley-Terry to pairs of the same replies: of every task the first that
a rule-based verifier certifies, and a wrong one. The verifier need only be right where it says
"right": it may miss many. Policy and reward model have parameters of their own.

The paper's wrong replies are written by an assistant from the right one (`negatives=rewrite`, the
default). They share its style, and so never teach what a style is worth: where a reward model is
hacked by style, it must learn fast to win the race. The variant `own_wrong` takes the policy's own
replies that were not certified; `both` takes both. `frozen` is the control: the same reward model,
never fitted.

Tasks without a certified reply never correct the reward model: `pairs/valid` is their rate. The
reward is normalised within a group, since comparisons leave a constant open.

Ours: the right answer is what the environment notes as `reference`. Left out: the training of the
reward model before the run (give it as `judges.judge.model`), and masking of what is cut off.
"""

from coevo.envs.core.config import plain
from coevo.trainers.algorithm import Algorithm, CollectConfig, OptimConfig, Published
from coevo.trainers.algorithms.reasons import CHEAP, SMALL
from coevo.trainers.estimators import AdvantageConfig, Kl, LossConfig
from coevo.trainers.judges import JudgeRole, RewardModel
from coevo.trainers.losses import BradleyTerry
from coevo.trainers.steps import (
    BuildBatch,
    Certified,
    Collect,
    ComputeAdvantages,
    MakeItems,
    Update,
)

PAPER = "paper and released code"
FIT = Update(losses=(BradleyTerry(),))
POLICY = (Collect(), BuildBatch(), ComputeAdvantages(), Update())


def _with(negatives: str) -> dict[str, object]:
    """Return the cycle with wrong replies from elsewhere."""
    cycle = (*POLICY, MakeItems(to=Certified(negatives=negatives)), FIT)  # type: ignore[arg-type]
    return {"cycle": plain(cycle)}


ALGORITHM = Algorithm(
    name="cooper",
    summary="a reward model that is fitted to verified pairs beside the policy",
    paper="Hong et al. 2025, Cooper, arXiv 2508.05613",
    formula=r"A = \frac{\sigma(f) - \mean_g \sigma(f)}{\std_g \sigma(f) + \epsilon} \\ "
    r"L_f = -\log \sigma(f(o^+) - f(o^-)), \quad o^+ \text{ certified by a rule}",
    status="toy",
    reproductions=("cooper_hack",),
    cycle=(*POLICY, MakeItems(to=Certified()), FIT),
    rewards=(RewardModel(),),
    judges={"judge": JudgeRole(), "assistant": JudgeRole(policy="assistant", learns=False)},
    collect=CollectConfig(episodes=512, group_size=16),
    advantage=AdvantageConfig(reward_weights={"payoff": 0.0}),
    loss=LossConfig(regularise=(Kl(kind="k3", coef=0.001),)),
    optim=OptimConfig(lr=1e-4),
    optim_of={"judge": {"lr": 1e-3, "weight_decay": 0.01}},
    published={
        "collect.group_size": Published(value=16, source=PAPER),
        "collect.episodes": Published(value="prompts of a batch, 16 each", source=PAPER, why=CHEAP),
        "optim.lr": Published(value=1e-6, source=PAPER, why=SMALL),
        "optim_of.judge.lr": Published(value=1e-5, source=PAPER, why=SMALL),
        "optim_of.judge.weight_decay": Published(value=0.01, source=PAPER),
    },
    variants={
        "own_wrong": _with("own_wrong"),
        "both": _with("both"),
        "frozen": {"cycle": plain(POLICY)},
    },
)
