"""Policy synthesis: a program that plays all seats is written, tried and rewritten (2603.19453).

An outer loop without gradients, for the grid worlds with dilemmas (`coevo/gathering-v0`,
`coevo/cleanup-v0`) and any other environment. An update is one refinement: a writer is shown the
best program so far, with what its seats earned and the social outcomes of its episodes (efficiency,
equality, sustainability, peace). `sparse` tells the reward alone. Programs run in the sandbox, with
copies of what their seat sees: they have no handle on the world.

The writer is the policy of the run unless `cycle.write_policy.by.agent` names another model. The
source refines three times and plays 1,000 steps with ten seats. What was read is its code and an
abstract; its prompts are inferred. Left out: its check of the syntax tree, in the place of which
the sandbox stands.
"""

from coevo.trainers import parts as p

CODE = "released code"
OUTCOMES = {
    "efficiency": "reward of all seats, per step",
    "equality": "1 less the Gini coefficient of the rewards; undefined if they sum to 0 or less",
    "sustainability": "mean step at which a seat was paid",
    "peace": "seats that are not out, on average",
}

ALGORITHM = p.Algorithm(
    name="policy_synthesis",
    summary="programs that play all seats are written and refined from feedback; no gradients",
    paper="Gallego 2026, LLM Policy Synthesis for Social Dilemmas, arXiv 2603.19453",
    formula=r"\pi_{k+1} \sim \LM(\pi_k, \mean R(\pi_k), U, E, S, P)",
    status="inferred",
    shows="attacks change nothing; refinement by a grammar is not separated from chance",
    reproductions=("policy_synthesis_feedback",),
    cycle=(p.WritePolicy(outcomes=OUTCOMES),),
    collect=p.CollectConfig(episodes=1),
    advantage=p.AdvantageConfig(baseline=p.NoBaseline(), normalise=p.NoNormalisation()),
    published={
        "cycle.write_policy.retries": p.Published(3, CODE),
        "cycle.write_policy.smoke": p.Published(50, CODE),
        "cycle.write_policy.tasks": p.Published(5, CODE),
    },
    variants={"sparse": {"cycle.write_policy.outcomes": {}}},
)
