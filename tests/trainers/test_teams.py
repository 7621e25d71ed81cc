"""Promise: every seat keeps its weights: an adapter, a model of its own, those of its role, none.

What is shared is held once and never moves; a run goes on from its checkpoint without a difference;
RUN names an agent that plays every seat as the run did.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from peft import PeftModel
from transformers import LlamaConfig, LlamaForCausalLM

from coevo.agents.agent import Request
from coevo.agents.load import load_agent, load_model
from coevo.agents.models.adapters import is_adapted, own_tensors
from coevo.agents.models.folders import fingerprint
from coevo.agents.population import ByRole, Separate
from coevo.envs import make
from coevo.envs.core.config import assign, plain, read
from coevo.envs.core.errors import CoevoError, DataError
from coevo.trainers import checkpoint, loop
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import algorithm
from coevo.trainers.build import build
from coevo.trainers.components import Kl, MagnetKl
from coevo.trainers.learners.settings import EmaMagnet
from coevo.trainers.run_folder import RunFolder
from tests.trainers.conftest import GUIDED

ADAPTERS = {
    "name": "adapters",
    "rank": 2,
    "alpha": 8,
    "targets": ["q_proj", "v_proj", "down_proj"],
}
EVERYTHING = {"magnet": EmaMagnet(decay=0.5), "loss.regularise": (MagnetKl(coef=0.5), Kl(coef=0.1))}


@pytest.fixture
def team(config, folder):
    """Train a team: `team(population, changes, name, **settings)` gives the finished run."""

    def run(population, changes=None, name="run", **settings):
        given = config("mars", {"population": population, "optim.lr": 0.01, **(changes or {})})
        return loop.train(replace(given, **settings), folder(given, name))

    return run


def state(run):
    """Return every tensor of a run's policies, and of what its learners carry along."""
    found = {}
    for name, learner in run.learners.items():
        parts = {**learner.models(), "output": learner.output, "model": learner.model}
        for part, module in parts.items():
            found |= {f"{name}.{part}.{k}": v.clone() for k, v in own_tensors(module).items()}
    return found


def base_of(model):
    return [p for p in model.parameters() if not p.requires_grad]


def requests(seats, env_id="coevo/kuhn_poker-v0"):
    env = make(env_id, prompt_style="terse")
    env.reset(seed=3)
    chat, info = env.chat(env.agent_selection), env.infos[env.agent_selection]
    return [Request(s, chat, info, np.random.default_rng(0), f"0/{s}") for s in seats]


def odds(agent, seats=("player_0", "player_1")):
    return np.array(agent.probabilities(requests(seats)))


# ---- Adapters --------------------------------------------------------------------------------


def test_adapters_start_as_the_base_which_is_held_once(config, tmp_path, tiny_model_dir):
    run = loop.start(config(changes={"population": ADAPTERS, **EVERYTHING}), RunFolder(tmp_path))
    one, two = (run.learners[f"player_{i}"] for i in range(2))
    every = [one.model, two.model, one.magnet, one.ema, two.reference]
    pointers = [{p.data_ptr() for n, p in m.named_parameters() if "lora" not in n} for m in every]
    assert pointers[0] and all(p == pointers[0] for p in pointers)
    small = [p for m in (one.model, two.model) for p in m.parameters() if p.requires_grad]
    assert len({p.data_ptr() for p in small}) == len(small) == 2 * 2 * 3 * 2  # layers, targets, A B
    assert all(torch.count_nonzero(t) == 0 for n, t in own_tensors(one.model).items() if "_B" in n)
    start, _ = load_model(str(tiny_model_dir), device="cpu")
    ids = torch.arange(5, 25).reshape(2, 10)
    assert torch.equal(one.model(input_ids=ids).logits, start(ids).logits)
    a_one, a_two = (
        next(t for n, t in own_tensors(x.model).items() if "_A" in n) for x in (one, two)
    )
    assert not torch.equal(a_one, a_two)


def test_only_adapters_move_and_they_come_apart(team, tiny_model_dir):
    run = team(ADAPTERS, {**EVERYTHING, "ema": 0.9}, steps=3)
    one, two = (run.learners[f"player_{i}"].model for i in range(2))
    start = {p.data_ptr(): p for p in load_model(str(tiny_model_dir), device="cpu")[0].parameters()}
    for model in (one, two):
        for now, before in zip(base_of(model), start.values(), strict=True):
            assert torch.equal(now, before) and now.grad is None
        changed = [t for n, t in own_tensors(model).items() if "lora_B" in n]
        assert all(torch.count_nonzero(t) > 0 for t in changed)
    assert not all(torch.equal(t, own_tensors(two)[n]) for n, t in own_tensors(one).items())
    metrics = run.folder.read_metrics()
    assert len(metrics) == 3
    assert all(m[f"player_{i}/grad_norm"] > 0 for m in metrics for i in range(2))
    assert all(m[f"player_{i}/ratio/max"] == pytest.approx(1) for m in metrics for i in range(2))


def test_the_gradient_of_an_adapter_is_that_of_the_model_with_its_change_merged(config, tmp_path):
    run = loop.start(config("reinforce", {"population": ADAPTERS}), RunFolder(tmp_path))
    model = run.learners["player_0"].model
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p.add_(
                    0.05 * torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel()))
                )
    collected = run.collector.collect(0)
    rows, _ = build(collected.episodes, collected.groups, run.learners).written_by("player_0")
    assert torch.allclose(
        run.learners["player_0"].passes.logp(rows), rows.logp_behaviour_CL, atol=1e-5
    )
    plain = loop.start(config("reinforce"), RunFolder(tmp_path)).learners["policy"]
    weights = dict(model.get_base_model().named_parameters())
    with torch.no_grad():
        for name, target in plain.model.named_parameters():
            stem = name.removesuffix(".weight")
            if f"{stem}.lora_A.default.weight" in weights:
                a, b = (weights[f"{stem}.lora_{x}.default.weight"] for x in "AB")
                target.add_(8 / 2 * b @ a)
    assert torch.allclose(plain.passes.logp(rows), rows.logp_behaviour_CL, atol=1e-5)


@pytest.mark.parametrize(
    "population",
    [
        ADAPTERS,
        {"name": "adapters", "rank": 2, "frozen": ["player_1"]},
        {"name": "separate", "frozen": ["player_0"]},
        {"name": "by_role"},
    ],
)
def test_a_team_resumes_without_a_difference(team, folder, population):
    changes = {**EVERYTHING, "ema": 0.9}
    straight = team(population, changes, "straight")
    half = team(population, changes, "half")
    checkpoint.remove(checkpoint.latest(half.folder.checkpoints))
    resumed = loop.train(half.config, half.folder)
    one, two = state(straight), state(resumed)
    assert one.keys() == two.keys() and all(torch.equal(v, two[k]) for k, v in one.items())
    assert [m["step"] for m in resumed.folder.read_metrics()] == [1, 2, 3, 4]
    first = state(loop.start(half.config, RunFolder(half.folder.path / "none")))
    assert not all(torch.equal(v, one[k]) for k, v in first.items())


def test_a_run_of_adapters_is_an_agent_that_plays_as_the_run_did(team, tiny_model_dir):
    run = team(ADAPTERS, {"ema": 0.0}, steps=2)
    agent = load_agent(str(run.folder.path), sampling=run.config.sampling, device="cpu")
    handed_out = run.policies()
    for seat in ("player_0", "player_1"):
        own, theirs = agent.policies[seat].model, handed_out[seat].model
        assert all(torch.equal(t, own_tensors(theirs)[n]) for n, t in own_tensors(own).items())
    models = [agent.policies[s].model for s in ("player_0", "player_1")]
    pointers = [{p.data_ptr() for n, p in m.named_parameters() if "lora" not in n} for m in models]
    assert pointers[0] == pointers[1]
    apart = odds(agent)
    assert np.allclose(apart[0], odds(handed_out["player_0"])[0], atol=1e-6)
    assert np.allclose(apart[1], odds(handed_out["player_1"])[1], atol=1e-6)
    newest = checkpoint.latest(run.folder.checkpoints)
    alone = load_agent(str(newest / "player_1"), sampling=run.config.sampling, device="cpu")
    assert np.allclose(odds(alone), apart[1], atol=1e-6)
    merged, _ = load_model(str(newest / "player_1"), device="cpu")
    assert type(merged) is LlamaForCausalLM and all(p.requires_grad for p in merged.parameters())
    ids = torch.arange(5, 25).reshape(2, 10)
    assert torch.allclose(merged(ids).logits, alone.model(input_ids=ids).logits, atol=1e-4)


def test_an_adapter_is_a_folder_that_peft_loads_by_itself(team, tiny_model_dir):
    run = team(ADAPTERS, {"ema": 0.0}, steps=1)
    place = checkpoint.latest(run.folder.checkpoints) / "player_0"
    assert {"adapter_config.json", "adapter_model.safetensors", "base.json"} <= {
        p.name for p in place.iterdir()
    }
    assert not (place / "model.safetensors").exists()
    base = json.loads((place / "adapter_config.json").read_text())["base_model_name_or_path"]
    assert base == str(tiny_model_dir)
    theirs = PeftModel.from_pretrained(LlamaForCausalLM.from_pretrained(base), place)
    ours = run.learners["player_0"].model
    ids = torch.arange(5, 25).reshape(2, 10)
    assert torch.allclose(theirs(input_ids=ids).logits, ours(input_ids=ids).logits, atol=1e-6)
    place = place.rename(run.folder.path / "adapter")
    (place / "base.json").unlink()  # as a folder that peft alone has written
    assert is_adapted(load_agent(str(place), device="cpu").model)


def test_a_base_that_has_changed_is_refused(team, tmp_path, tiny_model_dir):
    start, tokenizer = load_model(str(tiny_model_dir), device="cpu")
    mine = tmp_path / "mine"
    start.save_pretrained(mine)
    tokenizer.save_pretrained(mine)
    run = team(ADAPTERS, steps=1, model=str(mine))
    with torch.no_grad():
        next(start.parameters()).mul_(1.01)
    start.save_pretrained(mine)
    with pytest.raises(DataError, match=r"rests on the base .*mine.* has other weights now"):
        load_agent(str(run.folder.path), device="cpu")
    with pytest.raises(DataError, match="has other weights now"):
        loop.start(run.config, run.folder)


def test_the_digest_of_a_run_covers_its_adapters_and_the_base(team):
    run = team({"name": "adapters", "rank": 2, "frozen": ["player_1"]}, steps=1)
    place = checkpoint.latest(run.folder.checkpoints).rename(run.folder.path / "copy")
    seen = [fingerprint(str(place))]
    for path in ("player_0/adapter_model.safetensors", "player_0/base.json", "player_1/base.json"):
        (place / path).write_bytes((place / path).read_bytes() + b" ")
        seen.append(fingerprint(str(place)))
    assert len(set(seen)) == 4 and all(seen)


def test_a_damaged_adapter_is_one_clear_line(team):
    run = team(ADAPTERS, steps=1)
    place = checkpoint.latest(run.folder.checkpoints) / "player_0"
    place = place.rename(run.folder.path / "adapter")  # out of the checkpoint's manifest
    settings = (place / "adapter_config.json").read_text()
    (place / "adapter_config.json").write_text(settings.replace('"r": 2', '"r": 4'))
    with pytest.raises(DataError, match=r"cannot load the adapter in .*does not fit its base"):
        load_agent(str(place), device="cpu")
    (place / "adapter_config.json").write_text("{")
    with pytest.raises(DataError, match=r"adapter_config\.json is damaged"):
        load_agent(str(place), device="cpu")
    (place / "adapter_config.json").write_text(settings)
    (place / "base.json").write_text("[]")
    with pytest.raises(DataError, match=r"base\.json"):
        load_agent(str(place), device="cpu")
    (place / "base.json").write_bytes(b"\xff" * 5000)
    with pytest.raises(DataError, match=r"base\.json") as refused:
        load_agent(str(place), device="cpu")
    assert "xffxff" not in str(refused.value).replace("\\", "")


@pytest.mark.parametrize(
    ("population", "words"),
    [
        ({"name": "adapters", "rank": 0}, "rank=0 must be greater than or equal to 1"),
        ({"name": "adapters", "alpha": 0}, "alpha=0 must be greater than 0"),
        ({"name": "adapters", "targets": ["nothing"]}, "no adapter on this model"),
        ({"name": "adapters", "per": "team"}, "must be 'seat', 'role' or 'all'"),
        (
            {"name": "separate", "frozen": ["player_7"]},
            "unknown parameter set 'player_7'; did you mean 'player_",
        ),
        ({"name": "separate", "frozen": ["player_*"]}, "nobody is left to learn"),
        ({"name": "separate", "models": {"player_1": "/nowhere/at/all"}}, "no model folder"),
        (
            {"name": "by_role", "frozen": ["player_0"]},
            "unknown parameter set 'player_0'; did you mean 'player'",
        ),
    ],
)
def test_a_team_without_meaning_is_refused(config, tmp_path, population, words):
    with pytest.raises(CoevoError) as caught:
        loop.start(config(changes={"population": population}), RunFolder(tmp_path))
    assert words in str(caught.value) and "\n" not in str(caught.value)


# ---- Frozen, of one role, of other models ----------------------------------------------------


def test_a_frozen_seat_plays_the_start_weights_and_does_not_learn(team, config, tiny_model_dir):
    run = team({"name": "separate", "frozen": ["player_1"]}, {"ema": 0.0}, steps=2)
    assert list(run.learners) == ["player_0"] and list(run.population.fixed) == ["player_1"]
    start, _ = load_model(str(tiny_model_dir), device="cpu")
    agents = {
        "run": run.policies(),
        "loaded": load_agent(
            str(run.folder.path), sampling=run.config.sampling, device="cpu"
        ).policies,
    }
    for policies in agents.values():
        assert list(policies) == ["player_0", "player_1"]
        still, moved = policies["player_1"].model, policies["player_0"].model
        pairs = list(zip(start.parameters(), still.parameters(), strict=True))
        assert all(torch.equal(a, b) for a, b in pairs)
        pairs = zip(start.parameters(), moved.parameters(), strict=True)
        assert not all(torch.equal(a, b) for a, b in pairs)
    place = checkpoint.latest(run.folder.checkpoints) / "player_1"
    assert [p.name for p in place.iterdir()] == ["base.json"]
    _, episodes = loop.update(run)
    assert {t.player for e in episodes for t in e.turns} == {"player_0", "player_1"}
    assert run.folder.read_metrics()[0]["grad_norm"] > 0


def test_seats_of_one_role_share_their_weights(config, tmp_path, folder):
    run = loop.start(config(changes={"population": ByRole()}), RunFolder(tmp_path))
    assert list(run.learners) == ["player"]
    assert run.population.assign(0, np.random.default_rng(0)) == {
        "player_0": "player",
        "player_1": "player",
    }
    policies = run.policies()
    assert policies["player_0"] is policies["player_1"]


def test_seats_may_start_from_other_models(config, tmp_path, tiny_model_dir, folder):
    start, tokenizer = load_model(str(tiny_model_dir), device="cpu")
    wider = tmp_path / "wider"
    shape = LlamaConfig(**{**start.config.to_dict(), "hidden_size": 48, "head_dim": 12})
    with torch.random.fork_rng():
        LlamaForCausalLM(shape).save_pretrained(wider)
    tokenizer.save_pretrained(wider)
    given = config(
        "mars", {"population": {"name": "separate", "models": {"player_1": str(wider)}}}, steps=2
    )
    run = loop.train(given, folder(given))
    agent = load_agent(str(run.folder.path), sampling=GUIDED, device="cpu")
    widths = [agent.policies[f"player_{i}"].model.config.hidden_size for i in range(2)]
    assert widths == [32, 48]
    same = odds(agent)
    assert same.shape == (2, len(same[0])) and np.allclose(same.sum(1), 1)


# ---- Optimisers of their own -----------------------------------------------------------------


def test_a_parameter_set_moves_by_its_own_settings(config, folder):
    changes = {"population": Separate(), "optim_of.player_1.lr": 1e-5, "optim.lr": 1e-2}
    given = config("reinforce", {**changes, "optim_of.player_1.epochs": 2}, steps=2)
    run = loop.train(given, folder(given))
    last = run.folder.read_metrics()[-1]
    assert last["player_0/lr"] == pytest.approx(1000 * last["player_1/lr"])
    assert run.learners["player_1"].optim.epochs == 2 and run.learners["player_0"].optim.epochs == 1
    back = read(Algorithm, plain(given.algorithm))
    assert back.optim_of == {"player_1": {"lr": 1e-5, "epochs": 2}}
    assert run.folder.config().algorithm.optim_of == back.optim_of


@pytest.mark.parametrize(
    ("population", "change", "words"),
    [
        (
            {"name": "shared"},
            {"player_0.lr": 1e-4},
            "the weights of player_0 are those of player_1 too",
        ),
        (
            {"name": "by_role"},
            {"player_1.lr": 1e-4},
            "settings for all of them as optim_of.player,",
        ),
        ({"name": "separate", "frozen": ["player_1"]}, {"player_1.lr": 1e-4}, "takes no step"),
        ({"name": "separate"}, {"player_2.lr": 1e-4}, "unknown learner in optim_of 'player_2'"),
        (
            {"name": "frozen_opponent"},
            {"frozen.lr": 1e-4},
            "frozen does not learn and takes no step",
        ),
    ],
)
def test_settings_of_what_does_not_learn_by_itself_are_refused(
    config, tmp_path, population, change, words
):
    named = {f"optim_of.{k}": v for k, v in change.items()}
    with pytest.raises(CoevoError) as caught:
        loop.start(config(changes={"population": population, **named}), RunFolder(tmp_path))
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"optim_of.a.lrr": 1}, "unknown setting of optim_of.a 'lrr'; did you mean 'lr'"),
        ({"optim_of.a.lr": 0}, "optim_of.a.lr=0 must be greater than 0"),
        ({"optim_of.a": 3}, "optim_of.a=3 must be a valid dictionary"),
        ({"optim_of.a.warmup": 3}, "all learning rates of a run move together"),
    ],
)
def test_wrong_settings_of_a_parameter_set_are_refused(change, words):
    with pytest.raises(CoevoError) as caught:
        assign(algorithm("mars"), change)
    assert words in str(caught.value)
