r"""Peer review: agents solve a question, look for flaws in each other's solutions, and score them.

Agents        agent_0 .. agent_{N-1}; each solves, evaluates and scores
Observation   chat: one message per request, written anew each time: the question and, by role,
              last round's discussion, one solution, or a solution with its evaluation
Action        any text. A solution ends in \boxed{answer} or [answer]; an evaluation is free text,
              which may end in <verdict>wrong</verdict> or [wrong]; a score is <score>3</score> or
              [3], from 1 (a named mistake is fatal) to 3 (fully correct)
Reward        none by the rules; the module `interaction` pays by what the scores say
Ends          after `rounds` rounds; a score that cannot be read ends nothing
Options       num_agents 1 to 16; rounds; references, discussions of the last round that solvers
              see; evaluations per solution; phases solve+evaluate+score, solve+score or
              solve+evaluate; questions, a source of `coevo.envs.questions`
References    none: how well one can review depends on the questions

The protocol is that of CoMAS (arXiv 2510.08529) as its code has it: in a round every agent writes
one solution, all seeing the same prompt; then every solution is evaluated, then every evaluation
scored, by an agent dealt to it, so that all agents evaluate and score equally often and may be
dealt their own work. The paper draws the acting agent anew for every step. Nobody sees a score.
A verifier grades the solutions for the record alone (`Turn.verified`, outcome); no reward reads it.

Outcome       accuracy and accuracy/last_round of solutions; evaluator/accuracy of readable
              verdicts; judge/accuracy, how often a score is 3 for a right and 1 for a wrong
              solution; judge/precision and judge/recall of the score 3; invalid_score_rate. What is
              not defined in a play (precision without a 3) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.factories import aec_factory, parallel_factory
from coevo.envs.discussion.review_marks import read_score, read_verdict
from coevo.envs.discussion.review_metrics import review_metrics
from coevo.envs.discussion.review_texts import Discussion, full_prompt, terse_prompt
from coevo.envs.questions import Question, QuestionSource, final_answer
from coevo.envs.questions import questions as source_of

PHASES: dict[str, tuple[str, ...]] = {
    "solve+evaluate+score": ("solver", "evaluator", "scorer"),
    "solve+score": ("solver", "scorer"),
    "solve+evaluate": ("solver", "evaluator"),
}
"""Roles that follow each other in a round; the last two are the ablations of the paper."""
MOST_AGENTS = 16


class Step(NamedTuple):
    """A time at which every agent says one thing."""

    round: int
    role: str
    wave: int
    """Number of the evaluation of each solution; 0 where there is one."""


class PeerReview(TextEnv):
    """Rounds of solving, evaluating and scoring among agents who do all three.

    Args:
        num_agents: seats; the paper's main runs have 4, its ablations 2.
        rounds: of discussion.
        references: solutions of the last round, with their evaluations, that solvers are shown.
        evaluations: of every solution; each is scored once.
        phases: key of PHASES.
        questions: source, as `coevo.envs.questions.questions` reads it; None draws small sums.
        **kwargs: of TextEnv.
    """

    metadata = {**TextEnv.metadata, "name": "peer_review", "is_parallelizable": True}  # noqa: RUF012
    env_id = "coevo/peer_review-v0"
    payoff_range = (0.0, 0.0)

    def __init__(
        self,
        *,
        num_agents: int = 2,
        rounds: int = 2,
        references: int = 2,
        evaluations: int = 1,
        phases: str = "solve+evaluate+score",
        questions: str | Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if phases not in PHASES:
            raise unknown("phases of a review", phases, PHASES)
        _check("num_agents", num_agents, 1, MOST_AGENTS)
        _check("rounds", rounds, 1, 100)
        _check("references", references, 0, MOST_AGENTS)
        _check("evaluations", evaluations, 1, MOST_AGENTS)
        self._names = tuple(f"agent_{i}" for i in range(num_agents))
        self.references, self.roles = references, PHASES[phases]
        self.source: QuestionSource = source_of() if questions is None else source_of(questions)
        waves = [(role, w) for role in self.roles for w in range(_waves(role, evaluations))]
        self._plan = [Step(r, role, w) for r in range(rounds) for role, w in waves]
        super().__init__(**kwargs)
        given = {
            "num_agents": (num_agents, 2),
            "rounds": (rounds, 2),
            "references": (references, 2),
            "evaluations": (evaluations, 1),
            "phases": (phases, "solve+evaluate+score"),
        }
        self.options |= {name: value for name, (value, usual) in given.items() if value != usual}
        if questions is not None:
            self.options["questions"] = self.source.spec

    # ---- Rules -----------------------------------------------------------------------------

    def _seats(self) -> Sequence[str]:
        return self._names

    def _begin(self, options: Mapping[str, Any]) -> None:
        self.question: Question = self.source.draw(self.np_random)
        self._at = 0
        self._made: dict[Step, list[int]] = {}
        self._deal()

    def _to_move(self) -> Sequence[str]:
        return self._names if self._at < len(self._plan) else ()

    def _legal(self, agent: str) -> Sequence[str] | None:
        return None

    def _play(self, moves: dict[str, str]) -> dict[str, float]:
        self._at += 1
        self._deal()
        return dict.fromkeys(self._names, 0.0)

    def _describe(self, agent: str, turn: Turn) -> None:
        step = self._plan[self._at]
        turn.role, turn.round, turn.about = step.role, step.round, self._work[agent]
        said = turn.move or ""
        if step.role == "solver":
            turn.answer = final_answer(said, self.question.kind)
            turn.verified = self.source.grade(self.question, turn.answer)
        else:
            turn.answer = read_verdict(said) if step.role == "evaluator" else read_score(said)
        self._made.setdefault(step, []).append(len(self.episode.turns))

    def _deal(self) -> None:
        """Deal the work of this step: every agent one item, every item one agent."""
        self._work = dict.fromkeys(self._names, -1)
        self._shown: list[int] = []
        if self._at >= len(self._plan):
            return
        step = self._plan[self._at]
        if step.role != "solver":
            items = self._made[self._judged(step)]
            order = self.np_random.permutation(len(items))
            self._work = {a: items[i] for a, i in zip(self._names, order, strict=True)}
        elif step.round and self.references:
            last = self._made[Step(step.round - 1, "solver", 0)]
            self._shown = [last[i] for i in self.np_random.permutation(len(last))]
            del self._shown[self.references :]

    def _judged(self, step: Step) -> Step:
        """Give the step whose replies are judged in this one."""
        if step.role == "scorer" and "evaluator" in self.roles:
            return step._replace(role="evaluator")
        return Step(step.round, "solver", 0)

    # ---- Words -----------------------------------------------------------------------------

    def _invite(self, agent: str) -> None:
        """Write the request anew: nothing of earlier ones stays in the chat."""
        write = terse_prompt if self.prompt_style == "terse" else full_prompt
        text = write(self._plan[self._at].role, self._discussion(agent), "scorer" in self.roles)
        self._chats[agent][:] = [{"role": "user", "content": text}]

    def _discussion(self, agent: str) -> Discussion:
        turns, about = self.episode.turns, self._work[agent]
        shown = [(turns[i], self._evaluations(i)) for i in self._shown]
        if about < 0:
            return Discussion(self.question, tuple(shown))
        if turns[about].role == "solver":
            return Discussion(self.question, ((turns[about], ()),))
        judged = (turns[turns[about].about], (turns[about],))
        return Discussion(self.question, (judged,))

    def _evaluations(self, solution: int) -> tuple[Turn, ...]:
        turns = self.episode.turns
        return tuple(t for t in turns if t.role == "evaluator" and t.about == solution)

    def _draw(self) -> str:
        lines = [f"question: {self.question.question}"]
        for i, turn in enumerate(self.episode.turns):
            about = "" if turn.about < 0 else f" on {turn.about}"
            read = "nothing readable" if turn.answer is None else turn.answer
            lines.append(f"{i}. round {turn.round} {turn.agent} {turn.role}{about}: {read}")
        return "\n".join(lines)

    def _outcome(self) -> dict[str, float]:
        return review_metrics(self.episode.turns)

    def _private_info(self, agent: str) -> dict[str, Any]:
        step = self._plan[self._at]
        return {"role": step.role, "round": step.round}


def _waves(role: str, evaluations: int) -> int:
    """Solutions are written once a round, and judged as often as is asked for."""
    return 1 if role == "solver" else evaluations


def _check(name: str, given: int, low: int, high: int) -> None:
    whole = isinstance(given, int) and not isinstance(given, bool)
    if not whole or not low <= given <= high:
        raise ConfigError(f"{name}={given!r} must be a whole number from {low} to {high}")


raw_env = PeerReview
env = aec_factory(PeerReview)
parallel_env = parallel_factory(PeerReview)
