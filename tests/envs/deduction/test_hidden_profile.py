"""The hidden profile: what members favour alone, what all facts show, the references."""

from itertools import product

import pytest

from coevo.envs import make, spec
from coevo.envs.core.parsing import answer
from coevo.envs.deduction.hidden_profile import CANDIDATES, WORTH

ID = "coevo/hidden_profile-v0"


def counted(facts):
    return [sum(WORTH[trait] for name, trait in facts if name == c) for c in CANDIDATES]


@pytest.mark.parametrize("players", [3, 4, 6])
def test_every_member_favours_the_rival_and_all_facts_show_the_best(players):
    env = make(ID, players=players)
    for seed in range(10):
        env.reset(seed=seed)
        top, rival, third = (CANDIDATES.index(c) for c in env.task.order)
        for facts in env.task.facts.values():
            own = counted(facts)
            assert own[rival] == 1 and own[top] == own[third] == 0
        every = counted({f for facts in env.task.facts.values() for f in facts})
        assert (every[top], every[third], every[rival]) == (players - 1, 0, 2 - players)


@pytest.mark.parametrize(("talk", "paid"), [(True, "oracle"), (False, "silent")])
def test_experts_need_the_talk(talk, paid):
    env = make(ID)
    for seed in range(8):
        env.reset(seed=seed)
        while env.awaiting:
            replies = env.expert(env.agent_selection, 1.0)
            said = replies.texts[int(replies.probabilities.argmax())]
            env.step(said if talk or env.task.phase == "vote" else "Hello.")
        assert env.episode.total("player_0") == spec(ID).refs[paid]
        assert env.episode.outcome["votes_rival"] == (0 if talk else 1)


def test_what_all_were_given_needs_no_talk():
    env = make(ID, shared=True)
    env.reset(seed=0)
    for _ in env.possible_agents:
        env.step("Hello.")
    assert {str(env.expert(s, 1.0).probabilities) for s in env.awaiting} == {
        str(env.expert("player_0", 1.0).probabilities)
    }
    while env.awaiting:
        env.step(answer(env.task.order[0]))
    assert env.episode.total("player_2") == 1


def test_random_votes_by_enumeration():
    right = [b.count(0) >= 2 for b in product(range(3), repeat=3)]
    assert spec(ID).refs["random"] == pytest.approx(sum(right) / 27)
