"""What is known of contexts: by exact ids, shared, bounded, the least recently used goes first."""

import numpy as np
import pytest
import torch

from coevo.agents.engines.prefix_cache import PrefixCache

HEADS, WIDTH = 2, 3
TOKEN = 2 * 2 * HEADS * WIDTH * 4
"""Bytes of a token's keys and values in two layers."""


def layers_of(rows):
    """Return keys and values of padded rows that follow from each token and its place."""
    longest = max(map(len, rows))
    ids = torch.tensor([[0] * (longest - len(r)) + list(r) for r in rows], dtype=torch.float32)
    place = torch.tensor([[*[0] * (longest - len(r)), *range(len(r))] for r in rows])
    seen = (ids + place / 100)[:, None, :, None].expand(-1, HEADS, -1, WIDTH)
    return [(seen + 1000 * layer, -seen - 1000 * layer) for layer in range(2)]


def keep(cache, *rows):
    cache.keep(dict(enumerate(rows)), layers_of(rows))


def known(cache, ids):
    return len(cache.longest(ids))


def assert_right(cache, ids):
    """Hold what is known of a context against what was kept."""
    slots = cache.longest(ids)
    read = cache.read(np.stack([slots]))
    expected = layers_of([ids[: len(slots)]])
    for (keys, values), (wanted_keys, wanted_values) in zip(read, expected, strict=True):
        assert torch.equal(keys, wanted_keys) and torch.equal(values, wanted_values)


def test_the_longest_known_beginning_is_found_whoever_has_it():
    cache = PrefixCache(10**6)
    assert known(cache, (1, 2)) == 0
    keep(cache, (5, 6, 7, 8), (5, 6, 9), (1,))
    for ids, count in {
        (5, 6, 7, 8, 4): 4,
        (5, 6, 7, 8): 4,
        (5, 6, 7, 1): 3,
        (5, 6, 8): 2,
        (5, 6, 9, 9): 3,
        (1, 5): 1,
        (9,): 0,
        (0,): 0,
    }.items():
        assert known(cache, ids) == count
        if count:
            assert_right(cache, ids)


def test_many_random_contexts_are_found_as_by_looking_at_all():
    rng = np.random.default_rng(0)
    cache, kept = PrefixCache(10**7), []
    for _ in range(60):
        rows = [tuple(rng.integers(1, 4, size=rng.integers(1, 9)).tolist()) for _ in range(3)]
        keep(cache, *rows)
        kept += rows
        asked = tuple(rng.integers(1, 4, size=9).tolist())
        best = max(sum(np.cumprod([a == b for a, b in zip(asked, k)])) for k in kept)  # noqa: B905
        assert known(cache, asked) == best
        if best:
            assert_right(cache, asked)


def test_contexts_that_begin_alike_share_their_slots():
    cache = PrefixCache(10**6)
    begin = tuple(range(1, 101))
    keep(cache, begin)
    for end in range(200, 300):
        keep(cache, (*begin, end))
    held = {s for end in range(200, 300) for s in cache.longest((*begin, end)).tolist()}
    assert len(held) == 200


@pytest.mark.parametrize("limit", [4, 9, 33])
def test_no_more_bytes_are_held_than_allowed_and_the_least_recently_used_go_first(limit):
    cache = PrefixCache(limit * TOKEN)
    for first in range(1, 30):
        keep(cache, (first, 0, 0))
        assert cache.nbytes <= limit * TOKEN
        assert_right(cache, (first, 0, 0))
        if limit > 7:
            assert known(cache, (1, 0, 0)) == 3, "it was asked for all the time"
    assert sum(known(cache, (first, 0, 0)) for first in range(1, 30)) == (limit - 1) // 3 * 3
    keep(cache, tuple(range(100)))
    assert known(cache, tuple(range(100))) == 0, "it has no room at all"
    assert cache.nbytes <= limit * TOKEN


def test_what_is_held_stays_while_others_need_room():
    cache = PrefixCache(7 * TOKEN)
    keep(cache, (1, 2, 3))
    held = cache.longest((1, 2, 3))
    with cache.holding([held]):
        for first in range(10, 20):
            keep(cache, (first, 0, 0))
        assert known(cache, (1, 2, 3)) == 0
        keys, _ = cache.read(np.stack([held]))[0]
        assert torch.equal(keys, layers_of([(1, 2, 3)])[0][0])
    keep(cache, (7, 7, 7), (8, 8, 8))
    assert known(cache, (7, 7, 7)) == known(cache, (8, 8, 8)) == 3


def test_a_limit_of_0_keeps_nothing():
    cache = PrefixCache(0)
    keep(cache, (1, 2))
    assert known(cache, (1, 2)) == 0 and cache.nbytes == 0
