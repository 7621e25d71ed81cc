"""Written rewards: programs over other rewards that can do nothing but give a number."""

import json

import pytest

from coevo.envs.core.config import plain, read
from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.core.rewards import reward_modules
from coevo.envs.rewards import Formula, Noted, Written

pytest.importorskip("pydantic_monty", reason="the extra `programs` is not installed")

TERMS = {name: Noted(key=name) for name in ("right", "short")}
GATED = """
def reward(terms):
    if terms["short"] < 0.5:
        return 0.0
    return terms["right"] * 2
"""


def paid(module, **notes):
    turn = Turn("a", (), "x", "x", Status.LEGAL, None, notes=notes)
    episode = Episode("e", 0, {}, ("a",), turns=[turn])
    return module.score_turn(episode, turn)["a"]


def written(body, **more):
    return Written(source=f"def reward(terms):\n    {body}\n", terms=TERMS, **more)


def test_a_program_decides_what_a_formula_cannot():
    module = Written(source=GATED, terms=TERMS)
    assert paid(module, right=1, short=1) == 2.0
    assert paid(module, right=1, short=0.2) == 0.0
    assert paid(module) == 0.0, "what is not noted is 0"


def test_a_program_and_a_formula_of_the_same_terms_give_the_same():
    formula = Formula(expression="right - short / 4", terms=TERMS, shift=0.0)
    program = written("return terms['right'] - terms['short'] / 4")
    for right, short in ((0.0, 0.0), (0.3, 1.0), (1.0, -2.0)):
        notes = {"right": right, "short": short}
        assert paid(program, **notes) == pytest.approx(paid(formula, **notes))


def test_a_program_remembers_nothing():
    source = "seen = []\ndef reward(terms):\n    seen.append(1)\n    return float(len(seen))\n"
    module = Written(source=source, terms=TERMS)
    assert [paid(module) for _ in range(3)] == [1.0, 1.0, 1.0]
    assert module.combine([{"a": 1.0, "b": 1.0}, {}]) == {"a": 1.0, "b": 1.0}


@pytest.mark.parametrize(
    "body",
    [
        "return 1 / (terms['right'] - 0.5)",
        "return 1e308 * 10 if terms['right'] == 0.5 else 0.0",
        "return 'much' if terms['right'] == 0.5 else 0.0",
        "return 10 ** 400 if terms['right'] == 0.5 else 0.0",
        "return None if terms['right'] == 0.5 else 0.0",
        "return [x for x in range(10 ** 9)] if terms['right'] == 0.5 else 0.0",
    ],
)
def test_a_program_that_gives_no_number_later_is_paid_as_failed(body):
    assert paid(written(body), right=0.5) == -1.0
    assert paid(written(body, failed=-3.0), right=0.5) == -3.0
    assert paid(written("return 2.5"), right=0.5) == 2.5, "the next program is not touched"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def reward(terms:", "syntax"),
        ("", "reward"),
        ("def pay(terms):\n    return 1.0", "reward"),
        ("def reward(terms):\n    return terms['wrong']", "KeyError"),
        ("def reward(terms):\n    return terms", "it gives"),
        ("def reward(terms):\n    return float('inf')", "finite"),
        ("def reward(terms):\n    return open('/etc/passwd').read()", "reward"),
        ("import os\ndef reward(terms):\n    return float(len(os.listdir('/')))", "reward"),
        ("def reward(terms):\n    while True: pass", "time"),
        ("#" * 10_001, "at most 10000 characters"),
    ],
)
def test_what_is_no_reward_is_refused_in_one_line(source, words):
    with pytest.raises(ConfigError, match=words) as error:
        Written(source=source, terms=TERMS)
    assert "\n" not in str(error.value) and len(str(error.value)) < 500


def test_a_written_reward_is_a_configuration():
    (module,) = reward_modules([{"name": "written", "source": GATED, "terms": plain(TERMS)}])
    assert module == Written(source=GATED, terms=TERMS)
    assert read(Written, json.loads(json.dumps(plain(module)))) == module
    assert module.per_turn and module.component == "written"
