"""The reward of SPA-RL: the outcome of an episode, spread over its turns by a learned estimate."""

from __future__ import annotations

import functools
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from math import inf
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import DataError
from coevo.envs.core.parsing import Status
from coevo.envs.core.rewards import RewardModule, Rewards
from coevo.envs.rewards.words import hashed, n_grams, pieces

_LONGEST = 256
"""Pieces read of a message and of a reply, counted from the end."""
_MOST_BUCKETS = 2**14
"""With more, D^2 weights and their solution take gigabytes and minutes."""
_UNKNOWN = (StopReason.ERROR, StopReason.UNFINISHED)


def redistribute(
    progress_T: Sequence[float], executed_T: Sequence[float], grounding: float = 0.5
) -> list[float]:
    """Return the turn rewards r_t = c_t + grounding * g_t of SPA-RL.

    >>> [round(r, 4) for r in redistribute([0.3, 0.1, 0.4], [1, 0, 1])]
    [0.8, 0.1, 0.9]
    """
    return [c + grounding * g for c, g in zip(progress_T, executed_T, strict=True)]


def progress_error(progress: Sequence[Sequence[float]], outcome_B: Sequence[float]) -> float:
    """Return what the estimate minimises: mean over episodes of (sum_t c_t - R)^2.

    >>> round(progress_error([[0.3, 0.1, 0.4]], [1.0]), 4)
    0.04
    """
    gaps = [sum(c) - r for c, r in zip(progress, outcome_B, strict=True)]
    return sum(gap**2 for gap in gaps) / len(gaps) if gaps else 0.0


class _Estimate:
    """What was learned so far: sums over episodes, and the weights solved from them."""

    def __init__(self, buckets: int) -> None:
        self.square_DD = np.zeros((buckets, buckets))
        self.product_D = np.zeros(buckets)
        self.weights_D = np.zeros(buckets)
        self.episodes = 0.0
        self.version = 0

    def solve(self, ridge: float) -> None:
        mean = self.square_DD.trace() / self.episodes
        damped_DD = self.square_DD + ridge * mean * np.eye(len(self.square_DD))
        self.weights_D = np.linalg.solve(damped_DD, self.product_D)
        self.version += 1


@config
class Progress(RewardModule):
    """Gives the speaker c_t + 0.5 g_t after every reply: estimated progress, and being executed.

    c_t is learned such that, over the replies of one seat in one episode, sum_t c_t = R, its payoff
    under the rules. Here c_t = w . phi_t with phi_t hashed n-grams of the last message that the
    seat read, of its reply, and of every word of the message together with the move, and `fit`
    solves a ridge regression over all episodes so far, old ones fading batch by batch:

        w = argmin_w  sum_i decay^age_i (w . sum_t phi_it - R_i)^2 + ridge * m * |w|^2,

    m being the mean of |sum_t phi_it|^2. The paper trains a linear head on the policy's last
    hidden state by gradient descent (lr 3e-6, one epoch); an environment has no such state.

    g_t is 1 if the reply was a legal move and the next message that the seat read does not
    contain `failed`. The last reply of a seat has no next message and needs to be legal only.
    Episodes are scored with the estimate of the batches before theirs: before the first `fit` c_t
    is 0. The paper gives these rewards in place of the outcome: give `payoff` the weight 0
    (`advantage.reward_weights.payoff=0`), or what was spread is given once more at the end.

    Two defects of the released scripts are not copied: the WebShop script overwrites every c_t
    by the final reward minus the mean of the other episodes, the same for all turns; and the
    trainer multiplies the reward of turn t by T - 1 - t, so that the last turn earns nothing.

    Old episodes were played by other policies. Where one policy plays all seats, what the others
    came to do goes along with its own move, and the estimate takes the one for the other: in a
    prisoner's dilemma 8 of 16 runs learnt to cooperate with `decay` 0.95, 1 of 15 with 0 to 0.5.

    What it relies on: `fit` is called with whole episodes after they are scored, once per update;
    turns hold their chat, status and `rewards["payoff"]`. Episodes that ended in an error or
    are not over teach nothing. Text that other agents wrote is part of messages, so an opponent can
    move c_t, and g_t too if it can write `failed`.
    """

    name: Literal["progress"] = "progress"
    grounding: Annotated[float, real()] = 0.5
    """What an executed reply earns; the paper's 0.5."""
    failed: str = "Nothing happens"
    """What an observation says of an action that did nothing; empty if it never does."""
    buckets: Annotated[int, whole(1, _MOST_BUCKETS)] = 512
    """Number D of weights; a checkpoint holds D^2 / 2 numbers."""
    ridge: Annotated[float, real(above=0)] = 0.001
    """Pull towards 0, relative to the size of an episode's features."""
    decay: Annotated[float, real(0, 1)] = 0.95
    """Weight of an episode after one more batch; 1 forgets nothing."""
    per_turn = False

    @functools.cached_property
    def _learned(self) -> _Estimate:
        return _Estimate(self.buckets)

    @property
    def range(self) -> tuple[float, float]:
        """Any: an estimate has no bounds."""
        return (-inf, inf)

    @property
    def version(self) -> int:
        return self._learned.version

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        at = next(i for i, other in enumerate(episode.turns) if other is turn)
        return self._table(episode)[at]

    def progress(self, episode: Episode) -> list[float]:
        """Return the estimate c_t of every turn."""
        return [float(self._learned.weights_D @ self._features(turn)) for turn in episode.turns]

    def executed(self, episode: Episode) -> list[float]:
        """Return g_t of every turn, 1 or 0."""
        next_chat: dict[str, str] = {}
        found = []
        for turn in reversed(episode.turns):
            refused = bool(self.failed) and self.failed in next_chat.get(turn.agent, "")
            found.append(float(turn.status is Status.LEGAL and not refused))
            next_chat[turn.agent] = _last_message(turn)
        return found[::-1]

    def fit(self, episodes: Sequence[Episode]) -> Mapping[str, float]:
        """Learn from the payoffs of finished episodes, every trajectory.

        Returns:
            `error`, the mean of (sum_t c_t - R)^2 over trajectories that were not learned from yet,
            and `trajectories`, their number; nothing, and no new version, without such ones.
        """
        sums, outcomes = [], []
        for episode in episodes:
            if episode.stop not in _UNKNOWN:
                for agent, phi_D in self._sums(episode).items():
                    sums.append(phi_D)
                    outcomes.append(episode.total(agent, "payoff"))
        if not sums:
            return {}
        phi_BD, outcome_B = np.array(sums), np.array(outcomes)
        if not np.isfinite(outcome_B).all():
            raise DataError("a payoff is not finite, so no progress can be learned from it")
        error = float(((phi_BD @ self._learned.weights_D - outcome_B) ** 2).mean())
        learned = self._learned
        learned.square_DD = self.decay * learned.square_DD + phi_BD.T @ phi_BD
        learned.product_D = self.decay * learned.product_D + phi_BD.T @ outcome_B
        learned.episodes = self.decay * learned.episodes + len(outcome_B)
        learned.solve(self.ridge)
        return {"error": error, "trajectories": float(len(outcome_B))}

    def state_dict(self) -> dict[str, object]:
        if not self.version:
            return {}
        learned = self._learned
        return {
            "version": learned.version,
            "episodes": learned.episodes,
            "square": _packed(learned.square_DD[np.triu_indices(self.buckets)]),
            "product": _packed(learned.product_D),
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Take back what `state_dict` gave; nothing comes from a module that has not learned.

        Raises:
            DataError: The state is broken, or of another number of buckets.
        """
        if not state:
            return
        size = self.buckets
        try:
            version, episodes = int(str(state["version"])), float(str(state["episodes"]))
            half, product_D = _unpacked(state["square"]), _unpacked(state["product"])
        except (KeyError, ValueError) as error:
            raise DataError(f"not a state of {self.name!r}: {error}") from None
        if len(half) != size * (size + 1) // 2 or len(product_D) != size or not episodes > 0.0:
            raise DataError(f"the state of {self.name!r} is not one of buckets={size}")
        square_DD = np.zeros((size, size))
        square_DD[np.triu_indices(size)] = half
        learned = self._learned
        learned.square_DD = square_DD + np.triu(square_DD, 1).T
        learned.product_D, learned.episodes, learned.version = product_D, episodes, version - 1
        learned.solve(self.ridge)

    def _table(self, episode: Episode) -> list[Rewards]:
        rewards = redistribute(self.progress(episode), self.executed(episode), self.grounding)
        return [{turn.agent: r} for turn, r in zip(episode.turns, rewards, strict=True)]

    def _sums(self, episode: Episode) -> dict[str, NDArray[np.float64]]:
        """Add up the features of every seat that spoke."""
        total: dict[str, NDArray[np.float64]] = {}
        for turn in episode.turns:
            total[turn.agent] = total.get(turn.agent, 0.0) + self._features(turn)
        return total

    def _features(self, turn: Turn) -> NDArray[np.float64]:
        """Return phi_t: four blocks of length 1, so that a long message drowns no short reply."""
        message, reply = (pieces(x, _LONGEST) for x in (_last_message(turn), turn.text))
        move = turn.move if turn.move is not None else " ".join(reply[-1:])
        blocks = [
            [f"seat {turn.agent}"],
            [f"read {gram}" for gram in n_grams(message)],
            [f"said {gram}" for gram in n_grams(reply)],
            [f"read {piece} moved {move}" for piece in message] or [f"moved {move}"],
        ]
        return np.sum([hashed(block, self.buckets) for block in blocks], axis=0)


def _last_message(turn: Turn) -> str:
    return turn.chat[-1]["content"] if turn.chat else ""


def _packed(values: NDArray[np.float64]) -> str:
    """Write numbers as text of 11 characters each, bit for bit."""
    return b64encode(values.astype("<f8").tobytes()).decode("ascii")


def _unpacked(text: object) -> NDArray[np.float64]:
    values = np.frombuffer(b64decode(str(text), validate=True), dtype="<f8").astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError("a number is not finite")
    return values
