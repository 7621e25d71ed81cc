"""Trees of replies: where they fork, what branches keep, and what is counted."""

import pytest

from coevo.envs.core.episode import Episode, StopReason, Turn
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.trainers import loop
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.collect.rollout import EpisodeSpec
from coevo.trainers.collect.trees import Trees
from coevo.trainers.loop import context_of
from coevo.trainers.run_folder import RunFolder


def root(logprobs, player="policy"):
    turn = Turn("debater_0", (), "text", None, Status.LEGAL, None, player=player)
    turn.token_ids, turn.logprobs = list(range(len(logprobs))), list(logprobs)
    return Episode("e", 0, {}, ("debater_0",), "t", [turn], StopReason.FINISHED)


def test_branches_keep_what_stands_before_the_least_likely_tokens():
    trees = Trees(roots=1, forks=2, branches=2)
    specs = [EpisodeSpec(0, {"debater_0": "policy"}, stream) for stream in range(4)]
    made = trees.branched(specs, [root([-5.0, -0.1, -3.0, -2.0])], ["policy"])
    kept = [spec.prefix["debater_0"].ids for spec in made]
    assert kept == [(0, 1), (0, 1), (0, 1, 2), (0, 1, 2)]
    assert made[2].prefix["debater_0"].logprobs == (-5.0, -0.1, -3.0)
    assert [spec.stream for spec in made] == [0, 1, 2, 3]


@pytest.mark.parametrize("episode", [root([-1.0]), root([-1.0, -2.0], player="other")])
def test_what_cannot_fork_is_played_whole(episode):
    specs = [EpisodeSpec(0, {"debater_0": "policy"})] * 2
    made = Trees(roots=1, forks=1, branches=2).branched(specs, [episode], ["policy"])
    assert [dict(spec.prefix) for spec in made] == [{}, {}]


def test_the_size_of_groups_is_that_of_trees():
    assert Trees().size == 14
    with pytest.raises(ConfigError, match="groups of 14"):
        CollectConfig(episodes=8, group_size=8, trees=Trees())


@pytest.fixture
def grown(config, tmp_path):
    made = config(
        "ettrl",
        {"collect.episodes": 14, "rewards": (), "collect.component": "payoff"},
        env="coevo/debate-v0",
        env_options={"agents": 1, "rounds": 1, "prompt_style": "terse"},
    )
    run = loop.start(made, RunFolder(tmp_path))
    ctx = context_of(run)
    run.config.algorithm.cycle[0](ctx)
    return run, ctx


def test_a_group_is_two_roots_and_twelve_branches(grown):
    run, ctx = grown
    turns = [e.turns[0] for e in ctx.episodes.episodes]
    assert len(turns) == 14 and set(ctx.episodes.groups) == {ctx.episodes.groups[0]}
    roots, branches = turns[:2], turns[2:]
    for number, branch in enumerate(branches):
        parent = roots[number // 6]
        assert branch.prompt_ids == parent.prompt_ids
        assert len(branch.token_ids) == len(branch.logprobs)
        assert branch.token_ids[0] == parent.token_ids[0]
        assert branch.logprobs[0] == parent.logprobs[0]
    assert len({tuple(t.token_ids) for t in turns}) > 2
    written = sum(len(t.token_ids) for e in ctx.episodes.episodes for t in e.turns)
    sampled = run.population.learners["policy"].sampled_tokens
    assert ctx.episodes.tokens <= written - 12
    assert ctx.episodes.tokens <= sampled  # what is drawn beyond the longest reply is cut off


def test_branches_of_guided_replies_are_legal(config, tmp_path):
    made = config("ettrl", {"collect.episodes": 14, "rewards": (), "collect.component": "payoff"})
    run = loop.start(made, RunFolder(tmp_path))
    ctx = context_of(run)
    run.config.algorithm.cycle[0](ctx)
    turns = [turn for e in ctx.episodes.episodes for turn in e.turns]
    assert all(turn.status is Status.LEGAL and turn.choices for turn in turns)
    assert all(turn.token_ids in turn.choices for turn in turns)
