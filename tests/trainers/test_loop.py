import math
import os
import signal
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from coevo.agents.language_model import LanguageModelAgent
from coevo.agents.population import FrozenOpponent, PastSelves
from coevo.agents.sampling import SamplingConfig
from coevo.benchmarks.reproductions.claims.mode_router import ModeRouter
from coevo.benchmarks.reproductions.claims.staged_levels import FactChain
from coevo.envs.core.episode import read_episodes
from coevo.envs.core.errors import ConfigError, DataError
from coevo.envs.games.corridors import Corridors
from coevo.trainers import checkpoint, interrupt, loop
from coevo.trainers.algorithms import ALGORITHMS, algorithm
from coevo.trainers.collect.collector import Collector
from coevo.trainers.interrupt import STOPPING
from coevo.trainers.learners.learner import Learner
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.steps import policy_gradient
from tests.trainers.kuhn_rewards import KUHN_GIVES_NONE


def weights(run):
    return {
        f"{name}.{k}": v.clone()
        for name, learner in run.learners.items()
        for k, v in learner.output.state_dict().items()
    }


def equal(one, two):
    return one.keys() == two.keys() and all(torch.equal(v, two[k]) for k, v in one.items())


def test_training_twice_with_one_seed_gives_equal_parameters(config, folder):
    runs = [
        loop.train(config("league", steps=4, seed=seed), folder(config(), f"run{i}"))
        for i, seed in enumerate((5, 5, 6))
    ]
    first, second, other = map(weights, runs)
    assert equal(first, second) and not equal(first, other)


WORLDS = {
    "mixed_pool": {
        "env": "coevo/iterated_game-v0",
        "env_options": {"prompt_style": "terse", "rounds": 2},
    },
    "agent_evolver:questioning": {
        "env": "coevo/quest-v0",
        "env_options": {"prompt_style": "terse", "rooms": 2, "objects": 2, "steps": 1},
        "sampling": SamplingConfig(guided="choice", max_new_tokens=16),
    },
    "paired": {"env": Corridors.env_id},
    "a2fm": {
        "env": ModeRouter.env_id,
        "sampling": SamplingConfig(guided="choice", max_new_tokens=12),
    },
    **{name: {"env": FactChain.env_id} for name in ("craft_gui", "qwen_long", "scaler")},
    **{name: {"model": "net:hidden=8"} for name in ("iql", "vdn", "qmix", "mansa")},
    "mra": {
        "env": "coevo/crossing-v0",
        "env_options": {"prompt_style": "terse", "travellers": (2, 3)},
        "sampling": SamplingConfig(guided="choice", max_new_tokens=12),
    },
    "theta_evolve": {"env": "coevo/improve_program-v0"},
    "llm_ge": {"env": "coevo/improve_program-v0", "env_options": {"problem": "layers"}},
    "drq": {"env": "coevo/core_war-v0", "env_options": {"warriors": 1, "rounds": 1, "cycles": 500}},
    "mamql": {"model": "table"},
    "mashost": {
        "env": "coevo/graph_builder-v0",
        "env_options": {"apart": True, "prompt_style": "terse"},
        "sampling": SamplingConfig(guided="choice", max_new_tokens=32),
    },
    "language_evolution": {
        "env": "coevo/password_game-v0",
        "env_options": {
            "supervisor": "seat",
            "exchanges": 1,
            "numbers": 2,
            "prompt_style": "terse",
            "words": ("hill", "river"),
        },
        "sampling": SamplingConfig(guided="choice", max_new_tokens=12),
    },
    "self_redteam": {
        "env": "coevo/redteam-v0",
        "sampling": SamplingConfig(guided="choice", max_new_tokens=12),
    },
}
"""Where Kuhn poker lacks the seats, roles, members or levels of a record."""
NORMLESS = {
    ("essa", "plain_es"),
    ("cultural_evolution", "fresh"),
    ("language_evolution", "still"),
    ("deep_ga", "islands"),
    ("deep_ga", "pareto"),
    ("novelty_search", "mixed"),
    ("novelty_search", "learned"),
    ("llm_ge", "written"),
    ("policy_synthesis", "sparse"),
    ("theta_evolve", "frozen"),
    *(("drq", variant) for variant in ("fixed", "identity", "last", "written")),
}
"""Nothing is differentiated."""
STILL = {"cultural_evolution", "drq", "llm_ge", "policy_synthesis", "value_augmented"}
"""Texts or programs evolve, or a critic alone learns; weights of the policy stay."""


def two_small_groups(record):
    size = record.collect.group_size  # of trees it is the number of their leaves
    size = size if record.collect.trees else min(size, 8)
    return {"collect.group_size": size, "collect.episodes": 2 * size}


@pytest.mark.usefixtures("kuhn_rewards")
@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_trains_and_resumes_without_a_difference(config, folder, name):
    size, world = two_small_groups(ALGORITHMS[name]), WORLDS.get(name, {})
    whole = config(name, size | KUHN_GIVES_NONE.get(name, {}), steps=4, checkpoint_every=2, **world)
    made = folder(whole)
    straight = loop.start(whole, made)
    before = weights(straight)
    loop.finish(straight)
    checkpoint.remove(checkpoint.latest(made.checkpoints))
    resumed = loop.train(whole, made)
    assert equal(weights(straight), weights(resumed))
    assert equal(weights(straight), before) is (name in STILL)
    assert straight.archive.state_dict() == resumed.archive.state_dict()
    assert [m["step"] for m in made.read_metrics()] == [1, 2, 3, 4]


@pytest.mark.usefixtures("kuhn_rewards")
@pytest.mark.parametrize(
    "variant",
    sorted((n, v) for n, a in ALGORITHMS.items() for v in a.variants),
    ids=":".join,
)
def test_every_variant_trains(config, folder, variant):
    name, choice = variant
    size = two_small_groups(algorithm(name, choice))
    told = KUHN_GIVES_NONE.get(":".join(variant), KUHN_GIVES_NONE.get(name, {}))
    record = algorithm(name, choice, size | told)
    world = WORLDS.get(":".join(variant), WORLDS.get(name, {}))
    given = replace(config(), algorithm=record, steps=1, **world)
    if record.reference is not None:  # the starter has other tokens than the tiny model
        given = replace(given, algorithm=replace(record, reference=given.model))
    if variant == ("essa", "evolve"):  # for adapters that have learnt
        with pytest.raises(ConfigError, match="no singular values to evolve"):
            loop.train(given, folder(given))
        return
    run = loop.train(given, folder(given))
    (logged,) = run.folder.read_metrics()
    norms = [v for k, v in logged.items() if k.endswith("grad_norm")]  # one per parameter set
    assert run.progress.step == 1 and all(map(np.isfinite, norms))
    assert norms or variant in NORMLESS


def planned(config, tmp_path, changes, steps=1):
    run = loop.start(config(changes=changes), RunFolder(tmp_path))
    out = []
    collect = run.config.algorithm.collect
    for step in range(steps):
        groups = run.collector.plan(step, collect.episodes // collect.group_size)
        matches = [m for g in groups for m in g.specs]
        out.append((matches, [g.key for g in groups for _ in g.specs]))
    return out


def test_plays_of_a_group_share_start_and_seats_but_not_their_stream(config, tmp_path):
    changes = {"collect.episodes": 12, "collect.group_size": 3, "population": FrozenOpponent()}
    (matches, groups), (later, _) = planned(config, tmp_path, changes, steps=2)
    assert groups == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    for g in range(4):
        mine = [m for m, group in zip(matches, groups, strict=True) if group == g]
        assert len({m.seed for m in mine}) == 1
        assert len({tuple(m.players.items()) for m in mine}) == 1
    assert len({m.seed for m in matches}) == 4
    assert sorted(m.stream for m in matches) == list(range(12))
    assert not {m.seed for m in matches} & {m.seed for m in later}


@pytest.mark.parametrize(("episodes", "size"), [(4, 4), (6, 2), (4, 1)])
def test_seats_rotate_over_the_run_whatever_the_batch(config, tmp_path, episodes, size):
    changes = {
        "collect.episodes": episodes,
        "collect.group_size": size,
        "population": FrozenOpponent(),
    }
    plans = planned(config, tmp_path, changes, steps=4)
    seats = Counter(
        seat
        for matches, _ in plans
        for m in matches
        for seat, p in m.players.items()
        if p == "policy"
    )
    assert seats["player_0"] == seats["player_1"]


def test_only_learners_are_credited_and_counted(config, tmp_path, monkeypatch):
    run = loop.start(config(changes={"population": FrozenOpponent()}), RunFolder(tmp_path))
    batches, learn = [], policy_gradient.with_advantages

    def noted(algorithm, learners, batch, *rest, **named):
        batches.append(batch)
        return learn(algorithm, learners, batch, *rest, **named)

    monkeypatch.setattr(policy_gradient, "with_advantages", noted)
    metrics, episodes = loop.update(run)
    own = sum(len(t.token_ids) for e in episodes for t in e.turns if t.player == "policy")
    everybody = sum(len(t.token_ids) for e in episodes for t in e.turns)
    assert metrics["tokens"] == run.progress.tokens == own < everybody
    assert int(batches[0].token_mask_BS.sum()) == own


def test_turns_carry_the_version_that_wrote_them(config, tmp_path):
    run = loop.start(
        config(changes={"population": PastSelves(every=1, latest=0.0)}), RunFolder(tmp_path)
    )
    for step in range(3):
        _, episodes = loop.update(run)
        run.progress = replace(run.progress, step=step + 1)
        versions = {t.version for e in episodes for t in e.turns if t.player == "policy"}
        assert versions == {step}
        assert all(
            t.version == int(t.player.removeprefix("past"))
            for e in episodes
            for t in e.turns
            if t.player.startswith("past")
        )


def test_probes_see_what_the_run_hands_out_and_enter_the_log(config, folder):
    seen = []

    def probe(policies):
        seen.append(policies["policy"])
        return {"score": float(len(seen))}

    reports = []
    given = config(steps=5, probe_every=2, episodes_logged=3)
    run = loop.start(given, folder(given))
    for done in loop.updates(run, [probe]):
        reports.append((done.step, done.metrics, done.done))
    metrics = run.folder.read_metrics()
    assert [m.get("score") for m in metrics] == [None, 1.0, None, 2.0, 3.0]
    assert all(a.model is run.learners["policy"].ema for a in seen)
    assert all(isinstance(a, LanguageModelAgent) for a in seen)
    assert [(step, share) for step, _, share in reports] == [
        (i, pytest.approx(i / 5)) for i in range(1, 6)
    ]
    episodes = list(read_episodes(run.folder.episodes))
    assert Counter(e.outcome["step"] for e in episodes) == {2: 3, 4: 3, 5: 3}
    assert checkpoint.latest(run.folder.checkpoints).name == "step_000005"


def test_a_probe_moves_no_learner_whatever_it_returns_and_draws(config, tmp_path):
    def hostile(policies):
        torch.rand(7)
        np.random.rand(7)  # noqa: NPY002 - the global state, which is nobody's
        names = ("return/player_0", "tokens", "advantage/mean", "episodes", "step_size")
        return dict.fromkeys(names, 1e9) | {"loss": math.nan}

    def trained(name, hooks):
        given = config(steps=3, probe_every=1)
        run = loop.start(given, RunFolder(tmp_path / name))
        loop.finish(run, hooks)
        return run

    calm, probed = trained("calm", []), trained("probed", [hostile])
    assert probed.folder.read_metrics()[-1]["return/player_0"] == 1e9
    ends = [run.learners["policy"].model.state_dict() for run in (calm, probed)]
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


def test_metrics_tell_returns_by_seat_and_how_plays_ended(config, tmp_path):
    free = SamplingConfig(max_new_tokens=8)
    run = loop.start(config(sampling=free), RunFolder(tmp_path))
    metrics, episodes = loop.update(run)
    paid = [e.total("player_0", "payoff") + e.total("player_0", "illegal") for e in episodes]
    assert metrics["return/player_0"] == np.mean(paid) != 0
    assert metrics["forfeit_rate"] == np.mean([str(e.stop) == "forfeit" for e in episodes]) > 0
    assert 0 < metrics["illegal_rate/player_0"] <= 1
    assert sum(v for k, v in metrics.items() if k.startswith("stop/")) == pytest.approx(1)
    assert metrics["reward/format"] >= 0


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize("number", STOPPING)
def test_a_signal_to_stop_finishes_the_update_and_keeps_it(config, folder, number):
    given = config(steps=50, checkpoint_every=50)
    made = folder(given)

    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        for done in loop.updates(loop.start(given, made)):
            if done.step == 2:
                os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before
    last = [m["step"] for m in made.read_metrics()][-1]
    assert checkpoint.latest(made.checkpoints).name == f"step_{last:06d}" and last in (2, 3)


@pytest.mark.usefixtures("usual_signals")
@pytest.mark.parametrize(
    ("kind", "method", "burst", "last"),
    [
        (Learner, "update", 1.0, 3),
        (policy_gradient.Collect, "__call__", 1.0, 3),
        (policy_gradient.Collect, "__call__", 0.0, 2),
    ],
)
def test_repeated_signals_lose_no_finished_update(
    config, folder, monkeypatch, kind, method, burst, last
):
    """A burst is one request; two that stand apart end the third update before weights move."""
    given = config(steps=50, checkpoint_every=50)
    made, done, usual = folder(given), [], getattr(kind, method)
    monkeypatch.setattr(interrupt, "BURST", burst)

    def signalled(self, *args, **more):
        if len(done) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
        return usual(self, *args, **more)

    monkeypatch.setattr(kind, method, signalled)
    with pytest.raises(KeyboardInterrupt):
        for one in loop.updates(loop.start(given, made)):
            done.append(one.step)
    assert checkpoint.latest(made.checkpoints).name == f"step_{last:06d}"
    assert [m["step"] for m in made.read_metrics()] == [*range(1, last + 1)]


def test_a_finished_run_is_left_as_it_is(config, folder):
    given = config(steps=2)
    made = folder(given)
    done = loop.train(given, made)
    files = {p: p.stat().st_mtime_ns for p in made.path.rglob("*") if p.is_file()}
    again = loop.train(given, made)
    assert equal(weights(done), weights(again))
    kept = {p: t for p, t in files.items() if "jsonl" not in p.name}
    assert all(p.stat().st_mtime_ns == t for p, t in kept.items())


@pytest.mark.parametrize("limit", [{"budget_tokens": 200}, {"budget_seconds": 0.2}])
def test_budgets_end_a_run(config, folder, limit):
    given = config(steps=None, **limit)
    run = loop.train(given, folder(given))
    assert 1 <= run.progress.step < 200 and run.progress.share(given) == 1.0
    if "budget_tokens" in limit:
        before = run.folder.read_metrics()[-2]["total_tokens"] if run.progress.step > 1 else 0
        assert before < 200 <= run.progress.tokens


@pytest.mark.parametrize(("tokens", "turns"), [(200, 10**9), (10**9, 40)])
def test_of_two_budgets_the_one_that_is_reached_first_ends_a_run(config, folder, tokens, turns):
    given = config(steps=None, budget_tokens=tokens, budget_turns=turns)
    run = loop.train(given, folder(given))
    first, before = run.progress, run.folder.read_metrics()[-2]
    assert before["total_tokens"] < tokens and before["total_turns"] < turns
    assert (first.tokens >= tokens) != (first.turns >= turns)


def test_reward_modules_are_paid_once_as_components_of_their_own(config, tmp_path):
    run = loop.start(
        config(
            changes={
                "rewards": (
                    {"name": "format", "legal": 0.25},
                    {"name": "length_penalty", "unit": "tokens", "free": 0, "span": 1},
                )
            }
        ),
        RunFolder(tmp_path),
    )
    for episode in run.collector.collect(0).episodes:
        for turn in episode.turns:
            assert turn.rewards["format"] == {turn.agent: 0.25}
            assert turn.rewards["length_penalty"][turn.agent] < 0


def test_a_batch_in_which_no_learner_spoke_changes_nothing(config, tmp_path, monkeypatch):
    run = loop.start(config(), RunFolder(tmp_path))
    before = weights(run)
    monkeypatch.setattr(policy_gradient, "build", lambda *args, **named: None)
    metrics, _ = loop.update(run)
    assert equal(weights(run), before) and "grad_norm" not in metrics


def test_an_update_whose_plays_fail_leaves_the_earlier_ones_on_disk(config, tmp_path, monkeypatch):
    made = RunFolder(tmp_path / "run")
    given = config(steps=3, checkpoint_every=50)
    made.create(given)
    real, calls = Collector.collect, []

    def failing(collector, step, *rest):
        calls.append(step)
        if step == 2:
            raise ConfigError("the prompt does not fit")
        return real(collector, step, *rest)

    monkeypatch.setattr(Collector, "collect", failing)
    with pytest.raises(ConfigError, match="does not fit"):
        loop.train(given, made)
    assert calls == [0, 1, 2]
    assert [p.name for p in made.checkpoints.glob("step_*")] == ["step_000002"]


def test_returns_are_told_apart_by_player_where_several_sit_at_one_table(config, tmp_path):
    run = loop.start(config(changes={"population": FrozenOpponent()}), RunFolder(tmp_path))
    metrics, episodes = loop.update(run)
    paid = [
        e.total(t.agent, "payoff")
        for e in episodes
        for t in {t.agent: t for t in e.turns}.values()
        if t.player == "policy"
    ]
    assert metrics["return/policy"] == pytest.approx(sum(paid) / len(paid))
    assert "return/frozen" in metrics


def test_a_folder_has_one_writer(config, folder):
    given = config(steps=3)
    made = folder(given)
    first = loop.updates(loop.start(given, made))
    next(first)
    with pytest.raises(DataError, match="being written by another process"):
        loop.train(given, made)
    assert [m["step"] for m in made.read_metrics()] == [1]
    first.close()
    assert loop.train(given, made).progress.step == 3
    assert [m["step"] for m in made.read_metrics()] == [1, 2, 3]


def test_a_run_that_another_process_took_on_is_refused(config, folder):
    given = config(steps=2)
    made = folder(given)
    early = loop.start(given, made)
    loop.train(given, made)
    lines = made.metrics.read_bytes()
    with pytest.raises(DataError, match="has gone on to update 2"):
        next(loop.updates(early))
    assert made.metrics.read_bytes() == lines


def test_a_caller_may_stop_save_and_go_on(config, folder):
    given = config(steps=4, checkpoint_every=50)
    straight, halted = folder(given, "straight"), folder(given, "halted")
    run = loop.start(given, halted)
    for done in loop.updates(run):
        if done.step == 2:
            break
    run.save()
    assert equal(weights(loop.train(given, straight)), weights(loop.train(given, halted)))


def test_engines_rest_when_a_step_has_asked_them_and_not_before(config, folder, monkeypatch):
    run = loop.start(config("mars", {}, steps=2), folder(config()))
    (policy,), done = run.population.learners.values(), []

    def noting(kind, name):
        call = getattr(kind, name)

        def noted(self, *args, **kwargs):
            if not done or done[-1] != name:
                done.append(name)
            return call(self, *args, **kwargs)

        monkeypatch.setattr(kind, name, noted)

    for name in ("generate", "rest"):
        noting(type(policy.engine), name)
    noting(Learner, "update")
    for _ in loop.updates(run):
        pass
    assert done == ["generate", "rest", "update", "rest"] * 2
