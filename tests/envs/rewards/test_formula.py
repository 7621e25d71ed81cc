"""Formula rewards: read as arithmetic and nothing else, refused where they have no value."""

import pytest

from coevo.envs.core.config import plain, read
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import CoevoError, ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.core.rewards import reward_modules
from coevo.envs.rewards import Formula, Noted

TERMS = {name: Noted(key=name) for name in ("g1", "g2")}


def noted(**notes):
    turn = Turn("a", (), "x", "x", Status.LEGAL, None, notes=notes)
    return Episode("e", 0, {}, ("a",), turns=[turn])


def value(expression, shift=0.0, **notes):
    episode = noted(**notes)
    return Formula(expression=expression, terms=TERMS, shift=shift).score_turn(
        episode, episode.turns[0]
    )["a"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("g1 + g2", 5.0),
        ("g1 - g2 * 2", -4.0),
        ("-(g1 - g2) / 2", 0.5),
        ("(g1 + 1) * (g2 + 1)", 12.0),
        (" 0.25 ", 0.25),
    ],
)
def test_a_formula_is_arithmetic(expression, expected):
    assert value(expression, g1=2, g2=3) == pytest.approx(expected)


def test_terms_are_shifted_so_that_they_can_be_divided_by():
    assert value("g1 / g2", shift=1e-6, g1=1, g2=0) == pytest.approx((1 + 1e-6) / 1e-6)
    assert value("g1 / g2", shift=1e-6) == 1.0, "what is not noted is 0"


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("g1 * (g2", "cannot be read"),
        ("", "cannot be read"),
        ("g3 + g1", "did you mean"),
        ("__import__('os').system('true')", "are allowed"),
        ("g1 ** 9", "are allowed"),
        ("g1 if g2 else 1", "are allowed"),
        ("g1.real", "are allowed"),
        ("'a' * g1", "are allowed"),
        ("True + g1", "are allowed"),
        ("1e400 * g1", "no finite value"),
        ("g1 / (g1 - g2)", "no finite value"),
        ("-" * 400 + "g1", "nested"),
        ("g1 + " * 900 + "g1", "at most 1000 characters"),
    ],
)
def test_what_is_no_formula_is_refused_in_one_line(expression, words):
    with pytest.raises(CoevoError, match=words) as error:
        Formula(expression=expression, terms=TERMS)
    assert "\n" not in str(error.value) and len(str(error.value)) < 2500


def test_a_formula_without_a_value_where_it_is_used_is_an_error_not_a_number():
    with pytest.raises(ConfigError, match="no finite value"):
        value("g1 / (g2 - 0.5)", g1=1, g2=0.5)


def test_a_formula_is_a_configuration():
    tree = {"name": "formula", "expression": "g1", "terms": plain(TERMS)}
    (module,) = reward_modules([tree])
    assert module == Formula(expression="g1", terms=TERMS)
    assert read(Formula, plain(module)) == module
    assert module.component == "formula" and module.per_turn
