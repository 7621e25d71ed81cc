"""POLAR: a discriminator of policies scores texts by how far their policy is from a reference."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, spearmanr

from coevo.benchmarks.reproductions.claim import Claim, Expect
from coevo.benchmarks.reproductions.run import SGD, Arm, World, trained
from coevo.benchmarks.reproductions.worlds import BANDIT
from coevo.envs.core.episode import Episode, StopReason, Turn, write_episodes
from coevo.envs.core.parsing import Status
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.judges.policy_discriminator import PolicyDiscriminator
from coevo.trainers.judges.policy_discriminator import trained as discriminator

CHAINS, LETTERS, LONG, TEXTS, TESTED, STEPS = 10, "abcd", 24, 200, 40, 500
LIKE = 3


def chains(rng: np.random.Generator, count: int = CHAINS) -> NDArray[np.float64]:
    """Return transition probabilities of Markov chains, [P, A, A]."""
    return rng.dirichlet([0.5] * len(LETTERS), (count, len(LETTERS)))


def texts(chain_AA: NDArray[np.float64], count: int, rng: np.random.Generator) -> list[str]:
    edges_AA, found = chain_AA.cumsum(1), []
    for _ in range(count):
        at, said = int(rng.integers(len(LETTERS))), ""
        for u in rng.random(LONG):
            at = min(int((u > edges_AA[at]).sum()), len(LETTERS) - 1)
            said += LETTERS[at]
        found.append(said)
    return found


def divergence(one_AA: NDArray[np.float64], other_AA: NDArray[np.float64]) -> float:
    """Return KL(one || other) of a step, in nats, the letters as one has them in the long run."""
    share_A = np.linalg.matrix_power(one_AA, 200)[0]
    log_AA = np.log((one_AA + 1e-9) / (other_AA + 1e-9))
    return float(share_A @ (one_AA * log_AA).sum(1))


def _separated(seed: int) -> Mapping[str, float]:
    rng = np.random.default_rng(seed)
    every = chains(rng)
    model = discriminator([texts(c, TEXTS, rng) for c in every], STEPS, seed=seed)
    found = {}
    for name, tested in (("known", every), ("new", chains(rng))):
        read = [[model.encode(texts(c, TESTED, rng)) for c in tested] for _ in range(2)]
        score_PP = np.array([[model(r, c).numpy() for c in read[1]] for r in read[0]])
        own = np.eye(CHAINS, dtype=bool)
        found[f"{name}_auc"] = auc(score_PP[own].ravel(), score_PP[~own].ravel())
        kl = [divergence(tested[c], tested[r]) for r, c in zip(*np.nonzero(~own), strict=True)]
        found[f"{name}_rank"] = float(spearmanr(score_PP[~own].mean((1, 2)), kl).statistic)
    return found


def auc(high: NDArray[np.float64], low: NDArray[np.float64]) -> float:
    """Return how often one of the former is above one of the latter."""
    rank = rankdata(np.concatenate([high, low]))[: len(high)]
    return float((rank.sum() - len(high) * (len(high) + 1) / 2) / len(high) / len(low))


def _imitated(seed: int) -> Mapping[str, float]:
    """Train a policy over texts of all chains, paid by one of them."""
    rng = np.random.default_rng(seed)
    every = chains(rng)
    replies = tuple(dict.fromkeys(text for c in every for text in texts(c, 4, rng)))[: 4 * CHAINS]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "episodes.jsonl"
        for place, chain_AA in enumerate(every):
            write_episodes(path, [_episode(place, t) for t in texts(chain_AA, TEXTS, rng)])
        module = PolicyDiscriminator(path=str(path), like=f"chain_{LIKE}@0", steps=STEPS)

        def edit(made: Algorithm, seed: int) -> Algorithm:
            return replace(made, rewards=(module,))

        world = World(BANDIT, 40, {"payoffs": ((0.0,) * len(replies),), "names": replies})
        with trained(world, Arm("polar", edit=edit), seed, CHANGES) as end:
            (p_A,) = end.learnt().values()
    near = np.array([likeliest(text, every) for text in replies])
    return {"own": float(p_A.numpy()[near == LIKE].sum())}


def likeliest(text: str, every: NDArray[np.float64]) -> int:
    """Return the chain under which a text is most likely."""
    at = [LETTERS.index(letter) for letter in text]
    return int(np.log(every[:, at[:-1], at[1:]] + 1e-9).sum(1).argmax())


def _episode(place: int, text: str) -> Episode:
    turn = Turn("player_0", (), text, text, Status.LEGAL, None, player=f"chain_{place}", version=0)
    return Episode(BANDIT, 0, {}, ("player_0",), "t", [turn], StopReason.FINISHED)


CHANGES = {**SGD, "collect.episodes": 32, "collect.group_size": 16, "optim.lr": 2.0}

CLAIM = Claim(
    property="""A discriminator that learns who wrote what, without a preference, scores texts
        of the reference's policy above others, the lower the further a policy is from it; a
        policy that is paid so writes like the reference.""",
    source="""Dou et al. 2025, POLAR, arXiv 2507.05197 (trained to tell policies apart, then
        tuned on rankings: better preferences than reward models of its size); bounds set
        before: AUC above .9, scores that fall with the KL""",
    minutes=2.0,
    on="toy",
    setting="""Ten Markov chains over four letters, 200 texts of 24 letters of each, a recurrent
        network of 32 units, 500 steps of 64 comparisons. Measured on new texts of these chains,
        and of ten other chains. Policy: `polar` on a bandit of four texts of each chain, paid
        by likeness to chain 3.""",
    measured="""How often a text of the reference's policy scores above one of another; rank
        correlation of the mean score of a pair of chains with their KL; probability of the
        texts that chain 3 most likely wrote.""",
    chosen="""All sizes, before anything was run; then 500 steps in the place of 300, which gave
        .909 with one seed.""",
    limits="""The released model is tuned on rankings of preferences afterwards, which is left
        out.""",
    arms={"told": _separated, "paid": _imitated},
    expect=(
        Expect("same above other, known policies", "told.known_auc", low=0.9),
        Expect("rank correlation of score and KL, known", "told.known_rank", high=-0.5),
        Expect("same above other, new policies", "told.new_auc"),
        Expect("rank correlation of score and KL, new", "told.new_rank"),
        Expect("policy: texts of the reference's chain", "paid.own", low=0.8),
    ),
)
