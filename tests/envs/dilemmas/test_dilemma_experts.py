import numpy as np
import pytest

from coevo.agents import ExpertAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make
from coevo.envs.dilemmas.experts import claim_of_hand, reciprocal, split_claim

ITERATED, SPLIT = "coevo/iterated_game-v0", "coevo/trust_and_split-v0"


def claim(hand, heard="", history=(), player=0, claims=(0, 5, 10)):
    messages = {"player_1": heard} if heard else {}
    info = {"hand": hand, "messages": messages, "history": list(history), "player": player}
    return split_claim(info | {"coins": 10}, claims)


@pytest.mark.parametrize("env_id", [ITERATED, SPLIT])
@pytest.mark.parametrize("messages", [False, True])
@pytest.mark.parametrize("skill", [0.0, 0.5, 1.0])
def test_every_reply_can_be_given_and_the_odds_are_odds(env_id, messages, skill):
    env = make(env_id, prompt_style="terse", messages=messages)
    rng = np.random.default_rng(1)
    env.reset(seed=1)
    while env.awaiting:
        agent = env.agent_selection
        info = env.infos[agent]
        replies, odds = env.expert(agent, skill)
        assert len(replies) == len(set(replies)) == len(odds) <= 40
        assert odds.sum() == pytest.approx(1) and (odds >= 0).all()
        if skill == 0:
            assert odds == pytest.approx(1 / len(odds))
        legal = info["legal_actions"]
        assert legal is None or [f"[{move}]" for move in legal] == list(replies)
        env.step(replies[int(rng.choice(len(odds), p=odds))])
    assert all(turn.status == "legal" for turn in env.episode.turns)


def test_cooperation_is_answered_with_more_cooperation():
    share = {past: reciprocal([past], 0, 2)[0] for past in [(0, 0), (0, 1), (1, 0), (1, 1)]}
    assert share == {(0, 0): 0.75, (0, 1): 0, (1, 0): 0.5, (1, 1): 0}
    assert reciprocal([], 0, 2)[0] == 0.75
    assert reciprocal([(0, 1)], 1, 2)[0] == share[(1, 0)], "each seat reads itself first"
    assert reciprocal([(0, 0, 1)], 0, 2)[0] == 0, "one defector among several"


def test_three_choices_are_all_one_to_it():
    assert reciprocal([], 0, 3) == pytest.approx(1 / 3)


def test_messages_tell_the_own_hand():
    replies, odds = claim_of_hand("paper", 1)
    assert replies[int(odds.argmax())] == "[say: I have paper.]"
    assert odds.max() == pytest.approx(0.9)


def test_claims_depend_on_both_hands_and_on_what_the_other_did_when_low():
    assert claim("rock", "I have scissors.").tolist() == [0, 0, 1]
    low = [
        claim("rock", "I have paper.", history)[0]
        for history in (
            [{"upper": 0, "claims": [10, 0]}],
            [],
            [{"upper": 1, "claims": [0, 10]}],
            [{"upper": 0, "claims": [10, 10]}],
        )
    ]
    assert low == pytest.approx([0.7, 0.5, 0.5, 0.15])
    assert claim("rock", "Hello.") == pytest.approx([0, 0.5, 0.5])


def test_skill_pays_among_equals():
    weak, strong = (
        evaluate(ExpertAgent(skill), SPLIT, None, games=60).value for skill in (0.0, 1.0)
    )
    assert weak + 50 < strong < 500
