import pytest
import torch
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    Lfm2Config,
    Lfm2ForCausalLM,
    MistralConfig,
    MistralForCausalLM,
)

from coevo.agents.engines.engine import Prompt
from coevo.agents.engines.logit_processors import GuidedChoice
from coevo.agents.engines.scoring import Span, score
from coevo.agents.engines.wave import sample
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.errors import ConfigError

END = 3
SMALL = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 128,
    "bos_token_id": 0,
    "eos_token_id": END,
    "pad_token_id": 0,
}


def gpt2():
    config = GPT2Config(
        vocab_size=64, n_embd=16, n_layer=2, n_head=2, n_positions=128, eos_token_id=END
    )
    config.bos_token_id = 0
    return GPT2LMHeadModel(config)


def sliding():
    return MistralForCausalLM(MistralConfig(**SMALL, num_hidden_layers=2, sliding_window=6))


def mixed_attention():
    kinds = ["sliding_attention", "full_attention"]
    config = Gemma3TextConfig(
        **SMALL, num_hidden_layers=2, sliding_window=6, head_dim=8, layer_types=kinds
    )
    return Gemma3ForCausalLM(config)


def convolution():
    kinds = ["conv", "full_attention"]
    return Lfm2ForCausalLM(Lfm2Config(**SMALL, num_hidden_layers=2, layer_types=kinds))


def draw(model, prompts, seed=0, **settings):
    seeds = range(seed, seed + len(prompts))
    return sample(
        model, prompts, (END,), SamplingConfig(**settings), seeds, processors=(GuidedChoice(),)
    )


def fresh_logprobs(model, prompt, reply, temperature=1.0):
    """Score one reply alone, without padding, cache or batch."""
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *reply]])).logits[0].float() / temperature
    logp = logits.log_softmax(-1)
    return [float(logp[len(prompt) - 1 + i, t]) for i, t in enumerate(reply)]


PROMPTS = [(5, 6, 7, 8, 9, 10, 11, 12, 13), (5, 6), (20, 21, 22, 23), (5, 6), (9,), (5, 6)]


@pytest.mark.parametrize("make", [gpt2, sliding, mixed_attention, convolution])
@pytest.mark.parametrize("token_budget", [16_384, 9])
def test_reported_logprobs_are_those_of_a_fresh_pass_on_every_kind_of_cache(make, token_budget):
    model = make().eval()
    prompts = [Prompt(p) for p in PROMPTS]
    samples = draw(model, prompts, max_new_tokens=10, token_budget=token_budget)
    for p, s in zip(PROMPTS, samples, strict=True):
        assert s.logprobs == pytest.approx(fresh_logprobs(model, p, s.ids), abs=1e-5)
        assert END not in s.ids[:-1] and (len(s.ids) == 10 or s.ids[-1] == END)


def test_equal_prompts_and_shared_beginnings_are_one_row_of_the_batch(llama, monkeypatch):
    draw(llama, [Prompt((5,))])  # the trial of the architecture
    seen = []
    forward = llama.forward

    def counted(*args, **kwargs):
        seen.append(tuple(kwargs["input_ids"].shape))
        return forward(*args, **kwargs)

    monkeypatch.setattr(llama, "forward", counted)
    choices = ((7, 8, END), (7, 9, END))
    draw(llama, [Prompt((5, 6), choices)] * 200 + [Prompt((5,), choices)] * 200, max_new_tokens=3)
    assert seen == [(2, 2), (2, 1), (4, 1)]


def test_rows_of_one_prompt_are_sampled_independently_and_by_their_probabilities(llama):
    prompt = (5, 6, 7)
    choices = ((10, 30, END), (10, 31, END), (11, 30, END), (12, 31, END))
    rows = draw(llama, [Prompt(prompt, choices)] * 4000, max_new_tokens=3, temperature=0.7)
    said = [tuple(s.ids) for s in rows]
    assert set(said) == set(choices)
    for choice in choices:
        share = said.count(choice) / len(said)
        claimed = sum(next(s.logprobs for s in rows if tuple(s.ids) == choice))
        assert share == pytest.approx(float(torch.tensor(claimed).exp()), abs=0.03)
    assert said[:2000] != said[2000:]


def test_free_sampling_follows_the_first_token_distribution(llama):
    rows = draw(llama, [Prompt((5, 6, 7))] * 4000, max_new_tokens=1)
    with torch.no_grad():
        p = llama(torch.tensor([[5, 6, 7]])).logits[0, -1].softmax(-1)
    counts = torch.bincount(torch.tensor([s.ids[0] for s in rows]), minlength=len(p)) / len(rows)
    assert float((counts - p).abs().max()) < 0.02


def test_a_reply_follows_from_its_prompt_and_seed_whatever_else_is_asked(llama):
    prompts = [Prompt(p) for p in PROMPTS]
    together = [s.ids for s in draw(llama, prompts, seed=4, max_new_tokens=8)]
    apart = [draw(llama, [p], seed=4 + i, max_new_tokens=8)[0].ids for i, p in enumerate(prompts)]
    assert together == apart
    assert together != [s.ids for s in draw(llama, prompts, seed=5, max_new_tokens=8)]


def test_guided_replies_are_choices_and_their_logprobs_are_renormalised(llama):
    prompt, choices = (5, 6, 7), ((10, 11, END), (10, 12, 13, END), (14, END))
    temperature = 1.3
    for s in draw(llama, [Prompt(prompt, choices)] * 50, max_new_tokens=4, temperature=1.3):
        assert tuple(s.ids) in choices
        for i in range(len(s.ids)):
            allowed = sorted({c[i] for c in choices if list(c[:i]) == s.ids[:i]})
            with torch.no_grad():
                logits = llama(torch.tensor([[*prompt, *s.ids[:i]]])).logits[0, -1] / temperature
            expected = logits[s.ids[i]] - logits[allowed].logsumexp(0)
            assert s.logprobs[i] == pytest.approx(float(expected), abs=1e-5)


def test_temperature_zero_takes_the_most_probable_token(llama):
    rows = draw(llama, [Prompt((5, 6, 7))] * 3 + [Prompt((9,))], max_new_tokens=5, temperature=0)
    assert rows[0].ids == rows[1].ids == rows[2].ids
    for s, prompt in ((rows[0], (5, 6, 7)), (rows[3], (9,))):
        for i, token in enumerate(s.ids):
            with torch.no_grad():
                logits = llama(torch.tensor([[*prompt, *s.ids[:i]]])).logits[0, -1]
            assert token == int(logits.argmax())
    guided = draw(llama, [Prompt((5,), ((7, END), (8, END)))], max_new_tokens=2, temperature=0)
    assert guided[0].ids[0] in (7, 8)


def test_nothing_asked_is_nothing_answered(llama):
    assert draw(llama, []) == []


def test_limits_are_refused_with_their_numbers(llama):
    with pytest.raises(ConfigError, match=r"2050 tokens .* context of 2048"):
        draw(llama, [Prompt((5,) * 2050)])
    with pytest.raises(ConfigError, match="temperature=-1"):
        SamplingConfig(temperature=-1)
    with pytest.raises(ConfigError, match="max_new_tokens=0"):
        SamplingConfig(max_new_tokens=0)


def test_samples_agree_with_what_learners_compute(llama):
    samples = draw(llama, [Prompt(p) for p in PROMPTS], max_new_tokens=6, temperature=0.8)
    spans = [
        Span((*p, *s.ids), (len(p),), (len(p) + len(s.ids),))
        for p, s in zip(PROMPTS, samples, strict=True)
    ]
    with torch.no_grad():
        logp = score(llama, spans, temperature=0.8).logp_N()
    flat = [lp for s in samples for lp in s.logprobs]
    assert logp.tolist() == pytest.approx(flat, abs=1e-5)
