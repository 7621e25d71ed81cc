r"""Debate: all answer at once, then see what the others answered, and answer again.

Agents        debater_0 .. debater_{n-1}, who answer at the same time
Observation   chat: rules, the question and, from the second round on, the answers of the round
              before
Action        text with a final answer, \boxed{4} or ending in [4]
Reward        after the last round, 0..1: `own`, what the question's source gives a debater's
              last answer; `vote`, to all what it gives the answer of most debaters
Ends          after `rounds` answers of each
Options       questions="arithmetic": see coevo.envs.questions; agents=3; rounds=2; pay="own";
              contain_self=False quotes a debater among the others as well; max_others=5
References    random 0.1 (one digit in ten), oracle 1

The synchronous debate of Du et al. (arXiv 2305.14325), with the options of MARTI. The order in
which others are quoted is drawn anew for every reader; they are not named, so that nobody is
believed for a name. A tie of the vote goes to the answer of the seat that comes first. A reply
without an answer is a matter of the illegal-move policy: `forfeit` ends the debate, `penalty`
charges 0.1 and goes on without that answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import aec_factory, parallel_factory
from coevo.envs.core.parsing import Parse, Status
from coevo.envs.discussion.question_env import ANSWER_FORM, QuestionEnv, quoted, shown, whole
from coevo.envs.questions import QuestionSource, normalised
from coevo.envs.questions.sources import DEFAULT

Pay = Literal["own", "vote"]
NO_ANSWER = "the reply gives no final answer, such as [answer]"


class Debate(QuestionEnv):
    """Debaters of equal standing.

    Args:
        questions: where questions come from.
        agents: number of debaters.
        rounds: answers of each.
        pay: `own` or `vote`.
        contain_self: whether a debater's own answer is quoted among the others'.
        max_others: answers that are quoted to each.
        **kwargs: those of every environment.
    """

    metadata = {**QuestionEnv.metadata, "is_parallelizable": True}  # noqa: RUF012
    env_id = "coevo/debate-v0"

    def __init__(
        self,
        *,
        questions: str | Mapping[str, Any] | QuestionSource = DEFAULT,
        agents: int = 3,
        rounds: int = 2,
        pay: Pay = "own",
        contain_self: bool = False,
        max_others: int = 5,
        **kwargs: Any,
    ) -> None:
        if pay not in get_args(Pay):
            raise ConfigError(f"pay={pay!r} must be one of {', '.join(get_args(Pay))}")
        self.size = whole("agents", agents, 1, 100)
        super().__init__(**kwargs)
        self._ask(questions)
        self.rounds = whole("rounds", rounds, 1, 100)
        self.max_others = whole("max_others", max_others, 0, 100)
        self.pay, self.contain_self = pay, contain_self
        usual = {"agents": 3, "rounds": 2, "pay": "own", "contain_self": False, "max_others": 5}
        given = dict(zip(usual, (agents, rounds, pay, contain_self, max_others), strict=True))
        self.options |= {name: value for name, value in given.items() if value != usual[name]}

    def _seats(self) -> Sequence[str]:
        return [f"debater_{i}" for i in range(self.size)]

    def _begin(self, options: Mapping[str, Any]) -> None:
        super()._begin(options)
        self._rounds: list[dict[str, Turn]] = []
        self._quotes: dict[str, list[Turn]] = {}

    def _to_move(self) -> Sequence[str]:
        return self.possible_agents if len(self._rounds) < self.rounds else ()

    def _legal(self, agent: str) -> Sequence[str] | None:
        return None

    def _read(self, agent: str, text: str) -> Parse:
        answer = self._final(text)
        if answer is None:
            return Parse(None, Status.UNPARSABLE, NO_ANSWER)
        return Parse(answer, Status.LEGAL)

    def _describe(self, agent: str, turn: Turn) -> None:
        super()._describe(agent, turn)
        self._answered(turn)
        self._foreign(turn, "answer")

    def _play(self, moves: dict[str, str]) -> dict[str, float]:
        latest = {turn.agent: turn for turn in self.episode.turns}  # a second attempt overwrites
        self._rounds.append({agent: latest[agent] for agent in self.possible_agents})
        if len(self._rounds) < self.rounds:
            self._quotes = {agent: self._dealt(agent) for agent in self.possible_agents}
            return {}
        if self.pay == "own":
            return {agent: turn.verified or 0.0 for agent, turn in self._rounds[-1].items()}
        return dict.fromkeys(self.possible_agents, self._vote_score(-1))

    def _dealt(self, reader: str) -> list[Turn]:
        """Draw the answers of the last round that a debater is shown, in the order shown."""
        last = self._rounds[-1]
        others = [t for a, t in last.items() if self.contain_self or a != reader]
        order = self.np_random.permutation(len(others))[: self.max_others]
        return [others[i] for i in order]

    def _vote_score(self, number: int) -> float:
        return self.source.grade(self.question, self._vote(number)[0])

    def _vote(self, number: int) -> tuple[str | None, float]:
        """Give the answer of most debaters in a round, and their share."""
        answers = [t.answer for t in self._rounds[number].values() if t.answer is not None]
        if not answers:
            return None, 0.0
        spelled = [normalised(a, self.question.kind) for a in answers]
        winner, count = Counter(spelled).most_common(1)[0]  # of equals the first one met
        return answers[spelled.index(winner)], count / self.size

    # ---- Words -----------------------------------------------------------------------------

    def _rules(self, agent: str) -> str:
        paid = {
            "own": "You earn 1 if your answer in the last round is right, and 0 if it is wrong.",
            "vote": "Everybody earns 1 if the answer that most of you give in the last round is "
            "right, and 0 if it is wrong.",
        }[self.pay]
        return (
            f"{self.size} debaters answer the same question, all at the same time, in "
            f"{self.rounds} rounds. After each round you see answers of the others, who may be "
            f"right or wrong; weigh them against your own, then answer again. {paid}\n"
            f"You are {agent}. Explain your steps briefly. {ANSWER_FORM}"
        )

    def _situation(self, agent: str) -> str:
        asked = f"Question: {self.question.question}"
        if not self._rounds:
            return asked
        parts = [
            f"Answer {i} (final answer: {shown(turn.answer)}):\n{quoted(turn)}"
            for i, turn in enumerate(self._quotes[agent], start=1)
        ]
        told = "\n\n".join(["These are answers of the last round:", *parts]) if parts else ""
        again = f"Round {len(self._rounds) + 1}. {asked}\nYour answer now?"
        return f"{told}\n\n{again}" if told else again

    def _terse(self, agent: str) -> str:
        asked = self.question.question
        if not self._rounds:
            return f"Debate: {asked} Reply [answer]."
        own = shown(self._rounds[-1][agent].answer)
        others = ", ".join(shown(turn.answer) for turn in self._quotes[agent]) or "none"
        return f"Debate: {asked} You: {own}. Others: {others}. Reply [answer]."

    def _draw(self) -> str:
        lines = [f"Question: {self.question.question} (answer: {self.question.answer})"]
        for turn in self.episode.turns:
            lines.append(f"round {turn.round + 1}, {turn.agent}: {turn.answer or 'no answer'}")
        return "\n".join(lines)

    def _outcome(self) -> dict[str, float]:
        found = {"foreign_tags": self._breaches(), "rounds": float(len(self._rounds))}
        if not self._rounds:
            return found
        first, last = self._right(0), self._right(-1)
        return found | {
            "accuracy": self._vote_score(-1),
            "accuracy/first": self._vote_score(0),
            "individual": last,
            "individual/first": first,
            "agreement": self._vote(-1)[1],
        }

    def _right(self, number: int) -> float:
        return sum(t.verified or 0.0 for t in self._rounds[number].values()) / self.size


raw_env = Debate
env = aec_factory(Debate)
parallel_env = parallel_factory(Debate)
