"""Reward formulas: what they are worth, and what the answers that they judge show."""

import pytest

from coevo.envs import make
from coevo.envs.discussion.reward_formula import FORMULAS, SEEN, TERMS, WORTH, worth
from coevo.envs.rewards.formula import Formula, Noted

ID = "coevo/reward_formula-v0"


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("g1 * g3", 1.0), ("2 * g1 + g3", 1.0), ("g1", 0.75), ("-g2", 0.5), ("g4 / g2", 0.5),
        ("1", 0.375), ("g2 - g1", 0.0), ("g1 * (g3", -1.0), ("g5", -1.0), ("1 / (g1 - g1)", -1.0),
    ],
)  # fmt: skip
def test_a_formula_is_worth_what_it_likes_best(formula, value):
    assert worth(formula) == pytest.approx(value)
    env = make(ID, formulas=())
    env.reset(seed=0)
    env.step(f"[{formula}]")
    assert env.episode.total("writer_0") == pytest.approx(value)


def test_answers_note_what_formulas_read():
    terms = {term: Noted(key=term) for term in TERMS}
    reward = Formula(expression="g1 + 10 * g2 + 100 * g3 + 1000 * g4", terms=terms, shift=0.0)
    for kind, seen in SEEN.items():
        env = make(ID, part="answers")
        env.reset(seed=0)
        env.step(f"[{kind}]")
        (turn,) = env.episode.turns
        wanted = sum(n * 10**i for i, n in enumerate(seen))
        assert reward.score_turn(env.episode, turn) == {"solver_0": wanted}
        assert env.episode.total("solver_0") == WORTH[kind]


def test_the_list_is_what_the_writer_may_choose():
    env = make(ID)
    env.reset(seed=0)
    assert env.infos["writer_0"]["legal_actions"] == list(FORMULAS)
    assert all(term in env.chat("writer_0")[0]["content"] for term in TERMS)
