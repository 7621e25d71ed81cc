"""Questions over the table: the best tree, what no code beats, the references."""

from functools import cache

import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import answer
from coevo.envs.words.things import PROPERTIES, THINGS, TRUE_OF
from coevo.envs.words.twenty_questions import value

ID = "coevo/twenty_questions-v0"


def test_the_table_tells_all_things_apart():
    assert len(THINGS) == 12 == len(set(TRUE_OF.values()))
    assert set.union(*map(set, TRUE_OF.values())) == set(PROPERTIES)


@cache
def any_split(things, asked):
    """Return the best payoff where a question may split things into any two parts."""
    best = (1 - 0.1 * asked) / things
    for part in range(1, things) if asked < 6 else ():
        parts = ((n / things) * any_split(n, asked + 1) for n in (part, things - part))
        best = max(best, sum(parts))
    return best


def test_no_agreement_between_partners_does_better_than_the_truth():
    best = value(frozenset(THINGS), 0, 6, 0.1)
    assert best == pytest.approx(any_split(12, 0))
    assert best == pytest.approx(1 - 0.1 * 44 / 12)  # Huffman: four things at 3, eight at 4
    assert best == pytest.approx(spec(ID).refs["oracle"])


def test_experts_reach_the_value_over_all_things():
    env, paid = make(ID), {}
    seed = 0
    while len(paid) < len(THINGS):
        env.reset(seed=seed)
        thing, seed = env.task.thing, seed + 1
        while env.awaiting:
            replies = env.expert(env.agent_selection, 1.0)
            env.step(replies.texts[int(replies.probabilities.argmax())])
        paid[thing] = env.episode.total("asker_0")
        assert env.episode.total("answerer_0") == paid[thing]
    assert sum(paid.values()) / 12 == pytest.approx(spec(ID).refs["oracle"])


def test_random_play_by_hand():
    reach, total = 1.0, 0.0
    for n in range(7):
        moves = 12 + (8 - n if n < 6 else 0)
        total += reach * 12 / moves * (1 - 0.1 * n) / 12
        reach *= (moves - 12) / moves
    assert spec(ID).refs["random"] == pytest.approx(total)
    assert evaluate(RandomAgent(), ID, None, 1500, seed=0).value == pytest.approx(total, abs=0.02)
    assert evaluate(ExpertAgent(1.0), ID, None, 200, seed=0).value > 0.6


def test_a_question_is_asked_once_and_after_the_last_a_thing_is_named():
    env = make(ID, questions=1)
    env.reset(seed=0)
    env.step("[swims]")
    assert env.infos["answerer_0"]["legal_actions"] == ["yes", "no"]
    env.step("[no]")
    assert env.infos["asker_0"]["legal_actions"] == list(THINGS)
    env.step(answer(env.task.thing))
    assert env.episode.total("asker_0") == pytest.approx(0.9)


def test_prices_that_eat_the_point_are_refused():
    with pytest.raises(ConfigError, match="cost more than the point"):
        make(ID, price=0.2)
