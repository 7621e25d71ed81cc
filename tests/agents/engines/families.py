"""Small models of many architectures, with random weights."""

import copy

import torch
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    JambaConfig,
    LlamaConfig,
    MambaConfig,
    MixtralConfig,
)

END = 3
SIZE = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "eos_token_id": END}
HEADS = {"num_attention_heads": 4, "intermediate_size": 64, "initializer_range": 0.2}
GROUPED = {**SIZE, **HEADS, "num_key_value_heads": 2}
FAMILIES = {
    "llama": LlamaConfig(**GROUPED),
    "gpt2": GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, initializer_range=0.2),
    "mixtral": MixtralConfig(**GROUPED, num_local_experts=4),
    "jamba": JambaConfig(
        **{**GROUPED, "num_hidden_layers": 4},
        attn_layer_period=2,
        attn_layer_offset=1,
        expert_layer_offset=0,
        num_experts=4,
        mamba_dt_rank=4,
    ),
    "mamba": MambaConfig(**SIZE),
}


def made(config, **settings):
    """Return a model of a configuration, alike in every call."""
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(copy.deepcopy(config), **settings).eval()


def some(*names):
    """Return the configurations of some families by name."""
    return {name: FAMILIES[name] for name in names}
