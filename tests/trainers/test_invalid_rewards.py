"""What no reward could be found for is compared with nothing."""

import pytest
import torch

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.parsing import Status
from coevo.trainers.advantage import AdvantageConfig, advantages
from coevo.trainers.build import build
from coevo.trainers.collect.metrics import rollout_metrics
from coevo.trainers.components import NoNormalisation


def episode(paid, seat="player_0"):
    turn = Turn(seat, (), "[x]", "x", Status.LEGAL, ("x",), player="policy")
    turn.prompt_ids, turn.token_ids, turn.logprobs = [1], [2, 3], [0.0, 0.0]
    if paid is None:
        turn.invalid["judge"] = {seat: "no answer"}
    else:
        turn.pay("judge", {seat: paid})
    env, seats = "coevo/kuhn_poker-v0", ("player_0", "player_1")
    return Episode(env, 0, {}, seats, "t", [turn], StopReason.FINISHED)


GROUP = [episode(1.0), episode(None), episode(0.0)]


def test_it_is_dropped_and_the_others_are_compared_without_it():
    batch = build(GROUP, [0, 0, 0], {"policy"})
    assert [at for at, _ in batch.origin_B] == [0, 2]
    found = advantages(AdvantageConfig(normalise=NoNormalisation()), batch)
    assert found[0].advantage_CL[:, 0].tolist() == [0.5, -0.5]


@pytest.mark.parametrize("penalty", [-1.0, 0.25])
def test_it_may_get_a_fixed_advantage_instead(penalty):
    batch = build(GROUP, [0, 0, 0], {"policy"}, invalid=True)
    spec = AdvantageConfig(normalise=NoNormalisation(), invalid=penalty)
    found = advantages(spec, batch)
    assert found[0].advantage_CL.tolist() == [[0.5, 0.5], [penalty, penalty], [-0.5, -0.5]]


def test_a_group_with_one_valid_member_teaches_nothing():
    batch = build([episode(1.0), episode(None)], [0, 0], {"policy"})
    assert advantages(AdvantageConfig(), batch)[0].advantage_CL.tolist() == [[0.0, 0.0]]
    assert build([episode(None)], [0], {"policy"}) is None


def test_standard_deviations_are_those_of_the_valid_members():
    spread = float(torch.tensor([1.0, 0.0]).std())
    batch = build(GROUP, [0, 0, 0], {"policy"}, invalid=True)
    found = advantages(AdvantageConfig(invalid=-2.0), batch)[0].advantage_CL[:, 0]
    assert found.tolist() == pytest.approx([0.5 / spread, -2.0, -0.5 / spread], abs=1e-4)


def test_it_is_counted_in_the_log():
    assert rollout_metrics(["player_0"], GROUP)["invalid/judge"] == 1.0
