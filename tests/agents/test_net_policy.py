"""Networks over arrays: what they read, play and keep, and that they learn in the shipped loop."""

import numpy as np
import pytest
import torch

from coevo.agents.agent import Numbers, Request
from coevo.agents.engines.scoring import Span
from coevo.agents.load import load_agent
from coevo.agents.models.nets import Net, NetShape, decoded, encoded, net_settings
from coevo.agents.net_policy import NetPolicy
from coevo.agents.population import Separate
from coevo.agents.sampling import SamplingConfig
from coevo.benchmarks.exact import exploitability
from coevo.envs.core.config import assign
from coevo.envs.core.errors import ConfigError
from coevo.trainers import checkpoint, loop
from coevo.trainers.algorithms import algorithm
from coevo.trainers.config import TrainConfig
from coevo.trainers.run_folder import RunFolder

SHAPE = NetShape((2, 3, 3), 5)
LEGAL = {0: "left", 3: "right", 4: "wait"}


def array(seed):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=SHAPE.array) * (rng.random(SHAPE.array) < 0.5)).astype(np.float32)


def request(seed, conversation="", legal=LEGAL):
    rng, info = np.random.default_rng(0), {"legal_actions": list(legal.values())}
    known = Numbers(array(seed), legal)
    return Request("player_0", (), info, rng, conversation, numbers=known)


def policy(source="net:hidden=8", **given):
    return NetPolicy(Net(net_settings(source), SHAPE, seed=1), seed=3, **given)


def test_arrays_come_back_bit_by_bit():
    rows = [encoded(array(k), LEGAL) for k in range(3)]
    said = [*rows[0], 3, *rows[1], 0]
    found_MD, steps = decoded([said, [*rows[2]]], 18 + 5)
    assert steps == [2, 1]
    for row, seed in zip(found_MD.numpy(), range(3), strict=True):
        np.testing.assert_array_equal(row[:18], array(seed).ravel())
        assert np.flatnonzero(row[18:]).tolist() == list(LEGAL)


@pytest.mark.parametrize("source", ["net:hidden=8", "net:conv,hidden=8,channels=2", "net:conv,gru"])
def test_what_is_scored_is_what_was_drawn(source):
    made = policy(source)
    first = made.act([request(k, f"c{k}") for k in range(3)])
    second = made.act([request(k + 5, f"c{k}") for k in range(3)])
    spans = []
    for one, two in zip(first, second, strict=True):
        ids, after = tuple(two.prompt_ids), (*two.prompt_ids, *two.token_ids)
        begun = len(one.prompt_ids)
        grown = ids[: begun + 1] == (*one.prompt_ids, *one.token_ids)
        assert grown == source.endswith("gru")
        starts = (begun, len(ids)) if grown else (len(ids),)
        spans.append(Span(after, starts, tuple(s + 1 for s in starts)))
    scored = made.weights.score(spans, made.sampling, hidden=True)
    drawn = [x for a, b in zip(first, second, strict=True) for x in (a, b)]
    drawn = drawn if source.endswith("gru") else second
    assert scored.logp_N().tolist() == pytest.approx([r.logprobs[0] for r in drawn], abs=1e-5)
    assert scored.hidden_NH.shape == (len(drawn), made.weights.hidden_size)


def test_only_legal_moves_are_drawn_and_odds_are_theirs():
    made = policy()
    with torch.no_grad():
        made.model.head.bias[:] = torch.tensor([1.0, 50.0, 50.0, 0.0, 0.0])
    (odds,) = made.probabilities([request(1)])
    assert odds.sum() == pytest.approx(1, abs=1e-6) and odds[0] > odds[1] + odds[2] - 0.05
    drawn = [r.text for r in made.act([request(1)] * 2000)]
    assert set(drawn) == {"[left]", "[right]", "[wait]"}
    assert drawn.count("[left]") / 2000 == pytest.approx(odds[0], abs=0.04)
    assert made.greedy("best").act([request(1)])[0].text == "[left]"


def test_a_memory_reads_the_episode():
    made = policy("net:gru,hidden=8").greedy("best")
    with torch.no_grad():
        made.model.head.weight.mul_(100)
    ends = []
    for first in (1, 2):
        made.forget()
        made.act([request(first, "a")])
        made.act([request(7, "a")])
        ends.append(
            made.engine.logprobs(
                made.ref, [made._prompt(request(9, "a"))], [(0,)], SamplingConfig()
            )[0].item()
        )
    assert ends[0] != pytest.approx(ends[1], abs=1e-4)
    with pytest.raises(ConfigError, match="has a memory"):
        made.probabilities([request(1)])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("net:convv", "did you mean 'conv'"),
        ("net:hiden=3", "did you mean 'hidden'"),
        ("net:hidden=0", "hidden"),
    ],
)
def test_names_of_networks_are_checked(source, words):
    with pytest.raises(ConfigError, match=words):
        net_settings(source)


def test_what_a_network_cannot_play_is_refused():
    with pytest.raises(ConfigError, match="reads planes"):
        Net(net_settings("net:conv"), NetShape((7,), 2))
    with pytest.raises(ConfigError, match="move number 9"):
        policy().act([request(1, legal={9: "far"})])
    with pytest.raises(ConfigError, match="reads arrays"):
        policy().act([Request("player_0", (), {"legal_actions": ["a"]}, np.random.default_rng(0))])
    with pytest.raises(ConfigError, match="give the folder of the run"):
        load_agent("net:conv")


def given(name, env="coevo/kuhn_poker-v0", model="net:hidden=8", steps=4, options=None, **changes):
    return TrainConfig(
        algorithm=assign(algorithm(name), {"optim.lr": 0.01, "collect.episodes": 16, **changes}),
        env=env,
        env_options={"prompt_style": "terse", **(options or {})},
        model=model,
        sampling=SamplingConfig(max_new_tokens=4),
        steps=steps,
        checkpoint_every=2,
        keep_checkpoints=9,
        device="cpu",
        threads=1,
    )


HARVEST = {"env": "coevo/harvest-v0", "options": {"steps": 6, "harvesters": 2}}


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("ppo", {}),
        ("grpo", HARVEST | {"model": "net:conv,gru,hidden=8", "population": Separate()}),
    ],
)
def test_a_network_trains_and_resumes_like_a_model(name, more, tmp_path):
    config, runs = given(name, **more), []
    for folder in ("straight", "halted"):
        made = RunFolder(tmp_path / folder)
        made.create(config)
        runs.append(loop.train(config, made))
        if folder == "halted":
            checkpoint.remove(checkpoint.latest(made.checkpoints))
            runs[1] = loop.train(config, made)
    start = loop.start(config, RunFolder(tmp_path / "none")).learners
    for learner, straight in runs[0].learners.items():
        other = runs[1].learners[learner]
        pairs = zip(straight.model.parameters(), other.model.parameters(), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)
        moved = zip(straight.model.parameters(), start[learner].model.parameters(), strict=True)
        assert not all(torch.equal(a, b) for a, b in moved)
        loaded = load_agent(str(checkpoint.latest(made.checkpoints) / learner))
        pairs = zip(loaded.model.parameters(), straight.model.parameters(), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)


def test_a_network_is_measured_exactly(tmp_path):
    config, folder = given("ppo", steps=1), RunFolder(tmp_path / "run")
    folder.create(config)
    loop.train(config, folder)
    found = exploitability(load_agent(str(folder.path)), config.env)
    assert found.exploitability == pytest.approx(0.458, abs=0.05)  # about uniform


def test_a_network_learns_to_pick_apples(tmp_path):
    """One harvester in a small orchard."""
    options = {"steps": 6, "harvesters": 1, "map": "#####\n#AAA#\n#APA#\n#AAA#\n#####"}
    changes = {"collect.episodes": 32, "collect.group_size": 8, "optim.lr": 0.03}
    config = given("grpo", "coevo/harvest-v0", steps=12, options=options, **changes)
    folder = RunFolder(tmp_path / "run")
    folder.create(config)
    loop.train(config, folder)
    paid = [row["return/harvester_0"] for row in folder.read_metrics()]
    assert np.mean(paid[-3:]) > paid[0] + 0.5
