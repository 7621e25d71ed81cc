"""What all societies share: experts whose replies are legal, and prompts of the right length."""

import numpy as np
import pytest
from tokenizers import Tokenizer

from coevo.agents.models.folders import STARTER_MODEL
from coevo.envs import list_envs, make

SOCIETIES = [e.id for e in list_envs() if "societies" in e.suite_names]
MORE = [
    ("coevo/fishery-v0", {"messages": True, "fine": {}, "norm": 9, "regrowth": "logistic"}),
    ("coevo/donor_game-v0", {"strategies": True, "generations": 2, "punish": True}),
    ("coevo/tax_economy-v0", {"brackets": [0, 50], "objective": "welfare"}),
    ("coevo/tax_economy-v0", {"objective": "inverse_income"}),
    ("coevo/stackelberg-v0", {"game": "rock_paper_scissors", "rounds": 2}),
    ("coevo/steering-v0", {"planner": "biased", "citizens": 3}),
]
CASES = [(id, {}) for id in SOCIETIES] + MORE
TOKENS = 85
WORDIER = {"coevo/auction-v0": 90, "coevo/multi_issue_negotiation-v0": 150}
"""Two messages of others are quoted there, or a table of nine options in words."""


@pytest.mark.parametrize(("id", "options"), CASES)
@pytest.mark.parametrize("skill", [0.0, 1.0])
def test_every_reply_of_an_expert_is_legal_and_its_odds_are_odds(id, options, skill):
    env, rng = make(id, prompt_style="terse", **options), np.random.default_rng(3)
    env.reset(seed=3)
    while env.awaiting:
        replies, odds = env.expert(env.agent_selection, skill)
        assert len(set(replies)) == len(replies) == len(odds)
        assert odds.sum() == pytest.approx(1) and (odds >= 0).all()
        if skill == 0 and env.infos[env.agent_selection]["legal_actions"]:
            assert odds == pytest.approx(1 / len(odds))
        env.step(replies[int(rng.choice(len(odds), p=odds))])
    assert all(turn.status == "legal" for turn in env.episode.turns)
    low, high = env.payoff_range
    totals = [env.episode.total(a, "payoff") for a in env.possible_agents]
    assert low - 1e-9 <= min(totals) and max(totals) <= high + 1e-9


@pytest.mark.parametrize("id", SOCIETIES)
def test_terse_prompts_are_one_short_line(id):
    tokenizer, most = (
        Tokenizer.from_file(str(STARTER_MODEL / "tokenizer.json")),
        WORDIER.get(id, TOKENS),
    )
    env, rng = make(id, prompt_style="terse"), np.random.default_rng(1)
    for seed in range(3):
        env.reset(seed=seed)
        while env.awaiting:
            seat = env.agent_selection
            shown = env.chat(seat)[-1]["content"]
            assert "\n" not in shown and len(tokenizer.encode(shown).ids) <= most, shown
            legal = env.infos[seat]["legal_actions"] or ("Let us share it.",)
            env.step(f"[{legal[int(rng.integers(min(len(legal), 12)))]}]")
