"""Bases of components: what a new one forgot to define is said at once, by its name."""

import pytest

from coevo.trainers.estimators.component import LossComponent, MaskComponent, TermComponent
from coevo.trainers.learners.lesson import Lesson
from coevo.trainers.steps.make_items import _FromGroups


@pytest.mark.parametrize(
    ("base", "missing"),
    [
        (TermComponent, "__call__"),
        (MaskComponent, "__call__"),
        (Lesson, "add_gradients"),
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
