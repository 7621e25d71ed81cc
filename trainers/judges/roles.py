"""Roles of judges: the parameter sets that answer for them, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from coevo.agents.agent import Agent, Reply, Request, Unanswered
from coevo.agents.policy import Policy
from coevo.agents.population import MakePolicy, Population
from coevo.envs.core.config import config
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.parsing import Status, parse_move
from coevo.envs.core.rewards import RewardModule
from coevo.trainers.batch import Batch
from coevo.trainers.build import build
from coevo.trainers.collect.injected import Injected
from coevo.trainers.judges.question import Question
from coevo.trainers.learners.learner import Learner

SEAT = "judge_0"
"""Seat of every judge, in records."""


@config
class JudgeRole:
    """Which parameter set answers for a role of judges."""

    policy: Annotated[str, Field(min_length=1)] = "judge"
    """A set of the population, such as `policy`, which is then player and judge in one; another
    name makes a set of its own, without a seat."""
    model: str | None = None
    """Start model of a set of its own; None takes the run's."""
    learns: bool = True
    """Whether a set of its own learns."""
    guided: Literal["none", "choice"] = "none"
    """`choice` restricts it to the answers that are asked for; else one that gives another
    fails."""


@dataclass
class Roles:
    """Asks the policies that roles are bound to, and counts what that costs."""

    bound: Mapping[str, JudgeRole]
    agents: Mapping[str, Agent]
    learners: Mapping[str, Learner] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()
    """Sets that have no seat."""
    injected: dict[str, Injected] = field(default_factory=dict)
    """Role -> the text of the archive that it judges by in this update."""
    cache: list[Question] = field(default_factory=list)
    """Questions with known answers that wait to be learnt from."""
    _counts: Counter[str] = field(default_factory=Counter)
    _tokens: int = 0

    def ask(self, role: str, questions: Sequence[Question]) -> list[Turn]:
        """Return the answer to every question as a turn, `move` None where it cannot be read."""
        if not questions:
            return []
        spec, agent = self.bound[role], self.agent(role)
        questions = [self._with_text(role, q) for q in questions]
        rng = np.random.default_rng(0)  # policies have generators of their own
        requests = [request(q, rng, guided=spec.guided == "choice") for q in questions]
        turns = [
            self._turn(role, q, reply)
            for q, reply in zip(questions, agent.act(requests), strict=True)
        ]
        failures = sum(t.move is None for t in turns)
        written = sum(len(t.token_ids or ()) for t in turns)
        self._counts[f"judge/{role}/tokens"] += written
        self._tokens += written * (spec.policy in self.learners)
        self._count(role, questions=len(turns), failures=failures)
        return turns

    def worth(self, role: str, questions: Sequence[Question]) -> list[float]:
        """Return what the reward head of a role gives every reply."""
        if not questions:
            return []
        learner = self.learners[self.bound[role].policy]
        batch = self.batch(self.read(role, questions))
        value_CL = learner.passes.rewards(batch)
        at = batch.trajectory_C.tolist()
        found = dict(zip(at, value_CL.sum(1).tolist(), strict=True))
        self._count(role, questions=len(questions), failures=0)
        return [found[i] for i in range(len(questions))]

    def read(self, role: str, questions: Sequence[Question]) -> list[Turn]:
        """Return the replies of questions in the tokens of a role's policy, without asking it."""
        policy = self.agent(role)
        assert isinstance(policy, Policy)  # it has a head
        rng = np.random.default_rng(0)
        return [
            self._turn(role, q, policy.spell(request(q, rng, guided=False), q.reply))
            for q in questions
        ]

    def batch(self, turns: Iterable[Turn]) -> Batch:
        """Return turns of a judge as a batch, each a trajectory of its own."""
        episodes = [episode(turn) for turn in turns]
        batch = build(episodes, range(len(episodes)), self.learners)
        assert batch is not None  # the judge wrote them
        return batch

    def agent(self, role: str) -> Agent:
        return self.agents[self.bound[role].policy]

    def version(self, role: str) -> int:
        return self.agent(role).version

    def spent(self) -> tuple[dict[str, float], int]:
        """Return the counts since the last call for the log, and tokens that learners wrote."""
        counts, tokens = {k: float(n) for k, n in sorted(self._counts.items())}, self._tokens
        self._counts, self._tokens = Counter(), 0
        return counts, tokens

    def state_dict(self) -> dict[str, object]:
        return {"cache": [q.plain() for q in self.cache]}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        kept = state.get("cache", [])
        assert isinstance(kept, list)
        self.cache = [Question.read(data) for data in kept]

    def _count(self, role: str, *, questions: int, failures: int) -> None:
        self._counts[f"judge/{role}/questions"] += questions
        self._counts[f"judge/{role}/failures"] += failures

    def _with_text(self, role: str, question: Question) -> Question:
        text = self.injected.get(role)
        return replace(question, chat=text.added(question.chat)) if text else question

    def _turn(self, role: str, question: Question, reply: Reply) -> Turn:
        name = self.bound[role].policy
        read = parse_move(reply.text, question.answers or None)
        move = None if isinstance(reply, Unanswered) else read.move
        status = Status.UNPARSABLE if move is None else Status.LEGAL
        turn = Turn(SEAT, question.chat, reply.text, move, status, question.answers or None)
        turn.player, turn.version, turn.role = name, self.agents[name].version, role
        turn.injected = [self.injected[role].id] if role in self.injected else []
        turn.prompt_ids, turn.token_ids = reply.prompt_ids, reply.token_ids
        turn.logprobs, turn.choices = reply.logprobs, reply.choices
        if isinstance(reply, Unanswered):
            turn.notes["unanswered"] = reply.reason
        return turn


def request(question: Question, rng: np.random.Generator, *, guided: bool) -> Request:
    legal = list(question.answers) or None
    return Request(SEAT, question.chat, {"legal_actions": legal}, rng, guided=guided)


def episode(turn: Turn, rewards: Mapping[str, float] | None = None) -> Episode:
    """Return an answer as an episode of one turn, with rewards by component."""
    made = Episode("judge", 0, {}, (SEAT,), "", [turn], StopReason.FINISHED)
    for component, reward in (rewards or {}).items():
        turn.pay(component, {SEAT: reward})
    return made


def bind(
    population: Population,
    make: MakePolicy,
    bound: Mapping[str, JudgeRole],
    modules: Collection[RewardModule],
) -> frozenset[str]:
    """Give every role a parameter set; make the sets that have no seat, and return them.

    Raises:
        ConfigError: a module asks a role without a parameter set.
    """
    for module in modules:
        for role in module.roles_asked:
            if role not in bound:
                raise no_set(module.component, role, bound)
    seated = frozenset(population.agents)
    made: dict[str, JudgeRole] = {}
    for spec in bound.values():
        if spec.policy in seated:
            if spec.model is not None or not spec.learns:
                raise ConfigError(
                    f"judges: {spec.policy!r} sits at the table and has a start model and learns "
                    "as the population says; leave model and learns out"
                )
        elif made.setdefault(spec.policy, spec) != spec:
            raise ConfigError(f"judges: two roles want different settings of {spec.policy!r}")
    for name, spec in made.items():
        given = {} if spec.model is None else {"model": spec.model}
        into = population.learners if spec.learns else population.fixed
        into[name] = make(name, learns=spec.learns, **given)
    return frozenset(made)


def no_set(component: str, role: str, bound: Mapping[str, JudgeRole]) -> ConfigError:
    """Return the error of a role that no parameter set answers for."""
    if bound:
        return unknown(f"role that reward {component!r} asks", role, bound)
    return ConfigError(
        f"reward {component!r} asks the role {role!r}, which has no parameter set; give it one: "
        f"judges={{{role}: {{policy: {role}}}}}"
    )
