"""Transcripts for the seed model: scripted agents of mixed skill playing every environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from coevo.agents.tutor import TutorAgent
from coevo.envs import list_envs, make
from coevo.envs.core.chat import Chat
from coevo.envs.core.parsing import Status
from coevo.trainers.rollout import Match, play

OPENSPIEL_GAMES = (
    "nim(pile_sizes=1;3;5;7)",
    "nim(pile_sizes=2;3;4,is_misere=false)",
    "pig(winscore=20)",
    "liars_dice(numdice=1,dice_sides=4)",
    "matching_pennies_3p",
    "lewis_signaling",
)
"""Games that teach the generic skin: moves of many shapes, to be copied from the list."""


@dataclass(frozen=True)
class Source:
    """One environment of the corpus."""

    env: str
    share: float = 1.0
    """Relative number of transcript turns."""
    skills: tuple[float, ...] = (0.0, 0.4, 0.7, 0.9)
    """Skills that seats are drawn from; 0 plays at random, 1 as well as the tutor can."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment beside the prompt style."""


MIX: dict[str, tuple[float, tuple[float, ...]]] = {
    "coevo/tic_tac_toe-v0": (10.0, (0.3, 0.7, 0.9, 1.0)),
    "coevo/connect_four-v0": (6.0, (0.3, 0.7, 0.9, 1.0)),
    "coevo/goofspiel-v0": (5.0, (0.3, 0.7, 0.9, 1.0)),
    "coevo/leduc_poker-v0": (4.0, (0.3, 0.7, 0.9, 1.0)),
    "coevo/kuhn_poker-v0": (1.5, (0.0, 0.4, 0.7, 0.9)),
    "coevo/tiny_hanabi-v0": (1.0, (0.0, 0.4, 0.7, 0.9)),
    "coevo/openspiel-v0": (3.0, (0.3, 0.7, 0.9, 1.0)),
}
"""Share and skills by environment. Small games get less skill: they leave less room to learn."""

USUAL = (3.0, (0.0, 0.4, 0.7, 0.9))
"""Share and skills of an environment that is not in the mix."""


def sources() -> list[Source]:
    """Give every registered environment, and the generic skin on several games."""
    found = [Source(s.id, *MIX.get(s.id, USUAL)) for s in list_envs()]
    # Random play is enough here: these teach the form of an answer, not the games.
    forms = [Source("coevo/openspiel-v0", 0.4, (0.0,), {"game": g}) for g in OPENSPIEL_GAMES]
    return found + forms


@dataclass(frozen=True, slots=True)
class Example:
    """One turn to imitate: the chat that was seen and the reply that was given."""

    chat: Chat
    reply: str


def turns(source: Source, count: int, seed: int) -> Iterator[Example]:
    """Give `count` legal turns of tutors whose skills are drawn anew for every seat.

    Args:
        source: environment and options.
        count: turns.
        seed: of deals, skills and moves.
    """
    rng = np.random.default_rng(seed)
    tutors = {f"tutor{s}": TutorAgent(skill=s) for s in source.skills}
    options = {"prompt_style": "terse", **source.options}
    seats = make(source.env, **options).possible_agents
    given = 0
    while given < count:
        matches = [_match(seats, list(tutors), rng) for _ in range(64)]
        for episode in play(source.env, matches, tutors, options):
            for turn in episode.turns:
                if turn.status is Status.LEGAL and given < count:
                    given += 1
                    yield Example(turn.chat, turn.text)


def _match(seats: Sequence[str], names: Sequence[str], rng: np.random.Generator) -> Match:
    drawn = rng.integers(len(names), size=len(seats))
    return Match(int(rng.integers(2**31)), {s: names[d] for s, d in zip(seats, drawn, strict=True)})
