"""Every causal architecture of transformers, built small: does the sampler say what a pass says?

Every family is built at random from a configuration of two or so layers; the log-probabilities that
the sampler and the scorer report are compared with one plain forward pass of each sequence alone.

    python studies/model_families.py [FAMILY ...] > table.md
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.utils import logging

from coevo.agents.engines.contexts import way_of
from coevo.agents.engines.engine import Prompt
from coevo.agents.engines.scoring import Span, score
from coevo.agents.engines.wave import sample
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.errors import CoevoError

END = 3
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers")
WIDTHS = ("hidden_size", "n_embd", "d_model", "embedding_size")
HEADS = (
    "num_attention_heads",
    "n_head",
    "n_heads",
    "num_heads",
    "decoder_attention_heads",
    "encoder_attention_heads",
)
INNER = ("intermediate_size", "ffn_dim", "n_inner", "d_ff", "decoder_ffn_dim", "encoder_ffn_dim")
SPREAD = ("initializer_range", "init_std")
SMALL: dict[str, Any] = {
    **dict.fromkeys(LAYERS, 2),
    **dict.fromkeys(WIDTHS, 32),
    **dict.fromkeys(HEADS, 4),
    **dict.fromkeys(INNER, 64),
    **dict.fromkeys(SPREAD, 0.2),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 128),
    "vocab_size": 64,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "encoder_layers": 1,
    "bos_token_id": 0,
    "eos_token_id": END,
    "pad_token_id": 1,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "is_decoder": True,
}
"""What makes a family small, where its configuration has it."""
LATENT = {
    "num_key_value_heads": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "head_dim": 8,
    "n_group": 1,
    "topk_group": 1,
}
"""Of attention over latent keys: head_dim is that of the rotated part."""
STATES = {"mamba_n_heads": 8, "mamba_d_head": 8, "mamba_expand": 2}
HALF_LINEAR = {"num_hidden_layers": 4, "layer_types": ["linear_attention", "full_attention"] * 2}
OWN: dict[str, dict[str, Any]] = {
    **dict.fromkeys(
        (
            "axk1",
            "axk2",
            "deepseek_v2",
            "deepseek_v3",
            "deepseek_v32",
            "glm4_moe_lite",
            "glm_moe_dsa",
            "longcat_flash",
            "minicpm3",
            "youtu",
        ),
        LATENT,
    ),
    **dict.fromkeys(("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "olmo_hybrid"), HALF_LINEAR),
    "bamba": STATES | {"num_hidden_layers": 4, "attn_layer_indices": [1, 3]},
    "granitemoehybrid": STATES | {"num_hidden_layers": 2, "layer_types": ["mamba", "attention"]},
    "codegen": {"rotary_dim": 4},
    "gptj": {"rotary_dim": 4},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 8},
    "mamba2": {"num_heads": 8, "head_dim": 8, "n_groups": 1, "state_size": 16},
    "jamba": {
        "num_hidden_layers": 4,
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "mamba_dt_rank": 4,
    },
    "recurrent_gemma": {"num_hidden_layers": 3, "attention_window_size": 8, "lru_width": 32},
    "mistral": {"sliding_window": 6},
    "gemma3_text": {"sliding_window": 6},
    "zaya": {"num_experts_per_tok": 1},
}
"""Family -> what it needs besides, or in place of that."""
TOO_LARGE = frozenset(
    {
        "blt",
        "dots3_note",
        "emu3",
        "fuyu",
        "gemma3",
        "gemma4",
        "gemma4_unified",
        "got_ocr2",
        "llama4",
        "mllama",
        "moss_transcribe_diarize",
        "phi4_multimodal",
        "qwen3_5",
        "qwen3_5_moe",
        "qwen4_exp",
    }
)
"""Models of images or sound around a language model that is in the table by itself."""
TOO_SLOW = frozenset(["kimi_linear"])
"""Two minutes for eight tokens on a CPU."""
PROMPTS = [(5, 6, 7, 8, 9, 10, 11, 12, 13), (5, 6), (20, 21, 22, 23), (5, 6), (9,), (5, 6)]
REPLY = (7, 8, 9, 10, END)


@dataclass(frozen=True)
class Found:
    """What came out of one family."""

    family: str
    way: str
    """How it is sampled, or why it is not."""
    sampled: float | None = None
    """Largest difference of a sampled token's log-probability from the plain pass, nats."""
    scored: float | None = None
    """The same of a scored token."""

    def row(self) -> str:
        """Return a row of the table."""
        gaps = ("" if gap is None else f"{gap:.0e}" for gap in (self.sampled, self.scored))
        return f"| {self.family} | {self.way} | {' | '.join(gaps)} |"


def build(family: str) -> PreTrainedModel:
    """Return a small random model of a family; whatever its configuration refuses is raised."""
    kind = CONFIG_MAPPING[family]
    has = {*kind().to_dict(), *getattr(kind, "attribute_map", {})}
    given = {k: v for k, v in SMALL.items() if k in has} | OWN.get(family, {})
    torch.manual_seed(0)
    made: PreTrainedModel = AutoModelForCausalLM.from_config(kind(**given))
    return made.eval()


@torch.no_grad()
def plain(model: PreTrainedModel, prompt: tuple[int, ...], reply: list[int]) -> torch.Tensor:
    """Return the log-probabilities of one reply by one pass over one sequence."""
    ids = torch.tensor([[*prompt, *reply]])
    logp = model(input_ids=ids, use_cache=False).logits[0].float().log_softmax(-1)
    at = torch.arange(len(reply)) + len(prompt) - 1
    return logp[at, torch.tensor(reply)]


@torch.no_grad()
def examine(family: str) -> Found:
    """Build a family and compare."""
    if family in TOO_LARGE | TOO_SLOW:
        return Found(family, "not tried: too large" if family in TOO_LARGE else "not tried: slow")
    try:
        model = build(family)
    except Exception as error:  # a configuration that wants more than sizes
        return Found(family, f"not built: {line(error)}")
    try:
        way = way_of(model)
    except CoevoError as error:
        return Found(family, f"refused: {str(error).partition(': ')[2][:90]}")
    sampled, scored = gaps(model)
    said = f"cache as {way.cache}" if way.cache else "read anew"
    said = "cache" if way.cache == "past_key_values" else said
    return Found(family, f"{said}, goes on" if way.goes_on else said, sampled, scored)


def gaps(model: PreTrainedModel) -> tuple[float, float]:
    """Return the largest differences of sampled and of scored tokens from plain passes."""
    settings, seeds = SamplingConfig(max_new_tokens=8), range(len(PROMPTS))
    drawn = sample(model, [Prompt(p) for p in PROMPTS], (END,), settings, seeds)
    sampled = [
        (torch.tensor(s.logprobs) - plain(model, p, s.ids)).abs().max()
        for p, s in zip(PROMPTS, drawn, strict=True)
    ]
    spans = [Span((*p, *REPLY), (len(p),), (len(p) + len(REPLY),)) for p in PROMPTS]
    expected = torch.cat([plain(model, p, list(REPLY)) for p in PROMPTS])
    scored = (score(model, spans).logp_N() - expected).abs().max()
    return float(max(sampled)), float(scored)


def line(error: Exception) -> str:
    """Return an error in one short line that a table can hold."""
    return " ".join(str(error).split()).replace("|", "/")[:90] or type(error).__name__


def main(families: list[str]) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    logging.set_verbosity_error()
    start = time.perf_counter()
    print("| family | sampled by | sampled | scored |\n| --- | --- | --- | --- |")  # noqa: T201
    for family in families or sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES):
        print(examine(family).row(), flush=True)  # noqa: T201  # what it is for
    sys.stderr.write(f"{time.perf_counter() - start:.0f} s\n")


if __name__ == "__main__":
    main(sys.argv[1:])
