"""Intrinsic rewards: messages of the environment, labelled by a judge while the policy learns."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import DataError
from coevo.envs.core.parsing import ANSWER_FORMAT
from coevo.envs.core.quoting import quote
from coevo.envs.core.rewards import Judges, Rewards, ScoreContext, Scores
from coevo.envs.rewards.semantic import CharacterNgrams
from coevo.trainers.judges.question import NO, YES, Question
from coevo.trainers.judges.reward_model import AskingModule

RIDGE = 0.01
"""Weight of the squared length of a classifier's weights, per label."""


@dataclass
class _Labels:
    """What a judge said of messages, and those that it was not asked about yet, oldest first."""

    of: dict[str, float] = field(default_factory=dict)
    waiting: dict[str, None] = field(default_factory=dict)
    version: int = 0

    def taken(self, count: int) -> list[str]:
        """Return messages to ask about: the newest, but a quarter of them the oldest."""
        every = list(self.waiting)
        old = every[: max(1, count // 4)]
        new = every[len(old) :][-(count - len(old)) :] if count > len(old) else []
        return old + new


@config
class MessageLabels(AskingModule):
    """Pays a reply for the message that its seat gets next: coef * label / n^3.

    A role labels messages by yes (1) or no (0), some new ones an update, and n counts how often the
    seat got this message in the episode: repeating one earns 1.2021 coef at most. `retrieval`
    knows the labels of messages that were asked about, others are 0; `classification` is a logistic
    regression on runs of characters, fitted to all labels, paid 1 above 1/2. A task may note what
    it says of a turn (`message` in the notes), else it is what the seat reads next. Source: ONI,
    arXiv 2410.23022, whose labels arrive asynchronously; its ranking of messages is left out.
    """

    name: Literal["message_labels"] = "message_labels"
    role: str = "judge"
    """Role that is asked."""
    model: Literal["retrieval", "classification"] = "retrieval"
    """What is known of messages without a label."""
    goal: str = "Does it report progress?"
    """What the role is asked about a message."""
    coef: Annotated[float, real(0)] = 0.4
    """Reward of a message that is labelled 1, at its first time."""
    power: Annotated[float, real(0)] = 3.0
    """Power of the count that it is divided by; 0 pays every time."""
    asks: Annotated[int, whole(1)] = 64
    """Messages that are labelled in an update, at most."""

    @functools.cached_property
    def _labels(self) -> _Labels:
        return _Labels()

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, self.coef)

    @property
    def version(self) -> int:
        return self._labels.version

    def score(self, episodes: Sequence[Episode], context: ScoreContext) -> Scores:
        self._ask(episodes, self.judges(context))
        table: list[list[Rewards]] = [[{} for _ in e.turns] for e in episodes]
        worth = self._worth(dict.fromkeys(m for e in episodes for _, m in messages(e)))
        for episode, rewards in zip(episodes, table, strict=True):
            times: Counter[tuple[str, str]] = Counter()
            for place, message in messages(episode):
                seat = episode.turns[place].agent
                times[seat, message] += 1
                reward = self.coef * worth[message] / times[seat, message] ** self.power
                rewards[place][seat] = reward
        return Scores(table, self.version)

    def _ask(self, episodes: Sequence[Episode], judges: Judges) -> None:
        labels = self._labels
        new = (m for e in episodes for _, m in messages(e) if m not in labels.of)
        for message in new:
            labels.waiting.setdefault(message)
        asked = labels.taken(self.asks)
        answers = judges.ask(self.role, [self._question(message) for message in asked])
        for message, said in zip(asked, answers, strict=True):
            if said.move is not None:  # else it is asked again
                labels.of[message] = float(said.move == YES)
                del labels.waiting[message]
                labels.version += 1

    def _question(self, message: str) -> Question:
        text = f"Message:\n{quote(message)}\n{self.goal} Legal moves: [{YES}], [{NO}]. "
        return Question(({"role": "user", "content": text + ANSWER_FORMAT},), (YES, NO))

    def _worth(self, every: Mapping[str, None]) -> Mapping[str, float]:
        known = self._labels.of
        if self.model == "retrieval" or not known:
            return {message: known.get(message, 0.0) for message in every}
        texts = CharacterNgrams()
        weight_E = classifier(texts(list(known)), np.array(list(known.values())))
        logit_N = _with_one(texts(list(every))) @ weight_E if every else ()
        return {m: float(logit > 0) for m, logit in zip(every, logit_N, strict=True)}

    def fit(self, episodes: Sequence[Episode]) -> Mapping[str, float]:
        known = self._labels.of.values()
        return {"labels": float(len(known)), "positive": float(np.mean([*known, 0.0]))}

    def state_dict(self) -> dict[str, object]:
        labels = self._labels
        waiting = list(labels.waiting)
        return {"labels": dict(labels.of), "waiting": waiting, "version": labels.version}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        of, waiting, version = (state.get(key) for key in ("labels", "waiting", "version"))
        if not isinstance(of, Mapping) or not isinstance(waiting, list):
            raise DataError(f"not a state of {self.name!r}: expected labels and messages that wait")
        kept = self._labels
        kept.of = {str(message): float(label) for message, label in of.items()}
        kept.waiting, kept.version = dict.fromkeys(map(str, waiting)), int(str(version))


def messages(episode: Episode) -> Iterator[tuple[int, str]]:
    """Return what followed every reply, as its seat got it: place and message."""
    after: dict[str, str] = {}
    found = []
    for place in reversed(range(len(episode.turns))):
        turn = episode.turns[place]
        message = turn.notes.get("message", after.get(turn.agent))
        if message is not None:
            found.append((place, str(message)))
        after[turn.agent] = str(turn.chat[-1]["content"]) if turn.chat else ""
    yield from reversed(found)


def classifier(text_NE: NDArray[np.float64], label_N: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights of a logistic regression, that of a constant last."""
    from scipy.optimize import minimize  # takes a second to import, and few runs fit labels

    x_NE, sign_N = _with_one(text_NE), 2 * label_N - 1

    def loss(weight_E: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin_N = sign_N * (x_NE @ weight_E)
        odds_N = 0.5 * (1 - np.tanh(margin_N / 2))
        slope_E = -(odds_N * sign_N) @ x_NE / len(x_NE) + RIDGE * weight_E
        return float(np.logaddexp(0, -margin_N).mean() + RIDGE / 2 * weight_E @ weight_E), slope_E

    found: NDArray[np.float64] = minimize(
        loss, np.zeros(x_NE.shape[1]), jac=True, method="L-BFGS-B"
    ).x
    return found


def _with_one(x_NE: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.concatenate([x_NE, np.ones((len(x_NE), 1))], axis=1)
