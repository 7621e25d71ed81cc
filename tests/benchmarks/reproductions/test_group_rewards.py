"""Worlds of the claims about votes, thoughts, bonuses and policies: what is played and measured."""

import numpy as np
import pytest
import torch

from coevo.benchmarks.reproductions.claims import (
    bonus_rooms,
    co_reward_views,
    evol_rl_routes,
    oni_messages,
    polar_chains,
    ssl_tiers,
    thought_marks,
    vpl_users,
)
from coevo.envs import make


def played(env_id, *moves, **options):
    env = make(env_id, prompt_style="terse", **options)
    env.reset(seed=0)
    for move in moves:
        env.step(f"[{move}]")
    return env


def test_every_wording_has_its_row_and_the_start_is_right_in_two_thirds():
    begun = co_reward_views.starts(0, 0.0, 4)
    env = make("coevo/debate-v0", prompt_style="terse", **co_reward_views.CLAIM.world.options)
    assert len(begun) == 4 * len(co_reward_views.ASKED)
    for place in range(len(co_reward_views.ASKED)):
        env.reset(seed=0, options={"item": place})
        assert env.chat("debater_0")[-1]["content"] == co_reward_views.prompts(place, 4)[0]
    right = [
        begun[prompt][asked.answer] > 0
        for n, asked in enumerate(co_reward_views.ASKED)
        for prompt in co_reward_views.prompts(n, 4)
    ]
    assert 0.5 < np.mean(right) < 0.8
    alike = co_reward_views.starts(0, 1.0, 4)
    for place in range(len(co_reward_views.ASKED)):
        first, *others = (alike[prompt] for prompt in co_reward_views.prompts(place, 4))
        assert all(other == first for other in others)


def test_sums_are_worked_in_sixteen_texts_with_four_answers():
    for item in range(evol_rl_routes.ITEMS):
        texts = evol_rl_routes.worked(item)
        assert len(set(texts)) == 16
        ends = [int(text.rpartition("so ")[2]) for text in texts]
        assert ends == [sum(evol_rl_routes.numbers(item)) + k for k in range(4) for _ in range(4)]
    env = played("coevo/worked_sums-v0", evol_rl_routes.worked(0)[5])
    env = played("coevo/worked_sums-v0", env.episode.turns[0].legal[5])
    assert env.episode.turns[0].answer == env.episode.turns[0].legal[5].rpartition("so ")[2]


def test_ways_are_counted_within_the_most_likely_answer():
    even = torch.full((16,), 1 / 16)
    sure = torch.zeros(16)
    sure[:2] = 0.5
    found = evol_rl_routes.measures({evol_rl_routes.asked(0): even, evol_rl_routes.asked(1): sure})
    assert found["ways"] == pytest.approx(3.0) and found["right"] == pytest.approx(0.625)


def test_a_step_is_marked_by_what_it_does_to_the_chain():
    env = played("coevo/chain_of_steps-v0", "0", "3", "wait", "2", "1", "3", "0", "2")
    marks = [turn.notes["good"] for turn in env.episode.turns]
    assert marks == [1, -1, 1, 1, 1, 1, 1, 1] and env.episode.total("player_0", "payoff") == 1.0
    env = played("coevo/chain_of_steps-v0", "0", "wait")
    assert env.episode.turns[1].notes["good"] == -1
    assert set(thought_marks.starts()) >= {turn.chat[-1]["content"] for turn in env.episode.turns}


def test_only_the_right_door_leads_on():
    right = ["north", "east"] * 4
    env = played("coevo/coloured_rooms-v0", *right, right=right)
    assert env.episode.total("player_0", "payoff") == 1.0
    env = played("coevo/coloured_rooms-v0", "north", "east", "west", right=right)
    said = [turn.chat[-1]["content"].split(" of")[0] for turn in env.episode.turns]
    assert said == ["Room 0", "Room 1", "Room 2"]
    assert env.chat("player_0")[-1]["content"] == "Room 0 of colour 0"
    assert bonus_rooms.REDRAWN.options(0)["colours"] == bonus_rooms.COLOURS


def test_a_door_is_opened_once():
    right = ["right"] * 3
    env = played("coevo/messages_corridor-v0", *right, "left", "right", "eat")
    said = [turn.notes["message"] for turn in env.episode.turns]
    assert said[2] == "You open the first door." and said[4] == "You walk right."
    assert said[5] == "You eat an apple." and oni_messages.SEEN[said[5]] == 1


def test_chains_are_told_apart_by_rank_and_by_likelihood():
    rng = np.random.default_rng(0)
    every = polar_chains.chains(rng, 3)
    assert polar_chains.divergence(every[0], every[0]) == pytest.approx(0.0)
    assert polar_chains.divergence(every[0], every[1]) > 0.1
    assert polar_chains.auc(np.array([2.0, 3.0]), np.array([1.0, 2.0])) == 0.875
    found = [polar_chains.likeliest(t, every) for t in polar_chains.texts(every[1], 20, rng)]
    assert np.mean(np.array(found) == 1) > 0.9


def test_users_reverse_one_feature():
    rng = np.random.default_rng(0)
    for user, sign in ((0, -1), (1, 1)):
        drawn = vpl_users.pairs(user, 20, rng, only=vpl_users.CONTESTED)
        assert (drawn[:, 0, 0] == sign).all() and (drawn[:, 0, 1:] == drawn[:, 1, 1:]).all()


def test_a_click_is_graded_by_its_distance_and_paid_if_it_hits():
    targets = ssl_tiers._targets(0)
    for place, paid in ((targets[0], 1.0), (0, 0.0)):
        env = played("coevo/clicks-v0", place, targets=targets[:1])
        near = 1 - abs(place - targets[0]) / (ssl_tiers.PLACES - 1)
        assert env.episode.turns[0].notes["near"] == near
        assert env.episode.total("player_0", "payoff") == paid
