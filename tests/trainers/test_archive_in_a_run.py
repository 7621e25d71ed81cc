"""Archives in the loop: what is kept reaches later plays, all plays of a start alike."""

import json

import pytest

from coevo.agents import FixedTextAgent
from coevo.trainers import loop
from coevo.trainers.gather import outcomes
from coevo.trainers.rollout import Match, play
from coevo.trainers.run_folder import RunFolder

ENV = "coevo/search_self_play-v0"
ITEMS = [
    {"key": str(i), "question": f"mayor of town {i}", "answer": "Kimo", "success": 0.2, "step": 0}
    for i in range(9)
]
POOL = {"prompt_style": "terse", "rejected": "pool", "world_seed": 3, "solvers": 2}


@pytest.fixture
def started(config, tmp_path):
    changes = {"sampler.archive": "kept(every=0, given=2)", "sampler.group_size": 2}
    return loop.start(config("reinforce", changes, env=ENV, env_options=POOL), RunFolder(tmp_path))


def test_plays_of_one_start_get_the_same_items_others_get_others(started):
    gatherer = started.gatherer
    assert all(m.options == {"stored": []} for g in gatherer.plan(0, 3) for m in g.matches)
    gatherer.archive.load_state_dict({"items": [[i["key"], i] for i in ITEMS]})
    planned = gatherer.plan(0, 6)
    for group in planned:
        one, two = (m.options["stored"] for m in group.matches)
        assert one == two and len(one) == 2
    assert len({str(g.matches[0].options) for g in planned}) > 1
    assert [g.matches[0].options for g in gatherer.plan(0, 6)] == [
        g.matches[0].options for g in planned
    ], "equal steps draw equal items"


def test_the_state_of_a_run_holds_the_archive(started):
    started.gatherer.archive.load_state_dict({"items": [[i["key"], i] for i in ITEMS]})
    state = json.loads(json.dumps(started.gatherer.state_dict()))
    started.gatherer.archive.load_state_dict({"items": []})
    started.gatherer.load_state_dict(state)
    assert len(started.gatherer.archive.state_dict()["items"]) == 9
    del state["archive"]
    started.gatherer.archive = type(started.gatherer.archive)()
    started.gatherer.load_state_dict({**state, "archive": {"items": []}})


def test_options_reach_the_environment_and_what_it_leaves_is_taken(started):
    seats = ("proposer_0", "solver_0", "solver_1")
    players = {"p": FixedTextAgent("[answer: Kimo]")}
    match = Match(1, dict.fromkeys(seats, "p"), options={"stored": ITEMS[:1]})
    (episode,) = play(ENV, [match], players, POOL)
    assert episode.outcome["asked/stored"] == 1 and episode.outcome["success"] == 1
    assert episode.total("proposer_0") == 0
    archive = started.gatherer.archive
    archive.take([episode], 0)
    assert [key for key, _ in archive.state_dict()["items"]] == ["mayor of town 0"]
    found = outcomes([episode])
    assert found["outcome/success"] == 1 and found["outcome/gate/no_tag"] == 1
    assert not any("return/" in name for name in found)


def test_an_update_with_an_archive_runs_and_logs_it(started):
    metrics, _ = loop.update(started)
    assert metrics["archive/items"] == 0
    assert metrics["outcome/gate/valid"] == 0
