r"""MRA: a set of policies for games with any number of agents, told apart by a latent (mra).

pi(a | o, z): an episode is played by all seats under one of a few plans, a line in their prompts
that says nothing but its number. Which one depends on the game, which is how many agents there are,
and no seat knows: mostly the plan that earns most there and, by `bonus`, tells the game from
others. In a new game the best plan is taken as it is, or moved by a few gradient steps.

Inferred: only the abstract could be read. Ours: a plan is chosen in the place of a latent that is
drawn, and the information that plans and games have of each other in the place of a constraint; all
seats of an episode have one plan. What games have in common is whatever a policy shares between
prompts: nothing in a table. Held-out episodes of a run are played without a plan. Variants: `free`
has no bonus, `single` one plan.
"""

from coevo.trainers import parts as p

PLANS = tuple(f"Plan {k}." for k in range(1, 5))
FIRST, BONUS = "cycle.inject_text.first", "cycle.inject_text.by.bonus"

ALGORITHM = p.Algorithm(
    name="mra",
    summary="policies of several plans for games with different numbers of agents",
    paper="Zhang et al. 2021, MRA, arXiv 2108.12988",
    formula=r"z_g = \argmax_z \hat R_g(z) + \beta \log \frac{q(z | g)}{\mean_{g'} q(z | g')}, "
    r"\quad A_i = R_i - \mean_\group R, \quad L = -A \log \pi(a | o, z_g)",
    status="inferred",
    shows="plans suit the games they were learnt in and a larger one, not one of a size between",
    reproductions=("mra",),
    usage="--env coevo/crossing-v0 --env-option travellers=[2,4,8] known=false",
    cycle=(
        p.InjectText(first=PLANS, by=p.ByGame(bonus=0.1)),
        p.Collect(),
        p.WeighArtifacts(rate=0.1, games=True),
        p.BuildBatch(),
        p.ComputeAdvantages(),
        p.Update(),
    ),
    collect=p.CollectConfig(episodes=128, group_size=8, up_to=1.0),
    advantage=p.AdvantageConfig(
        credit=p.Outcome(), baseline=p.GroupMean(), normalise=p.NoNormalisation()
    ),
    loss=p.LossConfig(surrogate=p.PolicyGradient(), aggregate=p.SeqMeanTokenSum()),
    optim=p.OptimConfig(lr=1e-3),
    variants={"free": {BONUS: 0.0}, "single": {FIRST: PLANS[:1]}},
)
