"""The tabular policy: what it plays, says of itself, keeps, and learns in the shipped loop."""

import numpy as np
import pytest
import torch

from coevo.agents.agent import Request
from coevo.agents.engines.scoring import Span
from coevo.agents.load import load_agent
from coevo.agents.population import Separate
from coevo.agents.sampling import SamplingConfig
from coevo.agents.table import MOVES, Rows, Table, TabularPolicy
from coevo.envs.core.config import assign
from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder


def request(text="Which?", legal=("left", "right", "wait")):
    chat = ({"role": "user", "content": text},)
    return Request("player_0", chat, {"legal_actions": legal}, np.random.default_rng(0))


@pytest.fixture
def policy():
    made = TabularPolicy(Table(), Rows(), seed=3)
    made.act([request("first"), request("second", ("a", "b"))])
    with torch.no_grad():
        made.model.logits_RA[0, :3] = torch.tensor([2.0, 0.0, -1.0])
    return made


def test_moves_are_drawn_from_the_row_of_the_prompt(policy):
    replies = policy.act([request("first")] * 3000)
    share = np.bincount([r.token_ids[0] for r in replies], minlength=MOVES) / 3000
    expected = np.exp([2.0, 0.0, -1.0]) / np.exp([2.0, 0.0, -1.0]).sum()
    assert np.abs(share[:3] - expected).max() < 0.03 and not share[3:].any()
    assert {r.text for r in replies} == {"[left]", "[right]", "[wait]"}
    (exact,) = policy.probabilities([request("first")])
    np.testing.assert_allclose(exact, expected)
    assert policy.greedy("best").act([request("first")])[0].text == "[left]"


def test_prompts_that_look_alike_have_one_row():
    made = TabularPolicy(Table(), Rows(sees=lambda text: text.split(":")[-1]), seed=3)
    made.act([request("round 1: go"), request("round 2: go"), request("round 2: stay")])
    assert len(made.rows.moves) == 2
    with torch.no_grad():
        made.model.logits_RA[0, 0] = 5.0
    first, other = made.probabilities([request("round 9: go"), request("round 9: stay")])
    assert first[0] > 0.98 and other.tolist() == pytest.approx([1 / 3] * 3)


def test_what_is_scored_is_what_was_drawn(policy):
    replies = policy.act([request("first"), request("second", ("a", "b"))])
    spans = [Span((*r.prompt_ids, *r.token_ids), (1,), (2,)) for r in replies]
    logp = policy.weights.score(spans, policy.sampling).logp_N()
    assert logp.tolist() == pytest.approx([r.logprobs[0] for r in replies], abs=1e-12)
    assert logp[1].item() == pytest.approx(np.log(0.5))


def test_the_same_words_with_other_moves_are_another_prompt(policy):
    known = len(policy.rows.moves)
    policy.act([request("first", ("left", "right"))])
    assert len(policy.rows.moves) == known + 1
    (p,) = policy.probabilities([request("never met", ("a", "b", "c", "d"))])
    assert p.tolist() == [0.25] * 4 and len(policy.rows.moves) == known + 1


@pytest.mark.parametrize(
    ("legal", "words"), [(None, "needs listed moves"), (("x",) * 99, "at most 64 moves")]
)
def test_what_a_table_cannot_play_is_refused(policy, legal, words):
    with pytest.raises(ConfigError, match=words):
        policy.act([request("third", legal)])


def test_a_table_comes_back_from_its_folder(policy, tmp_path):
    policy.weights.write(tmp_path / "policy", policy.model)
    again = load_agent(str(tmp_path / "policy"))
    one, two = (p.probabilities([request("first")])[0] for p in (policy, again))
    np.testing.assert_array_equal(one, two)


def kuhn(name, steps, **changes):
    return TrainConfig(
        algorithm=assign(algorithm(name), {"optim.lr": 0.1, "collect.episodes": 32, **changes}),
        env="coevo/kuhn_poker-v0",
        model="table",
        sampling=SamplingConfig(max_new_tokens=4),
        steps=steps,
        checkpoint_every=2,
        keep_checkpoints=9,
        device="cpu",
        threads=1,
    )


@pytest.mark.parametrize("name", ["ppo", "optima"])
def test_a_table_trains_and_resumes_like_a_model(name, tmp_path):
    changes = {"collect.group_size": 8} if name == "optima" else {}
    given = kuhn(name, 4, **changes)
    runs = []
    for folder in ("straight", "halted"):
        made = RunFolder(tmp_path / folder)
        made.create(given)
        runs.append(loop.train(given, made))
        if folder == "halted":
            checkpoint.remove(checkpoint.latest(made.checkpoints))
            runs[1] = loop.train(given, made)
    one, two = (r.learners["policy"].model.logits_RA for r in runs)
    assert torch.equal(one, two) and bool((one != 0).any())
    assert 1 < len(runs[0].learners["policy"].agent.rows.moves) <= 24
    folder = str(tmp_path / "straight")
    assert load_agent(folder).gives_probabilities


def test_a_table_that_knows_nothing_has_a_name():
    blank = load_agent("table")
    assert blank.name == "table"
    np.testing.assert_allclose(blank.probabilities([request("first")])[0], [1 / 3] * 3)


def test_a_frozen_table_is_saved_beside_the_learners_of_its_team(tmp_path):
    given = kuhn("grpo", 2, population=Separate(frozen=("player_1",)))
    folder = RunFolder(tmp_path / "team")
    folder.create(given)
    run = loop.train(given, folder)
    team = load_agent(str(folder.path))
    assert set(team.policies) == {"player_0", "player_1"}
    assert not team.policies["player_1"].model.logits_RA.any()
    moved = run.learners["player_0"].model.logits_RA
    assert torch.equal(team.policies["player_0"].model.logits_RA, moved) and bool(moved.any())
    again = loop.start(given, folder)
    assert again.progress.step == 2
