"""AgentEvol: explore, keep what succeeded, learn it from the start model again (arXiv 2406.04151).

An agent that has imitated demonstrations explores. Of every task the best play is kept, if it was
rewarded above a threshold. Then the start model, not the explorer, imitates these plays and
demonstrations together; the result explores in the next iteration, which is an update here. Start
from a model that has imitated (`coevo imitate`); who demonstrates is `cycle.demonstrate.by`, or a
file, `cycle.demonstrate.recorded`.

As many demonstrations are drawn as episodes are played, and kept by the same rule; the source has a
fixed set of them. Variants: `unselected`, which imitates all own plays, is the control; `continued`
goes on from the explorer, as rejection sampling does.
"""

from coevo.trainers import parts as p

CODE = "released code (AgentGym)"


def _evolving(kept: p.Best | p.Replies, *restart: p.AnyStep) -> tuple[p.AnyStep, ...]:
    played = (p.Collect(), p.Demonstrate(by="expert:0.5", join=True), p.BuildBatch())
    return (*played, p.MakeItems(to=kept), *restart, p.Update(losses=(p.Sft(),)), p.FitRewards())


ALGORITHM = p.Algorithm(
    name="agent_evol",
    summary="the best rewarded play of a task and demonstrations, imitated from the start weights",
    paper="Xi et al. 2024, AgentGym, arXiv 2406.04151",
    formula=r"\theta_{m+1} = \argmax_\theta \sum_{y \in D_m \cup D_0} \log \pi_\theta(y) \text{ "
    r"from } \theta_0, \quad D_m = \{y \sim \pi_{\theta_m} : r(y) > 0.99\}",
    status="toy",
    reproductions=("agent_evolution",),
    cycle=_evolving(p.Best(above=0.99), p.RestoreStart()),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(baseline=p.NoBaseline(), normalise=p.NoNormalisation()),
    optim=p.OptimConfig(lr=1e-3, epochs=3),
    published={
        "cycle.make_items.to.above": p.Published(0.99, CODE),
        "optim.lr": p.Published(1e-5, CODE, p.SMALL),
    },
    variants={
        "unselected": {"cycle": _evolving(p.Replies(most=None), p.RestoreStart())},
        "continued": {"cycle": _evolving(p.Best(above=0.99))},
    },
)
