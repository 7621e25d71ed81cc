"""The archive: lineage, credit, what a checkpoint keeps of it, and selection."""

import json

import numpy as np
import pytest
import torch

from coevo.envs.core.errors import CoevoError, DataError
from coevo.trainers.archive.archive import Archive, Artifact
from coevo.trainers.archive.selectors import Truncation
from coevo.trainers.archive.sharing import Softmax


@pytest.fixture
def family():
    archive = Archive()
    first = archive.propose("instruction", "Look.", weight=0.5)
    other = archive.propose("instruction", "Guess.")
    child = archive.propose("instruction", "Look twice.", parents=[first.id], step=20)
    both = archive.propose("instruction", "Look, then guess.", parents=[child.id, other.id])
    archive.propose("formula", "g1")
    archive.propose("genome", {"sigma": 0.1}, tensors={"mean": torch.arange(3.0)})
    return archive, [a.id for a in (first, other, child, both)]


def test_a_lineage_holds_every_ancestor_once_oldest_first(family):
    archive, (first, other, child, both) = family
    assert [a.id for a in archive.lineage(both)] == [first, other, child, both]
    assert [a.id for a in archive.lineage(child)] == [first, child]
    assert [a.id for a in archive.lineage(first)] == [first]


def test_what_is_pruned_stays_on_record_without_its_content(family):
    archive, (first, _, child, _) = family
    archive.prune([first, "genome-0"], step=20)
    assert first not in [a.id for a in archive.living("instruction")]
    assert [a.id for a in archive.lineage(child)] == [first, child]
    assert archive[first].payload is None and archive[first].pruned_at == 20
    assert archive.tensors() == {} and archive.living("genome") == []
    assert archive.propose("instruction", "New.").id == "instruction-4", "no number comes twice"
    assert archive.metrics()["archive/instruction"] == 4.0


def test_a_restored_archive_is_the_same(family):
    archive, (_, _, child, _) = family
    archive.credit(child, 1.0, rate=0.25, uses=8)
    archive.evaluate(child, trial=0.5)
    again = Archive()
    again.load_state_dict(json.loads(json.dumps(archive.state_dict())), archive.tensors())
    assert again.state_dict() == archive.state_dict()
    assert again[child].weight == 0.25 and again[child].stats == {"trial": 0.5}
    assert torch.equal(again["genome-0"].tensors["mean"], torch.arange(3.0))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda s: s.pop(0), "instruction-2 was made from instruction-0, which is not in it"),
        (lambda s: s.reverse(), "was made from"),
        (lambda s: s[0].update(kind="poem"), "instruction-0 is a 'poem'"),
        (lambda s: s[0].update(colour="red"), "colour"),
        (lambda s: s.pop(), "genome-0/mean belongs to no artifact"),
    ],
)
def test_a_damaged_archive_is_refused_in_one_line(family, spoil, words):
    archive, _ = family
    state = archive.state_dict()
    spoil(state)
    with pytest.raises(DataError, match=words) as error:
        Archive().load_state_dict(state, archive.tensors())
    assert "\n" not in str(error.value)


def test_a_parent_must_be_known(family):
    archive, _ = family
    before = len(archive)
    with pytest.raises(CoevoError, match="unknown artifact 'instruction-9'; did you mean"):
        archive.propose("instruction", "An orphan.", parents=["instruction-9"])
    assert len(archive) == before


def test_softmax_draws_by_weight_and_truncation_keeps_the_best():
    arms = [Artifact(str(i), "program", "", weight=w) for i, w in enumerate((0.0, 0.2, 0.2))]
    odds = Softmax(tau=0.2).odds([a.weight for a in arms])
    assert odds == pytest.approx(np.array([1, np.e, np.e]) / (1 + 2 * np.e))
    rng = np.random.default_rng(0)
    drawn = [Softmax(tau=0.2)(arms, rng).id for _ in range(4000)]
    assert drawn.count("0") / 4000 == pytest.approx(odds[0], abs=0.02)
    assert [a.id for a in Truncation(keep=2)(arms)] == ["2", "1"]
