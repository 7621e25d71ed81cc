"""Co-Reward: the vote on a paraphrase corrects errors that the paraphrase does not share."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from coevo.agents.population import MakePolicy
from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import ADAM, Arm, Trained, World, sized
from coevo.envs.core.config import plain
from coevo.envs.questions.arithmetic import Digits

DIGITS = Digits(task="sum", high=3)
ASKED = [DIGITS.item(place) for place in range(len(DIGITS))]
ANSWERS, RIGHT, MODE, DRAWS = 10, 0.66, 2.0, 8


def prompts(place: int, wordings: int) -> list[str]:
    """Return the prompts of all wordings of a question."""
    asked = [ASKED[place].reworded(k).question for k in range(wordings)]
    return [f"Debate: {text} Reply [move]." for text in asked]


def starts(seed: int, common: float, wordings: int) -> dict[str, dict[str, float]]:
    """Return logits whose mode is right in 66 %; a share of questions has one mode for all."""
    rng = np.random.default_rng(seed)
    found = {}
    for place, asked in enumerate(ASKED):
        wrong = (int(asked.answer) + rng.integers(1, ANSWERS, wordings)) % ANSWERS
        modes = np.where(rng.random(wordings) < RIGHT, int(asked.answer), wrong)
        if rng.random() < common:
            modes[:] = modes[0]
        for prompt, mode in zip(prompts(place, wordings), modes.tolist(), strict=True):
            logits = dict.fromkeys(map(str, range(ANSWERS)), 0.0)
            found[prompt] = logits | {str(mode): MODE}
    return found


def _arm(algorithm: str, common: float, wordings: int = 4) -> Arm:
    def maker(seed: int) -> MakePolicy:
        return sized(wordings * len(ASKED), ANSWERS, starts(seed, common, wordings))

    return Arm(algorithm, options={"wordings": wordings}, maker=maker)


def right_Q(learnt: Mapping[str, Tensor]) -> Tensor:
    """Return the probability of the right answer to every question, in every wording."""
    both = [(p, asked) for n, asked in enumerate(ASKED) for p in prompts(n, 4) if p in learnt]
    return torch.stack([learnt[prompt][int(asked.answer)] for prompt, asked in both])


def _measure(end: Trained) -> dict[str, float]:
    learnt = end.learnt()
    p_Q = right_Q(learnt)
    entropy = [float(-(p * p.clamp(min=1e-12).log()).sum()) for p in learnt.values()]
    return {
        "right": float(p_Q.mean()),
        "any": float((1 - (1 - p_Q) ** DRAWS).mean()),
        "entropy": sum(entropy) / len(entropy),
    }


CLAIM = Claim(
    property="""Labels from the vote on other wordings of a question make a policy right more
        often than labels from its own vote, if errors of the wordings are apart and there are
        several.""",
    source="""Zhang et al. 2025, Co-Reward, arXiv 2508.00410 (a paraphrase's vote as the label;
        with Llama-3.2-3B 50.2 on MATH500, 47.0 with true labels)""",
    minutes=3.0,
    on="table",
    setting="""`coevo/debate-v0` in one round with listed answers: two debaters, one table, the
        last digit of the sum of two numbers from 0 to 3, 16 questions in four wordings, of
        which an episode draws two. At the start the most likely answer to a wording is right in
        66 %, in all wordings apart, or in all of a question (or of half of them) the same. 16
        groups of 8 episodes an update, 60 updates of Adam with 0.2. `own` learns from the vote
        on the same wording (TTRL); `two` has two wordings, each the label of the other.""",
    measured="""Probability of the right answer, mean over all questions and wordings; that of
        one right answer in 8; entropy of answers in nats.""",
    chosen="""At first there were two wordings and 49 questions: .691, with the own vote .720.
        Each wording then takes the answer of the other, and which of the two wins is a coin
        flip. So that case is shown as `two`, and four wordings are the second setting. Bounds:
        .15 above the own vote, before anything was run, and .1 above common errors, with the
        second setting.""",
    limits="A table: wordings share nothing that they learn, but their labels.",
    world=World(
        "coevo/debate-v0",
        60,
        {"agents": 2, "rounds": 1, "listed": True, "questions": plain(DIGITS)},
    ),
    changes={**ADAM, "collect.episodes": 128, "collect.group_size": 8, "optim.lr": 0.2},
    arms={
        "own": _arm("co_reward:own", 0.0),
        "apart": _arm("co_reward", 0.0),
        "half": _arm("co_reward", 0.5),
        "common": _arm("co_reward", 1.0),
        "two": _arm("co_reward", 0.0, 2),
    },
    measure=_measure,
    expect=(
        Expect("right, own vote", "own.right"),
        Expect("one of 8 right, own vote", "own.any"),
        Expect("entropy, own vote", "own.entropy"),
        Expect("right, other wordings, errors apart", "apart.right"),
        Expect("gain over the own vote", "apart.right - own.right", low=0.15),
        Expect("right, half of the errors in common", "half.right"),
        Expect("right, all errors in common", "common.right"),
        Expect("apart minus common", "apart.right - common.right", low=0.1),
        Expect("right, two wordings", "two.right"),
    ),
)
