"""Rewards made of a discussion itself: what scores say of solutions and of their evaluations.

CoMAS (arXiv 2510.08529). A valid score t in {1, 2, 3} of solution s and evaluation e gives

    r(s) = (t - 1) / 2,    r(e) = (3 - t) / 2,    r(score) = 0,

so that r(s) + r(e) = 1: an evaluator earns what the solver does not. A score that cannot be read
earns its scorer -1, at every attempt, and where no attempt is left the two others 0; it is never
repaired. Nothing here knows the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.rewards import RewardModule, Rewards, Table

Worth = dict[int, float]
"""Place of a turn -> its reward as far as it is decided."""
VALID = ("1", "2", "3")


@config
class Interaction(RewardModule):
    """Rewards solutions and evaluations by the scores that other agents give.

    It reads the record alone: turns of the role `scorer` are about an evaluation or a solution,
    those of the role `evaluator` about a solution, and `answer` holds the score or the vote. The
    rewards fall to exactly the turns that are judged. Where a turn is judged several times it gets
    the mean, so that r(s) plus the mean of r(e) over its evaluations is 1; the paper leaves this
    open.
    """

    name: Literal["interaction"] = "interaction"
    ablate: Literal["scoring", "evaluation"] | None = None
    """One of the two controls of the paper, which describes them in words only. `evaluation`:
    solutions are scored without an evaluation, and the scorer takes the evaluator's place,
    (3 - t) / 2. `scoring`: evaluators vote; a solution gets the share of `right` votes, a vote
    the share of the other voters who agree with it, the author counted as a `right` so that a
    single evaluator has another to agree with; a vote that cannot be read supports nothing and
    gets -1."""

    def score_turn(self, episode: Episode, turn: Turn) -> Rewards:
        at, worth = len(episode.turns) - 1, self._worth(episode.turns)
        return {turn.agent: worth[at]} if at in worth else {}

    def score_earlier(self, episode: Episode, turn: Turn) -> Mapping[int, Rewards]:
        at, turns = len(episode.turns) - 1, episode.turns
        if turn.about < 0:
            return {}
        before, after = self._worth(turns[:at]), self._worth(turns)
        return {
            i: {turns[i].agent: worth - before.get(i, 0.0)}
            for i, worth in after.items()
            if i < at and worth != before.get(i)
        }

    def table(self, episodes: Sequence[Episode]) -> Table:
        tables = []
        for episode in episodes:
            worth = self._worth(episode.turns)
            tables.append(
                [{t.agent: worth[i]} if i in worth else {} for i, t in enumerate(episode.turns)]
            )
        return tables

    def _worth(self, turns: Sequence[Turn]) -> Worth:
        return _RULES[self.ablate](turns)


def _scores(turns: Sequence[Turn], *, alone: bool = False) -> Worth:
    """Weigh by scores; `alone`: the scorer earns what the solution does not."""
    worth: Worth = {}
    shares: dict[int, list[float]] = {}
    for i, turn in enumerate(turns):
        if turn.role != "scorer" or turn.about < 0:
            continue
        valid = turn.answer in VALID
        solution = (int(turn.answer or 1) - 1) / 2 if valid else 0.0
        rest = 1.0 - solution if valid else 0.0
        worth[i] = -1.0 if not valid else rest if alone else 0.0
        if turn.move is None:  # the scorer is asked again
            continue
        judged = turns[turn.about]
        if judged.role == "evaluator":
            if judged.about >= 0:
                shares.setdefault(judged.about, []).append(solution)
            if not alone:
                shares.setdefault(turn.about, []).append(rest)
        else:
            shares.setdefault(turn.about, []).append(solution)
    return worth | {i: sum(given) / len(given) for i, given in shares.items()}


def _scores_alone(turns: Sequence[Turn]) -> Worth:
    return _scores(turns, alone=True)


def _votes(turns: Sequence[Turn]) -> Worth:
    """Weigh by the evaluators' votes."""
    worth: Worth = {}
    ballots: dict[int, list[int]] = {}
    for i, turn in enumerate(turns):
        if turn.role != "evaluator" or turn.about < 0:
            continue
        if turn.move is None:  # the voter is asked again
            worth[i] = -1.0
        else:
            ballots.setdefault(turn.about, []).append(i)
    for solution, voters in ballots.items():
        votes = [turns[i].answer for i in voters]
        worth[solution] = votes.count("right") / len(votes)
        everybody = [*votes, "right"]  # the author stands by its solution
        for i, vote in zip(voters, votes, strict=True):
            alike = (everybody.count(vote) - 1) / (len(everybody) - 1)
            worth[i] = -1.0 if vote is None else alike
    return worth


_RULES: Mapping[str | None, Callable[[Sequence[Turn]], Worth]] = {
    None: _scores,
    "scoring": _votes,
    "evaluation": _scores_alone,
}
