"""Search self-play: one proposer invents a question for a known answer, a group of solvers search.

One play is the proposer's search and question, the gate (a step of the environment, nobody's
turn), and a group of solvers that answer the question at the same time, each with a chat and
searches of its own. Proposer and solvers are seats of one play: that is the link between a
proposer's reward and its own solvers.

Agents        proposer_0 (with rejected="resample" more of them), solver_0 ... solver_{n-1}
Observation   chat: the answer to ask for and the number of hops, or the question; then what each
              search found. Terse: one message with all that matters of it
Action        any text. <search>query</search> or [search: query] looks something up,
              <question>..</question> or [question: ..] ends a proposal, <answer>..</answer> or
              [answer: ..] a solution; a reply without any of them is told so and costs a turn
Reward        solver: 1 if its answer matches after folding, else 0 (a quarter with more than ten
              answer tags); proposer: 1 - s or 4s(1 - s), s the share of its own solvers that
              succeeded; a rejected question is paid `invalid_reward`
Ends          when all solvers have answered or used up their turns, or with the rejection
Options       stored: questions of earlier plays, a list of {question, answer, ...}; what the play
              leaves for later is in the notes of a turn, under `keep`
References    random text earns nobody anything: 0. A proposer and a solver that search along the
              path: solver 1, proposer 1 - s = 0
Source        Lu et al. 2025, Search Self-play, arXiv 2510.18821
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError, unknown
from coevo.envs.core.factories import aec_factory
from coevo.envs.core.parsing import Parse, Status
from coevo.envs.search import self_play_words as words
from coevo.envs.search.actions import read_action
from coevo.envs.search.gate import Gate
from coevo.envs.search.grading import exact_match
from coevo.envs.search.payoffs import (
    ProposerReward,
    proposer_payoff,
    solver_payoff,
    success_share,
)
from coevo.envs.search.proposals import Proposal, Verdict
from coevo.envs.search.self_play_slots import (
    Asked,
    Desk,
    check_counts,
    gate_spec,
    outcome_of,
    stored_questions,
)
from coevo.envs.search.snippets import Search
from coevo.envs.search.worlds import world as make_world

Rejected = Literal["drop", "resample", "pool", "dummy"]
DUMMY = "This slot has no question; any answer will do."
"""What solvers are asked where nothing better is at hand; nobody is paid for it."""


class SearchSelfPlay(TextEnv):
    """Proposer, gate, and a group of solvers.

    Args:
        world: `fictional`, `facts`, the path of a corpus, or a mapping; see worlds.py.
        world_seed: of the one world of all plays; None makes a new world every play, where worlds
            have seeds. Stored questions need one world.
        hops: facts that a question needs; of several numbers each play draws one.
        solvers: size of the group.
        top_k: documents per search; published 3, but here every fact has a document of its own,
            and the way back from an answer leads through what others are said to be.
        max_searches: searches per seat; it has one reply more than that.
        proposer_reward: `one_minus`, `learnability` or `format_only`.
        edge_reward: learnability of what nobody or everybody solves.
        invalid_reward: of a rejected question; published 0, and above the worst valid question
            the proposer flees to rejection.
        rejected: what solvers do after a rejection: nothing (`drop`), another proposer tries
            another answer (`resample`), a stored question or a dummy (`pool`), a dummy (`dummy`).
        attempts: proposers that may try, for `resample`.
        gate: settings of the gate (see GateSpec), `full`, or `tag` to accept whatever is asked.
    """

    env_id = "coevo/search_self_play-v0"

    def __init__(
        self,
        *,
        world: str | Mapping[str, Any] = "fictional",
        world_seed: int | None = None,
        hops: int | Sequence[int] = 2,
        solvers: int = 5,
        top_k: int = 6,
        max_searches: int = 3,
        proposer_reward: ProposerReward = "one_minus",
        edge_reward: float = 0.0,
        invalid_reward: float = 0.0,
        rejected: Rejected = "drop",
        attempts: int = 3,
        gate: str | Mapping[str, Any] = "full",
        **kwargs: Any,
    ) -> None:
        check_counts(solvers=solvers, top_k=top_k, max_searches=max_searches, attempts=attempts)
        self.hops = (hops,) if isinstance(hops, int) else tuple(hops)
        if not self.hops or min(self.hops) < 1:
            raise ConfigError(f"hops={hops!r} must be 1 or more, or several such numbers")
        if rejected not in get_args(Rejected):
            raise unknown("rejected", rejected, get_args(Rejected))
        proposer_payoff(1.0, proposer_reward)  # a wrong name is found here
        proposers = attempts if rejected == "resample" else 1
        self.proposers = tuple(f"proposer_{i}" for i in range(proposers))
        self.solvers = tuple(f"solver_{i}" for i in range(solvers))
        super().__init__(**kwargs)
        self.world_spec = dict(world) if isinstance(world, Mapping) else str(world)
        self.world_seed = world_seed
        make_world(world, world_seed or 0).draw_answer(np.random.default_rng(0), max(self.hops))
        kind = world.get("kind", "fictional") if isinstance(world, Mapping) else world
        if rejected == "pool" and world_seed is None and kind == "fictional":
            raise ConfigError(
                "rejected='pool' asks stored questions again, which only make sense in the world "
                "that they are about: give a world_seed"
            )
        self.top_k, self.max_searches = top_k, max_searches
        self.proposer_reward, self.edge_reward = proposer_reward, float(edge_reward)
        self.invalid_reward = float(invalid_reward)
        self.rejected = rejected
        self.gate_spec = gate_spec(gate)
        paid = (0.0, 1.0, self.invalid_reward, self.edge_reward)
        self.payoff_range = (min(paid), max(paid))
        drawn = hops if isinstance(hops, int) else list(self.hops)
        given: list[Any] = [self.world_spec, world_seed, drawn, solvers, top_k, max_searches]
        given += [proposer_reward, self.edge_reward, self.invalid_reward, rejected, attempts, gate]
        told = dict(zip(_DEFAULTS, given, strict=True))
        self.options |= {k: v for k, v in told.items() if v != _DEFAULTS[k]}

    # ---- The play --------------------------------------------------------------------------

    def _seats(self) -> Sequence[str]:
        return [*self.proposers, *self.solvers]

    def _begin(self, options: Mapping[str, Any]) -> None:
        fresh = int(self.np_random.integers(2**31))
        seed = fresh if self.world_seed is None else self.world_seed
        self.world = make_world(self.world_spec, seed)
        self._gate = Gate(self.world, self.gate_spec, k=self.top_k)
        self._desks = {a: Desk(self.max_searches + 1) for a in self.agents}
        self._stored = stored_questions(options.get("stored"))
        self._asked: Asked | None = None
        self._verdicts: list[Verdict] = []
        self._attempt = 0
        self._over = False
        self._examples: tuple[str, ...] = ()
        self._draw_task()
        if self.prompt_style == "full" and self.world.symbolic:
            drawn = [self.world.sample_question(self.np_random, self.hops[0]) for _ in range(3)]
            self._examples = tuple(q.text for q in drawn)

    def _draw_task(self) -> None:
        self._hops = int(self.hops[int(self.np_random.integers(len(self.hops)))])
        self._answer = self.world.draw_answer(self.np_random, self._hops)

    def _to_move(self) -> Sequence[str]:
        if self._over:
            return ()
        if self._asked is None:
            return (self.proposers[self._attempt],)
        return [a for a in self.solvers if not self._desks[a].done]

    def _legal(self, agent: str) -> Sequence[str] | None:
        return None

    def _read(self, agent: str, text: str) -> Parse:
        """Take any text; what it does is read here."""
        action = read_action(text, ("search", _final(agent)))
        desk = self._desks[agent]
        desk.action, desk.at = action, len(self.episode.turns)
        desk.answer_tags += action.answer_tags
        return Parse(str(action), Status.LEGAL)

    def _describe(self, agent: str, turn: Turn) -> None:
        attempt = self.proposers.index(agent) if agent in self.proposers else 0
        # What is after the slash keeps proposals apart that must not be compared.
        turn.role = agent.rpartition("_")[0] + (f"/{attempt}" if attempt else "")
        action = self._desks[agent].action
        turn.notes["action"] = action.kind
        if action.kind == "none":
            turn.notes["unread"] = "no action"
        if action.odd:
            turn.notes["odd"] = list(action.odd)
        if action.kind == "search":
            turn.notes["found"] = self._search(self._desks[agent])
        if agent in self.solvers and self._asked is not None:
            turn.about = self._asked.about
            if action.kind == "answer":
                turn.answer = action.text
                turn.verified = exact_match(action.text, [self._asked.answer])
        elif action.kind == "question":
            turn.answer = action.text

    def _play(self, moves: dict[str, str]) -> dict[str, float]:
        """Carry out what everybody did; pay solvers as they finish, the proposer at the end."""
        for agent in moves:
            desk = self._desks[agent]
            desk.left -= 1
            desk.done = desk.left == 0 or desk.action.kind == _final(agent)
        if self._asked is None:
            return self._judged(self.proposers[self._attempt])
        paid = {a: self._solved(a) for a in moves if self._desks[a].done}
        return paid | (self._closed() if all(self._desks[a].done for a in self.solvers) else {})

    def _search(self, desk: Desk) -> list[str]:
        """Look something up; a search in the last reply is counted and finds nothing."""
        query, last = desk.action.text, desk.left == 1
        hits = () if last else tuple(self.world.retriever(self.top_k).search([query])[0])
        desk.searches.append(Search(query, hits))
        return [hit.doc_id for hit in hits]

    # ---- The gate --------------------------------------------------------------------------

    def _judged(self, proposer: str) -> dict[str, float]:
        """Let the gate judge a finished proposal; open the question, or do what follows."""
        desk = self._desks[proposer]
        if not desk.done:
            return {}
        question = desk.action.text if desk.action.kind == "question" else None
        searches = desk.searches
        proposal = Proposal(
            question=question,
            answer=self._answer,
            hops=self._hops,
            queries=tuple(s.query for s in searches),
            evidence=tuple(dict.fromkeys(h.doc_id for s in searches for h in s.hits)),
            stored=tuple(item["question"] for item in self._stored),
        )
        verdict = self._gate.judge(proposal, self.np_random)
        self._verdicts.append(verdict)
        notes = self.episode.turns[desk.at].notes
        notes["gate"] = verdict.reason
        notes |= {"why": verdict.detail} if verdict.detail else {}
        notes |= {"path": str(verdict.path)} if verdict.path else {}
        notes |= {"asked_for": self._answer, "hops": self._hops}
        if verdict.valid:
            self._asked = Asked(str(question), self._answer, self._hops, desk.at, proposer, "own")
            return {}
        desk.paid = proposer_payoff(None, invalid=self.invalid_reward)
        self._replace()
        return {proposer: desk.paid}

    def _replace(self) -> None:
        """Fill the slot of a rejected question; its author has no part in what comes."""
        if self.rejected == "resample" and self._attempt + 1 < len(self.proposers):
            self._attempt += 1
            self._draw_task()
        elif self.rejected == "pool" and self._stored:
            item = self._stored[int(self.np_random.integers(len(self._stored)))]
            hops = int(item.get("hops", 0))
            self._asked = Asked(item["question"], item["answer"], hops, -1, None, "stored")
        elif self.rejected in ("pool", "dummy"):
            self._asked = Asked(DUMMY, "", 0, -1, None, "dummy")
        else:
            self._over = True

    # ---- Payoffs ---------------------------------------------------------------------------

    def _solved(self, agent: str) -> float:
        """Give what a solver earns that has just finished."""
        desk, asked = self._desks[agent], self._asked
        assert asked is not None  # solvers move after the gate
        said = desk.action.text if desk.action.kind == "answer" else None
        correct = exact_match(said, [asked.answer]) > 0
        desk.paid = solver_payoff(correct, desk.answer_tags)
        return desk.paid

    def _closed(self) -> dict[str, float]:
        """End the play: pay the author of the question, and leave it for later plays."""
        asked = self._asked
        assert asked is not None  # as above
        self._over = True
        success = success_share([self._desks[a].paid for a in self.solvers])
        if asked.source != "dummy":
            item = {"question": asked.question, "answer": asked.answer, "hops": asked.hops}
            path = self.world.parse(asked.question)
            item |= {"key": str(path or asked.question.casefold()), "success": success}
            self.episode.turns[-1].notes["keep"] = [item]
        if asked.parent is None:
            return {}
        desk = self._desks[asked.parent]
        desk.paid = proposer_payoff(success, self.proposer_reward, edge=self.edge_reward)
        return {asked.parent: desk.paid}

    def _outcome(self) -> dict[str, float]:
        odd = sum("odd" in t.notes for t in self.episode.turns)
        return outcome_of(self._desks, self._verdicts, self._asked if self._over else None, odd)

    # ---- Words -----------------------------------------------------------------------------

    def _rules(self, agent: str) -> str:
        if agent in self.proposers:
            return words.proposer_rules(self._examples, self.max_searches)
        return words.solver_rules(self.max_searches)

    def _situation(self, agent: str) -> str:
        desk = self._desks[agent]
        if desk.at < 0:
            return self._task(agent)
        if desk.action.kind == "search":
            news = words.information(desk.searches[-1].hits)
        else:
            news = words.not_understood(_final(agent), desk.action.odd)
        return f"{news}\n{words.left_over(desk.left, _final(agent))}"

    def _task(self, agent: str) -> str:
        if agent in self.proposers:
            return words.proposer_task(self._answer, self._hops)
        return words.solver_task(self._asked.question if self._asked else "")

    def _terse(self, agent: str) -> str:
        desk = self._desks[agent]
        if agent in self.proposers:
            return words.terse_proposer(self._answer, self._hops, desk.left, desk.searches)
        question = self._asked.question if self._asked else ""
        return words.terse_solver(question, desk.left, desk.searches)

    def _draw(self) -> str:
        asked = self._asked
        verdicts = ", ".join(v.reason for v in self._verdicts) or "not yet"
        lines = [
            f"answer: {self._answer}   hops: {self._hops}   gate: {verdicts}",
            f"question ({asked.source}): {asked.question}" if asked else "question: none yet",
        ]
        for agent, desk in self._desks.items():
            queries = " | ".join(words.shown(s.query, 60) for s in desk.searches) or "-"
            lines.append(f"{agent}: {queries}   {'done' if desk.done else ''} {desk.paid:g}")
        return "\n".join(lines)


_DEFAULTS: dict[str, Any] = {
    name: parameter.default
    for name, parameter in inspect.signature(SearchSelfPlay.__init__).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}
"""Defaults of the arguments above: only what differs is recorded."""


def _final(agent: str) -> str:
    """Name what ends a seat's part of the play."""
    return "question" if agent.startswith("proposer") else "answer"


raw_env = SearchSelfPlay
env = aec_factory(SearchSelfPlay)
