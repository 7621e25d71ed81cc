import numpy as np
import pytest
from safetensors.numpy import save_file

from coevo.commands.start_model import parameters, start_note, suited, suited_rate
from coevo.trainers.algorithms import ALGORITHMS
from coevo.trainers.config import TrainConfig


@pytest.fixture
def folder(tmp_path):
    save_file({"a": np.zeros((3000, 1000), np.float16)}, tmp_path / "model-1.safetensors")
    save_file({"b": np.zeros((1000, 1000), np.float32)}, tmp_path / "model-2.safetensors")
    return tmp_path


def config(model, algorithm="mars"):
    return TrainConfig(
        algorithm=ALGORITHMS[algorithm], env="coevo/kuhn_poker-v0", model=str(model), steps=1
    )


def test_parameters_are_counted_without_loading(folder, tmp_path):
    assert parameters(folder) == 4_000_000
    assert parameters(tmp_path / "nowhere") is None


def test_a_larger_model_learns_more_slowly_and_nothing_else_changes(folder):
    ours, theirs = config("starter"), config(folder)
    assert suited(ours) is ours and suited(config("owner/name")) == config("owner/name")
    rate = ours.algorithm.optim.lr
    assert suited(theirs).algorithm.optim.lr == pytest.approx(rate / 4)
    assert suited(theirs).env_options == theirs.env_options


@pytest.mark.parametrize(
    ("count", "adapted", "rate"),
    [
        (1_000_000, False, 1e-3),
        (20_000_000, False, 5e-5),
        (10**12, False, 1e-6),
        (7 * 10**9, True, 1e-4),
    ],
)
def test_rates_fall_with_the_size_down_to_a_floor(count, adapted, rate):
    assert suited_rate(1e-3, count, adapted=adapted) == pytest.approx(rate)
    assert suited_rate(1e-7, count, adapted=adapted) <= 1e-7


def test_the_settings_of_a_foreign_model_are_one_line(folder):
    line = start_note(suited(config(folder)))
    rate = ALGORITHMS["mars"].optim.lr / 4
    assert "4,000,000 parameters, float32" in line and f"learning rate {rate:g}" in line
    assert "terse style" in line and "\n" not in line
    assert start_note(config("starter")) == ""
