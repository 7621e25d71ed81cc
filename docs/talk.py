"""Recorded episodes as chat bubbles, in HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from coevo.envs.core.episode import Episode

RECORDED = Path(__file__).parents[1] / "tests" / "envs" / "playthroughs"
THOUGHT = re.compile(r"<think>.*?</think>\s*|^Move \d+\. |[\x00-\x1f]")
"""What a bubble leaves out: thoughts, the filler of recorded random moves, control characters."""
SHORT = 110
"""Characters of HTML of a bubble that stands beside others."""


def recorded(name: str) -> Episode:
    """Return the recorded episode of an environment, with full prompts."""
    lines = (RECORDED / f"{name}-v0.jsonl").read_text(encoding="utf-8").splitlines()
    return Episode.from_json(lines[0])


def bubble(who: str, said: str, kind: str) -> str:
    """Return one bubble.

    >>> bubble("player_0", "[bet]", "seat")
    '<div class="bubble seat"><span>player_0</span><p>[bet]</p></div>'
    """
    return f'<div class="bubble {kind}"><span>{who}</span><p>{escape(said)}</p></div>'


def prompt(chat: Sequence[Mapping[str, Any]]) -> str:
    """Return the messages that a seat is shown."""
    shown = "".join(bubble(m["role"], m["content"], "env") for m in chat)
    return f'<div class="talk">{shown}</div>'


def talk(prompts: str, episode: Episode, most: int) -> str:
    """Return prompts and the first replies of an episode; short replies stand side by side."""
    seats = list(episode.agents)
    said = [
        bubble(t.agent, THOUGHT.sub("", t.text), f"seat seat{seats.index(t.agent) % 4}")
        for t in episode.turns[:most]
    ]
    rest = len(episode.turns) - most
    more = f'<p class="more">and {rest} more</p>' if rest > 0 else ""
    kind = "talk" if prompts or max(map(len, said)) > SHORT else "talk short"
    return f'<div class="{kind}">{prompts}{"".join(said)}{more}</div>'
