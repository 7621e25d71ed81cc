r"""Tagged single: one policy plays a whole team in tags, and searches until it can answer.

Agents        solver_0
Observation   chat: rules, the question, and what each search found
Action        segments <think>, <plan>, <search>, <double_check>, <answer>, as many as one likes; a
              search ends the reply, and what it finds comes back as the next message
Reward        at the end 1 if the answer matches exactly (case, punctuation and articles aside),
              else 0; component `illegal`: -penalty for each segment in a wrong place
Ends          after an answer, or after `steps` replies
Options       world="fictional" (a new one every episode): see coevo.envs.search.worlds; world_seed:
              keeps one world; hops=(1, 2): facts that questions need, drawn evenly; steps=6; k=1
              documents per search; longest=400 characters of each that are shown; penalty=0.1;
              replies=free (listed: a list to choose from, as tables need)
References    oracle 1; random: the expert of skill 0, see the registry

The single policy with many roles of Chain-of-Agents. An answer may follow a <double_check> of 3 or
4 only, a mark of 1 to 4 that the policy gives itself. A segment that may not stand where it does
has no effect. What is found is no reply, so no policy is trained on it.
`coevo.envs.search.team_tags` turns episodes of a team, `coevo/search_router-v0`, into episodes of
this seat, for `sft` to imitate (`cycle.demonstrate.recorded`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np

from coevo.envs.core.config import config, real, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Parse, heard, missing
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.task import Replies
from coevo.envs.questions.answers import exact_match
from coevo.envs.search import router_words as words
from coevo.envs.search.actions import tidy
from coevo.envs.search.experts import (
    answer_from,
    ask,
    conclude,
    followed,
    names_of,
    read_facts,
    search_prose,
    stated,
)
from coevo.envs.search.graph import Fact
from coevo.envs.search.retrieval import clean_query
from coevo.envs.search.router import SHORT, SearchRouterConfig
from coevo.envs.search.snippets import Search, windows
from coevo.envs.search.world import World, WorldQuestion
from coevo.envs.search.worlds import world as make_world

SOLVER = "solver_0"
FOLLOWS = {
    "start": ("think", "plan", "search"),
    "think": ("plan", "search", "double_check"),
    "plan": ("think", "search", "double_check"),
    "search": ("think", "plan", "search", "double_check"),
    "double_check": ("think", "plan", "search", "answer"),
}
"""Which segment may follow which."""
TAGS = tuple(dict.fromkeys(tag for tags in FOLLOWS.values() for tag in tags))
SURE = ("3", "4")
"""Marks of a double check after which an answer may stand."""
LONGEST, MOST = 8000, 50
"""Characters of a reply that are read, and segments."""

_SEGMENT = re.compile(rf"<({'|'.join(TAGS)})>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
FORM = (
    "Reply in tagged segments, with <search>words</search> or "
    "<double_check>4</double_check><answer>name</answer> at the end."
)
_MARK = re.compile(r"\s*([1-4])\b")


def segments(text: str) -> list[tuple[str, str]]:
    """Return the tagged segments of a reply, up to its first search.

    >>> segments("<think>Who?</think> <search>boss Kimo</search><answer>Suna</answer>")
    [('think', 'Who?'), ('search', 'boss Kimo')]
    """
    found = []
    for match in list(_SEGMENT.finditer(text[:LONGEST]))[:MOST]:
        found.append((match[1].lower(), match[2]))
        if found[-1][0] == "search":
            break
    return found


def _heard(text: str) -> str | Parse:
    """Return what a reply says, if it has a tagged segment."""
    said = heard(text).strip()
    if not segments(text):
        return missing(text, "tagged segment")
    return said[1:-1] if said.startswith("[") and said.endswith("]") else said


@config
class TaggedSingleConfig(SearchRouterConfig):
    steps: Annotated[int, whole(1, 100)] = 6
    """Replies at most."""
    penalty: Annotated[float, real(0)] = 0.1
    """Of a segment that may not follow the one before, as component `illegal`."""
    replies: Literal["free", "listed"] = "free"
    """Whether any reply may be written, or one of a list is chosen, as tables need: searches and
    answers of the names at hand, with a segment before them and without."""

    def __post_init__(self) -> None:
        if self.replies == "listed" and self.world.name == "corpus":
            raise ConfigError(
                "replies='listed' needs a world of facts, and world='corpus' has none"
            )


class TaggedSingle(ProtocolTask[TaggedSingleConfig]):
    """One seat whose replies are sequences of tagged segments."""

    env_id = "coevo/tagged_single-v0"
    config_class = TaggedSingleConfig
    payoff_range = (0.0, 1.0)
    seats = (SOLVER,)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        fixed = self.config.world_seed
        seed = int(rng.integers(2**31)) if fixed is None else fixed
        self.world: World = make_world(self.config.world, seed)
        hops = self.config.hops[int(rng.integers(len(self.config.hops)))]
        self.question: WorldQuestion = self.world.sample_question(rng, hops)
        self.task_id = f"{self.world.name}-{seed}:{self.question.path or self.question.text}"
        self._searches: list[Search] = []
        self._found: Search | None = None
        self.last, self.sure, self.illegal, self.given = "start", False, 0, ""
        for step in range(self.config.steps):
            self.step = step
            moves = self._listed() if self.config.replies == "listed" else None
            yield One(SOLVER, moves=moves, read=_heard, form=FORM, otherwise="")
            self._found, wrong = None, 0
            for tag, text in segments(self.turns[-1].text):
                wrong += not self._taken(tag, text)
            self.illegal += wrong
            self.note("illegal", wrong)
            if wrong and self.config.penalty:
                yield Pay({SOLVER: -self.config.penalty * wrong}, "illegal")
            if self.given:
                break
        self.turns[-1].answer = self.given or None
        self.turns[-1].verified = exact_match(self.given, self.question.answers)
        yield Pay({SOLVER: self.turns[-1].verified})

    def _taken(self, tag: str, text: str) -> bool:
        """Carry out one segment; return whether it may stand here."""
        if tag not in FOLLOWS.get(self.last, ()) or (tag == "answer" and not self.sure):
            return False
        self.last = tag
        if tag == "double_check":
            mark = _MARK.match(text)
            self.sure = mark is not None and mark[1] in SURE
        elif tag == "answer":
            self.given = tidy(text)
        elif tag == "search":
            asked = clean_query(text)[0]
            hits = self.world.retriever(self.config.k).search([asked])[0] if asked else []
            if not self.world.symbolic:
                hits = windows(f"{asked} {self.question.text}", hits, self.config.longest)
            self._found = Search(asked, tuple(hits))
            self._searches.append(self._found)
        return True

    def _facts(self) -> list[Fact]:
        """Return the facts that were shown."""
        hits = [hit for search in self._searches for hit in search.hits]
        return read_facts(dict.fromkeys(hit.text[: self.config.longest] for hit in hits))

    def _listed(self) -> list[str]:
        """Return replies to choose from; some have segments in wrong places."""
        path = self.question.path
        assert path is not None  # the configuration was checked
        names = names_of(path.start, self._facts())
        queries = [f"{r} {name}" for r in dict.fromkeys(path.relations) for name in names]
        searches = [f"<search>{query}</search>" for query in queries]
        answers = [f"<answer>{name}</answer>" for name in names]
        return [
            *(f"<plan>search</plan>{search}" for search in searches),
            *searches,
            *(f"<plan>answer</plan><double_check>4</double_check>{said}" for said in answers),
            *(f"<double_check>4</double_check>{said}" for said in answers),
            *answers,
        ]

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        turn.round = self.step

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Replace the answer of the question."""
        self.question = replace(self.question, answers=(f"X{rng.integers(10**6)}",), support=())
        return True

    def expert(self, seat: str, skill: float) -> Replies:
        """Search for the next fact, and answer when all are known."""
        enough, asking, answering = self._known(skill)
        share = skill * enough + (1 - skill) * 0.5
        if self.step == self.config.steps - 1:
            share = 1.0
        both = {
            "search": (1 - share, asking),
            "answer": (share, answering),
        }
        odds: dict[str, float] = {}
        for tag, (weight, replies) in both.items():
            check = "<double_check>4</double_check>" if tag == "answer" else ""
            start = "<plan>answer</plan>" if check and self.last == "start" else ""
            for text, p in zip(replies.texts, replies.probabilities, strict=True):
                said = text.strip("[]").partition(": ")[2]
                odds[f"{start}{check}<{tag}>{said}</{tag}>"] = weight * float(p)
        kept = {text: p for text, p in odds.items() if p > 0}
        return Replies(tuple(kept), np.array(list(kept.values())))

    def _known(self, skill: float) -> tuple[bool, Replies, Replies]:
        """Return whether enough is known, what an expert asks for next, and what it answers."""
        path, facts = self.question.path, self._facts()
        if path is None:
            asked = self.question
            texts = [hit.text for search in self._searches for hit in search.hits]
            right = stated(asked.answers, texts)
            asking = search_prose(asked.text, len(self._searches), skill)
            return right is not None, asking, answer_from(asked.text, texts, right, skill)
        at = (path.start, path.relations, facts)
        return not followed(*at).following, ask(*at, skill), conclude(*at, skill)

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        after = "; ".join(
            f"after <{tag}> {' or '.join(f'<{t}>' for t in tags)}"
            for tag, tags in FOLLOWS.items()
            if tag != "start"
        )
        first = " or ".join(f"<{tag}>" for tag in FOLLOWS["start"])
        return (
            "You answer a question and play every role of a team yourself, in tagged segments: "
            "<think>thoughts</think>, <plan>what to do</plan>, <search>a few words</search>, "
            "<double_check>how sure you are, 1 to 4</double_check>, <answer>the name "
            f"alone</answer>. You begin with {first}; {after}. <answer> needs a <double_check> of "
            "3 or 4 before it. A search ends your reply, and you are shown what it finds. You have "
            f"{self.config.steps} replies, and earn 1 if the answer is right; a segment in a wrong "
            f"place costs {self.config.penalty:g}.\nYou are {seat}."
        )

    def situation(self, seat: str) -> str:
        parts = [] if self.step else [self.question.in_full]
        if self._found is not None:
            number = len(self._searches)
            parts.append(words.report(number, self._found, self.config.longest))
        elif self.step:
            parts.append("Your reply had neither a search nor an answer that may stand there.")
        parts.append(f"Reply {self.step + 1} of {self.config.steps}.")
        return "\n".join(parts)

    def terse(self, seat: str) -> str:
        ours, longest = self.world.symbolic, self.config.longest
        known = words.known(self._searches, min(SHORT, longest) if ours else longest, ours)
        return (
            f"{self.question.in_short} {known} Reply <search>words</search>, or "
            "<double_check>4</double_check><answer>name</answer>."
        )

    def draw(self) -> str:
        answers = " or ".join(self.question.answers)
        lines = [f"Question: {self.question.text} (answer: {answers})"]
        for turn in self.turns:
            tags = " ".join(tag for tag, _ in segments(turn.text))
            lines.append(f"{turn.agent}: {tags or '(unread)'}")
        return "\n".join(lines)

    def outcome(self) -> dict[str, float]:
        """Return whether the answer was right, and how often segments and searches came."""
        counted = sum(len(segments(turn.text)) for turn in self.turns)
        return {
            "accuracy": exact_match(self.given, self.question.answers),
            "illegal": float(self.illegal),
            "illegal_share": self.illegal / counted if counted else 0.0,
            "searches": float(len(self._searches)),
            "hops": float(self.question.hops),
        }


raw_env, env = turn_based(TaggedSingle)
