r"""Peer review: agents solve a question, look for flaws in each other's solutions, and score them.

Agents        agent_0 .. agent_{N-1}; each solves, evaluates and scores
Observation   chat: one message per request: the question and, by role, last round's discussion,
              one solution, or a solution with its evaluation. As in all environments a chat in
              full style holds the seat's earlier turns as well; in the paper, and in terse style,
              every request is all that is seen
Action        any text. A solution ends in \boxed{answer} or [answer]; an evaluation is free text,
              which may end in <verdict>wrong</verdict> or [wrong]; a score is <score>3</score> or
              [3], from 1 (a named mistake is fatal) to 3 (fully correct). An answer or score that
              is not found in the reply is asked for once more
Reward        none by the rules; the module `interaction` pays by what the scores say
Ends          after `rounds` rounds; a score that cannot be read, asked again, ends nothing
Options       num_agents 1 to 16; rounds; references, discussions of the last round that solvers
              see; evaluations per solution; phases solve+evaluate+score, solve+score or
              solve+evaluate; questions, a source of `coevo.envs.questions`
References    none: how well one can review depends on the questions

The protocol is that of CoMAS (arXiv 2510.08529) as its code has it: in a round every agent writes
one solution, all seeing the same prompt; then every solution is evaluated, then every evaluation
scored, by an agent dealt to it, so that all agents evaluate and score equally often and may be
dealt their own work. The paper draws the acting agent anew for every step. No agent sees a score.
A verifier grades the solutions for the record alone (`Turn.verified`, outcome); no reward reads it.

Outcome       accuracy and accuracy/last_round of solutions; evaluator/accuracy of readable
              verdicts; judge/accuracy, how often a score is 3 for a right and 1 for a wrong
              solution; judge/precision and judge/recall of the score 3; invalid_score_rate. What is
              not defined in an episode (precision without a 3) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import simultaneous
from coevo.envs.core.parsing import Parse, Status, spoken
from coevo.envs.core.protocol import All, Pay, Protocol, Stage
from coevo.envs.core.task import Replies
from coevo.envs.discussion.question_env import QuestionConfig, QuestionTask, known
from coevo.envs.discussion.review_expert import scores, solutions, verdicts
from coevo.envs.discussion.review_marks import read_score, read_verdict
from coevo.envs.discussion.review_metrics import review_metrics, solution_of
from coevo.envs.discussion.review_texts import Discussion, form, full_prompt, terse_prompt
from coevo.envs.questions import agree

_ROLES = {"solve": "solver", "evaluate": "evaluator", "score": "scorer"}


@config
class PeerReviewConfig(QuestionConfig):
    num_agents: Annotated[int, whole(1, 16)] = 2
    """Seats; the paper's main runs have 4, its ablations 2."""
    rounds: Annotated[int, whole(1, 100)] = 2
    """Of discussion."""
    references: Annotated[int, whole(0, 16)] = 2
    """Solutions of the last round, with their evaluations, that solvers are shown."""
    evaluations: Annotated[int, whole(1, 16)] = 1
    """Of every solution; each is scored once."""
    phases: Literal["solve+evaluate+score", "solve+score", "solve+evaluate"] = (
        "solve+evaluate+score"
    )
    """What follows each other in a round; the last two are the ablations of the paper."""


class PeerReview(QuestionTask[PeerReviewConfig]):
    """Rounds of solving, evaluating and scoring among agents who do all three."""

    env_id = "coevo/peer_review-v0"
    config_class = PeerReviewConfig
    simultaneous = True
    payoff_range = (0.0, 0.0)

    def __init__(self, config: PeerReviewConfig) -> None:
        super().__init__(config)
        self.seats = tuple(f"agent_{i}" for i in range(config.num_agents))

    @property
    def roles(self) -> Sequence[str]:
        return [_ROLES[phase] for phase in self.config.phases.split("+")]

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        c, nobody = self.config, dict.fromkeys(self.seats, -1)
        self.draw_question(rng, options)
        self.task_id = None  # reviews are named by their seed
        solved: list[int] = []
        for number in range(c.rounds):
            order = rng.permutation(len(solved)) if c.references else ()
            self._shown = [solved[i] for i in order[: c.references]]
            self.round, self._work = number, nobody
            solved = yield from self._step("solver")
            self._shown, judged = [], [solved] * c.evaluations
            for role in self.roles[1:]:
                made = []
                for items in judged:
                    order = rng.permutation(len(items))
                    self._work = {a: items[i] for a, i in zip(self.seats, order, strict=True)}
                    made.append((yield from self._step(role)))
                judged = made

    def _step(self, role: str) -> Stage[list[int]]:
        """Let every agent say one thing; return the places of their replies."""
        before = len(self.turns)
        yield All(self.seats, phase=role, form=form(role, self._scored, self.question))
        yield Pay(dict.fromkeys(self.seats, 0.0))
        last = {turn.agent: i for i, turn in enumerate(self.turns) if i >= before}
        return [last[seat] for seat in self.seats]

    def read(self, seat: str, text: str) -> Parse:
        """Read a reply, all of which others may see; what it has to say is asked for again."""
        said, read = spoken(text).strip(), self._read(text)
        asked = self.phase != "evaluator" or not self._scored  # else a verdict is no duty
        return read._replace(move=said) if asked else Parse(said, Status.LEGAL)

    def _read(self, text: str) -> Parse:
        """Read the answer, the verdict or the score of a reply."""
        if self.phase == "solver":
            found = self.final(text)
            return found if isinstance(found, Parse) else Parse(found, Status.LEGAL)
        return read_verdict(text) if self.phase == "evaluator" else read_score(text)

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.role, turn.round, turn.about = self.phase, self.round, self._work[seat]
        if turn.role == "solver":
            self.note_answer(turn)
        else:
            turn.answer = self._read(turn.text).move

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        does = {"solver": "solve it", "evaluator": "review a solution", "scorer": "score one"}
        steps = ", then ".join(does[role] for role in self.roles)
        return (
            f"{len(self.seats)} agents discuss a question in {self.config.rounds} rounds. In each "
            f"all of you {steps}. What you judge is dealt at random and may be your own. Every "
            f"message says what is to be done now. You are {seat}."
        )

    def situation(self, seat: str) -> str:
        return full_prompt(self.phase, self._discussion(seat), self._scored)

    def terse(self, seat: str) -> str:
        return terse_prompt(self.phase, self._discussion(seat), self._scored)

    @property
    def _scored(self) -> bool:
        return "scorer" in self.roles

    def _discussion(self, seat: str) -> Discussion:
        turns, about = self.turns, self._work[seat]
        shown = [(turns[i], self._evaluations(i)) for i in self._shown]
        if about < 0:
            return Discussion(self.question, tuple(shown))
        if turns[about].role == "solver":
            return Discussion(self.question, ((turns[about], ()),))
        judged = (turns[turns[about].about], (turns[about],))
        return Discussion(self.question, (judged,))

    def _evaluations(self, solution: int) -> tuple[Turn, ...]:
        every = (t for t in self.turns if t.role == "evaluator" and t.about == solution)
        return tuple(t for t in every if t.move is not None)

    def draw(self) -> str:
        lines = [f"question: {self.question.question} (answer: {self.question.answer})"]
        for i, turn in enumerate(self.turns):
            about = "" if turn.about < 0 else f" on {turn.about}"
            read = "nothing readable" if turn.answer is None else turn.answer
            lines.append(f"{i}. round {turn.round} {turn.agent} {turn.role}{about}: {read}")
        return "\n".join(lines)

    def outcome(self) -> dict[str, float]:
        """Return how well the agents solved and judged."""
        return review_metrics(self.turns)

    def info(self, seat: str) -> dict[str, Any]:
        return {"role": self.phase, "round": self.round}

    def expert(self, seat: str, skill: float) -> Replies:
        """Return a solution, a verdict or a score; see review_expert.py."""
        about = self._work[seat]
        if about < 0:
            return solutions(self.question, skill)
        solution = self.turns[solution_of(self.turns, about)]
        truth = known(self.question)
        right = None if truth is None else agree(solution.answer or "", truth, "number")
        if self.phase == "evaluator":
            return verdicts(right, skill)
        review = self.turns[about].answer if self.turns[about].role == "evaluator" else None
        return scores(right, review, skill)


raw_env, env, parallel_env = simultaneous(PeerReview)
