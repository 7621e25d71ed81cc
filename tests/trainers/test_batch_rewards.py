"""Reward modules that compare the plays of a batch: what a trainer knows and one play does not."""

from dataclasses import replace

import pytest

from coevo.trainers import loop
from coevo.trainers.run_folder import RunFolder


def gathered(config, tmp_path, record, **options):
    changes = {"rewards": record, "sampler.episodes": 8, "sampler.group_size": 4}
    given = config("grpo", changes)
    given = replace(given, env_options={**given.env_options, **options})
    run = loop.start(given, RunFolder(tmp_path))
    return run.gatherer.gather(0)


def test_the_longest_play_of_every_start_pays_the_whole_price(config, tmp_path):
    found = gathered(config, tmp_path, "token_cost(cost=0.5)")
    groups = {}
    for episode, group in zip(found.episodes, found.groups, strict=True):
        paid = sum(episode.total(a, "token_cost") for a in episode.agents)
        tokens = sum(len(t.token_ids) for t in episode.turns)
        groups.setdefault(group, []).append((tokens, paid))
    assert [len(plays) for plays in groups.values()] == [4, 4]
    for plays in groups.values():
        longest = max(tokens for tokens, _ in plays)
        assert [paid for _, paid in plays] == [pytest.approx(-0.5 * n / longest) for n, _ in plays]
    assert len({n for plays in groups.values() for n, _ in plays}) > 1, "else nothing is shown"


@pytest.mark.parametrize("where", ["record", "environment"])
def test_prices_are_the_same_wherever_the_module_is_named(config, tmp_path, where):
    named = {"name": "token_cost", "cost": 0.25}
    by_env = {"rewards": [named]} if where == "environment" else {}
    record = "token_cost(cost=0.25)" if where == "record" else ""
    found = gathered(config, tmp_path, record, **by_env)
    paid = [sum(e.total(a, "token_cost") for a in e.agents) for e in found.episodes]
    assert min(paid) == -0.25 and all(-0.25 <= r < 0 for r in paid)
