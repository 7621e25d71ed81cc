"""What replies begin with: forced segments and hints, played, and not learnt."""

import numpy as np
import pytest

from coevo.agents.sampling import SamplingConfig
from coevo.benchmarks.reproductions.claims.mode_router import MODES, ModeRouter
from coevo.envs import make
from coevo.envs.core.config import read
from coevo.envs.core.episode import Episode
from coevo.envs.core.errors import ConfigError
from coevo.envs.rewards import ModeCost
from coevo.trainers import loop
from coevo.trainers.build import build
from coevo.trainers.collect.beginnings import Hint
from coevo.trainers.collect.collect_config import CollectConfig
from coevo.trainers.run_folder import RunFolder

SUMS = {"questions": {"name": "word_problems", "task": "sums"}}


@pytest.fixture
def played(config, tmp_path):
    def play(name, changes, **settings):
        run = loop.start(config(name, changes, **settings), RunFolder(tmp_path))
        return run, run.collector.collect(0)

    return play


@pytest.mark.parametrize("model", ["table", None])
def test_forced_moves_are_played_in_their_share_and_have_no_tokens(played, model):
    long = SamplingConfig(guided="choice", max_new_tokens=12)
    settings = {"model": model} if model else {"sampling": long}
    changes = {"collect.episodes": 16}
    run, found = played("a2fm", changes, env=ModeRouter.env_id, **settings)
    first = [e.turns[0] for e in found.episodes]
    assert [t.begins for t in first] == [m for m in MODES for _ in range(2)] + [""] * 10
    assert all(t.move == t.begins and t.token_ids is None for t in first[:6])
    assert all(t.token_ids for e in found.episodes for t in e.turns if not t.begins)
    batch = build(found.episodes, found.groups, run.learners)
    learnt = {id(t) for own in batch.turns_B for t in own}
    assert not learnt & {id(t) for t in first[:6]}
    assert [t.player for t in first] == ["policy"] * 16


def test_a_reply_goes_on_from_its_beginning_which_the_learner_only_reads(played):
    changes = {
        "collect.episodes": 4,
        "collect.group_size": 4,
        "collect.forced": {"first": ["Six"], "each": 2},
    }
    world = {"env": "coevo/debate-v0", "env_options": {"prompt_style": "terse", **SUMS}}
    sampling = SamplingConfig(max_new_tokens=4)
    run, found = played("grpo", changes, sampling=sampling, **world)
    tokens = run.population.learners["policy"].tokens
    for number, episode in enumerate(found.episodes):
        seen = set()
        for turn in episode.turns:
            begins = "Six" if number < 2 and turn.agent not in seen else ""
            seen.add(turn.agent)
            assert turn.begins == begins and turn.text.startswith(begins)
            assert turn.text == begins + tokens.text(turn.token_ids)
            begun = tokens.begun(begins)
            assert not begun or turn.prompt_ids[-len(begun) :] == begun
            assert len(turn.token_ids) == len(turn.logprobs) <= 4
    assert Episode.from_json(found.episodes[0].to_json()).turns[0].begins == "Six"
    batch = build(found.episodes, found.groups, run.learners)
    again_CL = run.learners["policy"].passes.logp(batch)
    assert np.allclose(again_CL[batch.mask_CL], batch.logp_behaviour_CL[batch.mask_CL], atol=1e-4)


def test_hints_are_longer_where_nothing_succeeds_and_are_of_the_task(played):
    changes = {"collect.episodes": 8, "collect.group_size": 8}
    world = {"env": "coevo/debate-v0", "env_options": {"prompt_style": "terse", **SUMS}}
    run, found = played("seele", changes, sampling=SamplingConfig(max_new_tokens=2), **world)
    hints = [e.turns[0].begins for e in found.episodes]
    lengths = [len(h) for h in hints]
    assert lengths == sorted(lengths) and 0 < lengths[0] < lengths[-1]
    assert hints[::2] == hints[1::2], "two episodes a round"
    env = make("coevo/debate-v0", **SUMS)
    env.reset(seed=found.episodes[0].seed)
    assert all(env.task.worked_solution.startswith(h.strip()) for h in hints)
    (held,) = run.collector.held_out(1, 0)
    assert all(t.begins == "" for e in held for t in e.turns)


def test_hints_without_a_solution_are_refused(played):
    with pytest.raises(ConfigError, match="kuhn_poker-v0 gives no solution to show"):
        played("seele", {"collect.episodes": 8, "collect.group_size": 8})


def test_the_solutions_of_word_problems_end_with_their_answers():
    source = make("coevo/debate-v0", **SUMS).task.source
    for place in range(0, len(source), 97):
        question = source.item(place)
        assert question.solution.endswith(f"[{question.answer}]")


def test_a_curve_is_found_from_rounds_of_episodes():
    rng, hint = np.random.default_rng(0), Hint(rounds=6)
    shown, won = [], []
    for _ in range(6):
        share = hint.share(shown, won)
        shown += [share] * 16
        won += (rng.random(16) < 1 / (1 + np.exp(-10 * (share - 0.8)))).tolist()
    assert hint.share(shown, won) == pytest.approx(0.8, abs=0.06)
    assert Hint(target=0.9).share(shown, won) > hint.share(shown, won) + 0.1


def test_a_mode_costs_where_the_cheapest_does(played):
    _, found = played("a2fm", {"collect.episodes": 16}, env=ModeRouter.env_id, model="table")
    module = ModeCost(modes=MODES)
    for won, cost in ((1.0, 0.3), (0.0, 0.0)):
        for episode in found.episodes:
            for turn in episode.turns:
                turn.rewards = {"payoff": {"player_0": won if turn is episode.turns[-1] else 0.0}}
        table = module.table(found.episodes)
        charged = [row[0]["player_0"] for row in table[:6]]
        assert charged == pytest.approx([0, 0, -cost / 3, -cost / 3, -cost, -cost])
        assert all(row[1] == {} for row in table)
    with pytest.raises(ConfigError, match="must be equally many"):
        ModeCost(modes=("a",))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"group_size": 4, "forced": {"first": ["a", "b"], "each": 3}},
            "are more than group_size=4",
        ),
        ({"hint": {"rounds": 4}, "group_size": 2}, "rounds=4 must not be"),
        ({"hint": {}, "group_size": 8, "staleness": 1}, "collect.staleness=1"),
        (
            {"hint": {}, "group_size": 8, "forced": {"first": ["a"]}},
            "both say what replies begin with",
        ),
        ({"hint": {"flattest": 9, "steepest": 8}}, "flattest=9"),
    ],
)
def test_what_contradicts_itself_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        read(CollectConfig, {"episodes": 16, **changes})
