"""Chain-of-Agents: an episode of a team becomes one of a single seat; its replies are learnt."""

import numpy as np
import pytest
import torch

from coevo.agents.scripted import FixedTextAgent
from coevo.agents.strategies.expert import ExpertAgent
from coevo.envs import make
from coevo.envs.core.episode import write_episodes
from coevo.envs.core.errors import ConfigError
from coevo.envs.search.team_tags import distilled, tagged_replies
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.loop import context_of, start, train
from coevo.trainers.run_folder import RunFolder

TEAM, SINGLE = "coevo/search_router-v0", "coevo/tagged_single-v0"
SEATS = ("router_0", "searcher_0", "answerer_0")


def team(seeds, players=None, **options):
    players = {seat: ExpertAgent(1.0) for seat in SEATS} | (players or {})
    specs = [EpisodeSpec(seed, {seat: seat for seat in SEATS}) for seed in seeds]
    return rollout(TEAM, specs, players, options)


def test_every_turn_of_a_team_is_a_segment_and_the_single_seat_finds_the_same():
    (played,) = team([5], world_seed=3, hops=(2,))
    boss, name = "boss Gemo", played.turns[-1].move
    assert tagged_replies(played) == [
        "<plan>search</plan><search>boss Vila</search>",
        f"<plan>search</plan><search>{boss}</search>",
        f"<double_check>4</double_check><answer>{name}</answer>",
    ]
    single = distilled(played, make(SINGLE, world_seed=3, hops=(2,)))
    assert single.outcome["accuracy"] == 1 and single.outcome["illegal"] == 0
    assert single.outcome["searches"] == played.outcome["searches"]
    assert len(single.turns) == len(played.turns) - 3, "a call fewer a hop, and one at the end"


def test_what_is_wrong_or_long_or_in_doubt_is_not_kept():
    env = make(SINGLE)
    (right,) = team([1])
    assert distilled(right, env) is not None and distilled(right, env, most=2) is None
    for players in (
        {"answerer_0": FixedTextAgent("[answer: nobody at all]")},
        {"router_0": FixedTextAgent("[no]")},
    ):
        (played,) = team([1], players)
        assert distilled(played, env) is None
    (other,) = team([1], world_seed=7)
    with pytest.raises(ConfigError, match="give both the same world"):
        distilled(other, env)


def test_tags_in_what_a_team_said_end_no_segment():
    said = {"searcher_0": FixedTextAgent("[search: a</search><answer>b]")}
    (played,) = team([1], said)
    assert all(reply.count("</search>") <= 1 for reply in tagged_replies(played))


def test_what_searches_found_has_no_gradient(config, tmp_path):
    (played,) = team([5], world_seed=3, hops=(2,))
    single = distilled(played, make(SINGLE, world_seed=3, hops=(2,)))
    write_episodes(tmp_path / "episodes.jsonl", [single])
    changes = {"cycle.demonstrate.recorded": str(tmp_path), "cycle.make_items.to.most": 100}
    given = config("sft", changes, env=SINGLE, env_options={"world_seed": 3})
    folder = RunFolder(tmp_path / "run")
    folder.create(given)
    run, states = start(given, folder), []

    def keep(module, inputs, output):
        if output.requires_grad:
            output.retain_grad()
            states.append(output)

    run.learners["policy"].model.model.norm.register_forward_hook(keep)
    ctx = context_of(run)
    for step in given.algorithm.cycle:
        step(ctx)
    spans = ctx.items["demonstrations"].batch.spans
    moved = sum(int((s.grad.abs().sum(-1) > 0).sum()) for s in states)
    assert moved == sum(len(s.positions()) for s in spans), "a state a token of a reply"
    (span,) = {s.ids: s for s in spans if len(s.starts) == len(single.turns)}.values()
    (state,) = (s for s in states if s.shape[1] >= len(span.ids) - 1)
    learnt = state.grad[0].abs().sum(-1) > 0
    observed = np.setdiff1d(np.arange(len(span.ids)), span.positions())
    assert not learnt[torch.from_numpy(observed[1:] - 1)].any()
    assert learnt[torch.tensor(span.positions()) - 1].all()


def test_after_the_imitation_the_seat_learns_from_its_own_plays(config, folder):
    changes = {"cycle.demonstrate.until": 1, "collect.episodes": 8}
    options = {"world_seed": 3, "replies": "listed", "prompt_style": "terse"}
    given = config(
        "chain_of_agents", changes, env=SINGLE, env_options=options, model="table", steps=2
    )
    first, then = train(given, folder(given)).folder.read_metrics()
    assert first["demonstrated"] == 8 and first["outcome/accuracy"] == 1
    assert "sft/loss/item" in first and "ratio_max" not in first
    assert "demonstrated" not in then and "sft/loss/item" not in then and then["signal"] == 1
