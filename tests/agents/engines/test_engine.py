import copy
import gc

import pytest
import torch
from torch import nn

from coevo.agents.engines.engine import Ask, EngineError, Prompt
from coevo.agents.engines.move_engine import MoveEngine
from coevo.agents.engines.torch_engine import TorchEngine
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_model
from coevo.agents.sampling import SamplingConfig
from coevo.agents.table import read_rows
from coevo.envs.core.episode import PolicyRef

PROMPTS = [Prompt((5, 6, 7)), Prompt((9,)), Prompt((5,), ((7, 3), (8, 3)))]
SAMPLING = SamplingConfig(max_new_tokens=5, temperature=0.8)


@pytest.fixture
def model(tiny_model_dir):
    return load_model(str(tiny_model_dir), device="cpu")[0]


def draw(engine, policy, seed=0):
    ask = Ask(policy, PROMPTS, SAMPLING, [seed, seed + 1, seed + 2], (3,))
    (samples,) = engine.generate([ask])
    return samples


def test_given_replies_have_the_log_probabilities_that_they_were_sampled_with(model):
    engine, policy = TorchEngine(), PolicyRef("policy", 0)
    engine.publish(policy, model)
    samples = draw(engine, policy)
    found = engine.logprobs(policy, PROMPTS, [tuple(s.ids) for s in samples], SAMPLING)
    for logp_N, s in zip(found, samples, strict=True):
        assert logp_N.tolist() == pytest.approx(s.logprobs, abs=1e-5)


def test_a_version_that_was_replaced_or_retired_or_dropped_answers_no_more(model):
    engine, old, new = TorchEngine(), PolicyRef("policy", 3), PolicyRef("policy", 4)
    with pytest.raises(EngineError, match=r"policy@3 was never published.*nothing"):
        draw(engine, old)
    engine.publish(old, model)
    assert draw(engine, old)
    engine.publish(new, model)
    with pytest.raises(EngineError, match=r"policy@3 was never published.*policy@4"):
        draw(engine, old)
    gone = PolicyRef("past", 1)
    engine.publish(gone, copy.deepcopy(model))
    gc.collect()
    with pytest.raises(EngineError, match="past@1"):
        draw(engine, gone)
    engine.retire("policy")
    with pytest.raises(EngineError, match="policy@4"):
        draw(engine, new)


def test_what_is_published_is_what_answers(model):
    engine, one, two = TorchEngine(), PolicyRef("one"), PolicyRef("two")
    other = copy.deepcopy(model)
    with torch.no_grad():
        for p in other.parameters():
            p.mul_(1.5)
    engine.publish(one, model)
    engine.publish(two, other)
    replies = [tuple(s.ids) for s in draw(engine, one)]
    scored = [engine.logprobs(p, PROMPTS, replies, SAMPLING) for p in (one, two)]
    assert not torch.allclose(scored[0][0], scored[1][0], atol=1e-3)
    engine.publish(one, other)
    again = engine.logprobs(one, PROMPTS, replies, SAMPLING)
    assert all(torch.equal(a, b) for a, b in zip(again, scored[1], strict=True))


def test_a_move_engine_draws_by_the_rows_in_force():
    engine, policy = MoveEngine(read_rows), PolicyRef("policy", 0)
    table = nn.Embedding.from_pretrained(torch.tensor([[0.0, 2.0, 50.0], [50.0, 0.0, 0.0]]))
    engine.publish(policy, table)
    prompts = [Prompt((0,), ((0,), (1,)))] * 4000
    (samples,) = engine.generate([Ask(policy, prompts, SAMPLING, range(4000))])
    share = sum(s.ids[0] for s in samples) / len(samples)
    expected = float(torch.tensor(2.0 / 0.8).sigmoid())
    assert share == pytest.approx(expected, abs=0.02)
    (logp_N,) = engine.logprobs(policy, prompts[:1], [(1,)], SAMPLING)
    assert float(logp_N.exp()) == pytest.approx(expected, abs=1e-6)


def test_a_policy_plays_with_what_was_published_last(tiny_model_dir):
    policy = LanguageModelAgent(*load_model(str(tiny_model_dir), device="cpu"))
    assert policy.ref == PolicyRef("policy", -1) == PolicyRef("policy")
    policy.publish(7)
    assert (policy.ref, policy.version, str(policy.ref)) == (PolicyRef("policy", 7), 7, "policy@7")
    twin = policy.having(copy.deepcopy(policy.model))
    assert twin.ref != policy.ref and twin.version == 7
    greedy = policy.greedy("policy@greedy")
    assert greedy.ref == policy.ref and greedy.name == "policy@greedy"
