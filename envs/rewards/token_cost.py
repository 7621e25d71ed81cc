"""A price on tokens, relative to the longest episode of the same task."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Literal

from coevo.envs.core.config import config, real
from coevo.envs.core.episode import Episode
from coevo.envs.core.rewards import RewardModule, Rewards, Table


@config
class TokenCost(RewardModule):
    """Charges for every token: -cost * n / max_k N_k for a reply of n tokens.

    N_k is the number of sampled tokens of episode k, the maximum runs over all episodes of this
    task in the batch (equal `Episode.task` of one environment). Over its replies an episode costs
    -cost * N / max_k N_k, so the longest one costs `cost`. Source: the token term of Optima, whose
    cost is 0.4 to 0.6. Its code forces the term to -1 for episodes of at most 40 tokens and for
    broken replies; that is left to `format` here.

    Tokens are known only for replies of a policy: scored after the episode, and other replies cost
    nothing. One episode alone is its own longest.
    """

    name: Literal["token_cost"] = "token_cost"
    cost: Annotated[float, real(0)] = 0.5
    """What the longest episode of a task costs."""
    payer: Literal["speaker", "team"] = "speaker"
    """The `speaker` pays for its own reply; or the whole `team` pays for every reply, as in
    Optima, where a conversation has one reward."""
    per_turn = False

    @property
    def range(self) -> tuple[float, float]:
        return (0.0 - self.cost, 0.0)

    def table(self, episodes: Sequence[Episode]) -> Table:
        longest: dict[Hashable, int] = {}
        keys = [(e.env, e.task) if e.task else i for i, e in enumerate(episodes)]
        for key, episode in zip(keys, episodes, strict=True):
            tokens = sum(len(t.token_ids or ()) for t in episode.turns)
            longest[key] = max(longest.get(key, 0), tokens)
        return [self._charge(e, longest[k]) for k, e in zip(keys, episodes, strict=True)]

    def _charge(self, episode: Episode, longest: int) -> list[Rewards]:
        table: list[Rewards] = []
        for turn in episode.turns:
            agents = episode.agents if self.payer == "team" else (turn.agent,)
            known = turn.token_ids is not None
            share = len(turn.token_ids or ()) / max(longest, 1)
            table.append(dict.fromkeys(agents, 0.0 - self.cost * share) if known else {})
        return table
