"""Transcripts for the starter model: scripted agents of mixed skill playing every environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from coevo.agents.agent import Agent, Reply, Request
from coevo.agents.strategies.expert import ExpertAgent
from coevo.envs import list_envs, make
from coevo.envs.core.chat import Chat
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

OPENSPIEL_GAMES = (
    "nim(pile_sizes=1;3;5;7)",
    "nim(pile_sizes=3;4;5,is_misere=false)",
    "liars_dice(numdice=1,dice_sides=4)",
    "matching_pennies_3p",
    "lewis_signaling",
)
"""Games that teach the generic skin: moves of many shapes, to be copied from the list."""


@dataclass(frozen=True)
class CorpusSource:
    """One environment of the corpus."""

    env: str
    share: float = 1.0
    """Relative number of transcript turns."""
    skills: tuple[float, ...] = (0.0, 0.4, 0.7, 0.9)
    """Skills that seats are drawn from; 0 plays at random, 1 as well as the expert can."""
    label: float | None = None
    """Skill that the model imitates; None for the mean of `skills`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment beside the prompt style."""


MIX: dict[str, tuple[float, tuple[float, ...]]] = {
    "coevo/tic_tac_toe-v0": (10.0, (0.3, 0.7, 0.9, 1.0)),
    "coevo/connect_four-v0": (4.0, (0.3, 0.7, 0.9, 1.0)),
    "coevo/goofspiel-v0": (6.0, (0.3, 0.7, 0.9, 1.0)),
    "coevo/leduc_poker-v0": (8.0, (0.3, 0.7, 0.9, 1.0)),
    "coevo/kuhn_poker-v0": (2.0, (0.0, 0.4, 0.7, 0.9)),
    "coevo/tiny_hanabi-v0": (1.5, (0.0, 0.4, 0.7, 0.9)),
    "coevo/openspiel-v0": (4.0, (0.3, 0.7, 0.9, 1.0)),
    "coevo/peer_review-v0": (3.0, (0.0, 0.4, 0.7, 0.9)),
    "coevo/debate-v0": (2.0, (0.0, 0.4, 0.7, 0.9)),
    "coevo/solver_verifier-v0": (2.5, (0.0, 0.4, 0.7, 0.9)),
    "coevo/search_router-v0": (5.0, (0.3, 0.7, 0.9, 1.0)),
    "coevo/search_self_play-v0": (7.0, (0.3, 0.7, 0.9, 1.0)),
    "coevo/iterated_game-v0": (2.0, (0.0, 0.4, 0.7, 0.9)),
    "coevo/trust_and_split-v0": (3.0, (0.0, 0.4, 0.7, 0.9)),
}
"""Share and skills by environment. Small games get less skill: they leave less room to learn."""

LABELS = {
    "coevo/tic_tac_toe-v0": 0.95,
    "coevo/search_router-v0": 0.85,
    "coevo/search_self_play-v0": 0.85,
}
"""Skill to imitate where it is not the mean. Self-play of minutes sharpens what a small model has
seen of a board, it does not discover it; and a search that goes wrong at every step finds nothing.
"""

OPTIONS: dict[str, dict[str, Any]] = {
    "coevo/tic_tac_toe-v0": {"openings": 4},
    "coevo/search_self_play-v0": {"solvers": 2},
}
"""Arguments that give more of what is hard: boards off the usual lines, proposals."""

USUAL = (3.0, (0.0, 0.4, 0.7, 0.9))
"""Share and skills of an environment that is not in the mix."""


LESSONS: tuple[dict[str, float], ...] = (
    {},
    {"coevo/tic_tac_toe-v0": 2.0, "coevo/leduc_poker-v0": 3.0},
    {
        "coevo/search_self_play-v0": 4.0,
        "coevo/search_router-v0": 2.5,
        "coevo/peer_review-v0": 8.0,
        "coevo/solver_verifier-v0": 4.0,
        "coevo/tic_tac_toe-v0": 0.6,
        "coevo/connect_four-v0": 0.5,
        "coevo/goofspiel-v0": 0.6,
        "coevo/leduc_poker-v0": 0.6,
    },
)
"""Factors on the shares, lesson by lesson: first everything; then threats on a board and pairs;
last to copy names that were never seen before, and to judge an answer, which come latest."""


def sources(lesson: int = 1) -> list[CorpusSource]:
    """Return every environment that it learns from, and the generic skin on several games.

    Args:
        lesson: number of the part of the training, from 1; see LESSONS.
    """
    found = [
        CorpusSource(s.id, *MIX.get(s.id, USUAL), LABELS.get(s.id), OPTIONS.get(s.id, {}))
        for s in list_envs()
        if s.starter_trained
    ]
    found = [replace(s, share=s.share * LESSONS[lesson - 1].get(s.env, 1.0)) for s in found]
    # Random play is enough here: these teach the form of an answer, not the games.
    forms = [
        CorpusSource("coevo/openspiel-v0", 0.4, (0.0,), options={"game": g})
        for g in OPENSPIEL_GAMES
    ]
    return found + forms


@dataclass(frozen=True, slots=True)
class Example:
    """One situation to imitate: the chat that was seen and how likely each reply should be."""

    chat: Chat
    replies: tuple[str, ...]
    """The replies that are taught: all legal moves, or what a speaker might say."""
    odds: tuple[float, ...]
    """Probability of each; the label is the whole distribution, which says far more than a draw."""


class Recorder(Agent):
    """Plays with one skill and notes at every turn what an expert of another skill would do.

    Args:
        skill: of the moves that are played, so that many situations come up.
        label: of the moves that are noted.
        examples: receives the notes.
    """

    insider = True

    def __init__(self, skill: float, label: float, examples: list[Example]) -> None:
        self.player, self.teacher, self.examples = ExpertAgent(skill), ExpertAgent(label), examples
        self.name = f"recorder:{skill:g}"

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        """Return the player's replies; note what the teacher might say."""
        for request in requests:
            replies, odds = self.teacher.speech(request)
            self.examples.append(Example(request.chat, replies, tuple(map(float, odds))))
        return self.player.act(requests)


def turns(source: CorpusSource, count: int, seed: int) -> list[Example]:
    """Return `count` turns of experts whose skills are drawn anew for every seat.

    Args:
        source: environment and options.
        count: turns.
        seed: of deals, skills and moves.
    """
    rng = np.random.default_rng(seed)
    examples: list[Example] = []
    mean = sum(source.skills) / len(source.skills)
    label = mean if source.label is None else source.label
    players = {f"recorder{s}": Recorder(s, label, examples) for s in source.skills}
    options = {"prompt_style": "terse", **source.options}
    seats = make(source.env, **options).possible_agents
    while len(examples) < count:
        rollout(
            source.env, [_match(seats, list(players), rng) for _ in range(64)], players, options
        )
    return examples[:count]


def _match(seats: Sequence[str], names: Sequence[str], rng: np.random.Generator) -> EpisodeSpec:
    drawn = rng.integers(len(names), size=len(seats))
    return EpisodeSpec(
        int(rng.integers(2**31)), {s: names[d] for s, d in zip(seats, drawn, strict=True)}
    )
