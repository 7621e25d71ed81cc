"""A reward from who wrote what alone: texts of one policy are more alike than those of two."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Episode, read_episodes
from coevo.envs.core.errors import ConfigError, DataError, unknown
from coevo.envs.core.rewards import RewardModule, Table
from coevo.trainers.judges.question import answer_of
from coevo.trainers.judges.reward_model import last_turns

BYTES = 256
BATCH = 64
REFERENCES = 16
"""Texts of the policy that a reply is compared with."""


class Discriminator(nn.Module):
    """f(reference, candidate): how likely both are of one policy, up to a monotone map."""

    def __init__(self, width: int, longest: int) -> None:
        super().__init__()
        self.longest = longest
        self.embed = nn.Embedding(BYTES, 16)
        self.read = nn.GRU(16, width, batch_first=True)
        self.reference, self.candidate = nn.Linear(width, width), nn.Linear(width, width)

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Return the mean state of a recurrent network over the last bytes of texts, [N, W]."""
        data = [text.encode("utf-8", "replace")[-self.longest :] or b" " for text in texts]
        id_NL = torch.zeros(len(data), max(map(len, data)), dtype=torch.long)
        for row_L, one in zip(id_NL, data, strict=True):
            row_L[: len(one)] = torch.tensor(list(one))
        length_N = torch.tensor([len(one) for one in data])
        mask_NL = torch.arange(id_NL.shape[1]) < length_N[:, None]
        state_NLW, _ = self.read(self.embed(id_NL))
        found: Tensor = (state_NLW * mask_NL[..., None]).sum(1) / length_N[:, None]
        return found

    def forward(self, reference_NW: Tensor, candidate_MW: Tensor) -> Tensor:
        """Return the score of every candidate beside every reference, [N, M]."""
        found: Tensor = self.reference(reference_NW) @ self.candidate(candidate_MW).T
        return found


def trained(
    texts: Sequence[Sequence[str]], steps: int, width: int = 32, longest: int = 256, seed: int = 0
) -> Discriminator:
    """Train a discriminator on the texts of several policies.

    Minimises -log sigmoid(f(reference, same) - f(reference, other)): same and reference are two
    texts of one policy, other is one of another policy.
    """
    rng = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Discriminator(width, longest)
        optimiser = torch.optim.Adam(model.parameters(), 5e-3)
        for _ in range(steps):
            one_B, other_B = (rng.integers(len(texts), size=BATCH) for _ in range(2))
            other_B = np.where(one_B == other_B, (other_B + 1) % len(texts), other_B)
            drawn = [str(rng.choice(texts[k])) for k in (*one_B, *one_B, *other_B)]
            reference_BW, same_BW, other_BW = model.encode(drawn).chunk(3)
            gap_B = (model(reference_BW, same_BW) - model(reference_BW, other_BW)).diagonal()
            loss = -logsigmoid(gap_B).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model.requires_grad_(False)


@config
class PolicyDiscriminator(RewardModule):
    """Pays every seat, at its last turn, how much its reply is like those of a policy.

    A discriminator learns from the logged episodes of a run, or of several, to tell texts of one
    policy from those of another: snapshots of a run are different policies, as are agents. No
    preference is read. The reward is the mean score beside texts of the policy `like`, such as the
    best snapshot or an expert. Source: POLAR, arXiv 2507.05197, which fine-tunes on rankings after
    that, and whose references are per prompt. Fitting is the same in every run, so that nothing is
    in checkpoints.
    """

    name: Literal["policy_discriminator"] = "policy_discriminator"
    path: str | None = None
    """Logged episodes of policies, JSON lines as runs and evaluations write them."""
    like: str = ""
    """The policy that is to be imitated: its name and version, such as `policy@40`."""
    steps: Annotated[int, whole(1)] = 300
    """Gradient steps of 64 comparisons."""
    longest: Annotated[int, whole(1)] = 256
    """Bytes of a text that are read, counted from the end."""
    per_turn = False

    @property
    def range(self) -> tuple[float, float]:
        return (-float("inf"), float("inf"))

    def table(self, episodes: Sequence[Episode]) -> Table:
        table: Table = [[{} for _ in e.turns] for e in episodes]
        at = last_turns(episodes)
        turns = [episodes[i].turns[k] for i, k in at]
        for (i, k), score in zip(at, self.scores([answer_of(t) for t in turns]), strict=True):
            table[i][k][episodes[i].turns[k].agent] = score
        return table

    def scores(self, replies: Sequence[str]) -> list[float]:
        """Return how much replies are like the texts of the policy."""
        if not replies:
            return []
        model, reference_NW = self._trained
        found: list[float] = model(reference_NW, model.encode(replies)).mean(0).tolist()
        return found

    @functools.cached_property
    def _trained(self) -> tuple[Discriminator, Tensor]:
        if self.path is None:
            raise ConfigError(
                f"reward {self.name!r} needs episodes of policies: path=FILE with those of a run, "
                "and like=NAME@VERSION"
            )
        texts = _texts(Path(self.path))
        if self.like not in texts:
            raise unknown("policy", self.like, texts)
        if len(texts) < 2:
            raise DataError(
                f"{self.path} holds texts of {self.like} alone; two policies are needed"
            )
        model = trained(list(texts.values()), self.steps, longest=self.longest)
        return model, model.encode(texts[self.like][-REFERENCES:])


def _texts(path: Path) -> dict[str, list[str]]:
    """Return what every policy wrote, in order."""
    found: dict[str, list[str]] = {}
    for episode in read_episodes(path):
        for turn in episode.turns:
            found.setdefault(str(turn.policy), []).append(answer_of(turn))
    return found
