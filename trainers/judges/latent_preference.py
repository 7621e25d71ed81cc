"""Preferences of users who disagree: a latent for each, inferred from what it preferred before."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError, DataError, unknown
from coevo.envs.core.lines import lines_of
from coevo.envs.core.rewards import RewardModule, Table
from coevo.envs.rewards.semantic import CharacterNgrams, Encoder
from coevo.trainers.judges.judge import groups
from coevo.trainers.judges.question import answer_of
from coevo.trainers.judges.reward_model import last_turns

Pairs = NDArray[np.float64]
"""[P, 2, E]: embeddings of P pairs of replies, the preferred one first."""


class UserModel(nn.Module):
    """q(z | pairs of a user), a normal, and r(reply, z); `latent=0` is one reward for all users."""

    def __init__(self, size: int, latent: int, width: int = 32) -> None:
        super().__init__()
        self.latent = latent
        self.pair = nn.Sequential(nn.Linear(2 * size, width), nn.ReLU())
        self.normal = nn.Linear(width, 2 * latent or 1)
        hidden = nn.Linear(size + latent, width)
        self.reward = nn.Sequential(hidden, nn.ReLU(), nn.Linear(width, 1))

    def infer(self, pair_P2E: Tensor, user_P: Tensor, users: int) -> tuple[Tensor, Tensor]:
        """Return means and logarithms of variances, [U, D] each; a user without pairs has 0."""
        count_U1 = torch.bincount(user_P, minlength=users).unsqueeze(1)
        read_PW = self.pair(pair_P2E.flatten(1))
        sum_UW = read_PW.new_zeros(users, read_PW.shape[1]).index_add(0, user_P, read_PW)
        found_UD = self.normal(sum_UW / count_U1.clamp(min=1)) * (count_U1 > 0)
        return found_UD[:, : self.latent], found_UD[:, self.latent : 2 * self.latent]

    def worth(self, reply_NE: Tensor, z_ND: Tensor) -> Tensor:
        found: Tensor = self.reward(torch.cat([reply_NE, z_ND], 1)).squeeze(1)
        return found

    def divergence(self, mean_UD: Tensor, logvar_UD: Tensor) -> Tensor:
        """Return KL(q(z | pairs) || N(0, 1)) of every user, in nats."""
        return 0.5 * (mean_UD**2 + logvar_UD.exp() - 1 - logvar_UD).sum(1)


def fitted(
    users: Sequence[Pairs], latent: int, beta: float, steps: int, seed: int = 0, lr: float = 0.01
) -> tuple[UserModel, float]:
    """Fit a model to the pairs of all users; return it and the mean KL of a user.

    Maximises E_q[log sigmoid(r(better, z) - r(worse, z))] - beta KL(q || N(0, 1)), one z for all
    pairs of a user.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        every_P2E = torch.tensor(np.concatenate(users), dtype=torch.float32)
        user_P = torch.repeat_interleave(torch.tensor([len(one) for one in users]))
        model = UserModel(every_P2E.shape[-1], latent)
        optimiser = torch.optim.Adam(model.parameters(), lr)
        for _ in range(steps):
            mean_UD, logvar_UD = model.infer(every_P2E, user_P, len(users))
            z_UD = mean_UD + (0.5 * logvar_UD).exp() * torch.randn_like(mean_UD)
            z_PD = z_UD[user_P]
            gap_P = model.worth(every_P2E[:, 0], z_PD) - model.worth(every_P2E[:, 1], z_PD)
            kl = model.divergence(mean_UD, logvar_UD)
            loss = (beta * kl.sum() - logsigmoid(gap_P).sum()) / len(user_P)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model.requires_grad_(False), float(kl.detach().mean())


def described(model: UserModel, pairs: Pairs) -> Tensor:
    """Return the mean of a user's z, [1, D]."""
    pair_P2E = torch.tensor(pairs, dtype=torch.float32)
    return model.infer(pair_P2E, torch.zeros(len(pairs), dtype=torch.long), 1)[0]


@config
class LatentPreference(RewardModule):
    """Pays every seat, at its last turn, how a user would compare it with the others of its task.

    From pairs of many users, q(z | pairs of a user) and r(reply, z) are fitted when a run starts;
    the reward is the mean of sigmoid(r_i - r_j) over the other replies to the task, at the mean of
    the user's z: scales of users differ, probabilities do not. A lone reply is paid 1/2. Source:
    VPL, arXiv 2408.10075. Fitting is the same in every run, so that nothing is in checkpoints.
    """

    name: Literal["latent_preference"] = "latent_preference"
    path: str | None = None
    """JSON lines with `user`, `better` and `worse`: two replies, of which the user prefers one."""
    user: str = ""
    """Whose preferences pay."""
    latent: Annotated[int, whole(0, 256)] = 2
    """Numbers that describe a user; 0 fits the mean of all users (Bradley-Terry)."""
    beta: Annotated[float, real(0)] = 0.1
    """Weight of the KL of a user's description."""
    steps: Annotated[int, whole(1)] = 400
    """Gradient steps over all pairs."""
    encoder: CharacterNgrams | Encoder = field(default_factory=CharacterNgrams)
    """What a reply is to the model; in Python any function from N texts to N rows."""
    per_turn = False

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def table(self, episodes: Sequence[Episode]) -> Table:
        table: Table = [[{} for _ in e.turns] for e in episodes]
        for group in groups(episodes, last_turns(episodes)):
            turns = [episodes[i].turns[k] for i, k in group]
            for (i, k), reward in zip(group, self.paid([answer_of(t) for t in turns]), strict=True):
                table[i][k][episodes[i].turns[k].agent] = reward
        return table

    def paid(self, replies: Sequence[str]) -> list[float]:
        """Return the rewards of replies that are compared with each other."""
        if len(replies) == 1:
            return [0.5]
        model, z_D = self._fitted
        reply_NE = torch.tensor(np.asarray(self.encoder(replies)), dtype=torch.float32)
        worth_N = model.worth(reply_NE, z_D.expand(len(replies), -1))
        odds_NN = (worth_N[:, None] - worth_N).sigmoid()
        found: list[float] = ((odds_NN.sum(1) - 0.5) / (len(replies) - 1)).tolist()
        return found

    @functools.cached_property
    def _fitted(self) -> tuple[UserModel, Tensor]:
        if self.path is None:
            raise ConfigError(
                f"reward {self.name!r} needs pairs of users: path=FILE with lines such as "
                '{"user": "ann", "better": "Sure!", "worse": "No."}, and user=NAME'
            )
        by_user = _read(Path(self.path))
        if self.user not in by_user:
            raise unknown("user", self.user, by_user)
        texts = list(by_user.values())
        embedded = [
            np.stack([self.encoder(side) for side in zip(*t, strict=True)], 1) for t in texts
        ]
        model, _ = fitted(embedded, self.latent, self.beta, self.steps)
        return model, described(model, embedded[list(by_user).index(self.user)])


def _read(path: Path) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for number, line in lines_of(path):
        try:
            data: Mapping[str, object] = json.loads(line)
            pair = (str(data["better"]), str(data["worse"]))
            found.setdefault(str(data["user"]), []).append(pair)
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path}, line {number}: expected an object with user, better and worse ({error})"
            ) from None
    if not found:
        raise DataError(f"{path} holds no pairs")
    return found
