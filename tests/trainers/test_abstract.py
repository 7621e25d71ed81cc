"""Bases of components: what a new one forgot to define is said at once, by its name."""

import pytest

from coevo.trainers.components.base import (
    Baseline,
    Composition,
    LossComponent,
    Regulariser,
    Surrogate,
    TokenMask,
)
from coevo.trainers.steps.make_items import _FromGroups


@pytest.mark.parametrize(
    ("base", "missing"),
    [
        (Composition, "__call__"),
        (Baseline, "__call__"),
        (Surrogate, "__call__"),
        (Regulariser, "__call__"),
        (TokenMask, "__call__"),
        (_FromGroups, "__call__"),
    ],
)
def test_a_component_without_its_methods_cannot_be_made(base, missing):
    class Unfinished(base):
        pass

    with pytest.raises(TypeError, match=rf"Unfinished.* {missing}"):
        Unfinished()


def test_who_needs_batch_statistics_must_define_them():
    class Thresholded(LossComponent):
        needs_batch_statistics = True

    with pytest.raises(NotImplementedError, match=r"Thresholded .* must define batch_statistics"):
        Thresholded().batch_statistics(None, None)
