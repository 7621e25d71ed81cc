"""Certainty of pairs: what the estimator believes, and which pairs are drawn."""

from types import SimpleNamespace

import pytest
import torch

from coevo.agents.engines.scoring import Span
from coevo.envs.core.errors import ConfigError
from coevo.trainers.batch import Batch
from coevo.trainers.items import Items
from coevo.trainers.learners.preference_estimator import COLUMNS, believe, features
from coevo.trainers.steps import FilterPairs

ARMS = 6


def pairs(at):
    """Replies of one token each, a trajectory for each arm: the pairs that are given."""
    batch = Batch.from_tokens(
        torch.zeros(ARMS, 1),
        spans=tuple(Span((7, i), (1,), (2,)) for i in range(ARMS)),
        policy_C=("policy",) * ARMS,
    )
    at = torch.tensor(at)
    return Items(batch, at, torch.zeros(at.shape))


ORDERED = [(i, j) for i in range(ARMS) for j in range(i + 1, ARMS)]
LABELS = ORDERED * 8 + [(1, 0), (5, 3)]
"""Arm i over arm j > i, eight times each, and two labels that contradict the others."""


def believed(items, seed=0):
    return believe(items, 0.1, 10, torch.Generator().manual_seed(seed))


def test_contradicted_labels_are_outvoted_and_what_was_never_contradicted_is_agreed():
    belief = believed(pairs(LABELS))
    assert (belief.votes_N[-2:] < 0.5).all() and (belief.odds_N[-2:] < 0.5).all()
    far = [n for n, (i, j) in enumerate(ORDERED) if j - i > 1]
    assert (belief.votes_N[far] > 0.5).all()


def test_bald_is_between_none_and_one_bit_and_greatest_where_passes_differ():
    belief = believed(pairs(LABELS))
    assert (belief.unsure_N >= 0).all() and (belief.unsure_N <= 1).all()
    certain = belief.unsure_N[ORDERED.index((0, 5))]
    assert float(certain) < float(belief.unsure_N.max())
    same = believed(pairs(LABELS))
    assert torch.equal(same.unsure_N, belief.unsure_N)
    assert not torch.equal(believed(pairs(LABELS), seed=1).unsure_N, belief.unsure_N)


def test_features_are_shares_of_tokens_alone_and_with_their_prompt():
    feature_BD = features(pairs(ORDERED))
    assert feature_BD.shape == (ARMS, COLUMNS)
    torch.testing.assert_close(feature_BD.sum(1), torch.ones(ARMS))
    assert len({tuple(row.nonzero().flatten().tolist()) for row in feature_BD}) == ARMS


def filtered(step, items):
    ctx = SimpleNamespace(step=0, seed=3, items={"pairs": items}, metrics={})
    step(ctx)
    return ctx


def test_as_many_are_drawn_as_the_shares_say():
    ctx = filtered(FilterPairs(easy=0.25, hard=0.0), pairs(LABELS))
    agreed = round(ctx.metrics["filter_pairs/agreed"] * len(LABELS))
    assert len(ctx.items["pairs"]) == round(0.25 * agreed)
    every = filtered(FilterPairs(easy=1.0, hard=1.0), pairs(LABELS)).items["pairs"]
    assert len(every) == agreed and (1, 0) not in map(tuple, every.at_NK.tolist())
    none = filtered(FilterPairs(easy=0.0, hard=0.0), pairs(LABELS))
    assert len(none.items["pairs"]) == 0 and none.metrics["filter_pairs/kept"] == 0


def test_settings_have_ranges():
    with pytest.raises(ConfigError, match="dropout"):
        FilterPairs(dropout=1.0)
