"""SEAgent: good steps are reinforced, bad ones unlearnt by a loss that fades (arXiv 2508.04700).

A judge of states says of every step of an episode whether it was good; here a reward component says
so, 1 or 0 for each turn, which the environment pays or a reward module. Replies to the same state
are compared by GRPO on that component alone, and the failed steps of the update are learnt by the
adversarial imitation loss: -log sigmoid(-D), D = log pi / pi_ref of the step, whose slope goes to
zero as the step becomes unlikely.

Variants: `positive` leaves the failures out; `unlikelihood` takes -log(1 - pi) for them (Welleck et
al. 2020, arXiv 1908.04319), which needs no reference.

Left out: the judge as a model of its own, the reward for how near a click is, the generator of
tasks from changes of state (`collect.curriculum`), and the distillation of specialists.
"""

from coevo.trainers import parts as p

CODE = "released code (SunzeY/SEAgent)"
PLAY = (
    p.Collect(),
    p.BuildBatch(),
    p.ComputeAdvantages(),
    p.MakeItems(to=p.Worst(of="turn", below=0.5)),
)


def _learning(*losses: p.Loss) -> tuple[p.AnyStep, ...]:
    return (*PLAY, p.Update(losses=(p.Policy(), *losses)), p.FitRewards())


ALGORITHM = p.Algorithm(
    name="seagent",
    summary="GRPO on judged steps, and a bounded loss on those that were judged bad",
    paper="Sun et al. 2025, SEAgent, arXiv 2508.04700",
    formula=r"L = L_{\text{GRPO}}(\text{steps}) - \gamma \log \sigma(-\log \frac{\pi(a | s)}"
    r"{\pi_\ref(a | s)}) \text{ over bad steps}",
    status="toy",
    shows="steps are judged by the environment; the losses alone are shown",
    reproductions=("bad_steps",),
    cycle=_learning(p.Adversarial(weight=0.2)),
    collect=p.CollectConfig(episodes=64),
    advantage=p.AdvantageConfig(
        reward_weights={"payoff": 0.0},
        credit=p.ToGo(gamma=0.0),
        baseline=p.GroupMean(by="state"),
        normalise=p.GroupStd(by="state"),
    ),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "cycle.update.losses.adversarial.weight": p.Published(0.2, CODE),
        "cycle.update.losses.adversarial.per": p.Published(
            "token", CODE, "the formula of the paper is of the whole reply"
        ),
    },
    variants={
        "positive": {"cycle": _learning()},
        "unlikelihood": {"cycle": _learning(p.Unlikelihood(weight=0.2))},
    },
)
