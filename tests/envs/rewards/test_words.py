"""Hashed words."""

import numpy as np
import pytest

from coevo.envs.rewards.words import hashed, n_grams, pieces, words


def test_pieces_keep_punctuation_and_the_end():
    assert pieces("X.O -3?", 99) == ["x", ".", "o", "-", "3", "?"]
    assert pieces("a b c", 2) == ["b", "c"]
    assert words("X.O -3?") == ["x", "o", "3"]
    assert n_grams([]) == []


def test_a_hash_is_the_same_everywhere():
    """A checkpoint's weights belong to buckets: 0xCBF43926 is the published check of CRC-32."""
    found = hashed(["123456789"], 512)
    assert np.flatnonzero(found).tolist() == [(0xCBF43926 >> 1) % 512]
    assert found.sum() == -1, "the lowest bit is 0"
    assert hashed(["123456789", "\u4e0b\u6ce8"], 512).shape == (512,)


def test_hashed_text_has_length_one_or_none():
    assert np.linalg.norm(hashed(["a", "a", "b"], 64)) == pytest.approx(1)
    assert hashed([], 4).tolist() == [0, 0, 0, 0]
    assert np.isfinite(hashed(["\ud800"], 4)).all(), "half a surrogate pair, which servers send"
    assert np.abs(hashed(["a", "a", "b"], 1)).max() == 1, "one bucket for all"
