import itertools

import numpy as np
import pytest

from coevo.agents import ExpertAgent, RandomAgent
from coevo.benchmarks.evaluate import evaluate
from coevo.envs import make, spec
from coevo.envs.societies.causal_game import (
    COORDINATION,
    DO,
    FOLLOWER,
    LEADER,
    LEVELS,
    OBSERVE,
    SEE,
    blind,
    drawn,
    normal_form,
    policies,
    solve,
    value_of,
)
from coevo.envs.societies.commitment import stackelberg

ID = "coevo/causal_game-v0"


def games(count, **arguments):
    rng = np.random.default_rng(5)
    return [drawn(rng, **arguments) for _ in range(count)]


def pure(matrix):
    """Return the best pure commitment in a matrix, ties in favour of the leader."""
    best = []
    for row in matrix.payoffs:
        replies = row[row[:, 1] >= row[:, 1].max() - 1e-9]
        best.append(replies[:, 0].max())
    return max(best)


def test_the_default_game_by_hand():
    """Who follows its inclination tells the cause by its action, and both meet at its favourite."""
    found = solve(COORDINATION)
    assert found == ((OBSERVE, (0, 1)), 3, 1)
    # Set without a look, an action tells nothing, and its meeting pays 1 or 3.
    assert solve(COORDINATION, levels=(DO,), replies=(DO,))[1:] == (2, 2)
    assert stackelberg(blind(COORDINATION)).leader == pytest.approx(2)


@pytest.mark.parametrize("size", [{}, {"causes": 3}, {"causes": 4, "confounded": False}])
def test_backward_induction_is_the_best_pure_commitment_in_the_matrix(size):
    """Levels add nothing to classical play of the same policies, and mixtures are worth more."""
    for game in games(25, **size):
        value = solve(game).leader
        matrix = normal_form(game)
        assert value == pytest.approx(pure(matrix))
        assert value <= stackelberg(matrix).leader + 1e-7


def test_the_third_level_holds_the_others():
    for game in games(25, actions=3):
        values = {levels: solve(game, levels=levels).leader for levels in ((OBSERVE,), (DO,))}
        assert solve(game, levels=(SEE,)).leader == pytest.approx(solve(game).leader)
        assert max(values.values()) <= solve(game).leader + 1e-9


def test_a_follower_gains_by_looking():
    for game in games(25):
        for policy in policies(2):
            looks = value_of(game, policy, (SEE,))[1]
            assert looks == pytest.approx(value_of(game, policy)[1])
            assert all(value_of(game, policy, (level,))[1] <= looks + 1e-9 for level in LEVELS)


def test_where_payoffs_do_not_depend_on_the_cause_there_is_nothing_to_gain():
    for game in games(40, confounded=False):
        assert solve(game).leader <= stackelberg(blind(game)).leader + 1e-7


def play(env, *moves):
    env.reset(seed=0)
    for move in moves:
        env.step(f"[{move}]")
    return env


def test_rules():
    env = make(ID)
    for cause, (lead, follow) in enumerate((("A", "Z"), ("B", "Y"))):
        for seed in range(20):
            env.reset(seed=seed)
            if env.task.cause == cause:
                break
        env.step("[see A>B B>A]")
        other = {"A": "B", "B": "A"}[lead]
        assert f"It took {other}." in env.chat(FOLLOWER)[-1]["content"]
        env.step("[see]")
        assert env.infos[FOLLOWER]["inclination"] == follow
        env.step(f"[{follow}]")
        row, column = "AB".index(other), "YZ".index(follow)
        paid = COORDINATION.payoffs_UXYS[cause, row, column]
        assert [env.episode.total(a) for a in (LEADER, FOLLOWER)] == list(paid)


@pytest.mark.parametrize("style", ["full", "terse"])
def test_the_cause_is_hidden_until_it_was_looked_at(style):
    """The cause is swapped under the same history: prompts and infos stay, then they differ."""
    for commitment, seen in itertools.product(("do A", "see A>B B>B"), (False, True)):
        env = play(make(ID, prompt_style=style), commitment)
        shown = []
        for cause in (0, 1):
            twin = play(make(ID, prompt_style=style))
            twin.task.cause = cause
            before = twin.chat(LEADER), twin.infos[LEADER]
            twin.step(f"[{commitment}]")
            if seen:
                twin.step("[see]")
            shown.append((before, twin.chat(FOLLOWER), twin.infos[FOLLOWER]))
        assert (shown[0] == shown[1]) is not seen
        assert env.awaiting == (FOLLOWER,)


def test_experts_reach_the_value_and_references_hold():
    refs = spec(ID).refs
    assert evaluate(ExpertAgent(1.0), ID, None, 60).value == pytest.approx(refs["oracle"])
    assert evaluate(RandomAgent(), ID, None, 400).value == pytest.approx(refs["random"], abs=0.15)


def test_experts_earn_the_value_of_drawn_games_on_average():
    env, gaps = make(ID, drawn=True, causes=3), []
    for seed in range(200):
        env.reset(seed=seed)
        while env.awaiting:
            replies = env.task.expert(env.agent_selection, 1.0)
            env.step(replies.texts[int(np.argmax(replies.probabilities))])
        gaps.append(env.episode.outcome["leader"] - env.episode.outcome["value"])
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(len(gaps))
