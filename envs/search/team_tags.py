"""What a search team said, as the tagged replies of one seat (Chain-of-Agents, arXiv 2508.13167).

The turns of `coevo/search_router-v0` become segments of `coevo/tagged_single-v0`: a router that
wants more is a plan, one that has enough a double check, the searcher a search, the answerer the
answer. What searches found is left out: the environment of the single seat shows it again.
"""

from __future__ import annotations

from collections.abc import Iterator

from coevo.envs.core.env import TextEnv
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.search.router_words import ANSWERER, ROUTER, SEARCHER, YES
from coevo.envs.search.tagged_single import segments

ENOUGH, DOUBTFUL = "4", "2"
"""Marks of a double check after which one may answer, and may not."""


def tagged_replies(team: Episode) -> list[str]:
    """Return the replies in which one seat does what a team did; a search ends a reply.

    An answer that the router did not call for, as in the last step, stands after a mark that does
    not allow it.
    """
    replies = [""]
    for turn, before in zip(team.turns, [None, *team.turns], strict=False):
        replies[-1] += "".join(f"<{tag}>{text}</{tag}>" for tag, text in _said(turn, before))
        if turn.agent == SEARCHER:
            replies.append("")
    return [reply for reply in replies if reply]


def _said(turn: Turn, before: Turn | None) -> Iterator[tuple[str, str]]:
    move = (turn.move or "").replace("<", "").replace(">", "")
    if turn.agent == SEARCHER:
        yield "search", move
    elif turn.agent == ANSWERER:
        if before is None or before.move != YES:
            yield "double_check", DOUBTFUL
        yield "answer", move
    elif turn.agent == ROUTER and move != YES:
        yield "plan", "search"
    elif turn.agent == ROUTER:
        if before is None:
            yield "plan", "answer"
        yield "double_check", ENOUGH


def distilled(team: Episode, env: TextEnv, most: int = 20) -> Episode | None:
    """Return one episode of `env`, a single seat, in which it does what a team did.

    The seed of the team's episode gives the single seat the same question, if the environments have
    the same options. None where the answer is wrong, a segment stands in a wrong place, or there
    are more than `most` segments.
    """
    replies = tagged_replies(team)
    if sum(len(segments(reply)) for reply in replies) > most:
        return None
    env = env.fresh()
    env.reset(seed=team.seed)
    if env.task.task_id != team.task:
        raise ConfigError(
            f"{env.task.env_id} asks {env.task.task_id!r} where the team was asked {team.task!r}; "
            "give both the same world, world_seed and hops"
        )
    for reply in replies:
        if not env.awaiting:
            return None
        env.step(reply)
    found = env.episode.outcome
    if env.awaiting or found["accuracy"] < 1 or found["illegal"]:
        return None
    return env.episode
