"""Search self-play: one proposer invents a question for a known answer, a group of solvers search.

One episode is the proposer's search and question, the gate (a step of the environment, no seat's
turn), and a group of solvers that answer the question at the same time, each with a chat and
searches of its own. Proposer and solvers are seats of one episode: that is the link between a
proposer's reward and its own solvers.

Agents        proposer_0 (with rejected="resample" more of them), solver_0 ... solver_{n-1}
Observation   chat: the answer to ask for and the number of hops, or the question; then what each
              search found. Terse: one message with all that matters of it
Action        any text. <search>query</search> or [search: query] looks something up,
              <question>..</question> or [question: ..] ends a proposal, <answer>..</answer> or
              [answer: ..] a solution; a reply without any of them is asked for again, then
              named as such, and costs a turn
Reward        solver: 1 if its answer matches after folding, else 0 (a quarter with more than ten
              answer tags); proposer: 1 - s or 4s(1 - s), s the share of its own solvers that
              succeeded; a rejected question is paid `invalid_reward`
Ends          when all solvers have answered or used up their turns, or with the rejection
Options       stored: questions of earlier episodes, a list of {question, answer, ...}; what this
              episode leaves for later is in the notes of a turn, under `keep`
References    random text earns nothing: 0. A proposer and a solver that search along the
              path: solver 1, proposer 1 - s = 0
Source        Lu et al. 2025, Search Self-play, arXiv 2510.18821
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Parse, Status, missing
from coevo.envs.core.task import Replies, Task, role_of
from coevo.envs.questions.answers import exact_match
from coevo.envs.search import self_play_words as words
from coevo.envs.search.actions import read_action
from coevo.envs.search.experts import propose, propose_prose, read_facts, solve, solve_prose
from coevo.envs.search.fictional import Fictional
from coevo.envs.search.gate import Gate
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
    gate_spec,
    outcome_of,
    stored_questions,
)
from coevo.envs.search.snippets import Search
from coevo.envs.search.worlds import WorldConfig
from coevo.envs.search.worlds import world as make_world

DUMMY = "This slot has no question; any answer will do."
"""What solvers are asked where nothing better is at hand; it pays nothing."""


def _several(given: Any) -> Any:
    return (given,) if isinstance(given, int) else given


@config
class SearchSelfPlayConfig:
    world: WorldConfig = Fictional()
    """Configuration of a world, or its bare name; see worlds.py."""
    world_seed: Annotated[int, whole(0)] | None = None
    """Of the one world of all episodes; None makes a new world every episode, where worlds have
    seeds. Stored questions need one world."""
    hops: Annotated[
        tuple[Annotated[int, whole(1, 9)], ...], BeforeValidator(_several), Field(min_length=1)
    ] = (2,)
    """Facts that a question needs; of several numbers each episode draws one."""
    solvers: Annotated[int, whole(1, 1000)] = 5
    """Size of the group."""
    top_k: Annotated[int, whole(1, 100)] = 6
    """Documents per search; published 3, but here every fact has a document of its own, and the way
    back from an answer leads through what others are said to be."""
    max_searches: Annotated[int, whole(1, 1000)] = 3
    """Searches per seat; it has one reply more than that."""
    proposer_reward: ProposerReward = "one_minus"
    """What a proposer is paid for a valid question."""
    edge_reward: Annotated[float, real()] = 0.0
    """Learnability of a question that none or all solve."""
    invalid_reward: Annotated[float, real()] = 0.0
    """Of a rejected question; published 0, and above the worst valid question the proposer flees to
    rejection."""
    rejected: Literal["drop", "resample", "pool", "dummy"] = "drop"
    """What solvers do after a rejection: nothing (`drop`), another proposer tries another answer
    (`resample`), a stored question or a dummy (`pool`), a dummy (`dummy`)."""
    attempts: Annotated[int, whole(1, 100)] = 3
    """Proposers that may try, for `resample`."""
    gate: Any = "full"
    """Settings of the gate (see GateSpec), `full`, or `tag` to accept whatever is asked."""


class SearchSelfPlay(Task[SearchSelfPlayConfig]):
    env_id = "coevo/search_self_play-v0"
    config_class = SearchSelfPlayConfig

    def __init__(self, config: SearchSelfPlayConfig) -> None:
        super().__init__(config)
        proposers = config.attempts if config.rejected == "resample" else 1
        self.proposers = tuple(f"proposer_{i}" for i in range(proposers))
        self.solvers = tuple(f"solver_{i}" for i in range(config.solvers))
        self.seats = (*self.proposers, *self.solvers)
        world = make_world(config.world, config.world_seed or 0)
        world.draw_answer(np.random.default_rng(0), max(config.hops))
        seedless = config.world_seed is None and config.world.name == "fictional"
        if config.rejected == "pool" and seedless:
            raise ConfigError(
                "rejected='pool' asks stored questions again, which only make sense in the world "
                "that they are about: give a world_seed"
            )
        self.gate_spec = gate_spec(config.gate)
        paid = (0.0, 1.0, config.invalid_reward, config.edge_reward)
        self.payoff_range = (min(paid), max(paid))

    @property
    def roles(self) -> Sequence[str]:
        return ["proposer", *(f"proposer/{i}" for i in range(1, len(self.proposers))), "solver"]

    # ---- The episode -----------------------------------------------------------------------

    def reset(self, rng: np.random.Generator, options: Mapping[str, Any]) -> None:
        fresh, fixed = int(rng.integers(2**31)), self.config.world_seed
        self.world = make_world(self.config.world, fresh if fixed is None else fixed)
        self._rng = rng
        self._gate = Gate(self.world, self.gate_spec, k=self.config.top_k)
        self._desks = {a: Desk(self.config.max_searches + 1) for a in self.seats}
        self._stored = stored_questions(options.get("stored"))
        self.turns: list[Turn] = []
        self._asked: Asked | None = None
        self._verdicts: list[Verdict] = []
        self._attempt = 0
        self._over = False
        self._examples: tuple[str, ...] | None = None
        self._draw_task()

    def _draw_task(self) -> None:
        hops = self.config.hops
        self.hops = int(hops[int(self._rng.integers(len(hops)))])
        self.answer = self.world.draw_answer(self._rng, self.hops)

    def to_move(self) -> Sequence[str]:
        if self._over:
            return ()
        if self._asked is None:
            return (self.proposers[self._attempt],)
        return [a for a in self.solvers if not self._desks[a].done]

    def legal(self, seat: str) -> None:
        """Return None: any text is legal."""

    def read(self, seat: str, text: str) -> Parse:
        action = read_action(text, ("search", _final(seat)))
        desk = self._desks[seat]
        desk.action, desk.at = action, len(self.turns)
        if action.kind == "none":
            return missing(text, "action")._replace(move=str(action))
        return Parse(str(action), Status.LEGAL)

    def form(self, seat: str) -> str:
        return words.how(_final(seat))

    def describe(self, seat: str, turn: Turn) -> None:
        self.turns.append(turn)
        attempt = self.proposers.index(seat) if seat in self.proposers else 0
        # What is after the slash keeps proposals apart that must not be compared.
        turn.role = role_of(seat) + (f"/{attempt}" if attempt else "")
        action = self._desks[seat].action
        turn.notes["action"] = action.kind
        if action.odd:
            turn.notes["odd"] = list(action.odd)
        if action.kind == "search":
            turn.notes["found"] = self._search(self._desks[seat])
        if seat in self.solvers and self._asked is not None:
            turn.about = self._asked.about
            if action.kind == "answer":
                turn.answer = action.text
                turn.verified = exact_match(action.text, [self._asked.answer])
        elif action.kind == "question":
            turn.answer = action.text

    def play(self, moves: Mapping[str, str]) -> dict[str, float]:
        for seat in moves:
            desk = self._desks[seat]
            desk.left -= 1
            desk.answer_tags += desk.action.answer_tags
            desk.done = desk.left == 0 or desk.action.kind == _final(seat)
        if self._asked is None:
            return self._judged(self.proposers[self._attempt])
        paid = {a: self._solved(a) for a in moves if self._desks[a].done}
        return paid | (self._closed() if all(self._desks[a].done for a in self.solvers) else {})

    def _search(self, desk: Desk) -> list[str]:
        """Look something up; a search in the last reply is counted and finds nothing."""
        query, last = desk.action.text, desk.left == 1
        retriever = self.world.retriever(self.config.top_k)
        hits = () if last else tuple(retriever.search([query])[0])
        desk.searches.append(Search(query, hits))
        return [hit.doc_id for hit in hits]

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Forget what others searched for, and give a solver's question another answer."""
        self._desks |= {a: Desk(1) for a in self.seats if a != seat}
        if self._asked is not None:
            self.answer = f"X{rng.integers(10**6)}"
            self._asked = replace(self._asked, answer=self.answer)
        return True

    def expert(self, seat: str, skill: float) -> Replies:
        """Propose or solve by the facts, or by the sentences, that the seat remembers."""
        desk, ours = self._desks[seat], self.world.symbolic
        known, may_search = words.memory(desk.searches, ours), desk.left > 1
        if self._asked is None and not ours:
            wanted = min(2, self.hops) - len(desk.searches)
            return propose_prose(self.answer, wanted, known, may_search, skill)
        if self._asked is None:
            return propose(self.answer, self.hops, read_facts(known), may_search, skill)
        if not ours:
            return solve_prose(self._asked.question, known, may_search, skill)
        return solve(self._asked.question, read_facts(known), may_search, skill)

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
            answer=self.answer,
            hops=self.hops,
            queries=tuple(s.query for s in searches),
            evidence=tuple(dict.fromkeys(h.doc_id for s in searches for h in s.hits)),
            stored=tuple(item["question"] for item in self._stored),
        )
        verdict = self._gate.judge(proposal, self._rng)
        self._verdicts.append(verdict)
        notes = self.turns[desk.at].notes
        notes["gate"] = verdict.reason
        notes |= {"why": verdict.detail} if verdict.detail else {}
        notes |= {"path": str(verdict.path)} if verdict.path else {}
        notes |= {"asked_for": self.answer, "hops": self.hops}
        if verdict.valid:
            self._asked = Asked(str(question), self.answer, self.hops, desk.at, proposer, "own")
            return {}
        desk.paid = proposer_payoff(None, invalid=self.config.invalid_reward)
        self._replace()
        return {proposer: desk.paid}

    def _replace(self) -> None:
        """Fill the slot of a rejected question; its author has no part in what comes."""
        if self.config.rejected == "resample" and self._attempt + 1 < len(self.proposers):
            self._attempt += 1
            self._draw_task()
        elif self.config.rejected == "pool" and self._stored:
            item = self._stored[int(self._rng.integers(len(self._stored)))]
            hops = int(item.get("hops", 0))
            self._asked = Asked(item["question"], item["answer"], hops, -1, None, "stored")
        elif self.config.rejected in ("pool", "dummy"):
            self._asked = Asked(DUMMY, "", 0, -1, None, "dummy")
        else:
            self._over = True

    # ---- Payoffs ---------------------------------------------------------------------------

    def _solved(self, seat: str) -> float:
        """Return what a solver earns that has just finished."""
        desk, asked = self._desks[seat], self._asked
        assert asked is not None  # solvers move after the gate
        said = desk.action.text if desk.action.kind == "answer" else None
        correct = exact_match(said, [asked.answer]) > 0
        desk.paid = solver_payoff(correct, desk.answer_tags)
        return desk.paid

    def _closed(self) -> dict[str, float]:
        """End the episode: pay the author of the question, and leave it for later episodes."""
        asked = self._asked
        assert asked is not None  # as above
        self._over = True
        success = success_share([self._desks[a].paid for a in self.solvers])
        if asked.source != "dummy":
            item = {"question": asked.question, "answer": asked.answer, "hops": asked.hops}
            path = self.world.parse(asked.question)
            item |= {"key": str(path or asked.question.casefold()), "success": success}
            self.turns[-1].notes["keep"] = [item]
        if asked.parent is None:
            return {}
        desk = self._desks[asked.parent]
        desk.paid = proposer_payoff(
            success, self.config.proposer_reward, edge=self.config.edge_reward
        )
        return {asked.parent: desk.paid}

    def outcome(self) -> dict[str, float]:
        """Return what the gate said, how much was searched and how many solvers succeeded."""
        odd = sum("odd" in t.notes for t in self.turns)
        return outcome_of(self._desks, self._verdicts, self._asked if self._over else None, odd)

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        searches = self.config.max_searches
        if seat in self.solvers:
            return words.solver_rules(seat, searches)
        if self._examples is None:  # drawn here, as only the full style shows any
            few = range(3 if self.world.symbolic else 0)
            hops = self.config.hops[0]
            drawn = [self.world.sample_question(self._rng, hops) for _ in few]
            self._examples = tuple(q.text for q in drawn)
        return words.proposer_rules(seat, self._examples, searches)

    def situation(self, seat: str) -> str:
        desk = self._desks[seat]
        if desk.at < 0:
            if seat in self.proposers:
                return words.proposer_task(self.answer, self.hops)
            return words.solver_task(self._asked.question if self._asked else "")
        if desk.action.kind == "search":
            news = words.information(desk.searches[-1].hits)
        else:
            news = words.not_understood(_final(seat), desk.action.odd)
        return f"{news}\n{words.left_over(desk.left, _final(seat))}"

    def terse(self, seat: str) -> str:
        desk = self._desks[seat]
        if seat in self.proposers:
            return words.terse_proposer(
                self.answer, self.hops, desk.left, desk.searches, self.world.symbolic
            )
        question = self._asked.question if self._asked else ""
        return words.terse_solver(question, desk.left, desk.searches, self.world.symbolic)

    def draw(self) -> str:
        asked = self._asked
        verdicts = ", ".join(v.reason for v in self._verdicts) or "not yet"
        lines = [
            f"answer: {self.answer}   hops: {self.hops}   gate: {verdicts}",
            f"question ({asked.source}): {asked.question}" if asked else "question: none yet",
        ]
        for seat, desk in self._desks.items():
            queries = " | ".join(s.query[:60] for s in desk.searches) or "-"
            lines.append(f"{seat}: {queries}   {'done' if desk.done else ''} {desk.paid:g}")
        return "\n".join(lines)


def _final(seat: str) -> str:
    """Return what ends a seat's part."""
    return "question" if seat.startswith("proposer") else "answer"


raw_env, env = turn_based(SearchSelfPlay)
