"""Dreams: what random play shows, how it is played, and what they refuse."""

import copy

import numpy as np
import pytest

from coevo.benchmarks.reproductions.key_door import KeyDoor
from coevo.envs import make
from coevo.envs.bridges.dreamed import Experience, Outcome, Seen
from coevo.envs.core.errors import ConfigError

ROOM = {"of": KeyDoor.env_id, "of_options": {"size": 2, "moves": 6}, "transitions": 1500}


def walked(env, rng):
    while env.awaiting:
        seat = env.agent_selection
        legal = env.infos[seat]["legal_actions"]
        env.step(f"[{legal[int(rng.integers(len(legal)))]}]")
    return env.episode


def test_a_dream_of_much_is_as_the_environment_is():
    rng = np.random.default_rng(0)
    found = {}
    for id, options in (("dream", ROOM), ("room", None)):
        env = (
            make("coevo/dreamed-v0", prompt_style="terse", **ROOM)
            if options
            else make(KeyDoor.env_id, prompt_style="terse", **ROOM["of_options"])
        )
        paid = []
        for seed in range(200):
            env.reset(seed=seed)
            assert env.chat("player_0")[-1]["content"].startswith("0: at ")
            paid.append(walked(env, rng).total("player_0"))
        found[id] = np.mean(paid)
    assert set(paid) == {0.0, 1.0}
    assert found["dream"] == pytest.approx(found["room"], abs=0.12)  # 2.5 standard errors


def test_full_prompts_have_the_rules_of_the_other_environment():
    env = make("coevo/dreamed-v0", **ROOM)
    env.reset(seed=0)
    first = env.chat("player_0")[0]["content"]
    assert first.startswith(f"{KeyDoor.about} You are player_0.")
    quest = make("coevo/dreamed-v0", of="coevo/quest-v0", transitions=50)
    quest.reset(seed=0)
    assert quest.possible_agents == ["explorer_0"]


def test_a_fork_shares_what_is_known_and_goes_its_own_way():
    env = make("coevo/dreamed-v0", prompt_style="terse", **ROOM)
    env.reset(seed=3)
    twin = copy.deepcopy(env)
    assert twin.task.known is env.task.known
    rng = [np.random.default_rng(1) for _ in range(2)]
    one, other = (walked(e, r) for e, r in zip((env, twin), rng, strict=True))
    assert [t.chat for t in one.turns] == [t.chat for t in other.turns]


def test_what_was_never_tried_leads_where_the_most_similar_prompt_led():
    known, legal = Experience("player_0", ""), ("in", "out")
    known.add(Seen("a red door", legal), "in", Outcome(None, 1.0))
    known.add(Seen("a blue window", legal), "in", Outcome(None, 0.0))
    assert known.outcomes(Seen("a blue old window", legal), "in") == {Outcome(None, 0.0): 1}
    assert known.outcomes(Seen("a red door", legal), "out") == {Outcome(None): 1}, "the end"


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ("coevo/kuhn_poker-v0", "has the seats player_0, player_1; a dream is of one"),
        ("coevo/twenty_question-v0", "did you mean"),
    ],
)
def test_what_cannot_be_dreamed_of_is_refused(of, words):
    with pytest.raises(Exception, match=words) as error:
        make("coevo/dreamed-v0", of=of)
    assert isinstance(error.value, ConfigError | LookupError | ValueError)
