r"""Memory pipeline: one seat picks what is worth keeping, one writes a profile, one answers.

Agents        extractor_0, profiler_0, answerer_0, in this order
Observation   chat: rules, and: the extractor the numbered sentences of a user; the profiler those
              that were picked; the answerer these, the profile and a question
Action        extractor: numbers of sentences as the final answer, such as [1, 4], `budget` at most
              profiler: lines such as `pet = owl`, as many as there are attributes
              answerer: `evidence: 4` and the final answer, such as [owl]
Reward        at the end, to all: 1 if the answer is right, else 0; component `local`, 0..1, to each
              for its own work: see below
Ends          after the answer
Options       attributes=4 (1 to 6); changes=1 facts that are overwritten later; fillers=4 sentences
              without a fact; budget=6 sentences that the extractor may pick
References    random 0.25 (one of four values), oracle 1

The pipeline of CoMAM (arXiv 2603.12631), with exact evidence in the place of a judge. Local
rewards: the extractor's, .8 recall + .2 IoU of the sentences that state what is true at the end;
the profiler's, the share of its lines that are true times the share of attributes that it covers;
the answerer's, .2 recall + .8 IoU of the sentence that its answer needs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from coevo.envs.core.config import config, whole
from coevo.envs.core.episode import Turn
from coevo.envs.core.factories import turn_based
from coevo.envs.core.parsing import Parse, answer, heard, missing
from coevo.envs.core.protocol import One, Pay, Protocol, ProtocolTask
from coevo.envs.core.quoting import quote, quote_line
from coevo.envs.core.task import Replies
from coevo.envs.discussion.question_env import even, mixed, shown
from coevo.envs.questions import agree, final_answer

EXTRACTOR, PROFILER, ANSWERER = "extractor_0", "profiler_0", "answerer_0"
VALUES = {
    "pet": ("owl", "fox", "hen", "cat"),
    "town": ("Suna", "Kelo", "Tiva", "Mora"),
    "job": ("baker", "pilot", "tailor", "nurse"),
    "drink": ("tea", "milk", "cider", "cocoa"),
    "sport": ("golf", "judo", "rugby", "chess"),
    "colour": ("red", "blue", "green", "grey"),
}
SAID = ("My {name} is {value}.", "Now my {name} is {value}, no longer what it was.")
FILLERS = (
    "It rained all day.",
    "I slept badly.",
    "The bus was late again.",
    "We had a long talk about nothing.",
    "My neighbour is loud.",
    "I read half a book.",
    "The shop was closed.",
    "I could not find my keys.",
)
_LINE = re.compile(r"^\W{0,4}(\w{1,20})\s*[=:]\s*(\w{1,20})\W{0,4}$", re.MULTILINE)
_EVIDENCE = re.compile(r"evidence\W{1,4}((?:\d{1,3}[\s,]{0,3}(?:and )?){1,20})", re.IGNORECASE)

_FORMS = {
    EXTRACTOR: "Name sentences by their numbers, with commas between them, in square brackets.",
    PROFILER: "Write one line for each fact, such as: age = 30.",
    ANSWERER: "End your reply with the answer, one word, in square brackets.",
}


@config
class MemoryPipelineConfig:
    attributes: Annotated[int, whole(1, 6)] = 4
    """Facts that are true of the user."""
    changes: Annotated[int, whole(0, 6)] = 1
    """Facts that were something else before; at most as many as attributes."""
    fillers: Annotated[int, whole(0, 8)] = 4
    """Sentences without a fact."""
    budget: Annotated[int, whole(1, 20)] = 6
    """Sentences that the extractor may pick; further ones are dropped."""


class Sentence(NamedTuple):
    """One sentence of the user; `name` is empty where it states no fact."""

    text: str
    name: str = ""
    value: str = ""


class MemoryPipeline(ProtocolTask[MemoryPipelineConfig]):
    """Three seats in a row, each of which sees what the one before has kept."""

    env_id = "coevo/memory_pipeline-v0"
    config_class = MemoryPipelineConfig
    payoff_range = (0.0, 1.0)
    components = ("local",)
    seats = (EXTRACTOR, PROFILER, ANSWERER)

    def protocol(self, rng: np.random.Generator, options: Mapping[str, Any]) -> Protocol:
        self.names = tuple(VALUES)[: self.config.attributes]
        self.dialogue = _dialogue(self.names, self.config, rng)
        self.asked_of = self.names[int(rng.integers(len(self.names)))]
        self.picked: list[int] = []
        self.profile: list[tuple[str, str]] = []
        self.written = ""
        self.local: dict[str, float] = {}
        self.given: str | None = None
        said = yield self._asked(EXTRACTOR)
        self.picked = _numbers(said, len(self.dialogue))[: self.config.budget]
        self.written = yield self._asked(PROFILER)
        self.profile = _LINE.findall(self.written)[: len(self.names)]
        yield self._asked(ANSWERER)
        self.local = self._local(self.turns[-1])
        yield Pay(self.local, "local")
        yield Pay(dict.fromkeys(self.seats, self.turns[-1].verified or 0.0))

    def _asked(self, seat: str) -> One:
        """Ask a seat for its work; what is not read is nothing to the next one."""

        def read(text: str) -> str | Parse:
            if seat == PROFILER:
                said = heard(text).strip()
                return said if _LINE.search(said) else missing(text, "line of a profile")
            return final_answer(text) or missing(text, "answer in square brackets")

        return One(seat, read=read, form=_FORMS[seat], otherwise="")

    # ---- What is true, and what each seat's work is worth ----------------------------------

    @property
    def current(self) -> dict[str, int]:
        """Return the number of the sentence that says what is true of every attribute."""
        return {fact.name: n for n, fact in enumerate(self.dialogue, 1) if fact.name}

    @property
    def right(self) -> str:
        """The right answer."""
        return self.dialogue[self.current[self.asked_of] - 1].value

    def _local(self, last: Turn) -> dict[str, float]:
        true, needed = set(self.current.values()), {self.current[self.asked_of]}
        recall, iou = _overlap(set(self.picked), true)
        right = {name for name, value in self.profile if self._is(name, value)}
        lines = len(self.profile)
        named = _EVIDENCE.findall(heard(last.text))[-1:]
        given = set(_numbers(named[0], len(self.dialogue)) if named else ()) & set(self.picked)
        found, share = _overlap(given, needed)
        return {
            EXTRACTOR: 0.8 * recall + 0.2 * iou,
            PROFILER: len(right) / lines * len(right) / len(self.names) if lines else 0.0,
            ANSWERER: 0.2 * found + 0.8 * share,
        }

    def _is(self, name: str, value: str) -> bool:
        place = self.current.get(name.lower())
        return place is not None and agree(value, self.dialogue[place - 1].value)

    def describe(self, seat: str, turn: Turn) -> None:
        super().describe(seat, turn)
        if seat == ANSWERER:
            turn.answer = final_answer(turn.text)
            turn.verified = float(turn.answer is not None and agree(turn.answer, self.right))
            self.given = turn.answer

    def hide(self, seat: str, rng: np.random.Generator) -> bool:
        """Redraw what is asked and, for those who do not read them, sentences that were dropped."""
        if seat != ANSWERER:
            self.asked_of = self.names[int(rng.integers(len(self.names)))]
        if seat == EXTRACTOR:
            return len(self.names) > 1
        for n, fact in enumerate(self.dialogue):
            if n + 1 not in self.picked:
                options = VALUES[fact.name] if fact.name else (str(rng.integers(10**6)),)
                value = options[int(rng.integers(len(options)))]
                self.dialogue[n] = fact._replace(text=f"{fact.name} {value}", value=value)
        return True

    def expert(self, seat: str, skill: float) -> Replies:
        """Keep what is true, tell it, and answer from it; else keep nothing, or guess."""
        if seat == EXTRACTOR:
            best, other = answer(", ".join(map(str, sorted(self.current.values())))), answer("1")
        elif seat == PROFILER:
            known = {f.name: f.value for f in self._kept if f.name}
            other = "nothing = nothing"
            best = "\n".join(f"{n} = {v}" for n, v in known.items()) or other
        else:
            return self._answers(skill)
        odds = {best: skill, other: 1 - skill} if best != other else {best: 1.0}
        kept = {text: p for text, p in odds.items() if p > 0}
        return Replies(tuple(kept), np.array(list(kept.values())))

    def _answers(self, skill: float) -> Replies:
        values = even(VALUES[self.asked_of])
        known = dict(self.profile)
        if self.asked_of not in known:
            return mixed((1.0, values))
        found = mixed((skill, {known[self.asked_of]: 1.0}), (1 - skill, values))
        place = self.current[self.asked_of]
        named = f"evidence: {place} " if place in self.picked else ""
        return found._replace(texts=tuple(f"{named}{text}" for text in found.texts))

    @property
    def _kept(self) -> list[Sentence]:
        return [self.dialogue[n - 1] for n in sorted(self.picked)]

    # ---- Prompts ---------------------------------------------------------------------------

    def rules(self, seat: str) -> str:
        own = {
            EXTRACTOR: "Pick the sentences that state what is true of the user at the end; what "
            f"is said later replaces what was said before. Name at most {self.config.budget}, by "
            "their numbers, with commas between them, in square brackets.",
            PROFILER: "Write a profile of what is true of the user at the end: one line for each "
            f"fact, such as: age = 30. The attributes are {', '.join(self.names)}.",
            ANSWERER: "Write `evidence:` and the number of the sentence that tells the answer, and "
            "end your reply with the answer, one word, in square brackets.",
        }[seat]
        return (
            f"Three seats keep in mind what a user said. {EXTRACTOR} picks sentences, {PROFILER} "
            f"writes a profile from these, and {ANSWERER} answers a question about the user from "
            "both. All of you earn 1 if the answer is right; besides, each is graded for its own "
            f"work.\nYou are {seat}. {own}"
        )

    def situation(self, seat: str) -> str:
        everything = range(1, len(self.dialogue) + 1)
        numbers = everything if seat == EXTRACTOR else sorted(self.picked)
        lines = [f"{n}. {self.dialogue[n - 1].text}" for n in numbers] or ["(no sentence)"]
        said = "The user said:\n" + "\n".join(lines)
        if seat != ANSWERER:
            return f"{said}\n{'Which sentences?' if seat == EXTRACTOR else 'Your profile?'}"
        profile = quote(self.written, 400)
        return f"{said}\nProfile:\n{profile}\nQuestion: What is the user's {self.asked_of} now?"

    def terse(self, seat: str) -> str:
        if seat == EXTRACTOR:
            told = " ".join(f"{n}. {fact.text}" for n, fact in enumerate(self.dialogue, 1))
            return f"Extract what is true at last: {told} Reply [numbers]."
        told = " ".join(f"{n}. {self.dialogue[n - 1].text}" for n in sorted(self.picked))
        if seat == PROFILER:
            return f"Profile of: {told or 'nothing.'} Reply lines: attribute = value."
        profile = quote_line(", ".join(f"{name} = {value}" for name, value in self.profile))
        return f"{told} Profile: {profile}. The {self.asked_of}? Reply evidence: number [answer]."

    def draw(self) -> str:
        lines = [f"{n}. {fact.text}" for n, fact in enumerate(self.dialogue, 1)]
        lines.append(f"picked: {', '.join(map(str, self.picked)) or 'nothing'}")
        lines += [f"profile: {name} = {quote_line(value)}" for name, value in self.profile]
        lines.append(f"asked: {self.asked_of} (answer: {self.right}), said: {shown(self.given)}")
        return "\n".join(lines)

    def outcome(self) -> dict[str, float]:
        """Return whether the answer was right, and the local reward of every seat."""
        right = self.given is not None and agree(self.given, self.right)
        named = {f"local/{seat.rpartition('_')[0]}": paid for seat, paid in self.local.items()}
        return {"accuracy": float(right), **named}


def _dialogue(
    names: tuple[str, ...], given: MemoryPipelineConfig, rng: np.random.Generator
) -> list[Sentence]:
    """Return a dialogue: what was true before, what is true now, and fillers in between."""
    drawn = {name: rng.permutation(VALUES[name])[:2] for name in names}
    changed = rng.permutation(names)[: given.changes]
    before = [_fact(str(name), str(drawn[str(name)][1])) for name in changed]
    now = [
        _fact(name, str(drawn[name][0]), bool(name in changed)) for name in rng.permutation(names)
    ]
    told = [*before, *now]
    for text in rng.permutation(FILLERS)[: given.fillers]:
        told.insert(int(rng.integers(len(told) + 1)), Sentence(str(text)))
    return told


def _fact(name: str, value: str, changed: bool = False) -> Sentence:
    return Sentence(SAID[changed].format(name=name, value=value), str(name), value)


def _numbers(text: str, most: int) -> list[int]:
    """Return the numbers of sentences that a text lists, each once.

    >>> _numbers("1, 4 and 4, 99", 8)
    [1, 4]
    """
    found = dict.fromkeys(int(n) for n in re.findall(r"\d{1,3}", text[:400]))
    return [n for n in found if 1 <= n <= most]


def _overlap(given: set[int], wanted: set[int]) -> tuple[float, float]:
    """Return recall, and the intersection over the union."""
    both = len(given & wanted)
    return both / len(wanted), both / len(given | wanted)


raw_env, env = turn_based(MemoryPipeline)
