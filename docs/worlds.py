"""The pages of environments, and their gallery."""

from __future__ import annotations

import importlib
import inspect
import textwrap
from html import escape

from boards import DRAWINGS, draw
from layout import columns, escaped, fields_of, groups, prose, raw, sentence, table
from talk import bubble, prompt, recorded, talk

from coevo.benchmarks.files import short
from coevo.envs import list_envs, make
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode
from coevo.envs.core.registry import EnvSpec, by_family
from coevo.envs.core.settings import Settings

MOST_MOVES = 14
"""Moves that a board is drawn after, at most."""


def families() -> dict[str, list[str]]:
    """Return the short names of the environments of every family."""
    return {f.capitalize(): [short(e.id) for e in es] for f, es in by_family(list_envs())}


def environment_pages() -> dict[str, str]:
    """Return a page per environment, by its short name, and their gallery."""
    envs = list_envs()
    pages = {short(e.id): environment_page(e) for e in envs}
    parts = [
        "# Environments",
        "The id of an environment is `coevo/NAME-v0`. Each card shows a recorded episode of random "
        "or scripted play.",
    ]
    for family, members in by_family(envs):
        cards = "".join(map(card, members))
        parts += [f"## {family.capitalize()}", raw(f'<div class="gallery">{cards}</div>')]
    parts += [
        "## Arguments of every environment",
        "`make(id, **arguments)` takes these, and those on the page of the environment.",
        argument_table(Settings),
        groups(families()),
    ]
    return pages | {"index": "\n\n".join(parts)}


def strip() -> str:
    """Return the row of pictures on the first page."""
    specs = {short(e.id): e for e in list_envs()}
    cards = "".join(
        card(specs[name], "environments/")
        for name in ("chess", "hex", "debate", "leduc_poker", "fishery", "connect_four")
    )
    return raw(f'<div class="gallery strip">{cards}</div>')


def card(env: EnvSpec, folder: str = "") -> str:
    """Return what a gallery shows of an environment; `folder` is where its page is from there."""
    name = short(env.id)
    picture = board_of(name) or talk_of(env)
    facts = f"{env.seats} seats · {env.kind} · moves {moves(env)}"
    return (
        f'<a class="card" href="{folder}{name}.html"><div class="picture">{picture}</div>'
        f"<b>{name}</b><p>{escape(sentence(env.summary))}</p><p class='facts'>{facts}</p></a>"
    )


def board_of(name: str) -> str | None:
    """Return the drawing of an environment in the middle of its recorded episode."""
    return draw(name, middle(recorded(name)).state()) if name in DRAWINGS else None


def middle(episode: Episode) -> TextEnv:
    """Return an environment after about two thirds of a recorded episode."""
    env = make(episode.env)
    env.reset(seed=episode.seed)
    for turn in episode.turns[: min(MOST_MOVES, max(1, len(episode.turns) * 2 // 3))]:
        env.step(turn.text)
    return env


def talk_of(env: EnvSpec) -> str:
    """Return the terse prompt of the seat that moves first, and the first recorded replies."""
    asked = first_chat(env, "terse")[1][-1]["content"]
    return talk(bubble("", asked, "env"), recorded(short(env.id)), 3)


def environment_page(env: EnvSpec) -> str:
    """Return the page of one environment: rules, prompts, an episode, arguments, usage."""
    name = short(env.id)
    text = inspect.getdoc(importlib.import_module(env.module)) or ""
    said, notes = facts_of(text)
    low, high = make(env.id).payoff_range
    zero_sum = ", zero-sum" if make(env.id).zero_sum else ""
    facts = [
        ("Agents", said.pop("Agents", "")),
        ("Moves", moves(env)),
        *((k, v) for k, v in said.items() if k not in ("Options", "References")),
        ("Payoff of a seat", f"{low + 0.0:g} to {high:g}{zero_sum}"),
        ("Scored by", f"`{env.metric}`" if env.metric else "mean return"),
        ("Reference scores", references(env, said.get("References", ""))),
        ("Suites", ", ".join(f"`{s}`" for s in env.suite_names) or "none"),
    ]
    episode = recorded(name)
    board = board_of(name)
    parts = [
        f"# {name}",
        sentence(env.summary),
        f'```python\nenv = pettingzoo.make("aec", "{env.id}")\n```',
        raw(f'<div class="scene">{board}</div>') if board else "",
        table(("", ""), facts),
        *notes,
        "## Prompts",
        *prompts(env),
        "## A recorded episode",
        raw(talk("", episode, 12)),
        f"Outcome: {outcome(episode)}.",
        '`render_mode="ansi"` draws a state of it so:',
        f"```text\n{middle(episode).state().rstrip()}\n```",
        "## Arguments",
        said.get("Options", ""),
        argument_table(type(make(env.id).task.config)),
        "[Arguments of every environment](index.md#arguments-of-every-environment).",
        "## Usage",
        f"```python\n{usage(env)}```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def facts_of(docstring: str) -> tuple[dict[str, str], list[str]]:
    """Return the aligned columns of a module's docstring, and its other paragraphs."""
    facts: dict[str, str] = {}
    notes = []
    for paragraph in docstring.split("\n\n")[1:]:
        if rows := list(columns(paragraph)):
            facts |= rows
        else:
            notes.append(escaped(paragraph))
    return facts, notes


def prompts(env: EnvSpec) -> list[str]:
    """Return what the first seat is shown at its first turn, in both prompt styles."""
    shown = []
    for style in ("full", "terse"):
        seat, chat = first_chat(env, style)
        shown.append(f'The first message to `{seat}` with `prompt_style="{style}"`:')
        shown.append(raw(prompt(chat)))
    return shown


def first_chat(env: EnvSpec, style: str) -> tuple[str, tuple[dict[str, str], ...]]:
    """Return the seat that moves first in the recorded episode, and its first chat."""
    made = make(env.id, prompt_style=style)
    made.reset(seed=recorded(short(env.id)).seed)
    return made.agent_selection, made.chat(made.agent_selection)


def outcome(episode: Episode) -> str:
    """Return the numbers that an episode ended with."""
    return ", ".join(f"`{k}` {v:g}" for k, v in episode.outcome.items())


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


def references(env: EnvSpec, text: str) -> str:
    """Return the reference scores and their source, and what the module says beyond these."""
    if "random" in text and "oracle" in text:
        text = ""
    scores = ", ".join(f"{name} **{value:.4g}**" for name, value in env.refs.items())
    source = f"({escaped(env.refs_source)})" if env.refs_source else ""
    return (
        ". ".join(filter(None, (f"{scores} {source}".strip(), text[:1].upper() + text[1:])))
        or "none"
    )


def argument_table(kind: type) -> str:
    """Return the arguments that a configuration holds."""
    rows = [(f"`{n}`", f"`{d}`", prose(t)) for n, d, t in fields_of(kind)]
    return table(("argument", "default", "meaning"), rows) if rows else "It has none of its own."


def moves(env: EnvSpec) -> str:
    """Return whether seats move at once or in turn."""
    return "at once" if env.simultaneous else "in turn"
