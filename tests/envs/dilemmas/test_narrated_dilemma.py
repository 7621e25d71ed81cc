"""Stories: they rank their ends as their game pays, hide what they should, and favour no place."""

from collections import Counter

import numpy as np
import pytest
from tokenizers import Tokenizer

from coevo.agents import RandomAgent
from coevo.agents.models.folders import STARTER_MODEL
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.dilemmas.catalogue import TABLES
from coevo.envs.dilemmas.narrated_dilemma import GAMES
from coevo.envs.dilemmas.stories import STORIES

ID = "coevo/narrated_dilemma-v0"
each_story = pytest.mark.parametrize("name", STORIES)


def started(seed=0, **options):
    env = make(ID, **options)
    env.reset(seed=seed)
    return env


def test_there_are_two_stories_of_every_game_and_nine_in_all():
    told = Counter(story.game for story in STORIES.values())
    assert set(told) == set(GAMES.values()) and min(told.values()) >= 2
    assert len(STORIES) == 9


@each_story
def test_a_player_is_told_the_same_words_where_and_only_where_it_is_paid_the_same(name):
    story = STORIES[name]
    for me in range(2):
        paid = {}
        for own in range(2):
            for their in range(2):
                joint = (own, their) if me == 0 else (their, own)
                worth = TABLES[story.game].payoffs[joint][me]
                paid.setdefault(story.end(me, own, their), set()).add(float(worth))
        assert all(len(one) == 1 for one in paid.values())
        assert len(set.union(*paid.values())) == len(paid)


@each_story
@pytest.mark.parametrize("payoffs", ["words", "points"])
def test_the_rules_tell_all_ends_and_points_only_where_asked_for(name, payoffs):
    env = started(story=name, payoffs=payoffs)
    for me, seat in enumerate(env.possible_agents):
        told = env.task.rules(seat)
        assert not set("{}") & set(told)
        assert told.count("for you, ") == (4 if payoffs == "points" else 0)
        for own in range(2):
            for their in range(2):
                other = env.possible_agents[1 - me]
                assert STORIES[name].end(me, own, their).format(other=other) in told
        assert STORIES[name].game not in told


@each_story
def test_payoffs_are_those_of_the_game_whatever_the_order_of_the_lists(name):
    orders = set()
    for seed in range(8):
        env = started(seed, story=name, rounds=1)
        orders.add(tuple(env.task.order.values()))
        for action in (0, 1):
            env.step(f"[{STORIES[name].choices[action]}]")
        paid = [env.episode.total(seat, "payoff") for seat in env.possible_agents]
        assert paid == TABLES[STORIES[name].game].payoffs[0, 1].tolist()
    assert len(orders) > 2, "each seat has an order of its own"


def test_references_are_the_means_over_stories():
    games = [TABLES[story.game] for story in STORIES.values()]
    assert spec(ID).refs["random"] == pytest.approx(5 * np.mean([g.payoffs.mean() for g in games]))
    assert spec(ID).refs["oracle"] == pytest.approx(5 * np.mean([g.welfare / 2 for g in games]))
    found = evaluate(RandomAgent(), ID, None, 400, seed=0).value
    assert found == pytest.approx(spec(ID).refs["random"], abs=0.6)


def test_experts_together_earn_the_highest_sum_and_answer_in_kind():
    for name, story in STORIES.items():
        env = started(story=name)
        while env.awaiting:
            texts, odds = env.expert(env.agent_selection, 1.0)
            env.step(texts[int(odds.argmax())])
        paid = sum(env.episode.total(seat, "payoff") for seat in env.possible_agents)
        assert paid == pytest.approx(5 * TABLES[story.game].welfare)
    env = started(story="bridge")
    env.step("[give way]")
    env.step("[drive on]")
    assert env.expert("player_0", 1.0).probabilities.tolist() == [
        float(move == "drive on") for move in env.infos["player_0"]["legal_actions"]
    ]


def test_terse_prompts_are_one_short_line_with_the_own_points():
    tokenizer = Tokenizer.from_file(str(STARTER_MODEL / "tokenizer.json"))
    for name in STORIES:
        env = started(story=name, prompt_style="terse", rounds=2)
        while env.awaiting:
            told = env.chat(env.agent_selection)[-1]["content"]
            assert "\n" not in told and len(tokenizer.encode(told).ids) <= 120, told
            env.step(f"[{env.task.choices(env.agent_selection)[0]}]")
        assert env.episode.outcome["listed_first"] == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"story": "bakerys"}, "bakeries"),
        ({"story": "bridge", "game": "stag_hunt"}, "bridge"),
        ({"unparsable": "drive on"}, "needs story="),
        ({"game": "poker"}, "stag_hunt"),
    ],
)
def test_what_cannot_be_told_is_said(options, said):
    with pytest.raises(ConfigError, match=said):
        make(ID, **options)


def test_a_reply_without_a_choice_may_play_a_choice_of_the_story():
    env = started(story="bridge", unparsable="drive on", rounds=1)
    for _ in range(4):
        if env.awaiting:
            env.step("hm")
    assert env.task.history == [(1, 1)]
