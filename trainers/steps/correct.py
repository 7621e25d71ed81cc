"""Corrections: the first wrong step of a failed episode, as an expert would do it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from coevo.agents.policy import Policy
from coevo.envs.core.config import config, real
from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status, parse_move
from coevo.trainers.collect.collector import Collected
from coevo.trainers.cycle import Step, UpdateContext
from coevo.trainers.steps.demonstrate import FOR, spell_turn


@config
class Correct(Step):
    """Puts corrections of failed episodes in the place of the episodes of the update.

    An episode is played again up to the first move that the expert of its environment would never
    make; there the expert's likeliest move takes its place. That reply alone can be learnt from.
    Left out are episodes without such a move, environments without an expert, and episodes that
    cannot be played again. Turns without a list of legal moves are taken as right.
    """

    needs: ClassVar = ("episodes",)
    gives: ClassVar = ("episodes",)
    name: Literal["correct"] = "correct"
    below: Annotated[float, real()] = 0.5
    """A seat that earned less than this by the payoff has failed."""

    def __call__(self, ctx: UpdateContext) -> None:
        learners, found = ctx.population.learners, list[Episode]()
        played = ctx.episodes
        for episode, group in zip(played.episodes[: played.fresh], played.groups, strict=False):
            if episode.stop is not StopReason.ERROR:
                options = played.played[group].specs[0].options
                env = ctx.envs[episode.env].fresh()
                env.applies_batch_rewards = False
                env.reset(seed=episode.seed, options=dict(options))
                wrong = self._first_wrong(env, episode, learners)
                found += [] if wrong is None else [_corrected(episode, *wrong, learners)]
        ctx.metrics["correct/episodes"] = float(len(found))
        tokens = sum(len(t.token_ids or ()) for e in found for t in e.turns)
        ctx.count(tokens=tokens)
        ctx.collected = Collected(found, list(range(len(found))), len(found), tokens, {})

    def _first_wrong(
        self, env: TextEnv, episode: Episode, learners: Collection[str]
    ) -> tuple[int, str] | None:
        """Return the place of the first wrong turn of a learner, and the expert's reply."""
        for place, turn in enumerate(episode.turns):
            if env.agent_selection != turn.agent or env.chat(turn.agent) != turn.chat:
                return None
            if turn.player in learners and episode.total(turn.agent, "payoff") < self.below:
                better = _better(env, turn)
                if better is not None:
                    return place, better
            env.step(turn.text)
        return None


def _better(env: TextEnv, turn: Turn) -> str | None:
    """Return the expert's likeliest reply, or None where its own was one that the expert gives."""
    replies = env.expert(turn.agent, 1.0)
    if replies is None or not turn.legal:
        return None
    odds = zip(replies.texts, replies.probabilities, strict=True)
    if any(p > 0 and parse_move(text, turn.legal).move == turn.move for text, p in odds):
        return None
    return replies.texts[int(replies.probabilities.argmax())]


def _corrected(episode: Episode, place: int, text: str, learners: Mapping[str, Policy]) -> Episode:
    """Return a copy up to a turn, in which another reply stands there; no other has tokens."""
    before = [
        replace(t, prompt_ids=None, token_ids=None, logprobs=None, choices=None)
        for t in episode.turns[:place]
    ]
    wrong = episode.turns[place]
    right = replace(wrong, text=text, status=Status.LEGAL, player=FOR + wrong.player)
    right.move = parse_move(text, wrong.legal or ()).move
    spell_turn(right, learners, "expert:1", wanted=True)
    return replace(episode, turns=[*before, right])
