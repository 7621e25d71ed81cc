"""An episode as the script of the page reads it: one JSON object per line inside of the page.

Messages that turns have in common are written once. Very long texts are cut, and it is said by
how much. Nothing in here is HTML: the script writes text as text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from coevo.benchmarks.report.episodes import Entry, Index, read
from coevo.envs.core.episode import Episode, Turn

LONGEST = (20_000, 2_000, 200)
"""Characters of one text that are shown, and where an episode takes too much room, fewer."""
MOVES = 80
"""Legal moves of one turn that are listed."""
ROOM = 24_000_000
"""Characters that all episodes of a page may take."""


@dataclass
class Transcripts:
    """The episodes of a page, as lines of JSON."""

    summaries: list[dict[str, Any]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """The episodes themselves, parsed one by one when they are looked at."""
    left_out: int = 0
    """Episodes that were picked and did not fit into the page."""


def transcripts(found: Index, chosen: Sequence[Entry], room: int = ROOM) -> Transcripts:
    """Turn picked episodes into lines, as many as there is room for."""
    out, waiting = Transcripts(), len(chosen)
    for entry, episode in read(found, chosen):
        tries = (for_script(transcript(episode, longest)) for longest in LONGEST)
        line = next((line for line in tries if len(line) <= room // waiting), None)
        waiting -= 1
        if line is None:
            out.left_out += 1
            continue
        room -= len(line)
        out.lines.append(line)
        out.summaries.append(summary(found, entry, episode))
    return out


def summary(found: Index, entry: Entry, episode: Episode) -> dict[str, Any]:
    source = found.sources[entry.source]
    return {
        "environment": source.environment,
        "algorithm": source.algorithm,
        "seed": str(source.seed),
        "step": entry.step,
        "outcome": entry.outcome,
        "turns": len(episode.turns),
        "where": f"{source.name}, line {entry.line}",
    }


def transcript(episode: Episode, longest: int = LONGEST[0]) -> dict[str, Any]:
    """Return everything about an episode that is shown, as JSON values; long texts are cut."""
    pool: dict[tuple[str, str], int] = {}
    turns = [_turn(turn, pool, longest) for turn in episode.turns]
    return {
        "env": episode.env,
        "task": cut(episode.task, longest),
        "seed": episode.seed,
        "agents": list(episode.agents),
        "stop": str(episode.stop),
        "note": cut(episode.note, longest),
        "outcome": finite(episode.outcome),
        "totals": finite(_totals(episode)),
        "messages": [[role, cut(content, longest)] for role, content in pool],
        "turns": turns,
    }


def _turn(turn: Turn, pool: dict[tuple[str, str], int], longest: int) -> dict[str, Any]:
    legal = None if turn.legal is None else [cut(move, longest) for move in turn.legal[:MOVES]]
    return {
        "agent": turn.agent,
        "player": cut(turn.player, longest),
        "version": turn.version,
        "chat": [pool.setdefault((m["role"], m["content"]), len(pool)) for m in turn.chat],
        "text": cut(turn.text, longest),
        "move": None if turn.move is None else cut(turn.move, longest),
        "status": str(turn.status),
        "legal": legal,
        "more": max(len(turn.legal or ()) - MOVES, 0),
        "rewards": finite(turn.rewards),
        "advantage": finite(turn.advantage),
        "tokens": None if turn.token_ids is None else len(turn.token_ids),
    }


def _totals(episode: Episode) -> dict[str, dict[str, float]]:
    names = dict.fromkeys(name for turn in episode.turns for name in turn.rewards)
    return {name: {a: episode.total(a, name) for a in episode.agents} for name in names}


def cut(text: str, longest: int) -> str | list[Any]:
    """Shorten a very long text to its start and the number of characters left out."""
    return text if len(text) <= longest else [text[:longest], len(text) - longest]


def finite(value: Any) -> Any:
    """Write numbers that JSON does not know as text."""
    if isinstance(value, Mapping):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def for_script(data: Any) -> Markup:
    r"""Write JSON that cannot end the script element around it, on one line.

    >>> for_script({"said": "</script><!--"})
    Markup('{"said":"\\u003c/script\\u003e\\u003c!--"}')
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
