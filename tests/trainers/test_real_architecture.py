"""Promise: a folder with a Qwen3 model, its BPE tokenizer and its chat template trains as it is."""

import itertools

import pytest
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from coevo.agents.load import load_agent
from coevo.agents.sampling import SamplingConfig
from coevo.envs import make
from coevo.trainers import loop
from coevo.trainers.build import build
from coevo.trainers.run_folder import RunFolder

TEMPLATE = """\
{%- set ns = namespace(last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- if message.role == 'user' and loop.first %}
        {%- set ns.last = messages|length - 1 - loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == 'assistant' and '</think>' in content and loop.index0 < ns.last %}
        {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}"""
SPLIT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"
CORPUS = ["Legal moves: [pass] [bet] [fold] [call] [raise]. Your card is the king of spades."] * 3


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(CORPUS, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=TEMPLATE,
    )
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    folder = tmp_path_factory.mktemp("qwen3")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        Qwen3ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("style", ["full", "terse"])
@pytest.mark.parametrize("guided", ["choice", "none"])
def test_three_steps_train_and_load_again(config, folder, qwen, style, guided):
    given = config(
        "mars",
        {"collect.episodes": 4},
        model=str(qwen),
        env="coevo/leduc_poker-v0",
        env_options={"prompt_style": style, "illegal": "textarena"},
        sampling=SamplingConfig(guided=guided, max_new_tokens=12),
        steps=3,
    )
    run = loop.train(given, folder(given))
    metrics = run.folder.read_metrics()
    assert len(metrics) == 3 and all(m["ratio/max"] == pytest.approx(1) for m in metrics)
    assert metrics[0]["grad_norm"] > 0
    agent = load_agent(str(run.folder.path), sampling=given.sampling, device="cpu")
    assert type(agent.model) is Qwen3ForCausalLM
    trained, start = agent.model.state_dict(), Qwen3ForCausalLM.from_pretrained(qwen).state_dict()
    handed_out = run.policies()["policy"].model.state_dict()
    assert all(torch.equal(v, handed_out[k]) for k, v in trained.items())
    assert not all(torch.equal(v, trained[k]) for k, v in start.items())


def test_a_growing_chat_trains_on_the_ids_that_were_sampled(config, qwen, tmp_path):
    given = config(
        "mars",
        {"collect.episodes": 16},
        model=str(qwen),
        env="coevo/leduc_poker-v0",
        env_options={"prompt_style": "full", "illegal": "random"},  # so replies are of any kind
        sampling=SamplingConfig(max_new_tokens=12),
    )
    run = loop.start(given, RunFolder(tmp_path))
    collected = run.collector.collect(0)
    episodes = collected.episodes
    batch = build(episodes, collected.groups, run.learners)
    longest = 0
    for c, b in enumerate(batch.trajectory_C.tolist()):
        span = batch.spans[int(batch.span_C[c])]
        seat = batch.keys["seat"][b]
        episode = episodes[int(batch.keys["group"][b])]
        own = [t for t in episode.turns if t.agent == episode.agents[seat]]
        assert [span.ids[i] for i in span.positions()] == [i for t in own for i in t.token_ids]
        for before, after in itertools.pairwise(own):
            read = before.prompt_ids + before.token_ids
            assert after.prompt_ids[: len(read)] == read
        longest = max(longest, len(own))
    assert longest > 1 and len(batch.span_C) == len(batch.turn_mask_BT)


def test_the_whole_context_reads_as_the_template_renders_it(config, qwen):
    agent = load_agent(str(qwen), sampling=SamplingConfig(max_new_tokens=12), device="cpu")
    env = make("coevo/leduc_poker-v0", prompt_style="full")
    env.reset(seed=0)
    chat = env.chat(env.agent_selection)
    rendered = agent.tokens.tokenizer.apply_chat_template(
        list(chat), tokenize=False, add_generation_prompt=True
    )
    ids = agent.tokens.prompt(chat)
    assert agent.tokens.tokenizer.decode(ids, skip_special_tokens=False) == rendered
    assert agent.tokens.end_ids == (agent.tokens.tokenizer.eos_token_id,)
