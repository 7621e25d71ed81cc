"""Newcomers: who joins a population is shown what did well in it, and writes a text of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from coevo.envs.core.chat import Chat
from coevo.envs.core.config import choice, config
from coevo.envs.core.quoting import quote, quote_line
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.propose import Asking, Written
from coevo.trainers.cycle import UpdateContext


class Newcomer:
    """Base of those who write; subclasses are components with a name."""

    name: str

    def __call__(
        self, ctx: UpdateContext, elders: Sequence[Artifact], rng: np.random.Generator
    ) -> Written:
        """Write a text.

        Args:
            ctx: of the update; its policies may be asked.
            elders: what it is shown of those who survived, the best first; there may be none.
            rng: of this newcomer.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__")  # abstract


@config
class Imitate(Asking, Newcomer):
    """Asks an agent, which is shown what will be asked of it, and the elders' texts with scores."""

    name: Literal["imitate"] = "imitate"

    def __call__(
        self, ctx: UpdateContext, elders: Sequence[Artifact], rng: np.random.Generator
    ) -> Written:
        """Ask for a strategy."""
        return self.reply(ctx, "newcomer", self.asked(_first_prompt(ctx), elders), rng)

    def asked(self, prompt: str, elders: Sequence[Artifact]) -> Chat:
        """Return the question as a chat."""
        shown = "\n".join(
            f"- {a.weight:.6g}: {quote_line(str(a.payload), self.longest)}" for a in elders
        )
        survived = f"\n\nWhat those earned who did best, and their strategies:\n{shown}"
        return (
            {
                "role": "system",
                "content": "You write the strategy that you will follow in a game. Reply with the "
                f"strategy alone, in one sentence of at most {self.longest} characters.",
            },
            {
                "role": "user",
                "content": f"What you will be asked at first:\n{quote(prompt)}"
                f"{survived if elders else ''}",
            },
        )


def _first_prompt(ctx: UpdateContext) -> str:
    """Return the first prompt of an episode."""
    env = next(iter(ctx.envs.values())).fresh()
    env.reset(seed=ctx.seed)
    return "\n\n".join(message["content"] for message in env.chat(env.agent_selection))


Newcoming = Annotated[Imitate, choice(Newcomer)]
"""Who writes: a component, or an object of one's own."""
