import pytest
import torch
from transformers import (
    BloomConfig,
    DogeConfig,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoConfig,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    Qwen3Config,
)

from coevo.agents.engines import prefix_sharing
from coevo.agents.engines.prefix_sharing import rows_of, shares_prefixes
from coevo.agents.engines.scoring import Span, score
from coevo.agents.models.adapters import Adapter, adapted
from tests.agents.engines.families import GROUPED, HEADS, SIZE, made, some

SHARING = {
    **some("llama", "gpt2", "mixtral"),
    "qwen3": Qwen3Config(**GROUPED, head_dim=8),
    "gpt_neox": GPTNeoXConfig(**SIZE, **HEADS),
}
APART = {
    **some("mamba", "jamba"),
    "mistral": MistralConfig(**GROUPED, sliding_window=4096),
    "gemma3": Gemma3TextConfig(**GROUPED, head_dim=8, sliding_window=4096),
    "gpt_neo": GPTNeoConfig(
        vocab_size=64, hidden_size=32, num_layers=2, num_heads=4, attention_types=[[["local"], 2]]
    ),
    "doge": DogeConfig(**GROUPED, keep_window_size=48),
    "bloom": BloomConfig(vocab_size=64, hidden_size=32, n_layer=2, n_head=4),
}
PROMPT = tuple(range(5, 22))


def reply(prompt, *ids):
    return Span((*prompt, *ids), (len(prompt),), (len(prompt) + len(ids),))


GROUP = [reply(PROMPT, 30 + i, *range(40, 40 + i % 4), 3) for i in range(8)]
CHAT = (*PROMPT, 8, 9, 3, 31, 32, 33)
"""A reply, and what was said to it."""
CASES = {
    "group": GROUP,
    "two groups and one alone": [*GROUP, *(reply((9, 9), i, 4) for i in range(4)), reply((2,), 7)],
    "turns": [
        reply(PROMPT, 8, 9, 3),
        Span((*CHAT, 7, 3), (17, 23), (20, 25)),
        reply(CHAT, 8, 8, 3),
        reply(PROMPT, 8, 10, 3),
    ],
    "one begins another": [reply(PROMPT, 8), reply(PROMPT, 8, 9), reply(PROMPT, 8, 9, 10, 11)],
}


def computed(model, spans, rows):
    """Return what a pass says and its gradient, and how many tokens it computed."""
    sizes, model = [], model.requires_grad_(True)
    embedding = model.get_input_embeddings()
    hook = embedding.register_forward_hook(lambda _, given, out: sizes.append(given[0].numel()))
    model.zero_grad()
    scored = score(model, spans, 0.7, rows=rows, hidden=True)
    logp_N = scored.logp_N()
    weight_N = torch.linspace(-1, 1, len(logp_N))
    ((weight_N * logp_N).sum() + scored.hidden_NH.square().sum()).backward()
    hook.remove()
    gradient = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
    return (logp_N.detach(), scored.hidden_NH.detach(), gradient), sum(sizes)


def assert_same(model, spans):
    rows = rows_of(model, spans)
    alone, plainly = computed(model, spans, None)
    shared, fewer = computed(model, spans, [r.members for r in rows])
    assert fewer == len(rows) * max(r.length for r in rows) < 0.7 * plainly
    for found, expected in zip(shared, alone, strict=True):
        assert float((found - expected).norm() / expected.norm()) < 1e-5


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("family", SHARING)
def test_shared_beginnings_change_neither_value_nor_gradient(family, case):
    assert_same(made(SHARING[family]), CASES[case])


def test_a_mask_that_is_added_does_the_same():
    model = made(SHARING["llama"], attn_implementation="eager")
    assert shares_prefixes(model)
    assert_same(model, CASES["turns"])


def test_an_adapter_shares_as_its_base_does():
    base = made(SHARING["llama"])
    base.name_or_path = "somewhere"
    model = adapted(base, Adapter(rank=2), name="one", seed=0, source="somewhere")
    for name, p in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(p)
    assert_same(model.double(), GROUP)  # single precision is off by 1.05e-5 on one machine


@pytest.mark.parametrize("family", APART)
def test_other_architectures_compute_every_sequence_alone(family):
    model = made(APART[family])
    assert not shares_prefixes(model)
    assert [r.members for r in rows_of(model, GROUP)] == [(i,) for i in range(len(GROUP))]


def test_what_says_something_else_of_shared_rows_is_found_out_by_trying(monkeypatch):
    monkeypatch.setattr(prefix_sharing, "_sees_all", lambda model: True)
    monkeypatch.setattr(prefix_sharing, "_OF_ARCHITECTURE", {})
    assert not any(shares_prefixes(made(APART[family])) for family in ("mamba", "jamba", "bloom"))


def test_a_mask_of_an_architectures_own_is_noticed_in_rows_that_it_does_not_narrow(monkeypatch):
    monkeypatch.setattr(prefix_sharing, "WINDOWS", ())
    monkeypatch.setattr(prefix_sharing, "_OF_ARCHITECTURE", {})
    doge = made(APART["doge"])
    with torch.no_grad():
        for parameter in doge.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    assert not shares_prefixes(doge)
    assert all(shares_prefixes(made(SHARING[family])) for family in ("llama", "gpt2", "mixtral"))


def test_a_model_that_comes_in_half_precision_computes_beginnings_once(monkeypatch):
    """As in a process of its own, where no model in float32 was tried before."""
    monkeypatch.setattr(prefix_sharing, "_OF_ARCHITECTURE", {})
    model = made(SHARING["llama"]).bfloat16()
    rows = rows_of(model, GROUP)
    assert sum(r.length for r in rows) < 0.4 * sum(len(s.ids) for s in GROUP)
    with torch.no_grad():
        shared, alone = (
            score(model, GROUP, rows=r).logp_N() for r in ([r.members for r in rows], None)
        )
        exact = score(model.float(), GROUP).logp_N()
    assert float((shared - exact).abs().max()) < 2 * float((alone - exact).abs().max())


def test_short_contexts_and_half_precision_share(monkeypatch):
    monkeypatch.setattr(prefix_sharing, "_OF_ARCHITECTURE", {})
    assert shares_prefixes(made(LlamaConfig(**GROUPED, max_position_embeddings=8)))
    assert shares_prefixes(made(SHARING["llama"]).bfloat16())
    assert shares_prefixes(
        made(GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=8))
    )


def test_autocast_shares_with_the_error_of_its_precision():
    model = made(SHARING["llama"])
    rows = [r.members for r in rows_of(model, GROUP)]
    with torch.no_grad():
        found, plain = (
            score(model, GROUP, rows=r, autocast=torch.bfloat16).logp_N() for r in (rows, None)
        )
        exact = score(model, GROUP).logp_N()
    assert float((found - exact).abs().max()) < 2 * float((plain - exact).abs().max())
