"""Advantage Alignment on SmolLM2-135M: the dilemma of `aa_starter` in fewer rounds."""

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.claims.aa_starter import CONTEXTS, ENV, OPTIONS, manners
from coevo.benchmarks.reproductions.run import Arm, Trained, World
from coevo.benchmarks.reproductions.taught import Taught
from coevo.trainers import components as c

ROUNDS, UPDATES = 6, 40
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
        replies; {UPDATES} updates of 512 episodes, rate 2e-5, KL to the taught model.""",
    measured="""Exact, as in `aa_starter`: payoff per round in self-play and against always-defect,
        and the probability of cooperating, averaged over rounds.""",
    chosen="""Rounds and updates, for the time that a processor takes. Many episodes and a small
        rate, since Kuhn poker on this model lost its entropy within ten updates at 5e-5, and
        guided choice, since an entropy bonus would pay for other spellings. Nothing was chosen
        after looking at this claim.""",
    limits="""Not reproduced with the one seed that was run: both learners defect after seven
        updates. A table takes some hundred small steps, each situation for itself; this model takes
        seven large ones, in all situations together. A smaller rate was not tried.""",
    world=World(ENV, UPDATES, {**OPTIONS, "rounds": ROUNDS}, taught=TAUGHT),
    changes={
        "collect.episodes": 512,
        "optim.lr": 2e-5,
        "population.every": 5,
        "loss.regularise": (c.Kl(coef=0.001, kind="k3"),),
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
