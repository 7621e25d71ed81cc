import pytest
import torch
from transformers import (
    BartConfig,
    BertConfig,
    LlamaConfig,
    Mamba2Config,
    RobertaConfig,
    RwkvConfig,
    XmodConfig,
)

from coevo.agents.engines import contexts as module
from coevo.agents.engines import prefix_sharing
from coevo.agents.engines.contexts import Cached, ReadAnew, Way, contexts, way_of
from coevo.agents.engines.engine import Prompt
from coevo.agents.engines.output_head import output_head
from coevo.agents.engines.prefix_sharing import shares_prefixes
from coevo.agents.engines.scoring import Span, score
from coevo.agents.engines.wave import sample
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.errors import ConfigError, UndefinedError
from tests.agents.engines.families import END, GROUPED, HEADS, SIZE, made, some

CONFIGS = {
    **some("llama", "gpt2", "mixtral", "jamba", "mamba"),
    "mamba2": Mamba2Config(**SIZE, num_heads=8, head_dim=8, n_groups=1, state_size=16),
    "rwkv": RwkvConfig(**SIZE, context_length=64),
    "bart": BartConfig(
        vocab_size=64,
        d_model=32,
        decoder_layers=2,
        decoder_attention_heads=4,
        decoder_ffn_dim=64,
        is_decoder=True,
        init_std=0.2,
    ),
    "roberta": RobertaConfig(**SIZE, **HEADS, is_decoder=True),
}
CACHE = {"mamba": "cache_params", "mamba2": "cache_params"} | dict.fromkeys(
    ("rwkv", "bart", "roberta")
)
PROMPTS = [(5, 6, 7, 8, 9, 10, 11, 12, 13), (5, 6), (20, 21, 22, 23), (5, 6), (9,), (5, 6)]


def plainly(model, prompt, reply):
    """Score one reply alone by one plain forward pass."""
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([[*prompt, *reply]]), use_cache=False).logits[0]
    logp = logits.log_softmax(-1)
    return [float(logp[len(prompt) - 1 + i, t]) for i, t in enumerate(reply)]


@pytest.mark.parametrize("family", CONFIGS)
def test_sampled_logprobs_are_those_of_one_plain_pass(family):
    model = made(CONFIGS[family])
    settings = SamplingConfig(max_new_tokens=8)
    samples = sample(model, [Prompt(p) for p in PROMPTS], (END,), settings, range(len(PROMPTS)))
    for prompt, s in zip(PROMPTS, samples, strict=True):
        assert s.logprobs == pytest.approx(plainly(model, prompt, s.ids), abs=2e-5)
    assert way_of(model).cache == CACHE.get(family, "past_key_values")


@pytest.mark.parametrize("family", CONFIGS)
def test_scored_logprobs_are_those_of_one_plain_pass(family):
    model, reply = made(CONFIGS[family]), (7, 8, 9, END)
    spans = [Span((*p, *reply), (len(p),), (len(p) + len(reply),)) for p in PROMPTS]
    with torch.no_grad():
        found = score(model, spans).logp_N().tolist()
    expected = [lp for p in PROMPTS for lp in plainly(model, p, reply)]
    assert found == pytest.approx(expected, abs=2e-5)


def test_the_trial_sees_a_cache_under_a_wrong_name():
    model = made(CONFIGS["mamba"])
    rows = [(5, 6, 7, 8), (9,)]
    wrong, right = Cached(model, rows, Way("past_key_values")), contexts(model, rows)
    gaps = []
    with torch.no_grad():
        for way in (wrong, right):
            anew = ReadAnew(model, rows)
            for c in (way, anew):
                c.logits()
                c.grow([0, 1], [6, 7])
            gaps.append(float((way.logits() - anew.logits()).abs().max()))
    assert gaps[0] > 0.05 and gaps[1] < 1e-5


def refusal(model):
    with pytest.raises(ConfigError) as caught:
        way_of(model)
    return str(caught.value)


def test_a_model_that_sees_the_future_is_refused():
    model = made(BertConfig(**SIZE, **HEADS))
    assert refusal(model) == (
        "a bert model cannot be a policy: what it says of a token depends on the tokens after it"
    )


def test_a_model_that_wants_more_than_tokens_is_refused():
    model = made(XmodConfig(**SIZE, **HEADS, is_decoder=True))
    assert (
        "a xmod model cannot be a policy: it does not read plain token ids: Input lang"
        in refusal(model)
    )


def test_a_model_that_carries_rounding_far_is_no_wrong_architecture(monkeypatch):
    for kept in (module, prefix_sharing):
        monkeypatch.setattr(kept, "_OF_ARCHITECTURE", {})
    model = made(CONFIGS["llama"])
    model.lm_head.register_forward_hook(lambda _m, _a, out: out + torch.sin(1e4 * out))
    assert way_of(model) == Way("past_key_values", goes_on=True) and shares_prefixes(model)
    monkeypatch.setattr(module, "SHAKE", 0.0)
    found = module._trial(model)
    with torch.no_grad():
        assert not module._agree(model, ReadAnew(model, found), module._reference(model, found))


def test_a_model_without_numbers_is_not_called_a_wrong_architecture(monkeypatch):
    monkeypatch.setattr(module, "_OF_ARCHITECTURE", {})
    model = made(CONFIGS["llama"])
    with torch.no_grad():
        model.lm_head.weight[5] = torch.nan
    with pytest.raises(UndefinedError, match="not numbers"):
        way_of(model)


ROPE = {
    "longrope": {
        "rope_type": "longrope",
        "rope_theta": 1e4,
        "short_factor": [1.0] * 4,
        "long_factor": [4.0] * 4,
        "original_max_position_embeddings": 16,
    },
    "dynamic": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0},
}
"""RoPE whose angles depend on the longest sequence of a batch, beyond 16 tokens."""


@pytest.fixture(params=ROPE)
def changing(request):
    limit = 64 if request.param == "longrope" else 16
    rope = {"rope_parameters": dict(ROPE[request.param]), "max_position_embeddings": limit}
    return made(LlamaConfig(**GROUPED, **rope))


def test_within_its_first_context_a_model_with_changing_rope_is_exact(changing):
    settings = SamplingConfig(max_new_tokens=7)
    samples = sample(changing, [Prompt(p) for p in PROMPTS], (END,), settings, range(len(PROMPTS)))
    for prompt, s in zip(PROMPTS, samples, strict=True):
        assert s.logprobs == pytest.approx(plainly(changing, prompt, s.ids), abs=2e-5)
    assert way_of(changing) == Way("past_key_values", True)


def test_beyond_it_one_sequence_would_change_the_others_and_is_refused(changing):
    short, beyond = Span((5, 6, 7, 8), (2,), (4,)), Span(tuple(range(5, 25)), (10,), (20,))
    wide = torch.zeros(2, 20, dtype=torch.long)
    wide[0, :4], wide[1] = torch.tensor(short.ids), torch.tensor(beyond.ids)
    with torch.no_grad():
        alone = changing(input_ids=wide[:1, :4], use_cache=False).logits[0]
        beside = changing(input_ids=wide, use_cache=False).logits[0, :4]
    assert float((alone - beside).abs().max()) > 0.01
    with pytest.raises(ConfigError, match=r"20 tokens is longer than 16, from where on"):
        score(changing, [short, beyond])
    prompts = [Prompt(short.ids), Prompt(beyond.ids[:12])]
    with pytest.raises(ConfigError, match=r"max_new_tokens=5 exceed the model's context of 16"):
        sample(changing, prompts, (END,), SamplingConfig(max_new_tokens=5), (0, 1))


def test_a_model_that_comes_in_half_precision_samples_what_it_scores(monkeypatch):
    """As where a user hands over a model of one's own, which no loader has tried in float32."""
    monkeypatch.setattr(module, "_OF_ARCHITECTURE", {})
    half = made(CONFIGS["llama"]).bfloat16()
    assert output_head(half) is not None
    samples = sample(half, [Prompt(p) for p in PROMPTS], (END,), SamplingConfig(), range(6))
    for prompt, s in zip(PROMPTS, samples, strict=True):
        assert s.logprobs == pytest.approx(plainly(half, prompt, s.ids), abs=0.1)


def test_half_precision_and_a_short_context_pass_the_trial(monkeypatch):
    monkeypatch.setattr(module, "_OF_ARCHITECTURE", {})
    short = LlamaConfig(**GROUPED, max_position_embeddings=8)
    half = made(CONFIGS["llama"]).bfloat16()
    assert way_of(half) == Way("past_key_values", True)
    assert {p.dtype for p in half.parameters()} == {torch.bfloat16}
    assert way_of(made(short)) == Way("past_key_values", True)
