r"""Debate: all answer at once, then see what the others answered, and answer again.

Agents        debater_0 .. debater_{n-1}, who answer at the same time
Observation   chat: rules, the question and, from the second round on, the answers of the round
              before
Action        text with a final answer, \boxed{4} or ending in [4]
Reward        after the last round, 0..1: `own`, what the question's source gives a debater's
              last answer; `vote`, to all what it gives the answer of most debaters
Ends          after `rounds` answers of each
Options       questions="digits": see coevo.envs.questions; agents=3; rounds=2; pay="own";
              contain_self=False quotes a debater among the others as well; max_others=5;
              listed=False makes moves of the question's choices, where it has some;
              wordings=1: of so many wordings of the question each debater gets another
References    random 0.1 (one digit in ten), oracle 1

With rounds=1 nobody sees anything: a pool of independent votes, as RLCCF and TTRL take it.
The synchronous debate of Du et al. (arXiv 2305.14325), with the options of MARTI. The order in
which others are quoted is drawn anew for every reader; they are not named, so that nobody is
believed for a name. A tie of the vote goes to the answer of the seat that comes first. Who gives no
answer when asked again votes for nothing: that earns nothing, and costs the others nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.protocol import All, Pay, Protocol
from coevo.envs.core.task import Replies
from coevo.envs.discussion.question_env import (
    QuestionConfig,
    QuestionTask,
    answered,
    even,
    guesses,
    known,
    listing,
    mixed,
    quoted,
    shown,
)
from coevo.envs.questions import normalised


@config
class DebateConfig(QuestionConfig):
    agents: Annotated[int, whole(1, 100)] = 3
    """Number of debaters."""
    rounds: Annotated[int, whole(1, 100)] = 2
    """Answers of each."""
    pay: Literal["own", "vote"] = "own"
    """Whether a debater is paid for its own last answer or for that of most."""
    contain_self: Annotated[bool, Field(strict=True)] = False
    """Whether a debater's own answer is quoted among the others'."""
    max_others: Annotated[int, whole(0, 100)] = 5
    """Answers that are quoted to each."""
    listed: Annotated[bool, Field(strict=True)] = False
    """Whether answers are moves to choose from, for tables and guided choice: questions then need
    `choices`, as `digits` has them."""
    wordings: Annotated[int, whole(1, 100)] = 1
    """Wordings of a question, of which every debater is asked in another one, drawn for the
    episode; 1 asks all in the same words. Questions need `paraphrases`, as `digits` has three."""

    def __post_init__(self) -> None:
        if 1 < self.wordings < self.agents:
            raise ConfigError(
                f"wordings={self.wordings} must be 1, or at least the number of debaters, "
                f"{self.agents}"
            )


class Debate(QuestionTask[DebateConfig]):
    env_id = "coevo/debate-v0"
    config_class = DebateConfig
    simultaneous = True

    def __init__(self, config: DebateConfig) -> None:
        super().__init__(config)
        self.size, self.rounds = config.agents, config.rounds
        self.seats = tuple(f"debater_{i}" for i in range(self.size))

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.draw_question(rng, options)
        if self.config.listed and not self.question.choices:
            raise ConfigError(f"listed=True: the questions of {self.source.name} have no choices")
        asked = [self.question.reworded(k) for k in range(self.config.wordings)]
        order = rng.permutation(len(asked)) if len(asked) > 1 else np.zeros(self.size, int)
        self._asked = {seat: asked[k] for seat, k in zip(self.seats, order, strict=False)}
        self._rounds: list[dict[str, Turn]] = []
        self._quotes: dict[str, list[Turn]] = {}
        for _ in range(self.rounds):
            before = len(self.turns)
            if self._choices:
                yield All(self.seats, moves=self._choices)
            else:
                yield All(self.seats, read=self.final, form=self.form_of_answer, otherwise="")
            self._rounds.append({turn.agent: turn for turn in self.turns[before:]})
            if len(self._rounds) < self.rounds:
                self._quotes = {seat: self._dealt(seat, rng) for seat in self.seats}
        if self.config.pay == "own":
            yield Pay({seat: turn.verified or 0.0 for seat, turn in self._rounds[-1].items()})
        else:
            yield Pay(dict.fromkeys(self.seats, self._vote_score(-1)))

    @property
    def _choices(self) -> tuple[str, ...]:
        return self.question.choices if self.config.listed else ()

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        self.note_answer(turn)
        self.note_foreign(turn, "answer")

    def expert(self, seat: str, skill: float) -> Replies:
        """Return the right answer with probability `skill`; who does not know it leans on others.

        Of the rest, a share `skill` goes to the answer that most of those shown gave, and the rest
        of that is a guess: at skill 0 nothing is copied.
        """
        options, right = guesses(self.question), known(self.question)
        seen = [self._rounds[-1][seat], *self._quotes[seat]] if self._rounds else []
        said = [turn.answer for turn in seen if turn.answer in options]
        if not said or right is None:
            return answered(self.question, skill)
        most, rest = str(Counter(said).most_common(1)[0][0]), 1 - skill
        return mixed((skill, {right: 1.0}), (rest * skill, {most: 1.0}), (rest**2, even(options)))

    def _dealt(self, reader: str, rng: np.random.Generator) -> list[Turn]:
        """Draw the answers of the last round that a debater is shown, in the order shown."""
        last = self._rounds[-1]
        others = [t for a, t in last.items() if self.config.contain_self or a != reader]
        order = rng.permutation(len(others))[: self.config.max_others]
        return [others[i] for i in order]

    def _vote_score(self, number: int) -> float:
        return self.source.grade(self.question, self._vote(number)[0])

    def _vote(self, number: int) -> tuple[str | None, float]:
        """Return the answer of most debaters in a round, and their share."""
        answers = [t.answer for t in self._rounds[number].values() if t.answer is not None]
        if not answers:
            return None, 0.0
        spelled = [normalised(a, self.question.kind) for a in answers]
        winner, count = Counter(spelled).most_common(1)[0]  # of equals the first one met
        return answers[spelled.index(winner)], count / self.size

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        paid = {
            "own": "You earn 1 if your answer in the last round is right, and 0 if it is wrong.",
            "vote": "Everybody earns 1 if the answer that most of you give in the last round is "
            "right, and 0 if it is wrong.",
        }[self.config.pay]
        return (
            f"{self.size} debaters answer the same question, all at the same time, in "
            f"{self.rounds} rounds. After each round you see answers of the others, who may be "
            f"right or wrong; weigh them against your own, then answer again. {paid}\n"
            f"You are {seat}. Explain your steps briefly."
            f"{'' if self.config.listed else f' {self.form_of_answer}'}"
        )

    def situation(self, seat: str) -> str:
        asked, moves = self._asked[seat].in_full, listing(self._choices)
        if not self._rounds:
            return asked + moves
        parts = [
            f"Answer {i} (final answer: {shown(turn.answer)}):\n{quoted(turn)}"
            for i, turn in enumerate(self._quotes[seat], start=1)
        ]
        told = "\n\n".join(["These are answers of the last round:", *parts]) if parts else ""
        again = f"Round {len(self._rounds) + 1}. {asked}\nYour answer now?{moves}"
        return f"{told}\n\n{again}" if told else again

    def terse(self, seat: str) -> str:
        asked, how = self._asked[seat].in_short, "[move]" if self.config.listed else self.mark
        if not self._rounds:
            return f"Debate: {asked} Reply {how}."
        own = shown(self._rounds[-1][seat].answer)
        others = ", ".join(shown(turn.answer) for turn in self._quotes[seat]) or "none"
        return f"Debate: {asked} You: {own}. Others: {others}. Reply {how}."

    def draw(self) -> str:
        lines = [f"Question: {self.question.question} (answer: {self.question.answer})"]
        for turn in self.turns:
            lines.append(f"round {turn.round + 1}, {turn.agent}: {turn.answer or 'no answer'}")
        return "\n".join(lines)

    def outcome(self) -> dict[str, float]:
        """Return how often the vote and the debaters were right, first and last, and misled."""
        found = {"foreign_tags": self.foreign(), "rounds": float(len(self._rounds))}
        if not self._rounds:
            return found
        first, last = self._right(0), self._right(-1)
        return found | {
            "accuracy": self._vote_score(-1),
            "accuracy/first": self._vote_score(0),
            "individual": last,
            "individual/first": first,
            "agreement": self._vote(-1)[1],
            **self._misled(),
        }

    def _misled(self) -> dict[str, float]:
        """Return, of those who were right at first, who end with a wrong answer that they read."""
        right = [seat for seat, turn in self._rounds[0].items() if turn.verified == 1]
        ended = self._rounds[-1]
        lost = [s for s in right if not ended[s].verified and self._was_quoted(s, ended[s].answer)]
        return {"misled": len(lost) / len(right)} if right and len(self._rounds) > 1 else {}

    def _was_quoted(self, seat: str, answer: str | None) -> bool:
        """Return whether another debater's answer, as it was last quoted to a seat, is this one."""
        kind = self.question.kind
        others = [t.answer for t in self._quotes[seat] if t.agent != seat and t.answer is not None]
        return answer is not None and normalised(answer, kind) in {
            normalised(other, kind) for other in others
        }

    def _right(self, number: int) -> float:
        return sum(t.verified or 0.0 for t in self._rounds[number].values()) / self.size


raw_env, env, parallel_env = simultaneous(Debate)
