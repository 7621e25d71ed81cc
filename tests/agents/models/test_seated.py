"""Several policies as one agent, by hand and loaded from a checkpoint."""

import shutil

import numpy as np
import pytest
import torch

from coevo.agents import Agent, FixedTextAgent, RandomAgent, Request
from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.load import load_agent, load_model
from coevo.agents.models import manifest
from coevo.agents.models.folders import model_folder
from coevo.agents.models.seated import SeatedPolicies
from coevo.agents.sampling import SamplingConfig
from coevo.envs.core.errors import DataError

SEATS = ("player_0", "player_1")
LEGAL = ["pass", "bet"]


def request(seat, legal=LEGAL):
    chat = ({"role": "user", "content": "Your card: king."},)
    return Request(seat, chat, {"legal_actions": legal}, np.random.default_rng(0))


def test_every_seat_is_answered_by_its_own_policy_and_the_rest_by_the_first():
    both = SeatedPolicies({"a": FixedTextAgent("one"), "b": FixedTextAgent("two")})
    asked = [request(seat) for seat in ("b", "a", "c", "b")]
    assert [r.text for r in both.act(asked)] == ["two", "one", "one", "two"]


class Certain(Agent):
    def __init__(self, move):
        self.move = move

    def probabilities(self, requests):
        return [np.eye(len(r.info["legal_actions"]))[self.move] for r in requests]


def test_probabilities_are_those_of_the_seat():
    both = SeatedPolicies({"a": Certain(0), "b": Certain(1)})
    odds = both.probabilities([request("b"), request("a"), request("b", legal=["x", "y", "z"])])
    assert [p.tolist() for p in odds] == [[0, 1], [1, 0], [0, 1, 0]]


@pytest.fixture
def checkpoint(tiny_model_dir, tmp_path):
    """Make a checkpoint of two policies that differ, inside a run folder."""
    folder = tmp_path / "run" / "checkpoints" / "step_000020"
    for number, seat in enumerate(SEATS):
        model, tokenizer = load_model(str(tiny_model_dir), device="cpu")
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(1 + number)
        model.save_pretrained(folder / seat)
        tokenizer.save_pretrained(folder / seat)
    (folder / manifest.FILE).write_text(manifest.described(folder))
    return folder


def test_a_run_with_a_policy_per_seat_is_one_agent(checkpoint):
    run = checkpoint.parents[1]
    sampling = SamplingConfig(max_new_tokens=3)
    seated = load_agent(str(run), sampling=sampling, device="cpu")
    assert isinstance(seated, SeatedPolicies) and seated.name == str(run)
    assert list(seated.policies) == list(SEATS)
    asked = [request(seat) for seat in SEATS]
    alone = [load_agent(str(checkpoint / s), device="cpu").move_logprobs(asked) for s in SEATS]
    together = seated.move_logprobs(asked)
    for seat in range(2):
        assert np.allclose(together[seat], alone[seat][seat], atol=1e-5)
        assert not np.allclose(together[seat], alone[1 - seat][seat], atol=1e-3)
    assert all(p.sampling == sampling for p in seated.policies.values())
    assert [len(r.token_ids) <= 3 for r in seated.act(asked)] == [True, True]


def test_one_of_them_is_named_by_its_folder(checkpoint):
    alone = load_agent(str(checkpoint / "player_1"), device="cpu")
    assert isinstance(alone, LanguageModelAgent)
    with pytest.raises(DataError, match=r"several policies; name one: .*step_000020/player_0"):
        model_folder(str(checkpoint.parents[1]))


def test_models_that_only_lie_side_by_side_are_not_joined(checkpoint):
    (checkpoint / manifest.FILE).unlink()
    with pytest.raises(DataError, match=r"step_000020 is damaged: manifest\.json"):
        load_agent(str(checkpoint), device="cpu")
    models = checkpoint.rename(checkpoint.with_name("models"))
    with pytest.raises(DataError, match="several policies; name one"):
        load_agent(str(models), device="cpu")


def test_a_lone_policy_needs_no_seat(checkpoint):
    shutil.rmtree(checkpoint / "player_1")
    (checkpoint / manifest.FILE).write_text(manifest.described(checkpoint))
    assert model_folder(str(checkpoint)) == checkpoint / "player_0"
    assert isinstance(load_agent(str(checkpoint), device="cpu"), LanguageModelAgent)


def test_seeds_repeat_the_answers_and_seats_draw_from_streams_of_their_own(tiny_model_dir):
    model, tokenizer = load_model(str(tiny_model_dir), device="cpu")
    policies = {s: LanguageModelAgent(model, tokenizer, name=s) for s in SEATS}
    both = SeatedPolicies({**policies, "scripted_0": RandomAgent()})

    def said(seed):
        both.reseed(seed)
        both.forget()
        return [r.token_ids for r in both.act([request(seat) for seat in SEATS])]

    assert said(3) == said(3) != said(4)
    assert said(3)[0] != said(3)[1], "equal models with equal prompts, so only the streams differ"


def test_forgetting_reaches_every_policy(tiny_model_dir):
    model, tokenizer = load_model(str(tiny_model_dir), device="cpu")
    both = SeatedPolicies({s: LanguageModelAgent(model, tokenizer) for s in SEATS})
    spoken = [Request(s, request(s).chat, request(s).info, None, s) for s in SEATS]
    both.act(spoken)
    assert all(p._spoken for p in both.policies.values())
    both.forget()
    assert not any(p._spoken for p in both.policies.values())
