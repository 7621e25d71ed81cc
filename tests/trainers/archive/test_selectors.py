"""Selectors: what they keep, and what they never lose."""

import numpy as np
import pytest

from coevo.envs.core.errors import ConfigError
from coevo.trainers.archive.archive import Artifact
from coevo.trainers.archive.selectors import (
    Grid,
    Islands,
    Novelty,
    Pareto,
    Truncation,
    even,
    undominated,
)


def artifact(number, weight=0.0, descriptor=(), objectives=(), island=0):
    return Artifact(
        f"genome-{number}",
        "genome",
        {},
        weight=weight,
        descriptor=descriptor,
        objectives=objectives,
        island=island,
    )


def names(artifacts):
    return [int(a.id.partition("-")[2]) for a in artifacts]


# ---- Grid --------------------------------------------------------------------------------------


def test_a_cell_is_taken_only_by_what_is_strictly_better():
    grid = Grid(edges=((0.5,),))
    owner, equal, better, apart = (
        artifact(0, 1.0, (0.1,)),
        artifact(1, 1.0, (0.2,)),
        artifact(2, 1.5, (0.3,)),
        artifact(3, -9.0, (0.5,)),
    )
    assert names(grid([owner, equal])) == [0]
    assert names(grid([owner, equal, better, apart])) == [2, 3]


def test_no_cell_empties_and_none_falls_over_many_generations():
    """Beside it a dictionary by hand: 40 generations of 50, as a grid archive takes them one by
    one."""
    rng, grid, kept, by_hand = np.random.default_rng(0), Grid(edges=(even(-1, 1, 8),) * 2), [], {}
    for step in range(40):
        born = [
            artifact(50 * step + i, round(float(rng.normal()), 1), tuple(rng.normal(size=2)))
            for i in range(50)
        ]
        before = {grid.cell(a.descriptor): a.weight for a in kept}
        kept = grid([*sorted(kept, key=lambda a: names([a])), *born])
        after = {grid.cell(a.descriptor): a.weight for a in kept}
        assert all(after[cell] >= weight for cell, weight in before.items())
        for one in born:
            place = tuple(int(np.clip((x + 1) // 0.25, 0, 7)) for x in one.descriptor)
            if place not in by_hand or one.weight > by_hand[place].weight:
                by_hand[place] = one
    assert {a.id for a in kept} == {a.id for a in by_hand.values()}
    assert len(kept) == grid.cells == 64


def test_a_grid_refuses_what_does_not_fit():
    with pytest.raises(ConfigError, match=r"the edges of an axis must rise"):
        Grid(edges=((1.0, 0.0),))
    with pytest.raises(ConfigError, match="a descriptor of 1 numbers, but 2 axes"):
        Grid(edges=((0.0,), (0.0,)))([artifact(0, 1.0, (0.5,))])


# ---- Novelty -----------------------------------------------------------------------------------


def test_novelty_is_the_mean_distance_to_the_nearest_others_past_ones_included():
    line = [artifact(i, descriptor=(x,)) for i, x in enumerate((0.0, 1.0, 2.0, 9.0))]
    assert names(Novelty(keep=1, nearest=2)(line)) == [3]
    past = [artifact(10 + i, descriptor=(9.0,)) for i in range(2)]
    assert names(Novelty(keep=1, nearest=2)(line, past)) != [3]
    assert names(Novelty(keep=1, nearest=2)(line, line)) == [3], "none is its own neighbour"


def test_a_share_mixes_the_ranks():
    dull, strange = [artifact(i, 1.0 + i, (0.0,)) for i in range(3)], artifact(3, 0.0, (5.0,))
    every = [*dull, strange]
    assert names(Novelty(keep=1, nearest=1, share=1.0)(every)) == [3]
    assert names(Novelty(keep=1, nearest=1, share=0.0)(every)) == [2]
    assert names(Novelty(keep=2, nearest=1, share=0.5)(every)) == [2, 3]


def test_principal_components_leave_noise_out():
    rng = np.random.default_rng(1)
    places = [(x, *rng.normal(0, 0.1, size=20)) for x in (0.0, 10.0, 20.0, 20.0, 70.0)]
    every = [artifact(i, descriptor=p) for i, p in enumerate(places)]
    coded = Novelty(components=1)._coded(np.array(places))
    gaps = np.abs(np.diff(coded[:, 0]))
    assert gaps == pytest.approx([10, 10, 0, 50], abs=0.7)
    assert names(Novelty(keep=1, nearest=1, components=1)(every)) == [4]


# ---- Pareto ------------------------------------------------------------------------------------


def test_fronts_come_one_after_the_other_and_the_crowded_go_first():
    points = [(0, 4), (1, 3), (1.1, 2.9), (4, 0), (0, 0), (0, 3)]
    every = [artifact(i, objectives=tuple(map(float, p))) for i, p in enumerate(points)]
    assert set(names(Pareto(keep=4)(every))) == {0, 1, 2, 3}
    assert set(names(Pareto(keep=5)(every))) == {0, 1, 2, 3, 5}
    assert set(names(Pareto(keep=2)(every))) == {0, 3}, "the ends of a front are never crowded"


def test_no_front_is_dominated():
    value_NK = np.random.default_rng(2).normal(size=(60, 3)).round(1)
    free = undominated(value_NK)
    for row, is_free in zip(value_NK, free, strict=True):
        beaten = any((other >= row).all() and (other > row).any() for other in value_NK)
        assert is_free == (not beaten)


# ---- Islands -----------------------------------------------------------------------------------


def test_islands_select_by_themselves_and_copy_the_best_to_the_next():
    islands = Islands(by=Truncation(keep=2), count=3, every=5, share=0.5)
    every = [artifact(i, float(i), island=i % 3) for i in range(12)]
    kept = islands(every)
    assert sorted(names(kept)) == [6, 7, 8, 9, 10, 11]
    assert islands.migrants(kept, 4) == []
    moved = islands.migrants(kept, 5)
    assert [(a.id, a.weight, a.island) for a in moved] == [
        ("", 9.0, 1),
        ("", 10.0, 2),
        ("", 11.0, 0),
    ]
    assert Islands(count=1, every=1).migrants(kept, 5) == []
