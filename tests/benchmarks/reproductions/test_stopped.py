"""Tables of reproductions that are stopped in the middle go on as if nothing had happened."""

import pytest
import torch

from coevo.benchmarks.reproductions import (
    aa_ipd,
    aa_split,
    asking,
    bursts,
    comas_tabular,
    dr_mas_spikes,
    review_table,
    search_team,
    ssp_gate,
)
from coevo.benchmarks.reproductions.table_run import learnt, sized, started
from coevo.trainers.algorithms import algorithm
from coevo.trainers.loop import finish, start, updates

AT, STEPS = 2, 4
SMALL = {"collect.episodes": 8}
KEPT = {**SMALL, "population.every": 1}
"""A past self is kept before the stop, and sits in a seat after it."""
TALK = {**comas_tabular.SETTINGS, **SMALL, "optim.lr": 8.0}
DILEMMA, SPLIT = aa_ipd.dilemma(), aa_split.split()
RUNS = {
    "aa_ipd": (
        algorithm("advantage_alignment", None, aa_ipd.SETTINGS | KEPT),
        DILEMMA.env,
        DILEMMA.options,
        lambda: sized(DILEMMA.contexts, DILEMMA.arms, sees=DILEMMA.sees),
    ),
    "aa_split": (
        algorithm("advantage_alignment", "split", aa_split.TABLE | KEPT),
        SPLIT.env,
        SPLIT.options,
        lambda: sized(SPLIT.contexts, SPLIT.arms, sees=SPLIT.sees),
    ),
    "comas_tabular": (
        algorithm("comas", None, TALK),
        review_table.ID,
        {"rounds": 1},
        lambda: sized(review_table.ROWS, 5, review_table.starts(1.5)),
    ),
    "dr_mas_spikes, bandits": (
        dr_mas_spikes.statistics("agent", dr_mas_spikes.BURSTS),
        bursts.ID,
        {},
        lambda: sized(8, bursts.LEVELS),
    ),
    "dr_mas_spikes, team": (
        dr_mas_spikes.statistics("agent", dr_mas_spikes.TEAM | SMALL),
        search_team.ID,
        {"hard": 0.5},
        lambda: sized(8, 8, search_team.starts()),
    ),
    "ssp_gate": (
        algorithm("ssp", None, ssp_gate.SETTINGS | SMALL),
        asking.ID,
        {"right": (0, 1, 2)},
        lambda: sized(8, 8),
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_stopped_run_ends_like_one_that_was_not(name):
    record, env, options, maker = RUNS[name]
    with started(record, env, options, maker(), seed=3, steps=STEPS) as whole:
        finish(whole)
        wanted = tables(whole)
    with started(record, env, options, maker(), seed=3, steps=STEPS) as run:
        for done in (going := updates(run)):
            if done.step == AT:
                run.save()
                going.close()
        again = start(run.config, run.folder, maker())
        assert again.progress.step == AT
        finish(again)
        found = tables(again)
    assert found.keys() == wanted.keys()
    for key, odds in wanted.items():
        assert torch.equal(found[key], odds), key


def tables(run):
    return {
        (name, prompt): odds
        for name, learner in run.learners.items()
        for prompt, odds in learnt(learner.agent).items()
    }
