from dataclasses import replace

import torch

from coevo.benchmarks.reproductions.claims import shared_layers as it
from coevo.benchmarks.reproductions.run import Arm, trained


def test_layers_that_two_tasks_share_are_taught_then_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(it, "TURNS", 1)
    monkeypatch.setattr(it, "TAUGHT", tuple(replace(w, steps=1) for w in it.TAUGHT))
    shared = it.taught(0)
    fresh = it.begun(it.THIRD, {})(0)("policy").model.state_dict()
    assert set(shared) == {k for k in fresh if k.startswith(it.SHARED)} and len(shared) == 4
    assert all(not torch.equal(shared[k], fresh[k]) for k in shared)
    begin = it.begun(it.THIRD, shared, frozen=True)
    with trained(it.THIRD, Arm("turn_ppo", maker=begin), 0, it.CHANGES, 2) as end:
        after = end.policy().model.state_dict()
        found = it._measure(end)
    assert all(torch.equal(after[k], shared[k]) for k in shared)
    for part in ("body.0.", "head."):
        assert any(not torch.equal(after[k], fresh[k]) for k in after if k.startswith(part))
    assert 0 <= found["area"] < 2
