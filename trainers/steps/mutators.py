"""Mutators: what makes a program from others, at random, by a model, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from coevo.envs.core.chat import Chat
from coevo.envs.core.config import choice, config, whole
from coevo.envs.core.quoting import code_block
from coevo.envs.questions.answers import program_in
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.cycle import UpdateContext
from coevo.trainers.steps.writers import Asking, Written, begun, instruction_chat


class Mutator:
    """Base of what makes programs; subclasses are components with a name."""

    name: str

    def __call__(
        self, ctx: UpdateContext, parents: Sequence[Artifact], rng: np.random.Generator
    ) -> Written:
        """Return a change of the first parent, or a new program where there is none.

        The last parent is another one that lives, which may be mixed in.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__")  # abstract


@config
class RandomEdit(Mutator):
    """Changes a program at random, by what the environment knows of its language."""

    name: Literal["random_edit"] = "random_edit"

    def __call__(
        self, ctx: UpdateContext, parents: Sequence[Artifact], rng: np.random.Generator
    ) -> Written:
        env = begun(ctx)
        like = [str(a.payload) for a in parents]
        text = env.task.random_reply(env.agent_selection, rng, like)
        return Written(text, "" if text else f"{env} knows no random change of a reply")


@config
class Identity(RandomEdit):
    """Changes nothing, a control: programs are drawn at random, and copied."""

    name: Literal["identity"] = "identity"  # type: ignore[assignment]  # another component

    def __call__(
        self, ctx: UpdateContext, parents: Sequence[Artifact], rng: np.random.Generator
    ) -> Written:
        if parents:
            return Written(str(parents[0].payload))
        return super().__call__(ctx, parents, rng)


@config
class Programming(Asking, Mutator):
    """Base of mutators that ask an agent for a program."""

    longest: Annotated[int, whole(1)] = 10_000
    """Characters of its program; what is beyond is cut."""

    def read(self, text: str) -> str:
        return (program_in(text) or "")[: self.longest]


@config
class RewriteProgram(Programming):
    """Asks an agent, which is shown the rules, and a program or several with what they earned."""

    name: Literal["rewrite_program"] = "rewrite_program"
    shown: Annotated[int, whole(1)] = 1
    """Parents that it is shown at most, where there are several."""

    def __call__(
        self, ctx: UpdateContext, parents: Sequence[Artifact], rng: np.random.Generator
    ) -> Written:
        env = begun(ctx)
        asked = "\n\n".join(message["content"] for message in env.chat(env.agent_selection))
        return self.reply(ctx, "mutator", self.asked(asked, parents[: self.shown]), rng)

    def asked(self, task: str, parents: Sequence[Artifact]) -> Chat:
        wanted = ONE if len(parents) == 1 else SEVERAL
        shown = "".join(
            f"\n\n{_earned(a)} {wanted}:\n{code_block(str(a.payload))}" for a in parents
        )
        return instruction_chat("You write programs. Reply with a program alone.", task + shown)


ONE, SEVERAL = "Change it, so that it earns more", "Make one program of it and the other"
"""What is asked of an agent, with one program and with more."""


def _earned(one: Artifact) -> str:
    if not one.uses:
        return "This program is new."
    told = "".join(f", {name} {value:.4g}" for name, value in one.stats.items())
    return f"This program earned {one.weight:.4g}{told}."


Mutating = Annotated[RandomEdit | Identity | RewriteProgram | Mutator, choice(Mutator)]
"""A mutator: a component, or an object of one's own."""
