"""Open questions read from passages: a searcher asks a search engine, an answerer answers.

Agents        searcher_0, answerer_0
Observation   chat: rules, the question; the answerer sees the best passages
Action        searcher: <search>query</search> or [search: query]
              answerer: <answer>words</answer> or [answer: words]
Reward        at the end, to both: 1 if the answer matches exactly (case, punctuation and articles
              aside), else 0; component `f1`: `f1` times the share of words that match (token F1);
              component `unread`: -penalty to a seat whose reply, asked again, cannot be read
Ends          after the answer
Options       world="fictional": see coevo.envs.search.worlds; world_seed: keeps one world; hops=2;
              asks="searcher": who writes the query; "question" searches for the question itself
              (a one-shot reader) and "none" for nothing (closed book), where the answerer is alone;
              searches=2; k=1 passages per search; longest=400 characters of each; f1=0;
              penalty=0.01; judge="off": with "plain" or "asymmetric" the searcher says of every
              search whether it helps, [yes] or [no]; on_reject="drop" hides what it rejects,
              "keep_labelled" marks it
References    oracle 1; random: the expert of skill 0, see the registry

Of a longer document the sentences are shown that share most words with query and question. With a
corpus of one's own and one search every prompt stays under about 250 tokens, a reply under 16:
searches=1, world={name: corpus, path: FOLDER, split: train}.

The judge action is ReSeek's (arXiv 2510.00568), here of the seat that searched. Right is yes if a
document supports the next hop. Its two tables pay .3 and -.3, or .3, -.6 for what is accepted and
useless and -.3 for what is rejected and useful; the mean over the searches comes at the end, as it
would tell what was useful. Where the documents of a question are unknown, it pays nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Status
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask, Stage
from coevo.envs.core.quoting import quote, quote_line
from coevo.envs.core.task import Replies, mostly
from coevo.envs.questions.answers import exact_match, token_f1
from coevo.envs.search import orchestration
from coevo.envs.search.experts import (
    answer_from,
    ask,
    conclude,
    read_facts,
    search_prose,
    stated,
)
from coevo.envs.search.fictional import Fictional
from coevo.envs.search.retrieval import Hit, clean_query, mentions
from coevo.envs.search.snippets import Search, windows
from coevo.envs.search.world import WorldQuestion
from coevo.envs.search.worlds import WorldConfig
from coevo.envs.search.worlds import world as make_world

SEARCHER, ANSWERER, JUDGES = "searcher_0", "answerer_0", "judge"
_RIGHT = {(True, True): 0.3, (False, False): 0.3}
JUDGE = {
    "plain": {**_RIGHT, (True, False): -0.3, (False, True): -0.3},
    "asymmetric": {**_RIGHT, (True, False): -0.6, (False, True): -0.3},
}
"""Name of a table -> (was accepted, was useful) -> what the judgement earns."""


def _several(given: Any) -> Any:
    return (given,) if isinstance(given, int) else given


@config
class SearchReaderConfig:
    world: WorldConfig = Fictional()
    """Configuration of a world, or its bare name; see worlds.py."""
    world_seed: Annotated[int, whole(0)] | None = None
    """Of the one world of all episodes; None makes a new world every episode."""
    hops: Annotated[
        tuple[Annotated[int, whole(1, 9)], ...], BeforeValidator(_several), Field(min_length=1)
    ] = (2,)
    """Facts that a question needs; of several numbers each episode draws one."""
    asks: Literal["searcher", "question", "none"] = "searcher"
    """Who writes the queries; `question` and `none` have the answerer alone."""
    searches: Annotated[int, whole(1, 9)] = 2
    """Queries of the searcher, one after the other."""
    k: Annotated[int, whole(1, 100)] = 1
    """Passages per search."""
    longest: Annotated[int, whole(1, 100_000)] = 400
    """Characters of a passage that are shown."""
    f1: Annotated[float, real(0)] = 0.0
    """Weight of the component `f1`."""
    penalty: Annotated[float, real(0)] = 0.01
    """Of a reply that cannot be read, as component `unread`."""
    judge: Literal["off", "plain", "asymmetric"] = "off"
    """Whether the searcher judges every search, and by which table it is paid."""
    on_reject: Literal["drop", "keep_labelled"] = "drop"
    """What becomes of passages that are rejected."""


class SearchReader(ProtocolTask[SearchReaderConfig]):
    """One or more queries, then an answer from the passages that they found."""

    env_id = "coevo/search_reader-v0"
    config_class = SearchReaderConfig
    payoff_range = (0.0, 1.0)
    components = ("f1", "judge", "unread")

    def __init__(self, config: SearchReaderConfig) -> None:
        super().__init__(config)
        self.seats = (SEARCHER, ANSWERER) if config.asks == "searcher" else (ANSWERER,)
        here, rng = make_world(config.world, config.world_seed or 0), np.random.default_rng(0)
        for hops in config.hops:  # what cannot be asked fails before anything starts
            here.sample_question(rng, hops)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        seed = self.config.world_seed
        seed = int(rng.integers(2**31)) if seed is None else seed
        self.world = make_world(self.config.world, seed)
        hops = self.config.hops[int(rng.integers(len(self.config.hops)))]
        self.question: WorldQuestion = self.world.sample_question(rng, hops)
        self.task_id = f"{self.world.name}-{seed}:{self.question.path or self.question.text}"
        self.found: list[Search] = []
        self.judged: list[tuple[bool, bool]] = []
        self.useful = False
        if self.config.asks == "question":
            self._search(self.question.text)
        for _ in range(self.config.searches if self.config.asks == "searcher" else 0):
            query = yield from self._asked(SEARCHER)
            self._search(query)
            self.note("found", [hit.doc_id for hit in self.found[-1].hits])
            if self.config.judge != "off":
                yield from self._judged()
        said = yield from self._asked(ANSWERER)
        yield Pay(dict.fromkeys(self.seats, exact_match(said, self.question.answers)))
        if self.judged:
            table = JUDGE[self.config.judge]
            yield Pay({SEARCHER: fmean(table[pair] for pair in self.judged)}, "judge")
        if self.config.f1:
            shared = self.config.f1 * token_f1(said, self.question.answers)
            yield Pay(dict.fromkeys(self.seats, shared), "f1")

    def _judged(self) -> Stage[None]:
        """Ask the searcher whether its last search helps; hide or mark what it rejects."""
        last, before = self.found[-1], self._supported(self.found[:-1])
        self.useful = self._supported(self.found) > before
        verdict = yield One(SEARCHER, phase=JUDGES, moves=("yes", "no"))
        if self.question.support:
            self.judged.append((verdict == "yes", self.useful))
            self.turns[-1].verified = float((verdict == "yes") == self.useful)
        if verdict == "no":
            mark = self.config.on_reject == "keep_labelled"
            marked = tuple(h._replace(title=f"{h.title} (rejected)") for h in last.hits)
            self.found[-1] = Search(last.query, marked if mark else ())

    def _verdict(self, seat: str, skill: float) -> Replies:
        return mostly(("yes", "no"), {"yes" if self.useful else "no": 1.0}, skill)

    def _supported(self, searches: Sequence[Search]) -> int:
        found = [hit.doc_id for search in searches for hit in search.hits]
        return self.world.supported_hops(self.question, found)

    def _asked(self, seat: str) -> Stage[str]:
        """Ask a seat, and charge for a reply that cannot be read; return its move."""
        move = yield One(seat, phase=seat, read=_READ[seat], form=_TASKS[seat], otherwise="")
        if self.turns[-1].status is not Status.LEGAL and self.config.penalty:
            yield Pay({seat: -self.config.penalty}, "unread")
        return str(move)

    def _search(self, query: str) -> None:
        """Look a query up, and keep of every document what is worth reading."""
        query = clean_query(query)[0]
        hits = self.world.retriever(self.config.k).search([query])[0] if query else []
        shown = windows(f"{query} {self.question.text}", hits, self.config.longest)
        self.found.append(Search(query, tuple(shown)))

    @property
    def hits(self) -> list[Hit]:
        """Passages that were found, each once, as they are shown."""
        return list({hit.text: hit for search in self.found for hit in search.hits}.values())

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.round = len(self.turns) - 1
        if foreign := orchestration.foreign_tags(turn.text, _OWN_TAG[seat]):
            turn.notes["foreign_tags"] = foreign
        if seat == ANSWERER:
            turn.answer = turn.move or None
            turn.verified = exact_match(turn.answer, self.question.answers)

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Replace the answer of the question."""
        self.question = replace(self.question, answers=(f"X{rng.integers(10**6)}",), support=())
        return True

    def expert(self, seat: str, skill: float) -> Replies:
        """Search for the words of the question, and answer what a passage that was found says."""
        if self.phase == JUDGES:
            return self._verdict(seat, skill)
        path = self.question.path
        if path is not None:
            facts = read_facts(hit.text for hit in self.hits)
            act = ask if seat == SEARCHER else conclude
            return act(path.start, path.relations, facts, skill)
        asked, texts = self.question, [hit.text for hit in self.hits]
        if seat == SEARCHER:
            return search_prose(asked.text, len(self.found), skill)
        return answer_from(asked.text, texts, stated(asked.answers, texts), skill)

    # ---- Prompts -------------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        how = "Answer a question in a few words."
        if self.config.asks == "searcher":
            how = (
                f"{SEARCHER} and {ANSWERER} answer a question together: {SEARCHER} sends a query "
                f"to a search engine, and {ANSWERER} answers from the passages that it finds."
            )
        elif self.config.asks == "question":
            how = "Answer a question from the passages that a search engine found for it."
        task = _TASKS[seat]
        if seat == SEARCHER and self.config.judge != "off":
            task += " After each search say whether what it found helps to answer the question."
        return f"{how} A right answer earns 1, a wrong one 0.\nYou are {seat}. {task}"

    def situation(self, seat: str) -> str:
        asked = self.question.in_full
        if self.phase == JUDGES:
            asked += "\nDoes this search help? Legal moves: [yes], [no]"
        if not self.found:
            return asked
        shown = [f"Title: {quote_line(h.title, bare=True)}\n{quote(h.text)}" for h in self.hits]
        return "\n".join([*(shown or ["Nothing was found."]), asked])

    def terse(self, seat: str) -> str:
        asked = f"Question: {self.question.in_short}"
        texts = [h.text if self.world.symbolic else quote_line(h.text, 10**6) for h in self.hits]
        told = f"{' '.join(texts) or 'Nothing found.'} " if self.found else ""
        return f"{told}{asked} {_TERSE[self.phase]}"

    def draw(self) -> str:
        lines = [f"Question: {self.question.text} (answer: {' or '.join(self.question.answers)})"]
        for search in self.found:
            ids = "".join(f" {hit.doc_id}" for hit in search.hits)
            lines.append(f"search: {search.query or '(no query)'} ->{ids or ' nothing'}")
        lines += [f"answer: {t.move or '(unread)'}" for t in self.turns if t.agent == ANSWERER]
        return "\n".join(lines)

    def outcome(self) -> dict[str, float]:
        """Return how well the question was answered, and whether the answer had been found."""
        found = [hit.doc_id for search in self.found for hit in search.hits]
        answers = self.question.answers
        readable = any(mentions(h.text, a) for h in self.hits for a in answers)
        table = {
            "searches": float(len(self.found)),
            "hops": float(self.question.hops),
            "answer_shown": float(readable),
            "foreign_tags": float(sum("foreign_tags" in t.notes for t in self.turns)),
        }
        if self.judged:
            table["judged_right"] = fmean(float(said == useful) for said, useful in self.judged)
        if self.question.support:
            table["supported_hops"] = float(self.world.supported_hops(self.question, found))
        said = [t for t in self.turns if t.agent == ANSWERER]
        if said:
            match, shared = said[-1].verified or 0.0, token_f1(said[-1].answer, answers)
            table |= {"exact_match": match, "f1": shared}
            table |= {f"exact_match/{self.question.hops}_hop": match}
        return table


_OWN_TAG = {SEARCHER: "search", ANSWERER: "answer"}
_READ = {SEARCHER: orchestration.query, ANSWERER: orchestration.answer}
_TASKS = {
    SEARCHER: "End your reply with your query in a search tag: <search>a few words</search>.",
    ANSWERER: "End your reply with your answer in an answer tag, without further words: "
    "<answer>a few words</answer>.",
}
_TERSE = {
    JUDGES: "Does the last search help? Answer [yes] or [no]",
    SEARCHER: "What do you search for? Answer [search: words]",
    ANSWERER: "Answer [answer: words]",
}


raw_env, env = turn_based(SearchReader)
