"""EvoCUA: failures that are corrected at their first wrong step teach, where successes are rare."""

import numpy as np

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.claims.bad_steps import (
    BUTTONS,
    MOST,
    SCREENS,
    Screens,
    watched,
)
from coevo.benchmarks.reproductions.run import PLAIN, Arm, Trained, World, sized

STEPS = 20
"""Updates."""


def _measure(end: Trained) -> dict[str, float]:
    _, success_U = np.array(end.seen).T
    corrected = sum(float(update.get("correct/episodes", 0.0)) for update in end.log)
    return {"mean": float(success_U.mean()), "last": float(success_U[-1]), "corrected": corrected}


CLAIM = Claim(
    property="""Plays that failed, corrected at their first wrong step, teach beside plays that
        succeeded: the goal is reached in fewer plays than by imitation of successes alone.""",
    source="""EvoCUA 2026, arXiv 2601.15876 (abstract: successes are reinforced, failures become
        supervision); bounds are ours""",
    minutes=2.0,
    on="toy",
    setting=f"""The {SCREENS} screens of `bad_steps`, {MOST} steps at most; an expert knows the
        buttons that lead nearer. `evocua` and its control `successes`, a table, 64 plays an update,
        {STEPS} plain gradient steps of size 1.""",
    measured="""Probability of reaching the goal, exactly: the mean over all updates, and at the
        end; replies of the expert that were learnt.""",
    chosen="""All sizes; bounds before anything was run. A first run counted judged steps as reward,
        so that its control imitated failures as well (.78 and .36); steps are not paid here.""",
    limits="""The correction is the expert's own move; that an analysis by a model finds it is not
        shown.""",
    world=World(
        Screens.env_id,
        STEPS,
        lambda seed: {"layout": seed, "judged": False},
        lambda seed: sized(SCREENS, BUTTONS),
        watch=watched,
    ),
    changes={**PLAIN, "optim.lr": 1.0},
    arms={"corrected": Arm("evocua"), "successes": Arm("evocua:successes")},
    measure=_measure,
    expect=(
        Expect("success over all updates, corrected", "corrected.mean"),
        Expect("success over all updates, successes alone", "successes.mean"),
        Expect("success at the end, corrected", "corrected.last", low=0.9),
        Expect("success at the end, successes alone", "successes.last"),
        Expect("gain over all updates", "corrected.mean - successes.mean", low=0.05),
        Expect("replies of the expert", "corrected.corrected"),
    ),
)
