"""Rewards that Kuhn poker has none of: verdicts, grades and formulas for records that need them."""

from typing import Literal

from coevo.envs.core.config import config, plain
from coevo.envs.core.rewards import RewardModule
from coevo.trainers.components import RankConsistency, Tiered
from coevo.trainers.steps import POLICY_GRADIENT


@config
class Won(RewardModule):
    """Pays 1 with the last turn to every seat whose payoff is above 0."""

    name: Literal["won"] = "won"
    per_turn = False

    def table(self, episodes):
        tables = []
        for episode in episodes:
            paid = {a: float(episode.total(a, "payoff") > 0) for a in episode.agents}
            tables.append([{} for _ in episode.turns[1:]] + [paid])
        return tables


@config
class Share(RewardModule):
    """Pays a quarter for every reply: at most two of a seat, so a tier of at most a half."""

    name: Literal["share"] = "share"

    def score_turn(self, episode, turn):
        return {turn.agent: 0.25}


MOVES = {
    "bet": {"name": "format", "legal": 0.5},
    **{move: {"name": "noted", "key": move} for move in ("check", "call", "fold", "pass")},
}
"""A term for every move, so that what is said is a formula."""
KUHN_GIVES_NONE = {
    # random weights write no program; replies of unequal length are paid unequally
    "theta_evolve": {"rewards": ({"name": "token_cost"},)},
    "rstar": {"cycle.demonstrate.by": "mcts:2"},  # a search of 48 is slow in a test
    "seele": {"collect.hint": None, "collect.group_size": 8},
    "ssl": {
        "rewards": ({"name": "won"}, {"name": "share"}),
        "advantage.compose": Tiered(outcome="won", tier="share", alpha=0.5),
        "advantage.reward_weights": {"payoff": 0.0},
    },
    "comam": {
        "rewards": ({"name": "share"},),
        "advantage.compose": RankConsistency(local="share"),
        "advantage.reward_weights": {},
    },
    "derl": {
        "cycle.inner_run.env": "coevo/kuhn_poker-v0",
        "cycle.inner_run.env_options": {"prompt_style": "terse"},
        "cycle.inner_run.steps": 1,
        "cycle.inner_run.tasks": 2,
        "cycle.inner_run.component": "formula",  # the payoff of self-play is always 0
        "cycle.inner_run.changes": {
            "algorithm.cycle": plain(POLICY_GRADIENT),
            "algorithm.rewards": [{"name": "formula", "expression": "bet", "terms": MOVES}],
        },
    },
    "barfi:fixed": {},
    "barfi": {"cycle.tune_rewards.steps": 1, "cycle.tune_rewards.tasks": 2},
    "arena_rl": {"judges": {"judge": {"learns": False, "guided": "choice"}}},
    "cooper": {"rewards": ({"name": "won"}, {"name": "reward_model"})},
    "gtalign": {"rewards": ({"name": "won"},)},
    **{
        name: {"rewards": ({"name": "won"},), "collect.component": "won"}
        for name in ("rlccf", "co_reward", "evol_rl", "vpl", "polar", "ettrl", "c2")
    },
    "spark": {"rewards": ({"name": "won"},)},
    "urpo": {"rewards": ({"name": "won"},)},
}
"""Changes for what learns from verdicts, grades or formulas, which a board game has none of."""
