"""The pages of environments, and their gallery."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from layout import docstring, escaped, fields_of, sentence, table, toctree
from PIL import Image

from coevo.benchmarks.files import short
from coevo.envs import list_envs, make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.registry import EnvSpec, by_family
from coevo.envs.core.settings import Settings


def environment_pages() -> dict[str, str]:
    """Return a page per environment, by its short name, and their gallery."""
    envs = list_envs()
    pages = {short(e.id): environment_page(e) for e in envs}
    parts = [
        "# Environments",
        "The id of an environment is `coevo/NAME-v0`. Each is shown after some random moves, with "
        "the terse prompt of the seat that moves first.",
    ]
    for family, members in by_family(envs):
        cards = "\n".join(card(e) for e in members)
        parts += [f"## {family.capitalize()}", f":::::{{container}} gallery\n{cards}\n:::::"]
    return pages | {"index": "\n\n".join(parts) + "\n" + toctree(pages)}


def card(env: EnvSpec) -> str:
    """Return what the gallery shows of an environment."""
    name, seats = short(env.id), len(make(env.id).possible_agents)
    return "\n\n".join(
        [
            "::::{container} world",
            f"[![{name}]({name}.png)]({name}.md)",
            f"**[{name}]({name}.md)**: {env.summary}",
            f"{seats} seats, {env.kind}, {moves(env)}",
            chat(env, "terse")[1],
            "::::",
        ]
    )


def write_pictures(folder: Path) -> None:
    """Write a picture per environment after its first moves."""
    for spec in list_envs():
        env = make(spec.id, render_mode="rgb_array")
        begin(env)
        Image.fromarray(env.render()).save(folder / f"{short(spec.id)}.png")


def environment_page(env: EnvSpec) -> str:
    """Return the page of one environment: rules, prompts, arguments, references."""
    raw = make(env.id)
    raw.reset(seed=0)
    low, high = raw.payoff_range
    facts = [
        ("import", f'`pettingzoo.make("aec", "{env.id}")`'),
        ("seats", ", ".join(f"`{seat}`" for seat in raw.possible_agents)),
        ("moves", moves(env)),
        ("suites", ", ".join(f"`{name}`" for name in env.suite_names)),
        ("action", action(raw)),
        ("observation", '`{"messages": chat}`'),
        ("payoff of a seat", f"{low + 0.0:g} to {high:g}" + (", zero-sum" if raw.zero_sum else "")),
        ("scored by", f"`{env.metric}`" if env.metric else "mean return"),
        ("references", references(env)),
    ]
    parts = [
        f"# {short(env.id)}",
        sentence(env.summary),
        table(("", ""), facts),
        docstring(importlib.import_module(env.module)),
        "## What a seat sees",
        *prompts(env),
        "## What an onlooker sees",
        drawing(make(env.id, render_mode="ansi")),
        "## Arguments",
        arguments(raw),
        "## Usage",
        f"```python\n{usage(env)}```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def action(raw: TextEnv) -> str:
    """Return the form of a reply of the seat that moves first."""
    if raw.infos[raw.agent_selection]["legal_actions"] is None:
        return "text; the prompts say how an answer is marked"
    return "text; the move in square brackets at its end"


def prompts(env: EnvSpec) -> Iterable[str]:
    """Return what the first seat is shown at its first turn, in both prompt styles."""
    for style in ("full", "terse"):
        seat, said = chat(env, style)
        yield f'`prompt_style="{style}"`, seat `{seat}`:'
        yield said


def chat(env: EnvSpec, style: str) -> tuple[str, str]:
    """Return the seat that moves first, and the chat that it is shown as a code fence."""
    raw = make(env.id, prompt_style=style)
    raw.reset(seed=0)
    seat = raw.agent_selection
    said = "\n\n".join(f"{m['role']}: {m['content']}" for m in raw.chat(seat))
    return seat, f"```text\n{said}\n```"


def drawing(env: TextEnv) -> str:
    """Return the drawing of an environment after its first moves, in a code fence."""
    begin(env)
    return f"```text\n{str(env.render()).rstrip()}\n```"


def begin(env: TextEnv) -> None:
    """Play some random moves where moves are listed."""
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(2 * len(env.possible_agents)):
        legal = env.infos[env.agent_selection]["legal_actions"]
        if not legal:
            break
        env.step(f"[{legal[int(rng.integers(len(legal)))]}]")


def usage(env: EnvSpec) -> str:
    """Return code that plays one episode."""
    return textwrap.dedent(f"""\
        import pettingzoo

        import coevo.envs

        env = pettingzoo.make("aec", "{env.id}", illegal="random")
        env.reset(seed=0)
        for seat in env.agent_iter():
            observation, reward, terminated, truncated, info = env.last()
            legal = info["legal_actions"]  # None where any text is an answer
            reply = "I say [5]" if legal is None else f"[{{(legal or ['-'])[0]}}]"
            env.step(None if terminated or truncated else reply)
        print(env.unwrapped.episode.outcome)
        """)


def references(env: EnvSpec) -> str:
    """Return the reference scores and where they come from."""
    if not env.refs:
        return "none"
    scores = ", ".join(f"{name} {value:.4g}" for name, value in env.refs.items())
    return f"{scores}. {sentence(env.refs_source)}"


def arguments(raw: TextEnv) -> str:
    """Return the tables of a task's own arguments and of those that every environment takes."""
    own = [(f"`{n}`", f"`{d}`", escaped(t)) for n, d, t in fields_of(type(raw.task.config))]
    shared = [(f"`{n}`", f"`{d}`", escaped(t)) for n, d, t in fields_of(Settings)]
    head = ("argument", "default", "meaning")
    parts = [table(head, own)] if own else []
    return "\n\n".join([*parts, "Every environment takes:", table(head, shared)])


def moves(env: EnvSpec) -> str:
    """Return whether seats move at once or in turn."""
    return "at once" if env.simultaneous else "in turn"
