"""Writers of new texts: they improve a text from its episodes, or write as newcomers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from coevo.agents.agent import Agent, Request, Unanswered
from coevo.agents.load import load_agent
from coevo.agents.policy import Policy
from coevo.envs.core.chat import Chat
from coevo.envs.core.config import choice, config, whole
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.envs.core.quoting import NOTHING, own_words, quote, quote_line
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.cycle import UpdateContext


@dataclass(frozen=True)
class Written:
    """A new text, or why there is none."""

    text: str
    failure: str = ""


class Proposer:
    """Base of writers that improve a text; subclasses are components with a name."""

    name: str

    def __call__(
        self,
        ctx: UpdateContext,
        parent: Artifact,
        found: Sequence[tuple[float, Episode]],
        rng: np.random.Generator,
    ) -> Written:
        """Write a text that is to do better than its parent; policies of the run may be asked.

        `found` is what its episodes of this update were worth, the worst first.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__")  # abstract


@config
class Asking:
    """Base of writers that ask an agent for a text."""

    agent: str = ""
    """Agent that is asked, such as `openai:MODEL`; empty for the first policy of the run."""
    longest: Annotated[int, whole(1)] = 600
    """Characters of its text; what is beyond is cut."""

    def reply(self, ctx: UpdateContext, seat: str, chat: Chat, rng: np.random.Generator) -> Written:
        agent = self._agent(ctx)
        if isinstance(agent, Policy):  # a run that was resumed has drawn nothing before
            agent.reseed(int(rng.integers(2**63)))
        (reply,) = agent.act([Request(seat, chat, {"legal_actions": None}, rng)])
        if isinstance(reply, Unanswered):
            return Written("", reply.reason)
        text = self.read(reply.text)
        return Written(text, "" if text else "the reply was empty")

    def read(self, text: str) -> str:
        """Return what of a reply is kept, as it may stand in prompts."""
        return own_words(text, self.longest)

    def _agent(self, ctx: UpdateContext) -> Agent:
        if self.agent:
            return load_agent(self.agent, seed=ctx.seed, device=ctx.device)
        return next(iter(ctx.population.learners.values()))


@config
class _Improving(Asking, Proposer):
    """Shows an agent a text and episodes."""

    shown: Annotated[int, whole(1)] = 3
    """Episodes that it sees."""

    def __call__(
        self,
        ctx: UpdateContext,
        parent: Artifact,
        found: Sequence[tuple[float, Episode]],
        rng: np.random.Generator,
    ) -> Written:
        return self.reply(ctx, "reflector", self.asked(str(parent.payload), found), rng)

    def asked(self, text: str, found: Sequence[tuple[float, Episode]]) -> Chat:
        raise NotImplementedError(f"{type(self).__name__} must define asked")  # abstract


@config
class Reflect(_Improving):
    """Asks an agent, which is shown the text and some of the worst episodes, quoted."""

    name: Literal["reflect"] = "reflect"

    def asked(self, text: str, found: Sequence[tuple[float, Episode]]) -> Chat:
        shown = shown_texts(found[: self.shown])
        return instruction_chat(
            "You improve the instruction that the players of a task are given. "
            f"Reply with a new instruction alone, in at most {self.longest} characters.",
            f"The instruction now:\n{quote(text)}\n\nEpisodes that went badly with "
            f"it:\n{shown or NOTHING}",
        )


@config
class Distil(_Improving):
    """Asks an agent for a lesson; it is shown episodes from the worst to the best, quoted."""

    name: Literal["distil"] = "distil"

    def asked(self, text: str, found: Sequence[tuple[float, Episode]]) -> Chat:
        return instruction_chat(
            "You write down what a player should remember when it meets such a task again. Reply "
            f"with one lesson alone, in at most {self.longest} characters.",
            f"A lesson that is known:\n{quote(text)}\n\nEpisodes:\n"
            f"{shown_texts(spread(found, self.shown)) or NOTHING}",
        )


@config
class Review(_Improving):
    """Asks an agent for a better rubric; it is shown answers from the worst to the best graded."""

    name: Literal["review"] = "review"

    def asked(self, text: str, found: Sequence[tuple[float, Episode]]) -> Chat:
        shown = shown_texts(spread(found, self.shown))
        return instruction_chat(
            "You improve the rubric by which answers are graded, an item a line. "
            "What earns points without making an answer better is to earn none. Reply with a "
            f"new rubric alone, in at most {self.longest} characters.",
            f"The rubric now:\n{quote(text)}\n\nAnswers that were graded by it:\n"
            f"{shown or NOTHING}",
        )


def spread(found: Sequence[tuple[float, Episode]], count: int) -> list[tuple[float, Episode]]:
    """Return some of what is ordered, from the first to the last, evenly."""
    at = np.linspace(0, len(found) - 1, min(count, len(found))).round().astype(int)
    return [found[k] for k in at]


def instruction_chat(system: str, user: str) -> Chat:
    return ({"role": "system", "content": system}, {"role": "user", "content": user})


def shown_texts(found: Sequence[tuple[float, Episode]]) -> str:
    return "\n\n".join(f"Worth {worth:g}:\n{quote(_transcript(e))}" for worth, e in found)


def _transcript(episode: Episode) -> str:
    lines = []
    for turn in episode.turns:
        asked = turn.chat[-1]["content"] if turn.chat else ""
        lines += [
            f"{turn.agent} sees {quote_line(asked, 300)}",
            f"  says {quote_line(turn.text, 300)}",
        ]
    return "\n".join(lines)


Proposing = Annotated[Reflect | Review | Distil | Proposer, choice(Proposer)]
"""A writer: a component, or an object of one's own."""


class Newcomer:
    """Base of writers that improve a text; subclasses are components with a name."""

    name: str

    def __call__(
        self, ctx: UpdateContext, elders: Sequence[Artifact], rng: np.random.Generator
    ) -> Written:
        """Write a text, shown those of some survivors, the best first; there may be none."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__")  # abstract


@config
class Imitate(Asking, Newcomer):
    """Asks an agent, which is shown what will be asked of it, and the elders' texts with scores."""

    name: Literal["imitate"] = "imitate"

    def __call__(
        self, ctx: UpdateContext, elders: Sequence[Artifact], rng: np.random.Generator
    ) -> Written:
        return self.reply(ctx, "newcomer", self.asked(_first_prompt(ctx), elders), rng)

    def asked(self, prompt: str, elders: Sequence[Artifact]) -> Chat:
        shown = "\n".join(
            f"- {a.weight:.6g}: {quote_line(str(a.payload), self.longest)}" for a in elders
        )
        survived = f"\n\nWhat those earned who did best, and their strategies:\n{shown}"
        return instruction_chat(
            "You write the strategy that you will follow in a game. Reply with the "
            f"strategy alone, in one sentence of at most {self.longest} characters.",
            f"What you will be asked at first:\n{quote(prompt)}{survived if elders else ''}",
        )


def begun(ctx: UpdateContext) -> TextEnv:
    """Return the first environment of a run at the start of the run's own seed."""
    env = next(iter(ctx.envs.values())).fresh()
    env.reset(seed=ctx.seed)
    return env


def _first_prompt(ctx: UpdateContext) -> str:
    env = begun(ctx)
    return "\n\n".join(message["content"] for message in env.chat(env.agent_selection))


Newcoming = Annotated[Imitate | Newcomer, choice(Newcomer)]
"""A writer: a component, or an object of one's own."""
