"""Agreement with a vote over final answers: a reward where the right one is unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from math import isclose
from typing import Annotated, Literal, NamedTuple

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.rewards import RewardModule, Table
from coevo.envs.questions.answers import normalised

Weights = Literal["votes", "consistency"]


def support(answers: Mapping[str, Sequence[str]], weights: Weights = "votes") -> dict[str, float]:
    """Return how much each answer is supported by voters n with answers o_n1 ... o_nK.

    votes: sum_n count_n(a). consistency: sum_n SC_n count_n(a), where SC_n is the share of
    voter n's most common answer. Source: TTRL; RLCCF.

    >>> support({"m": ["7", "7", "8"], "n": ["8", "8", "8"]}, "consistency")
    {'7': 1.3333333333333333, '8': 3.6666666666666665}
    """
    found: dict[str, float] = {}
    for given in answers.values():
        counts = Counter(given)
        weight = max(counts.values()) / len(given) if given and weights == "consistency" else 1.0
        for answer, count in counts.items():
            found[answer] = found.get(answer, 0.0) + weight * count
    return found


def leaders(supported: Mapping[str, float]) -> list[str]:
    """Return the answers with the most support, all of them where several tie.

    >>> leaders({"7": 2.0, "8": 2.0, "9": 1.0})
    ['7', '8']
    """
    most = max(supported.values(), default=0.0)
    # Weighted sums of equal votes may differ in the last bit.
    return [a for a, s in supported.items() if isclose(s, most, rel_tol=1e-9)]


class _Vote(NamedTuple):
    asked: str
    voter: str
    answer: str
    turn: Turn


@config
class Majority(RewardModule):
    """Rewards the speaker with 1 if its final answer is the one that a vote prefers, else 0.

    Every seat votes with `Turn.answer`, as the environment reads it. Answers are the same if
    they are equal numbers, or equal texts but for case, white space and punctuation at the ends;
    no algebra is done. A reply without an answer neither votes nor earns. Scored after the
    episode, and over the whole batch where a trainer has one: `weights="votes"` is the label of
    TTRL, `weights="consistency"` that of RLCCF; `label="others"` that of Co-Reward, where tasks
    are asked in several wordings.

    It rewards agreement, not truth: a confident wrong majority is locked in, and where all agree
    every reward is equal and nothing is learnt. An episode that ended in an error does not vote.
    """

    name: Literal["majority"] = "majority"
    over: Literal["task", "episode"] = "task"
    """What is polled: all answers to one task in the batch (equal `Episode.task` of one
    environment), or those of one episode. A PettingZoo environment knows one episode."""
    weights: Weights = "votes"
    """`votes`, or `consistency`: see `support`. A voter is an agent where its name is known (a
    policy, in trainers), else a seat."""
    label: Literal["all", "same", "others"] = "all"
    """Which votes of a poll reward a reply: all, those on the question in the same words, or those
    on it in other words."""
    roles: tuple[str, ...] = ()
    """Whose answers vote, in one poll, and are rewarded. Where none is named all roles vote, each
    among its own: solutions and verdicts on them are not alike."""
    last_only: bool = False
    """Whether only the last answer of each seat and role of an episode votes and is rewarded."""
    ties: Literal["split", "first"] = "split"
    """`split` gives 1/m for each of m answers that tie; `first` takes the one that was given
    first, as in TTRL's code."""
    least: Annotated[int, whole(1)] = 2
    """Fewest votes that make a poll; fewer are not rewarded. A lone answer would always
    agree with itself."""
    per_turn = False

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def table(self, episodes: Sequence[Episode]) -> Table:
        polls: dict[Hashable, list[_Vote]] = {}
        for index, episode in enumerate(episodes):
            asked = self.over == "task" and bool(episode.task)
            poll = (episode.env, episode.task) if asked else index
            for vote in self._votes(episode):
                whose = "" if self.roles else vote.turn.role
                polls.setdefault((poll, whose), []).append(vote)
        earned = {id(t): r for votes in polls.values() for t, r in self._earned(votes)}
        return [
            [{t.agent: earned[id(t)]} if id(t) in earned else {} for t in e.turns] for e in episodes
        ]

    def _votes(self, episode: Episode) -> Iterator[_Vote]:
        if episode.stop is StopReason.ERROR:
            return
        turns = [t for t in episode.turns if not self.roles or t.role in self.roles]
        given = [(t, t.answer) for t in turns if t.answer is not None]
        last = {(t.agent, t.role): t for t, _ in given}
        for turn, answer in given:
            if not self.last_only or last[turn.agent, turn.role] is turn:
                named = turn.player if self.over == "task" else ""
                yield _Vote(_asked(turn), named or turn.agent, normalised(answer, "number"), turn)

    def _earned(self, votes: Sequence[_Vote]) -> Iterable[tuple[Turn, float]]:
        if self.label == "all":
            yield from self._agreement(votes, votes)
            return
        for asked in dict.fromkeys(v.asked for v in votes):
            same = [v for v in votes if v.asked == asked]
            others = [v for v in votes if v.asked != asked]
            yield from self._agreement(same, same if self.label == "same" else others)

    def _agreement(
        self, rewarded: Sequence[_Vote], votes: Sequence[_Vote]
    ) -> Iterable[tuple[Turn, float]]:
        if len(votes) < self.least:
            return
        answers: dict[str, list[str]] = {}
        for vote in votes:
            answers.setdefault(vote.voter, []).append(vote.answer)
        best = set(leaders(support(answers, self.weights)))
        if self.ties == "first":
            best = {next(v.answer for v in votes if v.answer in best)}
        for vote in rewarded:
            yield vote.turn, 1.0 / len(best) if vote.answer in best else 0.0


def _asked(turn: Turn) -> str:
    return str(turn.chat[-1]["content"]) if turn.chat else ""
