"""Value-augmented sampling: what a critic adds to the scores, and where the critic comes from."""

import pytest
import torch
from safetensors.torch import save_file

from coevo.agents.engines.logit_processors import CLOSED, Place, ValueAugmented
from coevo.agents.load import load_agent
from coevo.agents.sampling import SamplingConfig
from coevo.agents.value_augmented import HEAD
from coevo.benchmarks.exact import tabular_policy
from coevo.envs.core.errors import ConfigError, DataError

KUHN, TERSE = "coevo/kuhn_poker-v0", {"prompt_style": "terse"}
GUIDED = SamplingConfig(guided="choice", max_new_tokens=8)


def test_the_likeliest_tokens_are_weighed_by_what_follows_them():
    """V = (1, 3) of the best two, mean 2: u = (-1, 1); the third is left alone, the closed too."""
    asked = []

    def values(contexts):
        asked.extend(contexts)
        return torch.tensor([float(c[-1]) for c in contexts])

    logits_NV = torch.tensor([[CLOSED, 5.0, 0.0, 4.0]])
    place = Place((7,), (8, 9), 1)
    got_NV = ValueAugmented(values, beta=2.0, top=2)(logits_NV, [place])
    assert asked == [(7, 8, 1), (7, 8, 3)]
    assert torch.equal(got_NV, torch.tensor([[CLOSED, 3.0, 0.0, 6.0]]))
    alone_NV = torch.tensor([[CLOSED, 5.0, CLOSED, CLOSED]])
    assert torch.equal(ValueAugmented(values, top=4)(alone_NV, [place]), alone_NV)


@pytest.fixture
def critic(tiny_model_dir, tmp_path):
    """Copy the tiny model, with a critic beside it."""
    folder = tmp_path / "valued"
    folder.mkdir()
    for file in tiny_model_dir.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    size = load_agent(str(tiny_model_dir)).weights.hidden_size
    weight = torch.randn(1, size, generator=torch.Generator().manual_seed(0))
    save_file({"weight": weight, "bias": torch.zeros(1)}, folder / HEAD)
    return folder


def odds(name):
    agent = load_agent(name, sampling=GUIDED, device="cpu")
    return {state: dict(moves) for state, moves in tabular_policy(agent, KUHN, TERSE).table.items()}


def test_a_critic_changes_play_as_much_as_its_strength_says(critic):
    plain, none, some = (
        odds(f"{x}{critic}") for x in ("", "value_augmented:0:", "value_augmented:")
    )
    moved = [abs(p - some[s][m]) for s, moves in plain.items() for m, p in moves.items()]
    for state, moves in plain.items():
        assert none[state] == pytest.approx(moves, abs=1e-6)
    assert max(moved) > 0.01


def test_bad_names_are_errors_of_one_line(critic, tiny_model_dir):
    with pytest.raises(ConfigError, match="'much' must be a number of at least 0"):
        load_agent(f"value_augmented:much:{critic}")
    with pytest.raises(DataError, match="holds no critic; train one"):
        load_agent(f"value_augmented:{tiny_model_dir}")
