"""Drawings as images: every character in its cell, and nothing else."""

import sys

import numpy as np
import pytest

from coevo.envs import make
from coevo.envs.core.errors import INSTALL, MissingExtraError
from coevo.envs.core.picture import CELL, MARGIN, PAPER, SCALE, picture

pytest.importorskip("PIL", reason=INSTALL.format("train"))


def cell(image, row, column):
    top, left = MARGIN + row * CELL[1], MARGIN + column * CELL[0]
    return image[top : top + CELL[1], left : left + CELL[0]]


def test_characters_have_cells_of_their_own():
    image = picture("X X\n X\u597d?")
    assert (image == np.kron(image[::SCALE, ::SCALE], np.ones((SCALE, SCALE, 1)))).all()
    image = image[::SCALE, ::SCALE].copy()
    assert image.shape == (2 * CELL[1] + 2 * MARGIN, 4 * CELL[0] + 2 * MARGIN, 3)
    assert image.dtype == np.uint8
    assert (cell(image, 0, 0) == cell(image, 0, 2)).all()
    assert (cell(image, 0, 0) == cell(image, 1, 1)).all()
    assert (cell(image, 0, 1) == PAPER).all() and (cell(image, 0, 0) != PAPER).any()
    assert (cell(image, 1, 2) == cell(image, 1, 3)).all(), "what the font lacks"
    image[MARGIN:-MARGIN, MARGIN:-MARGIN] = PAPER
    assert (image == PAPER).all(), "nothing is cut off by the margins"


def test_a_move_changes_its_cell_alone():
    env = make("coevo/tic_tac_toe-v0", render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step("[5]")
    changed = np.argwhere((env.render() != before).any(axis=2))
    place = (changed // SCALE - MARGIN) // (CELL[1], CELL[0])
    assert {tuple(p) for p in place} == {(2, 5)}  # the middle of " 4 | 5 | 6 "


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.ImageDraw", None)
    with pytest.raises(MissingExtraError, match=r"-e '\.\[train\]'"):
        picture("x")
