"""SFT: supervised fine-tuning on the replies of another player (arXiv 2203.02155, first step).

A demonstrator has the seats of the learners: random legal play, which teaches the form of replies
and nothing else, an expert of some skill, a model behind an API, a stronger agent. Or episodes were
recorded before. Its replies are imitated by maximum likelihood; the prompt is not learnt. With
`cycle.make_items.to.above` only those count whose seat earned more than that, with its weights of
rewards. `coevo imitate` is this algorithm with settings for the size of the model.

Left out: residual dropout; epochs, since players demonstrate anew in every update.
"""

from coevo.trainers import parts as p

PAPER = "paper, appendix C.1"

ALGORITHM = p.Algorithm(
    name="sft",
    summary="imitates replies of an expert, of random legal play, of a record, of a better agent",
    paper="Ouyang et al. 2022, InstructGPT, arXiv 2203.02155",
    formula=r"L = - \frac{1}{n} \sum_t \log \pi(y_t | x, y_{<t}), \quad y \text{ demonstrated}",
    status="model",
    shows="the starter model imitates moves that a key switches; a table matches given odds",
    reproductions=("sft_expert", "magic_token"),
    cycle=(
        p.Demonstrate(),
        p.BuildBatch(),
        p.MakeItems(to=p.Replies()),
        p.Update(losses=(p.Sft(),)),
    ),
    collect=p.CollectConfig(episodes=8),
    advantage=p.AdvantageConfig(baseline=p.NoBaseline(), normalise=p.NoNormalisation()),
    optim=p.OptimConfig(lr=1e-3),
    schedules={"optim.rate": p.Cosine(to=0.1)},
    published={
        "cycle.make_items.to.most": p.Published("32", PAPER, "replies are short here"),
        "optim.lr": p.Published(
            9.65e-6, PAPER, "1.3 and 6 billion parameters there; a million here"
        ),
        "schedules": p.Published("cosine to a tenth", PAPER),
        "optim.warmup": p.Published(0, PAPER),
    },
)
