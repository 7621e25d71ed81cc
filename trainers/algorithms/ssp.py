"""SSP: search self-play, a proposer and a group of solvers with one set of weights (2510.18821).

The proposer is paid 1 - s for a question that passes the gate, s the share of its own solvers that
succeed; its advantage is that reward itself (REINFORCE without a baseline), since it is alone in
its group. Solvers are compared with the others of their play (GRPO). Proposer and solvers are seats
of one play, so both groups are the key `play+role`, and no reward can reach another question.

Play it on `coevo/search_self_play-v0`, whose options hold the rest, with what the released code
uses: solvers=5, proposer_reward=one_minus, invalid_reward=0 (library default -1; -0.1 is reported
to end in a spiral), gate min_words=10 (too many for questions made from templates), noise=4,
rejected=pool with the variant `pool` (ours: drop, since by default every play has a world of its
own). Its sampling temperatures, 0.8 for the proposer and 1 for solvers, are one for both roles
here. `solver_only` and `proposer_only` do not
learn from the other role's turns; the weights are shared all the same, and for a proposer that
really stays what it was, give the roles parameter sets of their own (`population={name:
separate}`). Ours: a budget of 3 searches and a reply (10 turns there), the 6 best documents (3
there), noise from searches for other facts (there the documents of other questions of the batch),
and questions that are kept once each. Left out: the judge model that grades answers beside exact
match; a symbolic reader stands in for the one that reads the evidence.
"""

from coevo.trainers import parts as p

CODE = "released code (Alibaba-Quark/SSP@b4797e1)"
BY = "episode+role"

ALGORITHM = p.Algorithm(
    name="ssp",
    summary="search self-play: a proposer paid 1 - success, a group of solvers compared with it",
    paper="Lu et al. 2025, Search Self-play, ICLR 2026, arXiv 2510.18821",
    formula=r"A_\proposer = 1 - s \text{ if the question is valid, else } 0 \\ "
    r"A_{\solver,i} = \frac{r_i - \mean r}{\std r + \epsilon} \text{ over the solvers of the "
    r"episode}",
    status="model",
    shows="the gate keeps valid proposals, which are lost without it; no gain in accuracy",
    reproductions=("ssp_gate", "ssp_lesson", "ssp_starter"),
    collect=p.CollectConfig(episodes=64),
    advantage=p.AdvantageConfig(
        baseline=p.GroupMean(by=BY, single="keep"), normalise=p.GroupStd(by=BY, single="keep")
    ),
    loss=p.LossConfig(
        surrogate=p.DualClip(eps_lo=0.2, eps_hi=0.285, c=3.0),
        regularise=(p.Kl(kind="k3", coef=0.01, limit=10.0),),
        aggregate=p.TokenMean(),
    ),
    optim=p.OptimConfig(lr=3e-4, alternate=("proposer", "solver"), minibatches=2),
    published={
        "collect.episodes": p.Published(
            "256 answers, 5 solvers each", CODE, "plays of a small model on a CPU"
        ),
        "optim.minibatches": p.Published("2 (128 of 256)", CODE),
        "optim.lr": p.Published(1e-6, CODE, p.SMALL),
        "optim.alternate": p.Published("proposer, then solver; behaviour scored before each", CODE),
        "loss.surrogate.eps_hi": p.Published(0.285, CODE),
        "loss.surrogate.c": p.Published(3.0, CODE),
        "loss.regularise.kl.coef": p.Published(0.01, CODE),
        "advantage.normalise": p.Published(
            "deviation in code, mean only in the paper", CODE + "; paper note"
        ),
    },
    variants={
        "joint": {"optim.alternate": ()},
        "frozen_old": {"optim.old": "update"},
        "mean_only": {"advantage.normalise": p.NoNormalisation()},
        "solver_only": {"optim.frozen": ("proposer",)},
        "proposer_only": {"optim.frozen": ("solver",)},
        "pool": {"collect.task_buffer": p.KeptTasks(threshold=1.0, every=10)},
    },
)
