"""Plays told in words: who read what, said what, got what, and who won."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from coevo.agents.human import latest
from coevo.commands.screen import harmless
from coevo.envs import list_envs
from coevo.envs.core.episode import Episode, Stop, Turn
from coevo.envs.core.parsing import Status

EQUAL = 1e-9


def tell(episode: Episode) -> Iterator[str]:
    """Tell a whole play, one line of text after the other."""
    yield f"{episode.env}, {_origin(episode)}"
    for number, turn in enumerate(episode.turns, start=1):
        yield ""
        yield f"{number}. {who(turn)} reads:"
        yield from _indented(latest(turn.chat))
        yield f"   and says: {_quoted(turn.text)}"
        yield f"   {_outcome(turn)}"
        yield from (f"   {line}" for line in _paid(turn))
    yield ""
    yield ending(episode)


def sketch(episode: Episode) -> Iterator[str]:
    """Tell a play in one line per turn."""
    yield f"{episode.env}, {_origin(episode)}"
    for turn in episode.turns:
        seen = " ".join(latest(turn.chat).split())
        yield f"  {turn.agent} reads: {harmless(_short(seen))}"
        yield f"    says {_quoted(turn.text)}: {_outcome(turn)}"
    yield f"  {ending(episode)}"


def pick(episodes: Sequence[Episode], most: int = 3) -> list[Episode]:
    """Choose plays that differ in what was said, the longest first."""
    different = {tuple((t.agent, t.text) for t in e.turns): e for e in episodes}
    return sorted(different.values(), key=lambda e: -len(e.turns))[:most]


def ending(episode: Episode) -> str:
    """Say how a play ended and what everybody got."""
    totals = {a: episode.total(a, "payoff") + episode.total(a, "illegal") for a in episode.agents}
    got = ", ".join(f"{a} {value:+g}" for a, value in totals.items())
    if episode.stop is Stop.FORFEIT:
        out = episode.offenders
        verb = "forfeits" if len(out) == 1 else "forfeit"
        return f"{' and '.join(out)} {verb} ({got}): {harmless(episode.note)}"
    if episode.stop is not Stop.FINISHED:
        why = {Stop.TURN_LIMIT: "the limit of rounds", Stop.UNFINISHED: "an interruption"}
        return f"ended by {why.get(episode.stop, harmless(episode.note) or 'an error')} ({got})"
    if not _is_contest(episode.env, totals.values()):
        return f"the play ends with {got}"
    best = max(totals.values())
    winners = [a for a, value in totals.items() if best - value <= EQUAL]
    if len(winners) == 1:
        return f"{winners[0]} wins ({got})"
    if len(winners) < len(totals):
        return f"{' and '.join(winners)} win ({got})"
    return f"nobody is ahead ({got})"


def _is_contest(env: str, totals: Iterable[float]) -> bool:
    """Tell whether who gets more has won: by what is registered, else where gains are losses."""
    kinds = {s.id: s.kind for s in list_envs()}
    return kinds.get(env) == "competitive" or abs(sum(totals)) <= EQUAL


def who(turn: Turn) -> str:
    """Name a seat and who sits there."""
    version = f" after {turn.version} updates" if turn.version >= 0 else ""
    return f"{turn.agent} ({harmless(turn.player)}{version})" if turn.player else turn.agent


def _origin(episode: Episode) -> str:
    step = episode.outcome.get("step")
    return f"start state {episode.task}" + (f", update {step:g}" if step is not None else "")


def _outcome(turn: Turn) -> str:
    if turn.status is Status.LEGAL:
        return f"plays {turn.move}" if turn.legal is not None else "accepted"
    fault = "no move in square brackets at its end"
    if turn.status is Status.ILLEGAL:
        fault = "not a legal move"
    return f"{fault}" + (f"; {turn.move} is played instead" if turn.move is not None else "")


def _paid(turn: Turn) -> Iterator[str]:
    for component, table in turn.rewards.items():
        if any(table.values()):
            got = ", ".join(f"{agent} {value:+g}" for agent, value in table.items())
            yield f"{component}: {got}"


def _quoted(text: str) -> str:
    return f'"{harmless(_short(" ".join(text.split()), 400))}"'


def _short(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _indented(text: str) -> Iterator[str]:
    return (f"     {harmless(line)}" for line in text.splitlines())
