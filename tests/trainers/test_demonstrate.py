"""Demonstrations: whose replies are imitated, in whose tokens, and which are left out."""

from dataclasses import replace

import pytest
import torch

from coevo.agents.load import load_agent
from coevo.agents.scripted import FixedTextAgent, RandomAgent
from coevo.envs.core.episode import write_episodes
from coevo.envs.core.errors import ConfigError, DataError
from coevo.trainers.collect.rollout import EpisodeSpec, rollout
from coevo.trainers.loop import context_of, start, updates

KUHN, TERSE = "coevo/kuhn_poker-v0", {"prompt_style": "terse"}


@pytest.fixture
def sft(config, tmp_path):
    """Make a run: `sft(changes, **settings)`."""

    def make(changes=None, name="run", **settings):
        usual = {"collect.episodes": 6, "optim.warmup": 0}
        made = config("sft", usual | (changes or {}), env_options=TERSE, **settings)
        return start(made, folder(tmp_path / name, made))

    return make


def folder(path, config):
    from coevo.trainers.run_folder import RunFolder

    made = RunFolder(path)
    made.create(config)
    return made


def collected(run, steps=2):
    """Take the first steps of an update; return their context."""
    ctx = context_of(run)
    for step in run.config.algorithm.cycle[:steps]:
        step(ctx)
    return ctx


def test_replies_of_the_demonstrator_are_written_in_the_tokens_of_the_learner(sft):
    ctx = collected(sft({"cycle.demonstrate.by": "first_legal"}))
    tokens = ctx.population.learners["policy"].tokens
    turns = [t for e in ctx.episodes.episodes for t in e.turns]
    assert len(turns) == len(ctx.batch) > 6
    for turn in turns:
        assert turn.text == f"[{turn.legal[0]}]" and turn.player == "policy"
        assert turn.prompt_ids == tokens.prompt(turn.chat)
        assert turn.token_ids == tokens.answer(turn.text)
        assert turn.notes["demonstrated_by"] == "first_legal"
    assert ctx.progress.tokens == sum(len(t.token_ids) for t in turns)


def test_an_update_takes_as_many_replies_as_it_is_told(sft):
    for most, expected in ((3, 3), (1000, None)):
        ctx = collected(sft({"cycle.make_items.to.most": most}, name=str(most)), 3)
        items = ctx.items["demonstrations"]
        assert len(items) == (expected or len(ctx.batch))
        assert items.at_NK.unique().numel() == len(items)
    again = collected(sft({"cycle.make_items.to.most": 3}, name="again"), 3)
    first = collected(sft({"cycle.make_items.to.most": 3}, name="first"), 3)
    spans = [[s.ids for s in x.items["demonstrations"].batch.spans] for x in (first, again)]
    assert spans[0] == spans[1], "the seed decides"


def test_the_loss_is_the_mean_over_the_tokens_of_the_replies_alone(sft):
    run = sft({"cycle.make_items.to.most": 1000})
    model, total, count = run.population.learners["policy"].model, 0.0, 0
    ctx = collected(run, 3)
    turns = [t for e in ctx.episodes.episodes for t in e.turns]
    with torch.no_grad():
        for turn in turns:
            ids = torch.tensor([turn.prompt_ids + turn.token_ids])
            logp = model(ids).logits[0, :-1].log_softmax(-1).gather(-1, ids[0, 1:, None])
            total -= float(logp[-len(turn.token_ids) :].sum())
            count += len(turn.token_ids)
    run.config.algorithm.cycle[3](ctx)
    assert ctx.metrics["sft/loss/item"] == pytest.approx(total / count, rel=1e-4)


def test_a_model_with_another_tokenizer_demonstrates(sft):
    ctx = collected(sft({"cycle.demonstrate.by": "starter"}))
    learner = ctx.population.learners["policy"]
    turns = [t for e in ctx.episodes.episodes for t in e.turns if t.token_ids]
    assert turns and all(t.token_ids == learner.tokens.answer(t.text) for t in turns)
    with pytest.raises(ConfigError, match="unknown agent 'nobody'"):
        collected(sft({"cycle.demonstrate.by": "nobody"}, name="other"))


# ---- Recorded episodes -----------------------------------------------------------------------


@pytest.fixture
def record(tmp_path):
    """A file with three legal plays of Kuhn poker, one with a forfeit, one of another game."""
    players = {"random": RandomAgent(), "mute": FixedTextAgent("I fold, I think")}

    def played(env, seeds, who):
        specs = [EpisodeSpec(s, dict.fromkeys(("player_0", "player_1"), who)) for s in seeds]
        return rollout(env, specs, players, TERSE)

    path = tmp_path / "episodes.jsonl"
    others = [*played(KUHN, [9], "mute"), *played("coevo/tic_tac_toe-v0", [1], "random")]
    write_episodes(path, [*played(KUHN, range(3), "random"), *others])
    return path


def test_recorded_replies_are_imitated_but_for_illegal_ones_and_other_games(sft, record):
    for source in (record, record.parent):
        changes = {"cycle.demonstrate.recorded": str(source), "collect.episodes": 100}
        ctx = collected(sft(changes, name=f"run_{source.name}"))
        episodes = ctx.episodes.episodes
        assert len(episodes) == 4 and {e.env for e in episodes} == {KUHN}
        learnt = [t for e in episodes for t in e.turns if t.token_ids]
        assert {t.notes["demonstrated_by"] for t in learnt} == {str(source)}
        assert len(learnt) == len(ctx.batch) and "I fold, I think" not in {t.text for t in learnt}


def test_only_seats_that_earned_more_are_imitated(sft, record):
    changes = {"cycle.demonstrate.recorded": str(record), "cycle.make_items.to.above": 0.0}
    ctx = collected(sft({**changes, "collect.episodes": 100}), 3)
    won = [
        t
        for e in ctx.episodes.episodes
        for t in e.turns
        if e.total(t.agent, "payoff") > 0 and t.token_ids
    ]
    assert len(ctx.items["demonstrations"]) == len(won) > 0


def test_a_record_without_the_game_is_one_line(sft, record):
    changes = {"cycle.demonstrate.recorded": str(record)}
    with pytest.raises(DataError, match=r"holds no episode of coevo/leduc_poker-v0"):
        collected(sft(changes, env="coevo/leduc_poker-v0"))


# ---- Runs ------------------------------------------------------------------------------------


def test_an_adapter_is_shared_by_all_seats(sft):
    run = sft({"population": {"name": "adapters", "per": "all", "rank": 2}}, steps=1)
    assert list(run.learners) == ["policy"]
    before = {n: p.clone() for n, p in run.learners["policy"].model.named_parameters()}
    list(updates(run))
    moved = {
        n for n, p in run.learners["policy"].model.named_parameters() if (p != before[n]).any()
    }
    assert moved and all("lora" in name for name in moved)


def test_an_interrupted_run_ends_with_the_same_weights(sft, config):
    def weights(run):
        return run.learners["policy"].model.state_dict()

    whole = sft(name="whole", steps=4)
    list(updates(whole))
    half = sft(name="half", steps=4)
    for _ in zip(range(2), updates(half), strict=False):
        pass
    half.save()
    rest = start(half.config, half.folder)
    list(updates(rest))
    assert all(torch.equal(a, weights(rest)[n]) for n, a in weights(whole).items())


def test_imitation_raises_the_probability_of_what_is_imitated(sft):
    run = sft({"cycle.demonstrate.by": "first_legal", "optim.lr": 0.01}, steps=20)
    losses = [u.metrics["sft/loss/item"] for u in updates(run)]
    assert losses[-1] < 0.5 * losses[0]
    taught = load_agent(str(run.folder.path), device="cpu")
    assert replace(taught.sampling) == taught.sampling
