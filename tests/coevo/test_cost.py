"""What an update costs is said before it is computed, and changes nothing about it."""

import json
from dataclasses import replace

import pytest
import torch

from coevo.agents.engines.prefix_sharing import rows_of
from coevo.commands import cost, measure
from coevo.commands.cost import CostNote, in_words
from coevo.commands.measure import ExploitabilityProbe
from coevo.commands.parse import parse
from coevo.commands.run_setup import prepare
from coevo.trainers import loop
from coevo.trainers.learners import room
from coevo.trainers.learners.forecast import Forecast, forecast
from coevo.trainers.run_folder import RunFolder

KUHN = "coevo/kuhn_poker-v0"
COMMAND = ["train", "mars", "--env", KUHN, "--set", "collect.episodes=16", "--max-new-tokens", "4"]


@pytest.fixture
def run(tmp_path):
    def start(name="run", **changes):
        config = replace(prepare(parse([*COMMAND, "--seed", "3"])).config, threads=1, **changes)
        return loop.start(config, RunFolder(tmp_path / name))

    return start


def test_a_forecast_counts_what_is_computed_and_held(run):
    made, seen = run(), []

    def look(step, ctx):
        if "advantages" in ctx.items and not seen:
            seen.append((forecast(ctx.learners, ctx.batch), ctx.batch))

    made.before_step = look
    learner = made.learners["policy"]
    expected = sum(room.held([learner]).values()) + sum(room.estimate([learner]).values())
    loop.update(made)
    found, batch = seen[0]
    taught = learner.objective(batch).with_gradient(range(len(batch.spans)))
    rows = rows_of(learner.model, [batch.spans[s] for s in taught])
    assert found.tokens == sum(r.length for r in rows)
    assert found.repeated == sum(len(batch.spans[s].ids) for s in batch.span_C.tolist())
    assert found.tokens < found.repeated
    assert found.seconds > 0 and found.memory["passes"] > 1e5
    assert sum(found.memory.values()) - found.memory["passes"] == expected
    assert learner.optimizer.state, "and the update went on"


def test_what_is_learnt_from_items_is_foretold_of_those_that_were_chosen(tmp_path, monkeypatch):
    lesson = ["train", "sft", "--env", KUHN, "--set", "collect.episodes=16"]
    config = prepare(parse([*lesson, "cycle.make_items.to.most=4"])).config
    made, seen = loop.start(replace(config, threads=1), RunFolder(tmp_path / "run")), []

    def look(learners, batch, *, advantages):
        seen.append((len(batch), advantages))
        return Forecast(0.0, 0, 0, {})

    monkeypatch.setattr(cost, "forecast", look)
    made.before_step = CostNote(config, print)
    loop.update(made)
    assert seen == [(4, False)]


def test_a_forecast_changes_no_bit(run, monkeypatch):
    monkeypatch.setattr(cost, "SECONDS", 1e9)
    looked, plain = run("looked"), run("plain")
    said = []
    looked.before_step = CostNote(looked.config, said.append)
    weights = []
    for made in (looked, plain):
        for _ in range(2):
            loop.update(made)
            made.progress = made.progress.plus(step=1)
        weights.append(made.learners["policy"].model.state_dict())
    assert all(torch.equal(v, weights[1][k]) for k, v in weights[0].items())
    assert said == [], "an update of a second is not worth a word"


@pytest.mark.parametrize(
    ("changes", "whole"),
    [
        ({"steps": 50, "budget_seconds": None}, "50 updates about 20 min; "),
        ({"steps": None, "budget_seconds": 240.0}, "about 10 updates in the run; "),
        ({"steps": None, "budget_seconds": None, "budget_tokens": 10**6}, ""),
    ],
)
def test_a_forecast_is_one_line(run, changes, whole):
    config = replace(run().config, **changes)
    found = Forecast(16.0, 2340, 9800, {"weights": 2**29, "gradients": 2**29, "passes": 2**28})
    assert in_words(found, 8.0, config) == (
        "an update takes about 24 s: 8 s to play and 16 s to learn from 2,340 tokens (9,800 where "
        f"beginnings are not shared); {whole}memory about 1.2 GiB: weights 0.5, gradients 0.5, "
        "passes 0.25"
    )


def test_what_costs_much_is_said_once(cli, here, monkeypatch):
    monkeypatch.setattr(cost, "SECONDS", 0.0)
    monkeypatch.setattr(measure, "COSTLY", 0.0)
    done = cli(*COMMAND, "--no-eval", "--steps", "2", "--set", "probe_every=1", "--out", "run")
    assert done.status == 0
    assert done.out.count("an update takes about ") == 1
    assert done.out.index("an update takes about ") < done.out.index("update 2 |")
    assert done.out.count("is measured every 1 updates: --set probe_every=5 measures less") == 1
    assert len(json.loads((here / "run/summary.json").read_text())["commit"]) > 6


def test_a_probe_that_costs_little_is_not_worth_a_word(run):
    made = run()
    probe = ExploitabilityProbe(made.config)
    probe(made.policies())
    assert probe.cost() == ""
