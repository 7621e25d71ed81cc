"""Guided choice in runs: what is sampled is learnt, and what is measured is what is played."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from coevo.agents.load import load_agent
from coevo.agents.sampling import SamplingConfig
from coevo.agents.table import Rows, Table, TabularPolicy
from coevo.benchmarks.exact import exploitability
from coevo.envs import make
from coevo.envs.core.errors import ConfigError
from coevo.trainers import loop
from coevo.trainers.build import build
from coevo.trainers.run import start
from coevo.trainers.run_folder import RunFolder
from tests.trainers.conftest import GUIDED

KUHN = "coevo/kuhn_poker-v0"


def gaps(run):
    """Play an update; return |sampled - scored log-probability| of its tokens, and the episodes."""
    (learner,) = run.learners.values()
    episodes = run.collector.collect(0).episodes
    batch = build(episodes, range(len(episodes)), run.learners)
    gap_CL = (learner.passes.logp(batch) - batch.logp_behaviour_CL).abs()
    return gap_CL[batch.mask_CL], episodes


@pytest.fixture(scope="module")
def thinking_dir(tiny_model_dir, tmp_path_factory):
    """Return the tiny model with a token each for the beginning and the end of a thought."""
    folder = tmp_path_factory.mktemp("thinking")
    tokenizer = AutoTokenizer.from_pretrained(tiny_model_dir)
    tokenizer.add_tokens(["<think>", "</think>"])
    model = AutoModelForCausalLM.from_pretrained(tiny_model_dir)
    with torch.random.fork_rng():
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("style", ["terse", "full"])
@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_the_learner_scores_what_was_sampled(config, tmp_path, style, temperature):
    given = config(
        env="coevo/leduc_poker-v0",
        env_options={"prompt_style": style},
        sampling=replace(GUIDED, temperature=temperature),
    )
    gap_N, episodes = gaps(start(given, RunFolder(tmp_path)))
    assert float(gap_N.max()) < 1e-5
    turns = [t for e in episodes for t in e.turns]
    assert all(t.status == "legal" and t.token_ids in t.choices for t in turns)
    assert all(len(t.choices) == len(t.legal) for t in turns)


def test_thoughts_stay_free_and_a_legal_move_follows_them(config, tmp_path, thinking_dir):
    sampling = SamplingConfig(guided="choice", thoughts=6, max_new_tokens=16)
    given = config(model=str(thinking_dir), sampling=sampling)
    run = start(given, RunFolder(tmp_path))
    opens, _ = run.learners["policy"].agent.tokens.thought_ids
    gap_N, episodes = gaps(run)
    turns = [t for e in episodes for t in e.turns]
    thought = [t for t in turns if t.token_ids[0] == opens]
    assert 0 < len(thought) < len(turns)
    assert {t.status for t in turns} == {"legal"}
    assert all("</think>[" in t.text for t in thought)
    assert float(gap_N.max()) < 1e-5


def test_a_thought_that_a_template_opens_is_closed_at_once_without_room(thinking_dir):
    agent = load_agent(str(thinking_dir), sampling=GUIDED, device="cpu")
    tokenizer = agent.tokens.tokenizer
    tokenizer.chat_template = tokenizer.chat_template.replace(
        "{{ '<|assistant|>' }}", "{{ '<|assistant|><think>' }}"
    ).replace(
        "{% if add_generation_prompt %}<|assistant|>{% endif %}",
        "{% if add_generation_prompt %}<|assistant|><think>{% endif %}",
    )
    agent = type(agent)(agent.model, tokenizer, sampling=replace(GUIDED, max_new_tokens=12))
    env = make(KUHN, prompt_style="terse")
    env.reset(seed=0)
    from coevo.agents.agent import request_of

    request = request_of(env, env.agent_selection, np.random.default_rng(0))
    (reply,) = agent.act([request])
    assert reply.text.startswith("</think>[") and reply.logprobs[0] == 0
    assert agent.probabilities([request])[0].sum() == pytest.approx(1, abs=1e-12)
    agent.sampling = replace(agent.sampling, thoughts=4, max_new_tokens=20)
    (reply,) = agent.act([request])
    assert "</think>[" in reply.text


@pytest.mark.parametrize("style", ["terse", "full"])
def test_every_answer_of_a_guided_policy_is_legal_and_measured_so(tiny_model_dir, style):
    free, guided = (
        load_agent(str(tiny_model_dir), sampling=sampling, device="cpu")
        for sampling in (SamplingConfig(max_new_tokens=8), GUIDED)
    )
    options = {"prompt_style": style}
    loose, held = (exploitability(agent, KUHN, options) for agent in (free, guided))
    assert loose.legal_mass_min < 1e-3
    assert held.legal_mass_min == pytest.approx(1, abs=1e-12)
    assert held.exploitability == held.conditional


def test_entropy_is_that_of_the_tree_of_moves(config, tmp_path):
    run = start(config(), RunFolder(tmp_path))
    (learner,) = run.learners.values()
    episodes = run.collector.collect(0).episodes
    batch = build(episodes, range(len(episodes)), run.learners)
    part = next(learner.passes.micro_batches(batch))
    scored = learner.passes.score(batch, part)
    (entropy_N,) = scored.reduce(lambda _, logp_NV: (-(logp_NV.exp() * logp_NV).sum(-1),))
    steps = [learner.agent.processors[0].step(place).only for place in scored.places]
    assert all(steps)
    for ids, entropy in zip(steps, entropy_N.tolist(), strict=True):
        assert -1e-6 <= entropy <= np.log(len(ids)) + 1e-6


def test_a_guided_run_moves_the_policy_and_is_used_to_guidance(config, folder):
    from coevo.commands.players import agent as loaded

    given = config("grpo", {"optim.lr": 1e-2}, steps=2)
    run = loop.train(given, folder(given))
    again = loaded(str(run.folder.path))
    assert again.sampling.guided == "choice"
    assert run.folder.read_metrics()[-1]["illegal_rate/player_0"] == 0


# ---- What is refused -----------------------------------------------------------------------------


def test_thoughts_need_tokens_of_their_own_and_guidance(config, tmp_path, thinking_dir):
    with pytest.raises(ConfigError, match="guided='none' guides no reply: set guided=choice"):
        SamplingConfig(thoughts=3)
    thoughts = replace(GUIDED, thoughts=3)
    with pytest.raises(ConfigError, match="<think> and </think> are one token each"):
        start(config(sampling=thoughts), RunFolder(tmp_path))
    table = TabularPolicy(Table(), Rows(), sampling=thoughts)
    with pytest.raises(ConfigError, match="a table says its move at once"):
        _ = table.processors
    agent = load_agent(str(thinking_dir), sampling=thoughts, device="cpu")
    assert not agent.gives_probabilities
    with pytest.raises(ConfigError, match=r"sampling\.thoughts=3: a move after free thoughts"):
        exploitability(agent, KUHN)


def test_replies_that_cannot_hold_a_move_are_refused(config, tmp_path):
    run = start(config(sampling=replace(GUIDED, max_new_tokens=2)), RunFolder(tmp_path))
    with pytest.raises(ConfigError, match=r"max_new_tokens=2 is too short .* use at least \d"):
        run.collector.collect(0)


def test_a_server_is_not_asked_for_what_it_does_not_offer(monkeypatch, tmp_path):
    monkeypatch.setenv("COEVO_API_CACHE", str(tmp_path))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(ConfigError, match=r"openai:m samples at its server"):
        load_agent("openai:m", sampling=SamplingConfig(guided="choice"))


# ---- A real model --------------------------------------------------------------------------------


@pytest.mark.smollm2
@pytest.mark.parametrize("temperature", [0.7, 1.0])
def test_a_real_model_is_scored_as_it_was_sampled(config, tmp_path, temperature):
    given = config(
        "grpo",
        {"collect.episodes": 2, "collect.group_size": 2},
        model="smollm2",
        env="coevo/tic_tac_toe-v0",
        env_options={"prompt_style": "full"},
        sampling=replace(GUIDED, temperature=temperature),
    )
    gap_N, episodes = gaps(start(given, RunFolder(tmp_path)))
    # Free replies of this model differ by 1.2e-5 where most, guided ones by 4.5e-5 at 0.7, which
    # divides logits, and their rounding: not guidance, which would show in the mean as well.
    assert float(gap_N.mean()) < 1e-5 and float(gap_N.max()) < 1e-4
    assert all(t.status == "legal" for e in episodes for t in e.turns)
