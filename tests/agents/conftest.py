"""The tiny model as the tests of agents and engines take it."""

import pytest


@pytest.fixture(scope="module")
def llama(tiny_model_dir):
    import torch
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(tiny_model_dir, dtype=torch.float32).eval()
