"""Merging of runs: one model, written where it was asked for, and what is refused."""

import pytest
import torch
from torch import nn

from coevo.agents.load import load_model
from coevo.agents.models.merging import add, merged, task_vector
from coevo.envs.core.errors import ConfigError


def weights(source):
    return dict(load_model(str(source), device="cpu")[0].named_parameters())


def test_two_copies_of_a_run_merge_to_that_run_and_the_base_weighs_nothing(cli, finished, here):
    both = f"{finished.path},{finished.path}"
    for how, more in (
        ("mean", ()),
        ("task_arithmetic", ("--weights", "0.5,0.5")),
        ("ties", ("--keep", "1")),
    ):
        found = cli("merge", "--runs", both, "--how", how, *more, "--out", how)
        assert found.status == 0 and f"coevo evaluate --agent {how}" in found.out, found.err
        ours, theirs = weights(here / how), weights(finished.path)
        assert all(torch.allclose(ours[n], theirs[n], atol=1e-6) for n in theirs)


def test_the_model_of_a_run_and_its_start_are_averaged(cli, finished, here, tiny_model_dir):
    runs = f"{finished.path},{tiny_model_dir}"
    assert cli("merge", "--runs", runs, "--weights", "1,3", "--out", "mixed").status == 0
    start, end, mixed = map(weights, (tiny_model_dir, finished.path, here / "mixed"))
    for name, value in mixed.items():
        assert torch.allclose(value, 0.75 * start[name] + 0.25 * end[name], atol=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--runs", "{run}", "--weights", "1,2"), "--weights '1,2' must be 1 numbers"),
        (("--runs", "{run}", "--weights", "one"), "must be numbers with commas between"),
        (("--runs", "{run}", "--weights", "inf"), "must be 1 numbers with a positive sum"),
        (("--runs", "{run}", "--keep", "0"), "--keep 0 must be above 0"),
        (("--runs", "{model}"), "none is a run folder); give one with --base"),
        (("--runs", "{run}", "--out", "."), ". exists already; give another --out"),
        (("--runs", "nowhere", "--base", "{model}"), "nowhere"),
    ],
)
def test_what_cannot_be_merged_is_refused(cli, finished, here, tiny_model_dir, words, message):
    known = {"run": finished.path, "model": tiny_model_dir}
    filled = [w.format(**known) for w in words]
    out = () if "--out" in filled else ("--out", "made")
    assert message in cli("merge", *filled, *out).error_line()
    assert not (here / "made").exists()


def test_rules_by_hand():
    one, other = {"w": torch.tensor([3.0, -1.0, 0.0])}, {"w": torch.tensor([1.0, 2.0, 0.0])}
    both = [one, other]
    assert merged("mean", both, [1.0, 3.0], 0.2, 0)["w"].tolist() == [1.5, 1.25, 0.0]
    assert merged("task_arithmetic", both, [1.0, 0.5], 0.2, 0)["w"].tolist() == [3.5, 0.0, 0.0]
    assert merged("ties", both, [1.0, 1.0], 1.0, 0)["w"].tolist() == [2.0, 2.0, 0.0]
    assert merged("ties", both, [1.0, 1.0], 1 / 3, 0)["w"].tolist() == [3.0, 2.0, 0.0]
    many = {"w": torch.ones(20_000)}
    kept = merged("dare", [many], [1.0], 0.2, 0)["w"]
    assert set(kept.tolist()) == {0.0, 5.0} and float(kept.mean()) == pytest.approx(1.0, abs=0.05)


def test_models_of_another_shape_are_refused():
    base = nn.Linear(2, 2)
    with pytest.raises(ConfigError, match=r"big cannot be merged: it differs .* in bias"):
        task_vector(base, nn.Linear(2, 3), "big")
    before = base.weight.detach().clone()
    add(base, {"weight": torch.ones(2, 2), "bias": torch.zeros(2)})
    assert torch.allclose(base.weight, before + 1)
