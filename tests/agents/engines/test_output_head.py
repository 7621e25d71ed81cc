"""Models taken apart give the logits that they give whole, whatever they do to them at the end."""

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from coevo.agents.engines.output_head import output_head

SMALL = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 40,
    "pad_token_id": 0,
}
FAMILIES = {
    "llama": {},
    "gpt2": {"n_embd": 16, "n_layer": 1, "n_head": 2},
    "gemma2": {"final_logit_softcapping": 0.5},
    "granite": {"logits_scaling": 4.0},
    "cohere": {"logit_scale": 0.2},
    "qwen3": {"tie_word_embeddings": True},
}


def tiny(family, **changes):
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **{**SMALL, **FAMILIES.get(family, {}), **changes})
    return AutoModelForCausalLM.from_config(config).eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_head_of_hidden_states_is_the_whole_models_logits(family):
    model, ids = tiny(family), torch.tensor([[3, 9, 27, 1]])
    with torch.no_grad():
        hidden = model.base_model(ids).last_hidden_state
        assert torch.allclose(output_head(model)(hidden), model(ids).logits, atol=1e-5)


def test_an_unknown_last_step_is_noticed(monkeypatch):
    model = tiny("llama")
    whole = type(model).forward
    monkeypatch.setattr(
        type(model),
        "forward",
        lambda self, *given, **named: _with(whole(self, *given, **named)),
    )
    assert output_head(model) is None


def _with(out):
    out.logits = out.logits * 3 + torch.arange(out.logits.shape[-1]) / 10
    return out
