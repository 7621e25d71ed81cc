"""Reward modules that compare the plays of a batch: what a trainer knows and one play does not."""

from dataclasses import replace

import pytest

from coevo.agents import FixedTextAgent
from coevo.envs.core.apply import apply_batch
from coevo.envs.rewards import Majority
from coevo.trainers import loop
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.config import config_text, load_config
from coevo.trainers.run_folder import RunFolder


def collected(config, tmp_path, record, **options):
    changes = {"rewards": record, "collect.episodes": 64, "collect.group_size": 4}
    given = config("grpo", changes)
    given = replace(given, env_options={**given.env_options, **options})
    run = loop.start(given, RunFolder(tmp_path))
    return run.collector.collect(0)


def test_the_longest_play_of_every_start_pays_the_whole_price(config, tmp_path):
    found = collected(config, tmp_path, [{"name": "token_cost", "cost": 0.5}])
    groups = {}
    for episode, group in zip(found.episodes, found.groups, strict=True):
        paid = sum(episode.total(a, "token_cost") for a in episode.agents)
        tokens = sum(len(t.token_ids) for t in episode.turns)
        groups.setdefault(group, []).append((tokens, paid))
    assert [len(plays) for plays in groups.values()] == [4] * 16
    for plays in groups.values():
        longest = max(tokens for tokens, _ in plays)
        assert [paid for _, paid in plays] == [pytest.approx(-0.5 * n / longest) for n, _ in plays]
    assert len({n for plays in groups.values() for n, _ in plays}) > 1, "else nothing is shown"


@pytest.mark.parametrize("where", ["record", "environment"])
def test_prices_are_the_same_wherever_the_module_is_named(config, tmp_path, where):
    named = {"name": "token_cost", "cost": 0.25}
    by_env = {"rewards": [named]} if where == "environment" else {}
    record = [named] if where == "record" else []
    found = collected(config, tmp_path, record, **by_env)
    paid = [sum(e.total(a, "token_cost") for a in e.agents) for e in found.episodes]
    assert min(paid) == -0.25 and all(-0.25 <= r < 0 for r in paid)


def test_a_vote_runs_over_all_plays_of_a_question():
    """Two plays of one debate agree on 4, a third of them has another majority of its own."""
    voters = {f"says_{d}": FixedTextAgent(f"[{d}]") for d in (4, 5)}
    seats = ("debater_0", "debater_1", "debater_2")
    tables = [("says_4",) * 3, ("says_4", "says_4", "says_5"), ("says_5", "says_5", "says_4")]
    matches = [
        EpisodeSpec(3, dict(zip(seats, t, strict=True)), stream=i) for i, t in enumerate(tables)
    ]
    for over, expected in (
        ("task", [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        ("episode", [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]),
    ):
        module = Majority(over=over)
        plays = rollout("coevo/debate-v0", matches, voters, {"rewards": [module]})
        assert not any("majority" in t.rewards for e in plays for t in e.turns), "left to us"
        apply_batch([module], plays)
        paid = [[e.total(s, "majority") / 2 for s in seats] for e in plays]
        assert paid == expected, over


def test_records_take_the_arguments_of_every_module(config, tmp_path):
    written = [
        {"name": "shared_payoff", "share": "others", "scale": -0.5},
        {"name": "verifier", "roles": ["solver"], "unanswered": -1.0},
        {"name": "margin", "alpha": 0.25, "beta": 0.5, "history": "own"},
        {"name": "quality", "roles": ["solver"]},
        {"name": "majority", "over": "episode", "weights": "consistency", "least": 3},
        {"name": "token_cost", "cost": 0.5, "payer": "team"},
    ]
    given = config("grpo", {"rewards": written, "collect.group_size": 4})
    (tmp_path / "config.yaml").write_text(config_text(given), encoding="utf-8")
    modules = load_config(tmp_path / "config.yaml").algorithm.rewards
    assert modules == given.algorithm.rewards
    assert modules[1].roles == ("solver",) and modules[1].unanswered == -1
    assert modules[0].component == "payoff_others"
