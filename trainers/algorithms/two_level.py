"""Two levels: those who live by rules learn first, then they and who sets the rules (AI Economist).

Every seat has a policy and a critic of its own and learns by PPO from its own payoff. In the first
phase the planner's policy rests and draws from its start, so that the others meet every rule; from
update 50 on it learns as well, published at a third of their rate: `--set
optim_of.planner_0.lr=1e-4`. On a task without a planner this is PPO with separate agents.

Left out: the planner's entropy bonus that falls from 2.0 to 0.125 over 50 million steps, the cap on
taxes that rises with it, and the recurrent networks.
Advantages are whitened per agent here, since payoffs of planners and workers differ in scale.
"""

from coevo.agents.population import Separate
from coevo.trainers.algorithm import (
    Algorithm,
    CollectConfig,
    OptimConfig,
    Published,
    ValueCritic,
)
from coevo.trainers.algorithms.reasons import SMALL
from coevo.trainers.estimators import (
    AdvantageConfig,
    AgentMean,
    AgentStd,
    Entropy,
    Gae,
    LossConfig,
    PpoClip,
    TokenMean,
)
from coevo.trainers.steps import (
    AnyStep,
    BuildBatch,
    Collect,
    ComputeAdvantages,
    Every,
    FitRewards,
    ReplayUpdate,
    Update,
)

CODE = "salesforce/ai-economist, a84d5f3, tutorials/rllib/phase2/config.yaml"
PLANNERS = ("planner*",)


def cycle(alone: int) -> tuple[AnyStep, ...]:
    """Return the steps of an update; the planner learns from update `alone` on."""
    plan = Every(updates=1, first=alone, step=Update(sets=PLANNERS))
    return (
        Collect(),
        BuildBatch(),
        ComputeAdvantages(),
        Update(besides=PLANNERS),
        plan,
        ReplayUpdate(),
        FitRewards(),
    )


ALGORITHM = Algorithm(
    name="two_level",
    summary="workers learn under drawn rules, then with the planner who sets them",
    paper="Zheng et al. 2022, The AI Economist, Science Advances 8(18)",
    formula=r"A_t = \delta_t + \gamma \lambda A_{t+1} \text{ per seat; followers learn first, "
    r"then the planner too}",
    status="table",
    shows="a one-step economy of four workers, and a herd of three citizens",
    reproductions=("two_level", "steering"),
    population=Separate(),
    cycle=cycle(alone=50),
    collect=CollectConfig(episodes=64),
    advantage=AdvantageConfig(
        credit=Gae(level="turn", gamma=1.0, lam=0.98),
        baseline=AgentMean(),
        normalise=AgentStd(),
    ),
    loss=LossConfig(
        surrogate=PpoClip(eps_lo=0.3, eps_hi=0.3),
        regularise=(Entropy(coef=0.025),),
        aggregate=TokenMean(),
    ),
    critic=ValueCritic(lr=1e-3),
    optim=OptimConfig(lr=3e-4, grad_norm=10.0),
    published={
        "advantage.credit.gamma": Published(
            value=0.998, source=CODE, why="episodes have few turns, theirs 1,000 steps"
        ),
        "advantage.credit.lam": Published(value=0.98, source=CODE),
        "loss.surrogate.eps_lo": Published(value=0.3, source=CODE),
        "loss.regularise.entropy.coef": Published(
            value="0.025; of the planner 2.0 falling to 0.125",
            source=CODE,
            why="one coefficient for all seats",
        ),
        "critic.lr": Published(value=3e-4, source=CODE, why=SMALL),
        "optim.lr": Published(
            value="3e-4, of the planner 1e-4", source=CODE, why="not every task has a planner"
        ),
        "optim.grad_norm": Published(value=10.0, source=CODE),
    },
)
