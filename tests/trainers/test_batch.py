from dataclasses import replace

import pytest
import torch

from coevo.envs.core.config import read
from coevo.envs.core.errors import ConfigError, UnknownNameError
from coevo.trainers.advantage import AdvantageConfig, advantages
from coevo.trainers.batch import Batch
from coevo.trainers.components import AnyCredit, Gae, MarsCode, NoBaseline, NoNormalisation, ToGo

BATCH = Batch.from_lists([[0.5, 1.0], [0.0]], tokens=[[2, 1], [1]], trajectory=[31, 47])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_reward_that_is_not_finite_is_refused_with_its_place(bad):
    reward_BTK = BATCH.reward_BTK.clone()
    reward_BTK[0, 1, 0] = bad
    with pytest.raises(ConfigError, match=r"'reward' of trajectory 31 \(row 0\), turn 1 is"):
        replace(BATCH, reward_BTK=reward_BTK).checked()


def test_what_a_padded_cell_holds_is_never_read():
    reward_BTK = BATCH.reward_BTK.clone()
    reward_BTK[1, 1, 0] = float("nan")
    for credit in ("outcome", "to_go", "mars_code"):
        spec = AdvantageConfig(credit=read(AnyCredit, {"name": credit}))
        clean, dirty = (
            advantages(spec, b)[0] for b in (BATCH, replace(BATCH, reward_BTK=reward_BTK))
        )
        assert torch.equal(clean.advantage_CL, dirty.advantage_CL)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("reward_BTK", torch.zeros(2, 2), r"expected \[B, T, K\]"),
        ("reward_BTK", torch.zeros(2, 2, 1, dtype=torch.int64), "expected float"),
        ("components", ("a", "b"), r"reward_BTK has shape \(2, 2, 1\), expected \(2, 2, 2\)"),
        ("turn_mask_BT", torch.ones(2, 2), "expected bool"),
        ("turn_mask_BT", torch.ones(2, 3).bool(), r"turn_mask_BT has shape \(2, 3\)"),
        ("turn_of_BS", torch.zeros(2, 3), "expected int64"),
        ("turn_of_BS", torch.tensor([[0, 0, 2], [0, -1, -1]]), "between -1 and 1"),
        ("turn_of_BS", torch.tensor([[0, 1, 0], [0, -1, -1]]), "must not decrease"),
        ("turn_of_BS", torch.tensor([[0, -1, 1], [0, -1, -1]]), "padding on the right"),
        ("turn_of_BS", torch.tensor([[0, 0, 1], [0, 1, -1]]), "marks as padding"),
        ("value_CL", torch.zeros(2, 4), r"value_CL has shape \(2, 4\), expected \(2, 3\)"),
        ("keys", {"group": torch.zeros(2).long()}, "keys lacks agent, game, policy"),
        ("keys", {**BATCH.keys, "seat": torch.zeros(3).long()}, r"keys\['seat'\] has shape"),
        ("keys", {**BATCH.keys, "seat": torch.zeros(2)}, r"keys\['seat'\] has dtype"),
    ],
)
def test_a_batch_that_contradicts_itself_is_refused(field, value, words):
    with pytest.raises(ConfigError, match=words):
        replace(BATCH, **{field: value}).checked()


def test_an_unknown_key_names_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"unknown trajectory key 'groups'.*'group'"):
        BATCH.key_B("groups")


def test_a_token_credit_refuses_a_turn_without_tokens_and_a_turn_credit_takes_it():
    silent = Batch.from_lists([[0.5, 1.0]], tokens=[[1, 0]])
    with pytest.raises(ConfigError, match=r"row 0.*no policy token in turn 1"):
        advantages(AdvantageConfig(credit=MarsCode()), silent)
    spec = AdvantageConfig(credit=ToGo(), baseline=NoBaseline(), normalise=NoNormalisation())
    assert advantages(spec, silent)[0].advantage_CL.tolist() == [[1.5]]


def test_gae_without_values_and_kl_without_log_probabilities_say_what_is_missing():
    with pytest.raises(ConfigError, match="needs value_CL"):
        advantages(AdvantageConfig(credit=Gae()), BATCH)
    with pytest.raises(ConfigError, match="needs logp_ref_CL"):
        advantages(AdvantageConfig(kl_in_reward=0.1), BATCH)


def test_an_unknown_reward_weight_is_refused_and_a_missing_one_is_one():
    batch = replace(
        BATCH, reward_BTK=BATCH.reward_BTK.repeat(1, 1, 2), components=("payoff", "format")
    )
    spec = AdvantageConfig(
        reward_weights={"format": 0.5}, baseline=NoBaseline(), normalise=NoNormalisation()
    )
    assert advantages(spec, batch)[0].advantage_CL[0].tolist() == [2.25, 2.25, 2.25]
    with pytest.raises(UnknownNameError, match="unknown reward component 'formt'"):
        advantages(replace(spec, reward_weights={"formt": 1.0}), batch)
