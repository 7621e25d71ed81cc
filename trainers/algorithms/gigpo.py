"""GiGPO: turns that saw the same state are compared as well (arXiv 2505.10978).

A = A_episode + w A_step. The episode part is the outcome minus its group's mean; the step part is
the discounted return of a turn minus the mean over all visits of that state in the group, a state
seen once giving 0. No critic. The variant `std` divides both by deviations.

States are equal where a seat saw the same chat. Left out: the similarity of texts by which the
released code joins states that nearly agree; after the first turn most chats are seen once, so that
few step groups have more than one visit (4 of 30 in tic-tac-toe). A play counts once in the episode
part, as in equation 3 of the paper; langfengQ/DrMAS@19c632b counts every step of it by default
(`compute_mean_std_cross_steps`), `--set advantage.weights=turn`. Stochastic games blur the step
groups: one state of Kuhn poker stands for two cards of the other player.
"""

from coevo.trainers import parts as p

CODE = "released code"

ALGORITHM = p.Algorithm(
    name="gigpo",
    summary="group-relative outcomes plus returns compared at equal states",
    paper="Feng et al. 2025, GiGPO, arXiv 2505.10978",
    formula=r"A_t = (R - \mean_g R) + w (Y_t - \mean_\state Y), \quad Y_t = \sum_{t' \ge t} "
    r"\gamma^{t' - t} r_{t'}",
    status="vectors",
    rewards=(p.Format(legal=0.05),),
    collect=p.CollectConfig(episodes=512, group_size=8),
    advantage=p.AdvantageConfig(
        normalise=p.NoNormalisation(),
        transform=(p.AddStateGroup(w=1.0, gamma=0.95, mode="mean_norm"),),
    ),
    loss=p.LossConfig(surrogate=p.PpoClip(eps_lo=0.2, eps_hi=0.2), aggregate=p.TokenMean()),
    optim=p.OptimConfig(lr=1e-3),
    published={
        "advantage.transform.add_state_group.w": p.Published(1.0, CODE),
        "advantage.transform.add_state_group.gamma": p.Published(0.95, CODE),
        "advantage.transform.add_state_group.mode": p.Published("mean_norm", CODE),
    },
    variants={
        "std": {
            "advantage.normalise": p.GroupStd(),
            "advantage.transform.add_state_group.mode": "mean_std_norm",
        }
    },
)
