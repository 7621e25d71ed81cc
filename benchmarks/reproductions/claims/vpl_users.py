"""VPL: users who disagree need a latent; their mean preference is a coin flip."""

import itertools
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import SGD, Arm, Trained, World, trained
from coevo.benchmarks.reproductions.worlds import BANDIT
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.judges.latent_preference import LatentPreference, described, fitted

USERS, NEW, PAIRS, TESTED = 200, 50, 8, 20
CONTESTED, SHARED = 0, 1
WORDS = (("long", "short"), ("kind", "rude"), ("plain", "ornate"))
REPLIES = [" ".join(words) for words in itertools.product(*WORDS)]
Draws = NDArray[np.float64]


def taste(user: int) -> Draws:
    """Return what a user thinks of three features; every second one reverses the first."""
    return np.array([2.0 if user % 2 else -2.0, 1.5, 0.5])


def pairs(user: int, count: int, rng: np.random.Generator, only: int | None = None) -> Draws:
    """Return pairs of replies, [P, 2, 3], the preferred one first.

    `only` names the one feature in which the replies of a pair differ.
    """
    drawn = rng.choice([-1.0, 1.0], size=(count, 2, 3))
    if only is not None:
        drawn[:, 1] = drawn[:, 0]
        drawn[:, 1, only] *= -1
    worth = drawn @ taste(user)
    turned = worth[:, 0] < worth[:, 1]
    drawn[turned] = drawn[turned, ::-1]
    return drawn


def compared(latent: int, beta: float) -> Callable[[int], Mapping[str, float]]:
    """Return what fits a model, and measures it on new pairs of new users."""

    def measure(seed: int) -> Mapping[str, float]:
        rng = np.random.default_rng(seed)
        model, kl = fitted([pairs(u, PAIRS, rng) for u in range(USERS)], latent, beta, 400, seed)
        found = {"kl": kl}
        for name, only in (("contested", CONTESTED), ("shared", SHARED)):
            right = []
            for user in range(NEW):
                z_D = described(model, pairs(user, PAIRS, rng))
                asked = torch.tensor(pairs(user, TESTED, rng, only), dtype=torch.float32)
                worth = model.worth(asked.flatten(0, 1), z_D.expand(2 * TESTED, -1))
                right.append((worth[::2] > worth[1::2]).float().mean())
            found[name] = float(torch.stack(right).mean())
        return found

    return measure


def _written(path: Path) -> None:
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        for user in range(40):
            for pair in pairs(user, PAIRS, rng):
                texts = [" ".join(WORDS[k][int(x < 0)] for k, x in enumerate(r)) for r in pair]
                line = {"user": f"u{user}", "better": texts[0], "worse": texts[1]}
                file.write(json.dumps(line) + "\n")


def policy(user: int, latent: int) -> Callable[[int], Mapping[str, float]]:
    """Return what trains a policy for one user by the shipped loop, and asks for the first word."""

    def measure(seed: int) -> Mapping[str, float]:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "pairs.jsonl"
            _written(path)
            module = LatentPreference(path=str(path), user=f"u{user}", latent=latent)

            def edit(made: Algorithm, seed: int) -> Algorithm:
                return replace(made, rewards=(module,))

            with trained(WORLD, Arm("vpl", edit=edit), seed, CHANGES) as end:
                return _liked(end)

    return measure


def _liked(end: Trained) -> dict[str, float]:
    (p_A,) = end.learnt().values()
    by_word = dict.fromkeys(itertools.chain(*WORDS), 0.0)
    for reply, p in zip(REPLIES, p_A.tolist(), strict=True):
        for word in reply.split():
            by_word[word] += p
    return by_word


WORLD = World(BANDIT, 40, {"payoffs": ((0.0,) * len(REPLIES),), "names": tuple(REPLIES)})
CHANGES = {**SGD, "collect.episodes": 32, "collect.group_size": 16, "optim.lr": 2.0}

CLAIM = Claim(
    property="""Where two groups of users disagree on a feature, one reward for all is at chance
        on it; with a latent that is inferred from eight pairs of a new user it is not.""",
    source="""Poddar et al. 2024, Personalizing RLHF with Variational Preference Learning, arXiv
        2408.10075 (multimodal preferences are averaged by one reward); the bounds were set
        before: Bradley-Terry about .5, VPL above .85""",
    minutes=1.0,
    on="toy",
    setting="""Replies with three features; 200 users with 8 pairs each, of which half want the
        first feature and half its opposite, and all want the second. 50 new users with 8 pairs
        each. Policies: `vpl` on a bandit of eight replies, whose texts are embedded by their
        characters, for a user of either group, and with one reward for all users (`latent=0`).""",
    measured="""Accuracy on new pairs that differ in one feature; KL of a user's latent in nats;
        probability that the policy's reply is long, and that it is kind.""",
    chosen="Sizes, two numbers a user, beta 0.1 and 400 steps, before anything was run.",
    limits="Users within a group agree, and none of them errs.",
    world=WORLD,
    changes=CHANGES,
    arms={
        "one": compared(0, 0.1),
        "vpl": compared(2, 0.1),
        "likes": policy(1, 2),
        "hates": policy(0, 2),
        "mean": policy(1, 0),
    },
    expect=(
        Expect("contested feature, one reward for all", "one.contested", 0.5, 0.35, 0.65),
        Expect("contested feature, VPL", "vpl.contested", low=0.85),
        Expect("shared feature, one reward for all", "one.shared"),
        Expect("shared feature, VPL", "vpl.shared", low=0.85),
        Expect("KL of a latent, VPL (0 is collapse)", "vpl.kl", low=0.1),
        Expect("policy for who wants long: long", "likes.long", low=0.8),
        Expect("policy for who wants short: long", "hates.long", high=0.2),
        Expect("policy for all: long", "mean.long"),
        Expect("policy for who wants short: kind", "hates.kind", low=0.8),
    ),
)
