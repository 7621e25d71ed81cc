"""Programs that play: one is written, tried in all seats, and kept where it is no worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, ClassVar, Literal

import numpy as np

from coevo.agents.agent import request_of
from coevo.agents.program import ProgramAgent, view_of
from coevo.envs.core.chat import Chat
from coevo.envs.core.config import choice, config, real, whole
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.quoting import code_block, quote_line
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.collect.tried import Tried, tried_agent
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.mutators import Mutator, Programming
from coevo.trainers.steps.writers import Written, begun, instruction_chat

OF = "policies"
LANGUAGE = (
    "Write a function policy(view) in Python that returns a move for one seat; the same program "
    "plays every seat, and keeps nothing between moves. It may import math, random, collections "
    "and itertools; classes with a base, yield, del and other modules do not work. Reply with the "
    "program alone, in a block of code."
)


@config
class RewritePolicy(Programming):
    """Asks an agent for a program that plays; it is shown a view, the last program, its feedback.

    A parent with a note is an attempt that failed.
    """

    name: Literal["rewrite_policy"] = "rewrite_policy"

    def __call__(
        self, ctx: UpdateContext, parents: Sequence[Artifact], rng: np.random.Generator
    ) -> Written:
        env = begun(ctx)
        seat = env.agent_selection
        view = view_of(request_of(env, seat, np.random.default_rng(0), seat))
        asked = "\n\n".join(message["content"] for message in view.pop("chat"))
        shown = f"{asked}\n\n{LANGUAGE}\n\nAn example of view:\n{code_block(repr(view))}"
        return self.reply(ctx, "writer", self.asked(ctx, shown, parents), rng)

    def asked(self, ctx: UpdateContext, task: str, parents: Sequence[Artifact]) -> Chat:
        shown = [task]
        for one in parents:
            shown.append(f"An earlier program:\n{code_block(str(one.payload))}")
            failed = f"It failed: {quote_line(one.note, 150)}"
            shown.append(failed if one.note else feedback(ctx, one))
        return instruction_chat(
            "You write programs that play. What a seat earns on average is to be as high as "
            "possible.",
            "\n\n".join(shown),
        )


def feedback(ctx: UpdateContext, one: Artifact) -> str:
    """Return what a program earned, and the outcomes that its writer is told, as sentences."""
    known = next((s.outcomes for s in ctx.cycle if isinstance(s, WritePolicy)), {})
    lines = [f"A seat earned {one.stats['reward']:.4g} on average."]
    for name, meaning in known.items():
        value = f"{one.stats[name]:.4g}" if name in one.stats else "undefined"
        lines.append(f"{name} ({meaning}): {value}")
    return "\n".join(lines)


@config
class WritePolicy(Step):
    """Lets a program be written from the best so far, and keeps it where it earns no less.

    A program plays every seat, in the sandbox: first a short episode, then whole ones. One that
    breaks or makes an illegal move goes back to the writer with the reason. What a program earned
    is in its `stats`, as the writer is told it.
    """

    moves: ClassVar = True
    name: Literal["write_policy"] = "write_policy"
    by: Annotated[RewritePolicy | Mutator, choice(Mutator)] = RewritePolicy()
    outcomes: Mapping[str, str] = field(default_factory=dict)
    """Outcomes of the environment that the writer is told beside the reward, and what they mean;
    none is sparse feedback."""
    fresh: Annotated[float, real(0, 1)] = 0.0
    """Probability that a program is written without a parent."""
    retries: Annotated[int, whole(0)] = 3
    """Further attempts where a program fails."""
    smoke: Annotated[int, whole(1)] = 50
    """Rounds of the short episode."""
    tasks: Annotated[int, whole(1)] = 5
    """Episodes that decide, of the same seeds for all programs."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.by.name,)

    def __call__(self, ctx: UpdateContext) -> None:
        rng = np.random.default_rng([ctx.seed, ctx.step, 41])
        living = ctx.archive.living("program", OF)
        new = not living or rng.random() < self.fresh
        best: list[Artifact] = [] if new else living[-1:]
        child, failed = self._tried(ctx, best, rng), 0
        while child.note and failed < self.retries:
            failed += 1
            child = self._tried(ctx, [*best, child], rng)
        if not child.note and (not living or child.weight >= living[-1].weight):
            ctx.archive.prune([a.id for a in living], ctx.step)
            ctx.archive.add(child)
        ctx.metrics["programs/failed"] = failed + float(bool(child.note))
        for one in ctx.archive.living("program", OF):
            ctx.metrics["fitness/best"] = one.weight

    def _tried(
        self, ctx: UpdateContext, parents: Sequence[Artifact], rng: np.random.Generator
    ) -> Artifact:
        written = self.by(ctx, parents, rng)
        found = (
            Tried("", failure=written.failure) if written.failure else self._played(ctx, written)
        )
        ctx.count(turns=found.turns)
        child = Artifact("", "program", written.text, of=OF, born_at=ctx.step)
        child.parents = tuple(a.id for a in parents if a.id)
        child.weight, child.uses, child.note = found.weight, found.turns, found.failure
        outcome = found.outcome or {}
        known = {n: outcome[n] for n in self.outcomes if n in outcome}
        child.stats = {} if child.note else {"reward": found.weight, **known}
        return child

    def _played(self, ctx: UpdateContext, written: Written) -> Tried:
        try:
            agent = ProgramAgent("written", written.text)
        except ConfigError as error:
            return Tried("", failure=str(error))
        template, weights = next(iter(ctx.envs.values())), ctx.algorithm.advantage.reward_weights
        seeds = np.random.SeedSequence([ctx.seed, 42]).generate_state(self.tasks + 1).tolist()
        short = [(seeds[0], {"max_cycles": self.smoke})]
        smoke = tried_agent(template, agent, written.text, short, weights)
        if smoke.failure:
            return smoke
        return tried_agent(template, agent, written.text, [(s, {}) for s in seeds[1:]], weights)
