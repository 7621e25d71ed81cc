import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.agents.agent import Request
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_model
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.errors import ConfigError

LEGAL = ["pass", "bet", "bet all"]
GUIDED = SamplingConfig(guided="choice", max_new_tokens=12)


@pytest.fixture
def agent(tiny_model_dir):
    model, tokenizer = load_model(str(tiny_model_dir), device="cpu")
    return LanguageModelAgent(model, tokenizer, sampling=SamplingConfig(max_new_tokens=12))


def request(*contents, legal=LEGAL, conversation="", guided=False):
    roles = ("user", "assistant")
    chat = tuple({"role": roles[i % 2], "content": c} for i, c in enumerate(contents))
    rng = np.random.default_rng(0)
    return Request("player_0", chat, {"legal_actions": legal}, rng, conversation, guided)


def test_a_growing_chat_only_appends_to_the_ids_that_were_sampled(agent):
    said, before = ["Your card: K."], []
    for turn in range(4):
        reply = agent.act([request(*said, conversation="0/player_0")])[0]
        assert reply.prompt_ids[: len(before)] == before
        assert agent.tokens.text(reply.token_ids) == reply.text
        before = reply.prompt_ids + reply.token_ids
        said += [reply.text, f"They call. Turn {turn}."]
    ends = agent.tokens.end_ids[0]
    assert not any(a == b == ends for a, b in itertools.pairwise(before))


def test_a_reply_cut_at_the_limit_is_closed_before_the_next_message(agent):
    agent.sampling = SamplingConfig(max_new_tokens=1)
    first = agent.act([request("a", conversation="c")])[0]
    second = agent.act([request("a", first.text, "b", conversation="c")])[0]
    ends = agent.tokens.end_ids[0]
    assert len(first.token_ids) == 1
    after = second.prompt_ids[len(first.prompt_ids) + 1 :]
    assert (after[0] == ends) == (first.token_ids[0] != ends)


def test_a_chat_that_does_not_continue_the_last_one_starts_afresh(agent):
    agent.act([request("a", conversation="c")])
    fresh = request("b", conversation="c")
    assert agent.act([fresh])[0].prompt_ids == agent.tokens.prompt(fresh.chat)
    reply = agent.act([fresh])[0]
    agent.forget()
    again = request("b", reply.text, "more", conversation="c")
    assert agent.act([again])[0].prompt_ids == agent.tokens.prompt(again.chat)


def test_equal_seeds_give_equal_replies(agent):
    asked = [request("a"), request("b"), request("a")]
    agent.reseed(3)
    first = [r.token_ids for r in agent.act(asked)]
    second = [r.token_ids for r in agent.act(asked)]
    agent.reseed(3)
    assert first == [r.token_ids for r in agent.act(asked)] != second


def test_guided_replies_are_legal_and_tell_what_was_allowed(agent):
    free = agent.act([request("a")])[0]
    asked = agent.act([request("a", guided=True)] * 60)
    agent.sampling = GUIDED
    set_so = agent.act([request("a")] * 60)
    for replies in (asked, set_so):
        assert {r.text for r in replies} == {"[pass]", "[bet]", "[bet all]"}
        assert all(r.token_ids in r.choices and len(r.choices) == 3 for r in replies)
    assert free.choices is None


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_guided_probabilities_are_those_that_are_played(agent, temperature):
    agent.sampling = replace(GUIDED, temperature=temperature)
    given = agent.probabilities([request("a")])[0]
    played = [r.text for r in agent.act([request("a")] * 6000)]
    shares = [played.count(f"[{m}]") / len(played) for m in LEGAL]
    assert np.exp(agent.move_logprobs([request("a")])[0]).sum() == pytest.approx(1)
    assert given.tolist() == pytest.approx(shares, abs=0.03)


def test_move_logprobs_are_those_of_the_usual_spelling(agent):
    logp = agent.move_logprobs([request("a"), request("b"), request("a")])
    prompt = agent.tokens.prompt(request("a").chat)
    for move, claimed in zip(LEGAL, logp[0], strict=True):
        reply = agent.tokens.answer(f"[{move}]")
        with torch.no_grad():
            rows = agent.model(torch.tensor([[*prompt, *reply]])).logits[0].log_softmax(-1)
        own = sum(float(rows[len(prompt) - 1 + i, t]) for i, t in enumerate(reply))
        assert claimed == pytest.approx(own, abs=1e-4)
    assert logp[0].tolist() == logp[2].tolist() != logp[1].tolist()
    odds = agent.probabilities([request("a")])[0]
    assert odds.tolist() == pytest.approx((np.exp(logp[0]) / np.exp(logp[0]).sum()).tolist())


def test_greedy_play_has_certain_odds(agent):
    agent.sampling = replace(GUIDED, temperature=0.0)
    odds = agent.probabilities([request("a")])[0]
    said = agent.act([request("a")])[0].text
    assert said == f"[{LEGAL[int(odds.argmax())]}]" and odds.max() == pytest.approx(1)


def test_without_legal_moves_there_are_no_odds(agent):
    with pytest.raises(ConfigError, match="player_0 has no list of legal moves"):
        agent.probabilities([request("a", legal=None)])
    assert agent.act([request("a", legal=None, guided=True)])[0].token_ids


def test_tokens_are_counted(agent):
    replies = agent.act([request("a"), request("b")])
    assert agent.sampled_tokens == sum(len(r.token_ids) for r in replies)
