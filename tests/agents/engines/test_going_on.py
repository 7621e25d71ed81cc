"""Chats that grow: a turn reads what is new, and says what it would say if it had read all."""

from contextlib import contextmanager

import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DynamicCache,
    Gemma3TextConfig,
    Lfm2Config,
    MistralConfig,
)

from coevo.agents.engines import contexts as module
from coevo.agents.engines.contexts import Way, way_of
from coevo.agents.engines.engine import Ask, Prompt
from coevo.agents.engines.growing_layer import GrowingLayer
from coevo.agents.engines.logit_processors import GuidedChoice
from coevo.agents.engines.prefix_cache import PrefixCache
from coevo.agents.engines.settings import Torch
from coevo.agents.engines.torch_engine import TorchEngine
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.models.adapters import Adapter, adapted
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.episode import PolicyRef
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from tests.agents.engines.families import END, GROUPED, made, some

WINDOW = {**GROUPED, "sliding_window": 6}
MIXED = {"layer_types": ["sliding_attention", "full_attention"], "head_dim": 8}
GOING_ON = {
    **some("llama", "gpt2"),
    "sliding": MistralConfig(**WINDOW),
    "mixed": Gemma3TextConfig(**WINDOW, **MIXED),
}
OTHERS = {
    "conv": Lfm2Config(**GROUPED, layer_types=["conv", "full_attention"]),
    **some("jamba", "mamba"),
}
POLICY = PolicyRef("policy", 0)
STARTS = [(5, 6, 7, 8, 9, 10, 11, 12), (5, 6), (20, 21, 22, 23), (5, 6), (9,), (5, 6)]


@pytest.fixture(scope="module")
def llama():
    return made(GOING_ON["llama"])


def engine_of(model, **settings):
    engine = TorchEngine(Torch(**settings))
    engine.publish(POLICY, model)
    return engine


def chats(engine, turns=5, policy=POLICY, between=lambda: None, choices=(), **settings):
    """Return the replies of some chats to all their turns; what comes between them differs."""
    config = SamplingConfig(**{"max_new_tokens": 6, **settings})
    contexts, found = list(STARTS), []
    for turn in range(turns):
        prompts = [Prompt(ids, choices, goes_on=True) for ids in contexts]
        seeds = range(100 * turn, 100 * turn + len(prompts))
        ask = Ask(policy, prompts, config, seeds, (END,), (GuidedChoice(),))
        (replies,) = engine.generate([ask])
        found.append(replies)
        contexts = [
            (*ids, *r.ids, *range(30, 31 + (row + turn) % 4), 7)
            for row, (ids, r) in enumerate(zip(contexts, replies, strict=True))
        ]
        between()
    return found


@contextmanager
def read_by(model):
    """Count the tokens that a model reads, padding included."""
    sizes = []
    hook = model.register_forward_pre_hook(
        lambda _, args, kwargs: sizes.append(kwargs["input_ids"].numel()), with_kwargs=True
    )
    yield sizes
    hook.remove()


def assert_equal(found, expected):
    for each, others in zip(found, expected, strict=True):
        for one, other in zip(each, others, strict=True):
            assert one.ids == other.ids
            assert one.logprobs == pytest.approx(other.logprobs, abs=2e-5)


@pytest.mark.parametrize("family", GOING_ON)
def test_replies_are_those_to_prompts_that_are_read_whole(family):
    model = made(GOING_ON[family])
    assert way_of(model) == Way("past_key_values", goes_on=True)
    with read_by(model) as whole:
        expected = chats(engine_of(model, cache_gib=0), turns=8)
    with read_by(model) as rest:
        found = chats(engine_of(model), turns=8)
    assert_equal(found, expected)
    assert sum(rest) < sum(whole) / 2


@pytest.mark.parametrize("family", OTHERS)
def test_models_with_other_states_read_their_prompts_whole(family):
    model = made(OTHERS[family])
    assert not way_of(model).goes_on
    assert_equal(chats(engine_of(model)), chats(engine_of(model, cache_gib=0)))


CHOICES = ((10, 11, 30, END), (10, 12, END), (14, END))


@pytest.mark.parametrize(
    "given",
    [
        {"temperature": 0.0},
        {"temperature": 0.7, "top_k": 9, "repetition_penalty": 1.3},
        {"choices": CHOICES},
        {"choices": CHOICES, "temperature": 0.0},
        {"token_budget": 5},
        {"max_new_tokens": 40},
    ],
)
def test_masks_filters_and_budgets_mean_the_same(llama, given):
    assert_equal(chats(engine_of(llama), **given), chats(engine_of(llama, cache_gib=0), **given))


def test_little_room_changes_what_is_read_and_no_reply(llama):
    expected, bytes_each = chats(engine_of(llama, cache_gib=0), turns=8), []
    for tokens in (10, 100, 300, 10_000):
        bytes_of_a_token = 2 * 2 * 2 * 8 * 4
        engine = engine_of(llama, cache_gib=tokens * bytes_of_a_token / 2**30)
        with read_by(llama) as sizes:
            assert_equal(chats(engine, turns=8), expected)
        assert engine._caches["policy"].nbytes <= tokens * bytes_of_a_token
        bytes_each.append(sum(sizes))
    assert bytes_each[0] > bytes_each[2] > bytes_each[3]


@pytest.mark.parametrize("how", ["publish", "retire", "forget", "other version"])
def test_nothing_is_left_of_a_version_that_is_gone(llama, how):
    engine = engine_of(llama)

    def drop():
        assert engine._caches["policy"].nbytes
        if how == "publish":
            engine.publish(POLICY, llama)
        elif how == "retire":
            engine.retire("policy")
            assert not engine._caches
            engine.publish(POLICY, llama)
        elif how == "forget":
            engine.forget("policy")
        else:
            engine.publish(PolicyRef("policy", 1), llama)
            engine.publish(POLICY, llama)
        assert not engine._caches

    with read_by(llama) as whole:
        expected = chats(engine_of(llama, cache_gib=0))
    with read_by(llama) as sizes:
        found = chats(engine, between=drop)
    assert sizes == whole, "it reads everything again"
    assert [[(s.ids, s.logprobs) for s in turn] for turn in found] == [
        [(s.ids, s.logprobs) for s in turn] for turn in expected
    ], "to the last bit"


def test_policies_of_one_engine_do_not_read_each_others_caches(tiny_model_dir, llama):
    engine, other = engine_of(llama), PolicyRef("other", 0)
    base = AutoModelForCausalLM.from_pretrained(tiny_model_dir, dtype=torch.float32)
    lora = adapted(base, Adapter(rank=2), name="other", seed=0, source=str(tiny_model_dir))
    for name, weight in lora.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight)
    engine.publish(other, lora)
    alone = engine_of(llama, cache_gib=0)
    alone.publish(other, lora)
    assert_equal(chats(engine, policy=other), chats(alone, policy=other))
    assert_equal(chats(engine), chats(alone))
    assert_equal(chats(engine, policy=other), chats(alone, policy=other))


def test_equal_chats_are_read_once(llama):
    with read_by(llama) as sizes:
        engine = engine_of(llama)
        contexts = [(5, 6, 7)] * 500
        for turn in range(4):
            prompts = [Prompt(ids, ((8, END), (9, END)), goes_on=True) for ids in contexts]
            seeds = range(500 * turn, 500 * turn + 500)
            ask = Ask(POLICY, prompts, SamplingConfig(), seeds, (END,), (GuidedChoice(),))
            (replies,) = engine.generate([ask])
            contexts = [(*c, *r.ids, 7) for c, r in zip(contexts, replies, strict=True)]
            assert len(set(contexts)) == 2 ** (turn + 1)
    # Each prompt of n states reads at most 3 tokens, and each of its 2 n replies one.
    assert sum(sizes) <= sum(5 * 2**turn for turn in range(4))


def test_what_cannot_go_on_is_not_kept(llama):
    engine = engine_of(llama)
    prompts = [Prompt(ids) for ids in STARTS]
    engine.generate([Ask(POLICY, prompts, SamplingConfig(), range(len(prompts)), (END,))])
    assert not engine._caches["policy"].nbytes


def test_a_cache_that_reads_something_else_is_not_gone_on_from(monkeypatch):
    model, read = made(GOING_ON["llama"]), PrefixCache.read
    monkeypatch.setattr(module, "_OF_ARCHITECTURE", {})
    monkeypatch.setattr(PrefixCache, "read", lambda *a: [(k, v.roll(1, 2)) for k, v in read(*a)])
    assert way_of(model) == Way("past_key_values", goes_on=False)
    assert_equal(chats(engine_of(model)), chats(engine_of(model, cache_gib=0)))


def test_layers_that_write_in_place_hold_what_those_of_transformers_hold():
    generator = torch.Generator().manual_seed(0)
    usual, ours = DynamicCache(), GrowingLayer()
    for parents, length in (
        (None, 5),
        (None, 1),
        ([1, 1, 0], 1),
        (None, 40),
        ([2, 0], 1),
        ([0], 3),
    ):
        if parents is not None:
            usual.reorder_cache(torch.tensor(parents))
            ours.reorder_cache(torch.tensor(parents))
        rows = 2 if not ours.is_initialized else len(ours.keys)
        new = [torch.randn(rows, 4, length, 8, generator=generator) for _ in range(2)]
        for one, other in zip(usual.update(*new, 0), ours.update(*new), strict=True):
            assert torch.equal(one, other)
        assert ours.get_seq_length() == usual.get_seq_length()


def test_rollouts_begin_and_end_with_nothing_known(tiny_model_dir):
    model = AutoModelForCausalLM.from_pretrained(tiny_model_dir, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(tiny_model_dir)
    found, read = [], []
    for gib in (0, 1):
        engine = TorchEngine(Torch(cache_gib=gib))
        sampling = SamplingConfig(max_new_tokens=8)
        agent = LanguageModelAgent(model, tokenizer, sampling=sampling, engine=engine)
        specs = [EpisodeSpec(s, {"player_0": "p", "player_1": "p"}) for s in range(3)]
        options = {"prompt_style": "full", "rounds": 4, "unparsable": "B"}
        for players in ({"p": agent}, {"p": agent}, {"p": agent.greedy("p")}):
            agent.reseed(0)
            with read_by(model) as sizes:
                episodes = rollout("coevo/iterated_game-v0", specs, players, options)
            assert not engine._caches
            read.append(sum(sizes))
            found.append([[t.token_ids for t in e.turns] for e in episodes])
    assert found[0] == found[1] == found[3] == found[4] and found[2] == found[5]
    assert read[3] == read[4] < read[0] / 2
