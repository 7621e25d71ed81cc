"""Episodes in words: prompts, replies, rewards and the winner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coevo.agents.human import latest
from coevo.benchmarks.report.episodes import outcome
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status
from coevo.envs.core.quoting import visible

LONGEST = 20_000
END = 400
"""Characters of each end of a prompt that an excerpt shows."""


def transcript(episode: Episode) -> Iterator[str]:
    yield f"{episode.env}, {_origin(episode)}"
    for number, turn in enumerate(episode.turns, start=1):
        yield ""
        yield f"{number}. {_who(turn)} reads:"
        yield from _indented(_short(latest(turn.chat), LONGEST))
        yield f"   and says: {_quoted(turn.text)}"
        yield f"   {_outcome(turn)}"
        yield from (f"   {line}" for line in _paid(turn))
    yield ""
    yield ending(episode)


def excerpt(episode: Episode) -> Iterator[str]:
    """Return an episode in two lines per turn; the middle of long prompts is left out."""
    yield f"{episode.env}, {_origin(episode)}"
    for turn in episode.turns:
        yield f"  {turn.agent} reads: {visible(_ends(' '.join(latest(turn.chat).split())))}"
        yield f"    says {_quoted(turn.text)}: {_outcome(turn)}"
    yield f"  {ending(episode)}"


def different(episodes: Sequence[Episode]) -> list[Episode]:
    """Return up to three episodes that differ in what was said, the longest first."""
    found = {tuple((t.agent, t.text) for t in e.turns): e for e in episodes}
    return sorted(found.values(), key=lambda e: -len(e.turns))[:3]


def ending(episode: Episode) -> str:
    """Say how an episode ended, and the payoff of every seat."""
    totals = {a: episode.total(a, "payoff") + episode.total(a, "illegal") for a in episode.agents}
    got = ", ".join(f"{a} {value:+g}" for a, value in totals.items())
    regular = episode.stop is StopReason.FINISHED
    note = f": {visible(episode.note)}" if episode.note and not regular else ""
    return f"{outcome(episode)} ({got}){note}"


def _who(turn: Turn) -> str:
    version = f" after {turn.version} updates" if turn.version >= 0 else ""
    return f"{turn.agent} ({visible(turn.player)}{version})" if turn.player else turn.agent


def _origin(episode: Episode) -> str:
    step = episode.outcome.get("step")
    return f"task {episode.task}" + (f", update {step:g}" if step is not None else "")


def _outcome(turn: Turn) -> str:
    if turn.status is Status.LEGAL:
        return f"plays {turn.move}" if turn.legal is not None else "accepted"
    fault = "could not be read"
    if turn.status is Status.ILLEGAL:
        fault = "not a legal move"
    played = f"; {turn.move} is played instead" if turn.move and turn.legal is not None else ""
    return f"{fault}{played}"


def _paid(turn: Turn) -> Iterator[str]:
    for component, table in turn.rewards.items():
        if any(table.values()):
            got = ", ".join(f"{agent} {value:+g}" for agent, value in table.items())
            yield f"{component}: {got}"


def _quoted(text: str) -> str:
    return f'"{visible(_short(" ".join(text.split()), 400))}"'


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _ends(text: str) -> str:
    """Leave the middle out of a long prompt; how to answer stands at its end."""
    return text if len(text) <= 2 * END else f"{text[:END]} … {text[-END:]}"


def _indented(text: str) -> Iterator[str]:
    return (f"     {visible(line)}" for line in text.splitlines())
