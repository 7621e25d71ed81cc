"""Search by a team: a router decides when enough is known, a searcher asks, an answerer answers.

Agents        router_0, searcher_0, answerer_0
Observation   chat: rules, the question, what was found so far
Action        router: <verify>yes</verify> (enough is known) or <verify>no</verify>; or [yes], [no]
              searcher: <search>query</search>, or ending in [search: query]
              answerer: <answer>name</answer>, or ending in [answer: name]
Reward        at the end, to all: 1 if the answer matches exactly (case, punctuation and articles
              aside), else 0; component `unread`: -penalty to a seat whose reply cannot be read
Ends          after the answer. Each of `steps` steps starts with the router; after yes the
              answerer ends the play, after no the searcher asks, and what it finds is shown to
              all. In the last step nobody searches any more and the answerer answers in any case
Options       world="fictional" (a new one every play): see coevo.envs.search.worlds; world_seed:
              keeps one world; hops=(1, 2): facts that questions need, drawn evenly; steps=4; k=1
              documents per search; longest=400 characters of each that are shown; penalty=0.01
References    oracle 1; random: the speaker of skill 0, see the registry

The orchestration of Dr. MAS for search. A verdict that cannot be read counts as yes; a query that
cannot be read finds nothing; both are counted, and no reply is illegal. What is found comes to
the agents as messages of the user, so no policy is trained on it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import numpy as np

from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import aec_factory
from coevo.envs.core.parsing import Parse, Status
from coevo.envs.search import orchestration, worlds
from coevo.envs.search import router_words as words
from coevo.envs.search.grading import exact_match
from coevo.envs.search.retrieval import clean_query
from coevo.envs.search.router_words import ANSWERER, ROUTER, SEARCHER, YES, Search
from coevo.envs.search.worlds import Question, World

_OWN_TAG = {ROUTER: "verify", SEARCHER: "search", ANSWERER: "answer"}
SHORT = 60
"""Characters of a document that a terse prompt shows."""

_USUAL: Mapping[str, Any] = {
    "world": "fictional",
    "world_seed": None,
    "hops": [1, 2],
    "steps": 4,
    "k": 1,
    "longest": 400,
    "penalty": 0.01,
}
"""Default arguments, in the form in which episodes record them."""


class SearchRouter(TextEnv):
    """Three seats that are paid alike for one answer.

    Args:
        world: what `coevo.envs.search.worlds.world` takes.
        world_seed: seed of the one world of all plays; None makes a new world every play, where
            worlds have seeds.
        hops: facts that questions need; one number, or several of which each play draws one.
        steps: decisions of the router at most.
        k: documents per search.
        longest: characters of a document that are shown.
        penalty: charged for a reply that cannot be read, as component `unread`.
        **kwargs: those of every environment; the illegal-move policy has nothing to do here.
    """

    env_id = "coevo/search_router-v0"
    payoff_range = (0.0, 1.0)

    def __init__(
        self,
        *,
        world: str | os.PathLike[str] | Mapping[str, Any] = "fictional",
        world_seed: int | None = None,
        hops: int | Sequence[int] = (1, 2),
        steps: int = 4,
        k: int = 1,
        longest: int = 400,
        penalty: float = 0.01,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.world_spec = dict(world) if isinstance(world, Mapping) else os.fspath(world)
        self.world_seed = world_seed
        several = (hops,) if isinstance(hops, int) else tuple(hops)
        self.hops = tuple(_whole("hops", h, 1, 9) for h in several)
        if not self.hops:
            raise ConfigError("hops=() must name one number of facts or more")
        self.steps, self.k = _whole("steps", steps, 1, 100), _whole("k", k, 1, 100)
        self.longest = _whole("longest", longest, 1, 100_000)
        if not (isfinite(penalty) and penalty >= 0):
            raise ConfigError(f"penalty={penalty!r} must be a number, 0 or more")
        self.penalty = float(penalty)
        given: dict[str, Any] = {"world": self.world_spec, "world_seed": world_seed}
        given |= {"hops": list(self.hops), "steps": steps, "k": k, "longest": longest}
        given["penalty"] = self.penalty
        self.options |= {name: v for name, v in given.items() if v != _USUAL[name]}
        self._try()

    def _try(self) -> None:
        """Ask one question of each kind: what cannot be played fails before anything starts."""
        here = self._world_of(self.world_seed or 0)
        rng = np.random.default_rng(0)
        for hops in self.hops:
            here.sample_question(rng, hops)
        here.retriever(self.k)

    def _world_of(self, seed: int) -> World:
        return worlds.world(self.world_spec, seed)

    def _seats(self) -> Sequence[str]:
        return (ROUTER, SEARCHER, ANSWERER)

    def _begin(self, options: Mapping[str, Any]) -> None:
        seed = int(self.np_random.integers(2**31)) if self.world_seed is None else self.world_seed
        self.world = self._world_of(seed)
        hops = self.hops[int(self.np_random.integers(len(self.hops)))]
        self.question: Question = self.world.sample_question(self.np_random, hops)
        self._task_id = f"{self.world.name}-{seed}:{self.question.path or self.question.text}"
        self._mover: str | None = ROUTER
        self._step = 0
        self._searches: list[Search] = []
        self._read_by = dict.fromkeys(self.possible_agents, 0)  # searches that a seat was shown
        self._last = -1  # place of the turn that led to the next one

    def _to_move(self) -> Sequence[str]:
        return () if self._mover is None else (self._mover,)

    def _legal(self, agent: str) -> Sequence[str] | None:
        return None

    def _read(self, agent: str, text: str) -> Parse:
        """Read a verdict, a query or an answer; a reply without one is played as well."""
        return Parse(_content(agent, text) or (YES if agent == ROUTER else ""), Status.LEGAL)

    # ---- One reply -------------------------------------------------------------------------

    def _describe(self, agent: str, turn: Turn) -> None:
        super()._describe(agent, turn)
        turn.round, turn.about = self._step, self._last
        if _content(agent, turn.text) is None:
            turn.notes["unread"] = True
        foreign = orchestration.foreign_tags(turn.text, _OWN_TAG[agent])
        if foreign:
            turn.notes["foreign_tags"] = foreign
        if agent == ROUTER:
            turn.notes["verdict"] = turn.move
            if self.question.support:
                turn.verified = float((turn.move == YES) == self._enough())
        elif agent == ANSWERER:
            turn.answer = turn.move or None
            turn.verified = exact_match(turn.answer, self.question.answers)

    def _play(self, moves: dict[str, str]) -> dict[str, float]:
        [(agent, move)] = moves.items()
        place = len(self.episode.turns) - 1
        turn = self.episode.turns[place]
        self._last = place
        if "unread" in turn.notes and self.penalty:
            turn.pay("unread", {agent: -self.penalty})
        if agent == ANSWERER:
            self._mover = None
            return dict.fromkeys(self.possible_agents, turn.verified or 0.0)
        if agent == SEARCHER:
            self._search(move, turn)
            self._step += 1
            self._mover = ROUTER
        else:
            last = self._step == self.steps - 1
            self._mover = ANSWERER if move == YES or last else SEARCHER
        return {}

    def _search(self, query: str, turn: Turn) -> None:
        """Ask the retriever, and note what it found and what became of the query."""
        asked, done = clean_query(query)
        before = self._supported()
        hits = self.world.retriever(self.k).search([asked])[0] if asked else []
        self._searches.append(Search(asked, tuple(hits)))
        new = self._supported() - before
        turn.notes |= {"query": asked, "found": [h.id for h in hits], "new_support": new}
        if query and done:
            turn.notes["query_was"] = list(done)
        if self.question.support:
            turn.verified = float(new > 0)

    def _supported(self) -> int:
        found = [h.id for search in self._searches for h in search.hits]
        return self.world.supported_hops(self.question, found)

    def _enough(self) -> bool:
        return self._supported() == len(self.question.support)

    def _private_info(self, agent: str) -> dict[str, Any]:
        return {"role": agent.rpartition("_")[0], "step": self._step}

    # ---- Words -----------------------------------------------------------------------------

    def _rules(self, agent: str) -> str:
        return words.rules(agent, self.steps, self.k)

    def _situation(self, agent: str) -> str:
        first = self._read_by[agent]
        self._read_by[agent] = len(self._searches)
        asked = "" if self._chats[agent][1:] else f"Question: {self.question.text}\n"
        new = [
            words.report(i, search, self.longest)
            for i, search in enumerate(self._searches[first:], start=first + 1)
        ]
        told = "\n".join(new) or ("Nothing new was found." if first else "Nothing is known yet.")
        return f"{asked}{told}\nStep {self._step + 1} of {self.steps}: {words.ASKED[agent]}"

    def _terse(self, agent: str) -> str:
        known = words.known(self._searches, min(SHORT, self.longest))
        return f"{self.question.terse.rstrip('?')}? {known} {words.TERSE[agent]}"

    def _draw(self) -> str:
        answers = " or ".join(self.question.answers)
        lines = [f"Question: {self.question.text} (answer: {answers})"]
        for turn in self.episode.turns:
            found = "".join(f" {id}" for id in turn.notes.get("found", ()))
            lines.append(f"{turn.agent}: {turn.move or '(unread)'}" + (found and f" ->{found}"))
        return "\n".join(lines)

    def _outcome(self) -> dict[str, float]:
        turns = self.episode.turns
        roles = {a: [t for t in turns if t.agent == a] for a in self.possible_agents}
        found = {
            f"unread/{a.rpartition('_')[0]}": float(sum("unread" in t.notes for t in said))
            for a, said in roles.items()
        }
        found |= {
            "searches": float(len(self._searches)),
            "hops": float(self.question.hops),
            "supported_hops": float(self._supported()),
            "foreign_tags": float(sum("foreign_tags" in t.notes for t in turns)),
            "odd_queries": float(sum("query_was" in t.notes for t in turns)),
        }
        if roles[ANSWERER]:
            right = roles[ANSWERER][-1].verified or 0.0
            found |= {"accuracy": right, f"accuracy/{self.question.hops}_hop": right}
        verdicts = [t.verified for t in roles[ROUTER] if t.verified is not None]
        if verdicts:
            found["verdict_accuracy"] = sum(verdicts) / len(verdicts)
        return found


def _content(agent: str, text: str) -> str | None:
    """Read what this seat had to say; None where it cannot be read."""
    if agent == ROUTER:
        return orchestration.verdict(text)
    return orchestration.query(text) if agent == SEARCHER else orchestration.answer(text)


def _whole(name: str, number: object, low: int, high: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
        raise ConfigError(f"{name}={number!r} must be a whole number from {low} to {high}")
    return number


raw_env = SearchRouter
env = aec_factory(SearchRouter)
