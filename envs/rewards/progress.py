"""The reward of SPA-RL: the outcome of a play, spread over its turns by a learned estimate."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.episode import Episode, Stop, Turn
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards.arguments import check_number, check_whole
from coevo.envs.rewards.module import Payments, RewardModule
from coevo.envs.rewards.words import hashed, n_grams, pieces

_LONGEST = 256
"""Pieces read of a message and of a reply, counted from the end."""
_MOST_BUCKETS = 2**14
"""With more, D^2 weights and their solution take gigabytes and minutes."""
_UNKNOWN = (Stop.ERROR, Stop.UNFINISHED)


def redistribute(
    progress_T: Sequence[float], executed_T: Sequence[float], grounding: float = 0.5
) -> list[float]:
    """Compute the turn rewards r_t = c_t + grounding * g_t of SPA-RL.

    >>> [round(r, 4) for r in redistribute([0.3, 0.1, 0.4], [1, 0, 1])]
    [0.8, 0.1, 0.9]
    """
    return [c + grounding * g for c, g in zip(progress_T, executed_T, strict=True)]


def progress_error(progress: Sequence[Sequence[float]], outcome_B: Sequence[float]) -> float:
    """Compute what the estimate minimises: mean over plays of (sum_t c_t - R)^2.

    >>> round(progress_error([[0.3, 0.1, 0.4]], [1.0]), 4)
    0.04
    """
    gaps = [sum(c) - r for c, r in zip(progress, outcome_B, strict=True)]
    return sum(gap**2 for gap in gaps) / len(gaps) if gaps else 0.0


class ProgressReward(RewardModule):
    """Pays the speaker c_t + 0.5 g_t after every reply: estimated progress, and being executed.

    c_t is learned such that, over the replies of one seat in one play, sum_t c_t = R, its payoff
    under the rules. Here c_t = w . phi_t with phi_t hashed n-grams of the last message that the
    seat read, of its reply, and of every word of the message together with the move, and `fit`
    solves a ridge regression over all plays so far, old ones fading batch by batch:

        w = argmin_w  sum_i decay^age_i (w . sum_t phi_it - R_i)^2 + ridge * m * |w|^2,

    m being the mean of |sum_t phi_it|^2. The paper trains a linear head on the policy's last
    hidden state by gradient descent (lr 3e-6, one epoch); an environment has no such state.

    g_t is 1 if the reply was a legal move and the next message that the seat read does not
    contain `failed`. The last reply of a seat has no next message and needs to be legal only.
    Plays are scored with the estimate of the batches before theirs: before the first `fit` c_t
    is 0. The paper pays these rewards in place of the outcome: give `payoff` the weight 0
    (`advantage.reward_weights.payoff=0`), or what was spread is paid once more at the end.

    Two defects of the released scripts are not copied: the WebShop script overwrites every c_t
    by the final reward minus the mean of the other plays, the same for all turns; and the
    trainer multiplies the reward of turn t by T - 1 - t, so that the last turn earns nothing.

    What it relies on: `fit` is called with whole plays after they are scored, once per update;
    turns hold their chat, status and `rewards["payoff"]`. Plays that ended in an error or are
    not over teach nothing. Text that other agents wrote is part of messages, so an opponent can
    move c_t, and g_t too if it can write `failed`.

    Args:
        grounding: what an executed reply earns; the paper's 0.5.
        failed: what an observation says of an action that did nothing; empty if it never does.
        buckets: number D of weights; a checkpoint holds D^2 / 2 numbers.
        ridge: pull towards 0, relative to the size of a play's features.
        decay: weight of a play after one more batch; 1 forgets nothing.
    """

    name = "progress"
    online = False
    range = (-inf, inf)

    def __init__(
        self,
        *,
        grounding: float = 0.5,
        failed: str = "Nothing happens",
        buckets: int = 512,
        ridge: float = 0.001,
        decay: float = 0.95,
    ) -> None:
        check_whole("buckets", buckets, 1, _MOST_BUCKETS)
        check_number("decay", decay, 0.0, 1.0)
        if not check_number("ridge", ridge) > 0.0:
            raise ConfigError(f"ridge={ridge} must be above 0")
        if not isinstance(failed, str):
            raise ConfigError(f"failed={failed!r} must be a text; an empty one never occurs")
        self.grounding, self.failed = check_number("grounding", grounding), failed
        self.buckets, self.ridge, self.decay = buckets, ridge, decay
        self.version = 0
        self._square_DD = np.zeros((buckets, buckets))
        self._product_D = np.zeros(buckets)
        self._plays = 0.0
        self._weights_D = np.zeros(buckets)

    def score_turn(self, episode: Episode, turn: Turn) -> Payments:
        """Pay one reply of a finished play."""
        at = next(i for i, other in enumerate(episode.turns) if other is turn)
        return self._table(episode)[at]

    def score(self, episodes: Sequence[Episode]) -> list[list[Payments]]:
        """Pay every reply of finished plays."""
        return [self._table(episode) for episode in episodes]

    def progress(self, episode: Episode) -> list[float]:
        """Give the estimate c_t of every turn."""
        return [float(self._weights_D @ self._features(turn)) for turn in episode.turns]

    def executed(self, episode: Episode) -> list[float]:
        """Give g_t of every turn, 1 or 0."""
        next_chat: dict[str, str] = {}
        found = []
        for turn in reversed(episode.turns):
            refused = bool(self.failed) and self.failed in next_chat.get(turn.agent, "")
            found.append(float(turn.status is Status.LEGAL and not refused))
            next_chat[turn.agent] = _last_message(turn)
        return found[::-1]

    def fit(self, episodes: Sequence[Episode]) -> Mapping[str, float]:
        """Learn from the payoffs of finished plays, every seat of every play.

        Gives `error`, the mean of (sum_t c_t - R)^2 over plays that were not learned from yet,
        and `trajectories`, their number; nothing, and no new version, without such plays.
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
        error = float(((phi_BD @ self._weights_D - outcome_B) ** 2).mean())
        self._square_DD = self.decay * self._square_DD + phi_BD.T @ phi_BD
        self._product_D = self.decay * self._product_D + phi_BD.T @ outcome_B
        self._plays = self.decay * self._plays + len(outcome_B)
        self._solve()
        self.version += 1
        return {"error": error, "trajectories": float(len(outcome_B))}

    def state_dict(self) -> dict[str, object]:
        """Give the sums that the weights are solved from; half of the square is enough."""
        if not self.version:
            return {}
        half = self._square_DD[np.triu_indices(self.buckets)]
        return {
            "version": self.version,
            "plays": self._plays,
            "square": _packed(half),
            "product": _packed(self._product_D),
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
            version, plays = int(str(state["version"])), float(str(state["plays"]))
            half, product_D = _unpacked(state["square"]), _unpacked(state["product"])
        except (KeyError, ValueError) as error:
            raise DataError(f"not a state of {self.name!r}: {error}") from None
        if len(half) != size * (size + 1) // 2 or len(product_D) != size or not plays > 0.0:
            raise DataError(f"the state of {self.name!r} is not one of buckets={size}")
        square_DD = np.zeros((size, size))
        square_DD[np.triu_indices(size)] = half
        self._square_DD = square_DD + np.triu(square_DD, 1).T
        self._product_D, self._plays, self.version = product_D, plays, version
        self._solve()

    def _solve(self) -> None:
        mean = self._square_DD.trace() / self._plays
        damped_DD = self._square_DD + self.ridge * mean * np.eye(self.buckets)
        self._weights_D = np.linalg.solve(damped_DD, self._product_D)

    def _table(self, episode: Episode) -> list[Payments]:
        paid = redistribute(self.progress(episode), self.executed(episode), self.grounding)
        return [{turn.agent: r} for turn, r in zip(episode.turns, paid, strict=True)]

    def _sums(self, episode: Episode) -> dict[str, NDArray[np.float64]]:
        """Add up the features of every seat that spoke."""
        total: dict[str, NDArray[np.float64]] = {}
        for turn in episode.turns:
            total[turn.agent] = total.get(turn.agent, 0.0) + self._features(turn)
        return total

    def _features(self, turn: Turn) -> NDArray[np.float64]:
        """Give phi_t: four blocks of length 1, so that a long message drowns no short reply."""
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
