"""Filters of sampling: the distribution, what is recorded of it, and who gets or refuses it."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from coevo.agents.agent import Request
from coevo.agents.engines.engine import Ask, Prompt
from coevo.agents.engines.logit_processors import GuidedChoice
from coevo.agents.engines.settings import Vllm
from coevo.agents.engines.torch_engine import TorchEngine
from coevo.agents.engines.vllm_engine import VllmEngine
from coevo.agents.engines.wave import sample
from coevo.agents.load import load_agent
from coevo.agents.sampling import BLOCK, SamplingConfig, drawn, filtered, uniform
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.envs.core.episode import PolicyRef
from coevo.envs.core.errors import ConfigError, UndefinedError

END = 3
SETTINGS = [
    {"top_p": 0.6},
    {"top_k": 7},
    {"min_p": 0.3},
    {"repetition_penalty": 1.7},
    {"repetition_penalty": 0.6, "min_p": 0.05, "top_k": 20, "top_p": 0.8},
]


def by_transformers(logits_1V, context, given):
    """Return what transformers' own processors leave, in vLLM's order."""
    made = LogitsProcessorList()
    kinds = {
        "repetition_penalty": RepetitionPenaltyLogitsProcessor,
        "min_p": MinPLogitsWarper,
        "top_k": TopKLogitsWarper,
        "top_p": TopPLogitsWarper,
    }
    for name, kind in kinds.items():
        if name in given:
            made.append(kind(given[name]))
    return made(torch.tensor([context]), logits_1V)


def request(text="Which?", legal=("a", "b", "c", "d"), guided=False):
    chat = ({"role": "user", "content": text},)
    rng = np.random.default_rng(0)
    return Request("player_0", chat, {"legal_actions": legal}, rng, guided=guided)


@pytest.mark.parametrize("given", SETTINGS)
def test_filters_are_those_of_transformers(given):
    logits_NV = 3 * torch.randn(50, 200, generator=torch.Generator().manual_seed(1))
    contexts = [list(range(n, 3 * n + 1)) * 2 for n in range(50)]
    found = filtered(logits_NV, contexts, SamplingConfig(**given))
    rows = zip(logits_NV, contexts, strict=True)
    expected = torch.cat([by_transformers(row[None], context, given) for row, context in rows])
    assert torch.equal(found, expected)
    assert not torch.equal(found, logits_NV)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"top_p": 0.5}, [0]),
        ({"top_p": 0.51}, [0, 1]),
        ({"top_p": 1e-9}, [0]),
        ({"top_k": 3}, [0, 1, 2]),
        ({"min_p": 0.31}, [0, 1, 2]),
        ({"min_p": 0.32}, [0, 1]),
        ({"min_p": 0.7}, [0]),
        # 0.5 / 0.75 of what top-k leaves is enough for 0.6; of everything it is not.
        ({"top_k": 2, "top_p": 0.6}, [0]),
        ({}, [0, 1, 2, 3]),
    ],
)
def test_what_is_kept_of_four_tokens(given, kept):
    p = torch.tensor([[0.5, 0.25, 0.15625, 0.09375]])
    left = filtered(p.log(), [()], SamplingConfig(**given)).softmax(-1)
    assert left.nonzero()[:, 1].tolist() == kept
    assert left[0, kept].tolist() == pytest.approx((p[0, kept] / p[0, kept].sum()).tolist())


LAST = 1 - 2**-53
"""The largest number below 1 in float64."""


def uniforms(count, seed=0):
    return uniform([seed], count)[0]


def distribution(size, seed=0):
    """Return uneven probabilities, half of them 0."""
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(1, size, generator=generator)
    closed = torch.rand(1, size, generator=generator) < 0.5
    closed[0, size // 2] = False
    return logits.masked_fill(closed, -torch.inf).softmax(-1)


@pytest.mark.parametrize("size", [5, 30, BLOCK, BLOCK + 1, 3 * BLOCK, 152_000])
def test_ids_are_drawn_as_often_as_they_are_probable(size):
    count = 20_000
    p_V = distribution(size)[0].double()
    found = drawn(p_V[None].float(), torch.zeros(count, dtype=torch.long), uniforms(count))
    assert bool((p_V[found] > 0).all())
    group_V = (p_V.cumsum(-1) * 100).long().clamp(max=99)  # neighbours are counted together
    expected = torch.zeros(100, dtype=torch.float64).index_add(0, group_V, p_V) * count
    seen = group_V[found].bincount(minlength=100)
    large = expected >= 5
    assert int(large.sum()) > 1 and int(seen[~large].sum()) <= 30
    share = expected[large] / expected[large].sum() * seen[large].sum()
    assert chisquare(seen[large], share).pvalue > 1e-3


@pytest.mark.parametrize("size", [7, 32_000, 151_936])
def test_the_error_of_the_cumulative_distribution_is_below_a_millionth(size):
    p_1V = distribution(size, seed=1)
    exact_V = p_1V[0].double().cumsum(-1) / p_1V.double().sum()
    uniform_R = torch.arange(0, 1, 1e-4, dtype=torch.float64)
    found = drawn(p_1V, torch.zeros(len(uniform_R), dtype=torch.long), uniform_R)
    above = exact_V[found] - uniform_R
    below = uniform_R - (exact_V - p_1V[0].double() / p_1V.double().sum())[found]
    assert float(above.min()) > -1e-6 and float(below.min()) > -1e-6


@pytest.mark.parametrize("size", [3, BLOCK, BLOCK + 1, 5 * BLOCK + 3])
def test_an_id_of_probability_0_is_never_drawn_and_nothing_lies_behind_the_end(size):
    uniform_R = torch.tensor([0.0, 2**-60, 0.5, 1 - 1e-9, LAST], dtype=torch.float64)
    for only in {0, 1, size // 2, size - 2, size - 1}:
        p_NV = torch.zeros(2, size)
        p_NV[1, only] = 1e-30
        found = drawn(p_NV, torch.ones(len(uniform_R), dtype=torch.long), uniform_R)
        assert found.tolist() == [only] * len(uniform_R)
    pair = torch.zeros(1, size)
    pair[0, [1, size - 2]] = 0.5000001  # together above 1
    found = drawn(pair, torch.zeros(len(uniform_R), dtype=torch.long), uniform_R).tolist()
    assert found[:2] == [1, 1] and found[3:] == [size - 2] * 2


def test_what_rounding_adds_to_a_block_falls_to_its_last_possible_id():
    p_1V = torch.zeros(1, BLOCK + 2)
    p_1V[0, BLOCK:] = torch.tensor([1.0, 1.5 * 2**-24])  # their float32 sum is above the true one
    end = torch.tensor([LAST], dtype=torch.float64)
    assert drawn(p_1V, torch.tensor([0]), end).tolist() == [BLOCK + 1]


def test_on_the_border_of_a_block_no_impossible_id_is_drawn():
    generator = torch.Generator().manual_seed(3)
    p_NV = torch.rand(4000, 4 * BLOCK, generator=generator)
    p_NV[:, BLOCK : 2 * BLOCK] *= 1e-12
    p_NV[:, ::BLOCK] = 0
    sum_NK = p_NV.unfold(-1, BLOCK, BLOCK).sum(-1).double().cumsum(-1)
    row_N = torch.arange(len(p_NV))
    for border in range(3):
        found = drawn(p_NV, row_N, sum_NK[:, border] / sum_NK[:, 3])
        assert bool((p_NV[row_N, found] > 0).all())


def test_replies_do_not_depend_on_how_prompts_are_batched(llama):
    prompts = [Prompt((5, 6, 7))] * 3 + [Prompt((5, n)) for n in range(8, 20)]
    replies = [
        [s.ids for s in sample(llama, prompts, (END,), config, range(len(prompts)))]
        for config in (SamplingConfig(max_new_tokens=9, token_budget=n) for n in (1, 7, 16_384))
    ]
    assert replies[0] == replies[1] == replies[2]
    assert len({tuple(ids) for ids in replies[0]}) == len(prompts)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("given", SETTINGS)
def test_recorded_logprobs_are_of_what_was_drawn_from(llama, given, temperature):
    config = SamplingConfig(max_new_tokens=6, temperature=temperature, **given)
    choices = ((10, 11, 30, END), (10, 12, END), (14, END), (15, END), (16, END))
    prompts = [Prompt((5, 6, 7))] * 20 + [Prompt((5, 14, 10), choices)] * 20
    guided = (GuidedChoice(),)
    drawn = sample(llama, prompts, (END,), config, range(len(prompts)), processors=guided)
    for prompt, s in zip(prompts, drawn, strict=True):
        for i, token in enumerate(s.ids):
            context = [*prompt.ids, *s.ids[:i]]
            with torch.no_grad():
                logits = llama(torch.tensor([context])).logits[:, -1]
            if prompt.choices:
                closed = torch.ones(logits.shape[1], dtype=torch.bool)
                closed[[c[i] for c in prompt.choices if list(c[:i]) == s.ids[:i]]] = False
                logits[:, closed] = -torch.inf
            logp = by_transformers(logits / temperature, context, given).log_softmax(-1)
            assert s.logprobs[i] == pytest.approx(float(logp[0, token]), abs=1e-4)
    engine, policy = TorchEngine(), PolicyRef("policy", 0)
    engine.publish(policy, llama)
    found = engine.logprobs(policy, prompts, [tuple(s.ids) for s in drawn], config, guided)
    for logp_N, s in zip(found, drawn, strict=True):
        assert logp_N.tolist() == pytest.approx(s.logprobs, abs=1e-4)


def test_shares_are_those_of_the_filtered_distribution(llama):
    config = SamplingConfig(max_new_tokens=1, top_k=3)
    drawn = sample(llama, [Prompt((5, 6, 7))] * 4000, (END,), config, range(4000))
    said = [s.ids[0] for s in drawn]
    assert len(set(said)) == 3
    for token in set(said):
        (claimed,) = {s.logprobs[0] for s in drawn if s.ids[0] == token}
        assert said.count(token) / 4000 == pytest.approx(np.exp(claimed), abs=0.03)


def test_greedy_play_takes_the_likeliest_token_whatever_is_filtered(llama):
    plain, kept = (
        sample(llama, [Prompt((5, 6, 7))], (END,), config, [0])[0]
        for config in (
            SamplingConfig(temperature=0),
            SamplingConfig(temperature=0, top_k=2, top_p=0.3, min_p=0.9),
        )
    )
    assert plain == kept


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"top_p": 0}, "top_p=0 must be greater than 0"),
        ({"top_p": 1.1}, "top_p=1.1 must be less than or equal to 1"),
        ({"top_k": -1}, "top_k=-1 must be greater than or equal to 0"),
        ({"min_p": 1.5}, "min_p=1.5 must be less than or equal to 1"),
        ({"repetition_penalty": 0}, "repetition_penalty=0 must be greater than or equal to 0.01"),
    ],
)
def test_values_without_meaning_are_refused(given, words):
    with pytest.raises(ConfigError, match=words):
        SamplingConfig(**given)


def test_a_table_draws_from_what_a_filter_leaves_and_says_so():
    policy = TabularPolicy(Table(), Rows(), sampling=SamplingConfig(top_p=0.5), seed=1)
    (unmet,) = policy.probabilities([request()])
    replies = policy.act([request()] * 300)
    assert {r.text for r in replies} == {"[a]", "[b]"} and unmet.tolist() == [0.5, 0.5, 0, 0]
    assert [r.logprobs[0] for r in replies] == pytest.approx([np.log(0.5)] * 300)
    np.testing.assert_allclose(policy.probabilities([request()])[0], unmet)
    policy.sampling = SamplingConfig(repetition_penalty=1.2)
    refusal = r"repetition_penalty=1.2 must be 1 where a move is one token"
    with pytest.raises(ConfigError, match=refusal):
        policy.act([request()])


def test_agents_say_their_filters_and_measure_under_them(tiny_model_dir):
    config = SamplingConfig(max_new_tokens=12, top_k=1)
    agent = load_agent(str(tiny_model_dir), sampling=config, device="cpu")
    expected = {"temperature": 1.0, "max_new_tokens": 12, "top_k": 1}
    assert agent.sampling_settings == expected
    (odds,) = agent.probabilities([request(guided=True)])
    assert sorted(odds) == [0, 0, 0, 1]
    with pytest.raises(UndefinedError, match="top_k=1 gives every legal move"):
        agent.probabilities([request()])


def test_a_server_is_sent_the_filters(monkeypatch, tmp_path):
    monkeypatch.setenv("COEVO_API_CACHE", str(tmp_path))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    agent = load_agent("openai:m", sampling=SamplingConfig(top_p=0.9, top_k=4))
    assert agent.settings.extra_body == {"top_p": 0.9, "top_k": 4}
    assert load_agent("openai:m", sampling=SamplingConfig()).settings.extra_body == {}


@pytest.mark.parametrize("given", [{}, SETTINGS[-1]])
def test_vllm_is_given_the_filters(monkeypatch, llama, given):
    asked = []
    fakes = {
        "vllm": SimpleNamespace(SamplingParams=lambda **settings: settings),
        "vllm.lora": SimpleNamespace(),
        "vllm.lora.request": SimpleNamespace(LoRARequest=None),
    }
    for name, fake in fakes.items():
        monkeypatch.setitem(sys.modules, name, fake)

    def generate(prompts, params, **_):
        asked.extend(params)
        reply = SimpleNamespace(token_ids=[END], logprobs=[{END: SimpleNamespace(logprob=-1.0)}])
        return [SimpleNamespace(outputs=[reply]) for _ in prompts]

    engine, policy = VllmEngine("unused", Vllm()), PolicyRef("policy", 0)
    engine._llm = SimpleNamespace(
        generate=generate, collective_rpc=lambda *_, **__: [[]], reset_prefix_cache=lambda: None
    )
    engine.publish(policy, llama)
    engine.generate([Ask(policy, [Prompt((5,))], SamplingConfig(**given), [0], (END,))])
    filters = ("top_p", "top_k", "min_p", "repetition_penalty")
    assert {name: asked[0][name] for name in filters if name in asked[0]} == given


def test_streams_are_uniform_and_apart():
    """Neighbouring seeds are what is counted up."""
    x_RT = uniform(range(1000), 50)
    assert float(x_RT.min()) >= 0 and float(x_RT.max()) < 1
    for numbers in (x_RT, x_RT[:, :1], x_RT[:1]):
        seen = (numbers.flatten() * 10).long().bincount(minlength=10)
        assert chisquare(seen).pvalue > 1e-3
    for one, other in ((x_RT[1:], x_RT[:-1]), (x_RT[:, 1:], x_RT[:, :-1])):
        pairs = torch.stack([one.flatten(), other.flatten()])
        assert abs(float(pairs.corrcoef()[0, 1])) < 0.02


def test_the_stream_of_a_seed_is_that_of_its_authors():
    """The first numbers of seed 1234567 (Vigna's test vector), as fractions of 2^64."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert uniform([1234567], 3)[0].tolist() == [(n >> 11) * 2.0**-53 for n in expected]
