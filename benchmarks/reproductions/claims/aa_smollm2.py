"""Advantage Alignment on SmolLM2-135M: the dilemma of `aa_starter` in fewer rounds."""

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.claims.aa_starter import CONTEXTS, ENV, OPTIONS, manners
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.taught import Taught
from coevo.trainers import components as c

ROUNDS, UPDATES = 4, 40
TAUGHT = Taught(steps=25, guided="choice")
LABELS = {"before": "taught", "naive": "naive", "aligned": "alignment"}


def _measure(end: Trained) -> dict[str, float]:
    return manners(end.policy(), ROUNDS)


def _rows(arm: str) -> list[Expect]:
    label = LABELS[arm]
    return [
        Expect(f"{label}: payoff", f"{arm}.payoff"),
        Expect(f"{label}: against always-defect", f"{arm}.robust"),
        *(Expect(f"{label}: P(C | {seen})", f"{arm}.{seen}") for seen in CONTEXTS),
        Expect(f"{label}: probability of the usual spelling", f"{arm}.usual"),
        Expect(f"{label}: cooperation spelt otherwise", f"{arm}.elsewhere"),
    ]


CLAIM = Claim(
    property="""A pretrained model that was taught the form of replies learns under advantage
        alignment to cooperate with itself more than naively, and less with a defector.""",
    source="""Piche et al. 2025, arXiv 2511.19405 (naive learners defect, aligned ones cooperate and
        are not exploited); bounds are ours""",
    minutes=90.0,
    on="model",
    setting=f"""`coevo/iterated_game-v0`, terse prompts, {ROUNDS} rounds, a reply that cannot be
        read is a defection. SmolLM2-135M is taught the form by {TAUGHT.steps} steps on random legal
        moves, then trained by `advantage_alignment` and its control `naive`, restricted to legal
        replies; {UPDATES} updates of 256 episodes, rate 8e-6, moments of .5 and .9, entropy bonus
        .2, six past selves.""",
    measured="""Exact, as in `aa_starter`: payoff per round in self-play and against always-defect,
        and the probability of cooperating, averaged over rounds.""",
    theory="""Where situations share features, as in a model, both learners defect before they tell
        situations apart, and then nothing is sampled that could teach them: a table of five
        situations with 97 % of a logit in common ends at P(C) .0001 with a bonus of .01 (without
        sharing, alignment earns 2.27). With .2 naive learners stay near .24 and aligned ones part
        from them (P(C | CC) .34, P(C | CD) .21 after 120 updates; studies/
        alignment_shared_numpy.py). Replies are restricted, so that the bonus pays for moves
        alone.""",
    chosen="""Rate, moments, bonus, rounds and episodes after that table, of which some 160 settings
        were looked at, and after three settings in which this model defected: rates 2e-5 and 3e-6
        with KL .001 to the taught model, and 4e-6 with bonus .14 (P(C) .08 when it was stopped
        after 30). Updates after a look at seed 0, which was followed to 60 (payoff 1.71 there, P(C
        | CC) .41, P(C | CD) .12). The bounds are those of before.""",
    limits="""With such a bonus naive learners keep cooperating in one round of four. No learner has
        converged: to punish costs payoff in self-play, so the gain over naive ones comes and
        goes.""",
    world=World(ENV, UPDATES, {**OPTIONS, "rounds": ROUNDS}, taught=TAUGHT),
    changes={
        "collect.episodes": 256,
        "optim.lr": 8e-6,
        "optim.beta1": 0.5,
        "optim.beta2": 0.9,
        "population.size": 6,
        "loss.regularise": (c.Entropy(coef=0.2),),
    },
    arms={
        "before": Arm("advantage_alignment", steps=0),
        "naive": Arm("advantage_alignment:naive"),
        "aligned": Arm("advantage_alignment"),
    },
    measure=_measure,
    expect=(
        *(row for arm in LABELS for row in _rows(arm)),
        Expect("payoff, alignment - naive", "aligned.payoff - naive.payoff", low=0.2),
        Expect("alignment: P(C | CC) - P(C | CD)", "aligned.CC - aligned.CD", low=0.2),
    ),
    seeds=3,
)
