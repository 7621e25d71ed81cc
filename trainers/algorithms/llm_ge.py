"""LLM-guided evolution: programs are mated and changed for accuracy and few parameters (NSGA-II).

An outer loop without gradients, for `coevo/improve_program-v0` with `problem=layers`. A generation
is eight programs: each has a parent, or two that are mated, drawn by tournament from the fronts
that nothing dominates, and is changed. Of the old and the new ones the least dominated are kept.

In the source a language model, Mixtral 8x7B, mates and changes the code of a network, which is then
trained. Here a grammar of layers is the default, and a formula stands for the accuracy; `written`
asks the policy of the run, or any agent that `cycle.evolve_front.mutate.agent` names; its prompt is
ours. Left out: the Evolution of Thought, which shows how an elite came to be better, the personas
of its prompts, and the elites of SPEA-2, in the place of which as many live.
"""

from coevo.trainers import parts as p

CODE = "paper and released code"

ALGORITHM = p.Algorithm(
    name="llm_ge",
    summary="programs are mated and changed for two objectives, on fronts; no gradients",
    paper="Morris, Jurado and Zutty 2024, LLM Guided Evolution, arXiv 2403.11446",
    formula=r"c \sim \text{mutate}(\text{mate}(p, q)), \quad "
    r"P' = \text{NSGA-II}(P, C; \text{accuracy}, -\text{parameters})",
    status="scripted",
    shows="with a grammar for a model: fronts never shrink, and hold more than as many drawn",
    reproductions=("llm_ge",),
    usage="--env coevo/improve_program-v0 --env-option problem=layers",
    cycle=(p.EvolveFront(),),
    collect=p.CollectConfig(episodes=1),
    advantage=p.AdvantageConfig(baseline=p.NoBaseline(), normalise=p.NoNormalisation()),
    published={
        "cycle.evolve_front.mutate": p.Published("Mixtral 8x7B", CODE, "a grammar costs nothing"),
        "cycle.evolve_front.by.keep": p.Published(44, CODE, "elites, by SPEA-2"),
        "cycle.evolve_front.begin": p.Published(32, CODE),
        "cycle.evolve_front.children": p.Published(8, CODE),
        "cycle.evolve_front.crossover": p.Published(0.35, CODE),
        "cycle.evolve_front.mutation": p.Published(0.8, CODE),
    },
    variants={"written": {"cycle.evolve_front.mutate": p.RewriteProgram(shown=2)}},
)
