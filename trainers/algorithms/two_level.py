"""Two levels: those who live by rules learn first, then they and who sets the rules (AI Economist).

Every seat has a policy and a critic of its own and learns by PPO from its own payoff. In the first
phase the planner's policy rests and draws from its start, so that the others meet every rule; from
update 50 on it learns as well, published at a third of their rate: `--set
optim_of.planner_0.lr=1e-4`. On a task without a planner this is PPO with separate agents.

Left out: the planner's entropy bonus that falls from 2.0 to 0.125 over 50 million steps, the cap on
taxes that rises with it, and the recurrent networks.
Advantages are whitened per agent here, since payoffs of planners and workers differ in scale.
"""

from coevo.trainers import parts as p

CODE = "salesforce/ai-economist, a84d5f3, tutorials/rllib/phase2/config.yaml"
PLANNERS = ("planner*",)


def cycle(alone: int) -> tuple[p.AnyStep, ...]:
    """Return the steps of an update; the planner learns from update `alone` on."""
    plan = p.Every(updates=1, first=alone, step=p.Update(sets=PLANNERS))
    return (
        p.Collect(),
        p.BuildBatch(),
        p.ComputeAdvantages(),
        p.Update(besides=PLANNERS),
        plan,
        p.ReplayUpdate(),
        p.FitRewards(),
    )


ALGORITHM = p.Algorithm(
    name="two_level",
    summary="workers learn under drawn rules, then with the planner who sets them",
    paper="Zheng et al. 2022, The AI Economist, Science Advances 8(18)",
    formula=r"A_t = \delta_t + \gamma \lambda A_{t+1} \text{ per seat; followers learn first, "
    r"then the planner too}",
    status="table",
    shows="a one-step economy of four workers, and a herd of three citizens",
    reproductions=("two_level", "steering"),
    population=p.Separate(),
    cycle=cycle(alone=50),
    collect=p.CollectConfig(episodes=64),
    advantage=p.AdvantageConfig(
        credit=p.Gae(level="turn", gamma=1.0, lam=0.98),
        baseline=p.AgentMean(),
        normalise=p.AgentStd(),
    ),
    loss=p.LossConfig(
        surrogate=p.PpoClip(eps_lo=0.3, eps_hi=0.3),
        regularise=(p.Entropy(coef=0.025),),
        aggregate=p.TokenMean(),
    ),
    critic=p.ValueCritic(lr=1e-3),
    optim=p.OptimConfig(lr=3e-4, grad_norm=10.0),
    published={
        "advantage.credit.gamma": p.Published(
            0.998, CODE, "episodes have few turns, theirs 1,000 steps"
        ),
        "advantage.credit.lam": p.Published(0.98, CODE),
        "loss.surrogate.eps_lo": p.Published(0.3, CODE),
        "loss.regularise.entropy.coef": p.Published(
            "0.025; of the planner 2.0 falling to 0.125", CODE, "one coefficient for all seats"
        ),
        "critic.lr": p.Published(3e-4, CODE, p.SMALL),
        "optim.lr": p.Published("3e-4, of the planner 1e-4", CODE, "not every task has a planner"),
        "optim.grad_norm": p.Published(10.0, CODE),
    },
)
