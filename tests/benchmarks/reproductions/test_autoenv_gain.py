import numpy as np

from coevo.benchmarks.reproductions.claims import autoenv_gain as it
from coevo.envs.grids.rule_world import Level

ROW = frozenset((1, x) for x in range(1, 6))
WORLD = Level(ROW, (1, 3), (((1, 1), "gem"), ((1, 2), "trap"), ((1, 5), "coin")))


def test_readers_do_what_they_are_told():
    """To the coin and back to the gem; who is careful never passes the trap."""
    bold, careful = (it.reader(WORLD, it.WANTED["coins"], care) for care in (False, True))
    assert bold(it.start(WORLD), 0) in (1, 3)  # both are two steps away
    assert it.played(WORLD, it.start(WORLD), 0, bold) == 1 + 3 - 1
    assert it.played(WORLD, it.start(WORLD), 0, careful) == 1
    assert it.heading(ROW, (1, 3), set()) is None


def test_no_method_exceeds_the_maximum():
    most = it.best(WORLD, it.RULES.steps)(it.start(WORLD), it.RULES.steps)
    rng = np.random.default_rng(0)
    assert most == 3 and all(method(WORLD, rng) <= most for method in it.METHODS.values())
