import numpy as np
import pytest

from coevo.benchmarks.reproductions.claims import mra
from coevo.envs.societies.crossing import equilibrium


def test_one_plan_for_all_games_is_the_equilibrium_of_the_mean_number_of_others():
    """Weighted by travellers, 2, 4 and 8 make five others on average; steps keep what is best."""
    six = equilibrium(mra.RIVER, 6)
    assert mra.ONE.tolist() == six.tolist() and mra.gap(six, 6) == pytest.approx(0, abs=1e-9)
    others = np.average([n - 1 for n in mra.SIZES], weights=mra.SIZES)
    assert others == 5
    assert mra.adapted(six, 6) == pytest.approx(six)
    assert mra.gap(mra.adapted(six, 12), 12) < mra.gap(six, 12)
    assert mra.best([six, equilibrium(mra.RIVER, 2)], 2).tolist() != six.tolist()
