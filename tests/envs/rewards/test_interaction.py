"""CoMAS's zero-sum pair: what a solution and its evaluation earn by a score, and the ablations."""

import itertools

import numpy as np
import pytest

import coevo.envs
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.rewards import Interaction, reward_modules


def reward(name, **params):
    return reward_modules([{"name": name, **params}])[0]


SAYS = {"solver": ["[4]", "[7]", "hm"], "evaluator": ["[right]", "[wrong]", "hm"]}
SCORES = ["[1]", "[2]", "[3]", "[9]"]


def turn(role, about=-1, answer=None, agent="agent_0"):
    made = Turn(agent, (), "", "", Status.LEGAL, None)
    made.role, made.about, made.answer = role, about, answer
    return made


def episode(*turns):
    return Episode("e", 0, {}, ("agent_0", "agent_1"), turns=list(turns))


def paid(module, *turns):
    """Return each turn's reward, all turns being of one agent."""
    (table,) = module.table([episode(*turns)])
    return [sum(cell.values()) if cell else None for cell in table]


def as_it_goes(module, *turns):
    """Return the same turn by turn, as an environment pays."""
    played, total = episode(), []
    for t in turns:
        played.turns.append(t)
        total.append(module.score_turn(played, t).get(t.agent))
        for at, cell in module.score_earlier(played, t).items():
            total[at] = (total[at] or 0.0) + cell[played.turns[at].agent]
    return total


def triple(score):
    return (turn("solver"), turn("evaluator", 0, "wrong"), turn("scorer", 1, score))


def finish(env, rng):
    while env.awaiting:
        role = env.infos[env.agent_selection]["role"]
        options = SAYS.get(role, SCORES)
        env.step(options[int(rng.integers(len(options)))])
    return env.episode


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("1", [0.0, 1.0, 0.0]),
        ("2", [0.5, 0.5, 0.0]),
        ("3", [1.0, 0.0, 0.0]),
        (None, [0.0, 0.0, -1.0]),
        ("4", [0.0, 0.0, -1.0]),
    ],
)
def test_a_score_pays_the_solution_and_its_evaluation(score, expected):
    assert paid(Interaction(), *triple(score)) == expected
    assert as_it_goes(Interaction(), *triple(score)) == expected


def test_several_evaluations_are_averaged_and_keep_the_sum():
    turns = [turn("solver"), turn("evaluator", 0), turn("evaluator", 0)]
    for scores in itertools.product("123", repeat=2):
        both = [*turns, turn("scorer", 1, scores[0]), turn("scorer", 2, scores[1])]
        solution, first, second, *judges = paid(Interaction(), *both)
        assert solution + (first + second) / 2 == pytest.approx(1.0)
        assert solution == (int(scores[0]) + int(scores[1]) - 2) / 4
        assert first == (3 - int(scores[0])) / 2
        assert judges == [0.0, 0.0]
    spoiled = [*turns, turn("scorer", 1, "3"), turn("scorer", 2, None)]
    assert paid(Interaction(), *spoiled) == [0.5, 0.0, 0.0, 0.0, -1.0]
    assert as_it_goes(Interaction(), *spoiled) == [0.5, 0.0, 0.0, 0.0, -1.0]


def test_without_evaluation_the_scorer_earns_what_the_solution_does_not():
    module = Interaction(ablate="evaluation")
    for score, solution in (("1", 0.0), ("2", 0.5), ("3", 1.0)):
        turns = (turn("solver"), turn("scorer", 0, score))
        assert paid(module, *turns) == [solution, 1.0 - solution]
        assert as_it_goes(module, *turns) == [solution, 1.0 - solution]
    assert paid(module, turn("solver"), turn("scorer", 0, None)) == [0.0, -1.0]
    # Scores of bare solutions without the ablation leave the scorer alone.
    assert paid(Interaction(), turn("solver"), turn("scorer", 0, "3")) == [1.0, 0.0]


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        (["right"], [1.0, 1.0]),
        (["wrong"], [0.0, 0.0]),
        ([None], [0.0, -1.0]),
        (["right", "right"], [1.0, 1.0, 1.0]),
        (["right", "wrong"], [0.5, 0.5, 0.0]),
        (["wrong", "wrong"], [0.0, 0.5, 0.5]),
        (["right", "wrong", None], [1 / 3, 1 / 3, 0.0, -1.0]),
    ],
)
def test_without_scoring_support_and_agreement_are_paid(votes, expected):
    module = Interaction(ablate="scoring")
    turns = (turn("solver"), *(turn("evaluator", 0, vote) for vote in votes))
    assert paid(module, *turns) == pytest.approx(expected)
    assert as_it_goes(module, *turns) == pytest.approx(expected)
    scored = (*turns, turn("scorer", 1, "1"))
    assert paid(module, *scored)[: len(turns)] == pytest.approx(expected), "scores do not count"


def test_what_is_about_nothing_is_not_paid():
    assert paid(Interaction(), turn("solver"), turn("scorer", -1, "3")) == [None, None]
    assert paid(Interaction(), turn("player"), turn("player")) == [None, None]
    assert as_it_goes(Interaction(), turn("player"), turn("player")) == [None, None]


@pytest.mark.parametrize("ablate", [None, "scoring", "evaluation"])
@pytest.mark.parametrize("options", [{}, {"num_agents": 4, "evaluations": 3, "rounds": 3}])
def test_an_environment_pays_the_same_as_it_goes_and_after_the_play(ablate, options):
    module = Interaction(ablate=ablate)
    env = coevo.envs.make("coevo/peer_review-v0", rewards=[module], **options)
    rng = np.random.default_rng(0)
    for seed in range(5):
        env.reset(seed=seed)
        episode = finish(env, rng)
        (table,) = module.table([episode])
        for made, cell in zip(episode.turns, table, strict=True):
            now = made.rewards.get("interaction", {})
            assert now == pytest.approx(cell)
            assert set(now) <= {made.agent}, "a reply earns for its author alone"
            assert all(-1.0 <= value <= 1.0 for value in now.values())


@pytest.mark.parametrize("evaluations", [1, 2])
def test_every_valid_pair_shares_one_and_every_invalid_score_costs_one(evaluations):
    env = coevo.envs.make(
        "coevo/peer_review-v0",
        num_agents=3,
        evaluations=evaluations,
        rewards=[reward("interaction")],
    )
    rng, invalid, valid = np.random.default_rng(1), 0, 0
    for seed in range(20):
        env.reset(seed=seed)
        turns = finish(env, rng).turns
        own = [sum(t.rewards["interaction"].values()) for t in turns]
        for i, t in enumerate(turns):
            if t.role != "scorer":
                continue
            invalid += t.answer is None
            valid += t.answer is not None
            assert own[i] == (-1.0 if t.answer is None else 0.0)
        for i, t in enumerate(turns):
            if t.role != "solver" or t.move is None:
                continue
            judged = [j for j, e in enumerate(turns) if e.role == "evaluator" and e.about == i]
            given = [s for s in turns if s.role == "scorer" and s.about in judged]
            scores = [s.answer for s in given if s.move is not None]  # else it was asked again
            share = sum(s is not None for s in scores) / len(scores)
            assert own[i] + sum(own[j] for j in judged) / len(judged) == pytest.approx(share)
    assert invalid and valid


def test_the_deciding_step_shows_the_reward_to_pettingzoo():
    env = coevo.envs.make("coevo/peer_review-v0", num_agents=2, rounds=1, rewards=[Interaction()])
    env.reset(seed=0)
    for said in ("[1]", "[2]", "[right]", "[wrong]"):
        env.step(said)
        assert not any(env.rewards.values())
    scorer = env.agent_selection
    judged = env.episode.turns[env.task._work[scorer]]
    env.step("[3]")
    author = env.episode.turns[judged.about].agent
    assert env.rewards == {a: float(a == author) for a in env.possible_agents}


def test_an_unknown_ablation_is_refused():
    with pytest.raises(ConfigError, match="scoring"):
        Interaction(ablate="scores")
