"""Search by a team: a router decides when enough is known, a searcher asks, an answerer answers.

Agents        router_0, searcher_0, answerer_0
Observation   chat: rules, the question, what was found so far
Action        router: <verify>yes</verify> (enough is known) or <verify>no</verify>; or [yes], [no]
              searcher: <search>query</search>, or ending in [search: query]
              answerer: <answer>name</answer>, or ending in [answer: name]
Reward        at the end, to all: 1 if the answer matches exactly (case, punctuation and articles
              aside), else 0; component `unread`: -penalty to a seat that was asked again and
              was not read
Ends          after the answer. Each of `steps` steps starts with the router; after yes the
              answerer ends the episode, after no the searcher asks, and what it finds is shown to
              all. In the last step no seat searches any more and the answerer answers in any case
Options       world="fictional" (a new one every episode): see coevo.envs.search.worlds; world_seed:
              keeps one world; hops=(1, 2): facts that questions need, drawn evenly; steps=4; k=1
              documents per search; longest=400 characters of each that are shown; penalty=0.01
References    oracle 1; random: the expert of skill 0, see the registry

The orchestration of Dr. MAS for search. What cannot be read is asked for again; then a verdict
counts as no, as silence approves nothing, a query finds nothing, and an answer is wrong. No reply
ends the episode. What is found comes to the agents as messages of the user, so no policy is
trained on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Status
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask, Stage
from coevo.envs.core.task import Replies, role_of
from coevo.envs.questions.answers import exact_match
from coevo.envs.search import orchestration
from coevo.envs.search import router_words as words
from coevo.envs.search.experts import (
    answer_from,
    ask,
    conclude,
    followed,
    read_facts,
    route,
    search_prose,
    stated,
)
from coevo.envs.search.fictional import Fictional
from coevo.envs.search.retrieval import clean_query
from coevo.envs.search.router_words import ANSWERER, NO, ROUTER, SEARCHER, YES
from coevo.envs.search.snippets import Search, windows
from coevo.envs.search.world import World, WorldQuestion
from coevo.envs.search.worlds import WorldConfig
from coevo.envs.search.worlds import world as make_world

_OWN_TAG = {ROUTER: "verify", SEARCHER: "search", ANSWERER: "answer"}
_READ = {
    ROUTER: orchestration.verdict,
    SEARCHER: orchestration.query,
    ANSWERER: orchestration.answer,
}
SHORT = 60
"""Characters of a document made here that a terse prompt shows."""


def _several(given: Any) -> Any:
    return (given,) if isinstance(given, int) else given


@config
class SearchRouterConfig:
    world: WorldConfig = Fictional()
    """Configuration of a world, or its bare name; see worlds.py."""
    world_seed: Annotated[int, whole(0)] | None = None
    """Seed of the one world of all episodes; None makes a new world every episode, where worlds
    have seeds."""
    hops: Annotated[
        tuple[Annotated[int, whole(1, 9)], ...], BeforeValidator(_several), Field(min_length=1)
    ] = (1, 2)
    """Facts that questions need; one number, or several of which each episode draws one."""
    steps: Annotated[int, whole(1, 100)] = 4
    """Decisions of the router at most."""
    k: Annotated[int, whole(1, 100)] = 1
    """Documents per search."""
    longest: Annotated[int, whole(1, 100_000)] = 400
    """Characters of a document that are shown."""
    penalty: Annotated[float, real(0)] = 0.01
    """Of a reply that cannot be read, as component `unread`."""


class SearchRouter(ProtocolTask[SearchRouterConfig]):
    """Three seats that are paid alike for one answer."""

    env_id = "coevo/search_router-v0"
    config_class = SearchRouterConfig
    payoff_range = (0.0, 1.0)
    components = ("unread",)
    seats = (ROUTER, SEARCHER, ANSWERER)

    def __init__(self, config: SearchRouterConfig) -> None:
        super().__init__(config)
        here, rng = self.world_of(config.world_seed or 0), np.random.default_rng(0)
        for hops in config.hops:  # what cannot be asked fails before anything starts
            here.sample_question(rng, hops)

    def world_of(self, seed: int) -> World:
        """Return the world of a seed."""
        return make_world(self.config.world, seed)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        fixed = self.config.world_seed
        seed = int(rng.integers(2**31)) if fixed is None else fixed
        self.world = self.world_of(seed)
        hops = self.config.hops[int(rng.integers(len(self.config.hops)))]
        self.question: WorldQuestion = self.world.sample_question(rng, hops)
        self.task_id = f"{self.world.name}-{seed}:{self.question.path or self.question.text}"
        self._searches: list[Search] = []
        self._latest = -1  # place of the last reply that was accepted
        self._shown = dict.fromkeys(self.seats, -1)  # searches at a seat's last turn; -1: none yet
        for step in range(self.config.steps):
            self._step = step
            verdict = yield from self._asked(ROUTER)
            if verdict == YES or step == self.config.steps - 1:
                break
            query = yield from self._asked(SEARCHER)
            self._search(query, self.turns[-1])
        yield from self._asked(ANSWERER)
        yield Pay(dict.fromkeys(self.seats, self.turns[-1].verified or 0.0))

    def _asked(self, seat: str) -> Stage[str]:
        """Ask a seat, and charge for a reply that cannot be read; return its move."""
        otherwise = NO if seat == ROUTER else ""
        move = yield One(seat, read=_READ[seat], form=words.TASKS[seat], otherwise=otherwise)
        self._shown[seat], self._latest = len(self._searches), len(self.turns) - 1
        if self.turns[-1].status is not Status.LEGAL and self.config.penalty:
            yield Pay({seat: -self.config.penalty}, "unread")
        return str(move)

    # ---- One reply -------------------------------------------------------------------------

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.round, turn.about = self._step, self._latest
        foreign = orchestration.foreign_tags(turn.text, _OWN_TAG[seat])
        if foreign:
            turn.notes["foreign_tags"] = foreign
        if seat == ROUTER:
            turn.notes["verdict"] = turn.move
            if self.question.support:
                right = (turn.move == YES) == self._enough()
                turn.verified = float(right and turn.status is Status.LEGAL)
        elif seat == ANSWERER:
            turn.answer = turn.move or None
            turn.verified = exact_match(turn.answer, self.question.answers)

    def _search(self, query: str, turn: Turn) -> None:
        """Ask the retriever, and note what it found and what became of the query."""
        asked, done = clean_query(query)
        before = self._supported()
        hits = self.world.retriever(self.config.k).search([asked])[0] if asked else []
        if not self.world.symbolic:
            hits = windows(f"{asked} {self.question.text}", hits, self.config.longest)
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

    def info(self, seat: str) -> dict[str, Any]:
        return {"role": role_of(seat), "step": self._step}

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Replace the answer of the question."""
        self.question = replace(self.question, answers=(f"X{rng.integers(10**6)}",), support=())
        return True

    def expert(self, seat: str, skill: float) -> Replies:
        """Route, ask or answer as the facts, or the passages, tell that were found."""
        path = self.question.path
        hits = [hit for search in self._searches for hit in search.hits]
        if path is None:
            return self._among_people(seat, [hit.text for hit in hits], skill)
        facts = read_facts(dict.fromkeys(hit.text[: self.config.longest] for hit in hits))
        if seat == ROUTER:
            return route(not followed(path.start, path.relations, facts).following, skill)
        act = ask if seat == SEARCHER else conclude
        return act(path.start, path.relations, facts, skill)

    def _among_people(self, seat: str, texts: Sequence[str], skill: float) -> Replies:
        asked = self.question
        right = stated(asked.answers, texts)
        if seat == ROUTER:
            return route(right is not None, skill)
        if seat == SEARCHER:
            return search_prose(asked.text, len(self._searches), skill)
        return answer_from(asked.text, texts, right, skill)

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        return words.rules(seat, self.config.steps, self.config.k)

    def situation(self, seat: str) -> str:
        first = max(self._shown[seat], 0)
        asked = "" if self._shown[seat] >= 0 else f"{self.question.in_full}\n"
        new = [
            words.report(i, search, self.config.longest)
            for i, search in enumerate(self._searches[first:], start=first + 1)
        ]
        told = "\n".join(new) or ("Nothing new was found." if first else "Nothing is known yet.")
        step = f"Step {self._step + 1} of {self.config.steps}"
        return f"{asked}{told}\n{step}: {words.ASKED[seat]}"

    def terse(self, seat: str) -> str:
        ours, longest = self.world.symbolic, self.config.longest
        known = words.known(self._searches, min(SHORT, longest) if ours else longest, ours)
        return f"{self.question.in_short} {known} {words.TERSE[seat]}"

    def draw(self) -> str:
        answers = " or ".join(self.question.answers)
        lines = [f"Question: {self.question.text} (answer: {answers})"]
        for turn in self.turns:
            found = "".join(f" {id}" for id in turn.notes.get("found", ()))
            lines.append(f"{turn.agent}: {turn.move or '(unread)'}" + (found and f" ->{found}"))
        return "\n".join(lines)

    def outcome(self) -> dict[str, float]:
        """Return how often answer and verdicts were right, and what was found."""
        turns = self.turns
        roles = {a: [t for t in turns if t.agent == a] for a in self.seats}
        found = {
            f"unread/{role_of(a)}": float(sum(t.status is not Status.LEGAL for t in said))
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
        made = [t for t in roles[ROUTER] if t.move is not None]
        verdicts = [t.verified for t in made if t.verified is not None]
        if verdicts:
            found["verdict_accuracy"] = sum(verdicts) / len(verdicts)
        return found


raw_env, env = turn_based(SearchRouter)
