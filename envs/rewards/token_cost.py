"""A price on tokens, relative to the longest play of the same task."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, get_args

from coevo.envs.core.episode import Episode
from coevo.envs.rewards.arguments import check_number, check_word
from coevo.envs.rewards.module import Payments, RewardModule
from coevo.envs.rewards.shaping import TOKENS

Payer = Literal["speaker", "team"]


class TokenCost(RewardModule):
    """Charges for every token: -cost * n / max_k N_k for a reply of n tokens.

    N_k is the number of sampled tokens of play k, the maximum runs over all plays of this task in
    the batch (equal `Episode.task` of one environment). Over its replies a play pays
    -cost * N / max_k N_k, so the longest one pays `cost`. Source: the token term of Optima, whose
    cost is 0.4 to 0.6. Its code forces the term to -1 for plays of at most 40 tokens and for
    broken replies; that is left to `format` here.

    Tokens are known only for replies of a policy: scored after the play, and other replies cost
    nothing. One play alone is its own longest.

    Args:
        cost: what the longest play of a task pays.
        payer: the `speaker` pays for its own reply; or the whole `team` pays for every reply, as
            in Optima, where a conversation has one reward.
    """

    name = "token_cost"
    online = False
    wants = TOKENS

    def __init__(self, *, cost: float = 0.5, payer: Payer = "speaker") -> None:
        check_word("payer", payer, get_args(Payer))
        self.cost = check_number("cost", cost, 0.0)
        self.payer = payer
        self.range = (0.0 - self.cost, 0.0)

    def score(self, episodes: Sequence[Episode]) -> list[list[Payments]]:
        """Charge every reply whose tokens are known."""
        longest: dict[Hashable, int] = {}
        keys = [(e.env, e.task) if e.task else i for i, e in enumerate(episodes)]
        for key, episode in zip(keys, episodes, strict=True):
            tokens = sum(len(t.token_ids or ()) for t in episode.turns)
            longest[key] = max(longest.get(key, 0), tokens)
        return [self._charge(e, longest[k]) for k, e in zip(keys, episodes, strict=True)]

    def _charge(self, episode: Episode, longest: int) -> list[Payments]:
        table: list[Payments] = []
        for turn in episode.turns:
            seats = episode.agents if self.payer == "team" else (turn.agent,)
            known = turn.token_ids is not None
            share = len(turn.token_ids or ()) / max(longest, 1)
            table.append(dict.fromkeys(seats, 0.0 - self.cost * share) if known else {})
        return table
