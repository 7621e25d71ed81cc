"""Baselines of stable-baselines3: budgets, files, interruptions, and whether they learn."""

import itertools
import os
import signal
import sys

import numpy as np
import pytest
import yaml

from coevo.agents.models.network import Network
from coevo.agents.models.sb3 import load_sb3
from coevo.benchmarks.evaluate import evaluate
from coevo.benchmarks.exact import exploitability
from coevo.envs.core.episode import read_episodes
from coevo.envs.core.errors import ConfigError, DataError, MissingExtraError, UnknownNameError
from coevo.trainers import checkpoint
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.sb3.hyperparameters import (
    SB3,
    DQNSettings,
    MaskablePPOSettings,
    PPOSettings,
    SB3Config,
    SelfPlay,
    baseline,
)
from coevo.trainers.sb3.learner import PastSelves, SB3Learner
from coevo.trainers.sb3.train import SB3Run, sb3_updates

pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

KUHN, TIC_TAC_TOE = "coevo/kuhn_poker-v0", "coevo/tic_tac_toe-v0"
ANY_GAME = "coevo/openspiel-v0"
SMALL = {
    "ppo": PPOSettings(envs=2, n_steps=16, batch_size=16, n_epochs=2, hidden=(8,)),
    "maskable_ppo": MaskablePPOSettings(envs=2, n_steps=16, batch_size=16, n_epochs=2, hidden=(8,)),
    "dqn": DQNSettings(envs=2, per_update=32, learning_starts=32, batch_size=8, hidden=(8,)),
}


class Stopped(Exception):
    """What a test stops a run with."""


def trained(folder, algo, env=KUHN, *, hook=None, report=None, **more):
    """Train a baseline; return its policy and where the run stands."""
    run = SB3Run(SB3Config(algo=algo, env=env, **more), RunFolder(folder))
    hooks = [] if hook is None else [lambda policies: hook(policies["policy"])]
    for done in sb3_updates(run, hooks):
        if report is not None:
            report(done.step)
    return run.policies()["policy"], run.progress


def short(folder, algo="maskable_ppo", env=KUHN, turns=600, **more):
    """Train for a moment."""
    more = {"settings": SMALL[algo], "probe_points": 4} | more
    return trained(folder, algo, env, budget_turns=turns, **more)


def stop_after(updates):
    def report(step):
        if step >= updates:
            raise Stopped

    return report


def odds(agent, env=KUHN):
    return exploitability(agent, env).on_policy_values


def turns_of(folder):
    return [(m["step"], m["total_turns"]) for m in RunFolder(folder).read_metrics()]


# ---- Settings ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sb3:maskabl_ppo", "maskable-ppo"])
def test_unknown_baselines_list_the_nearest(name, tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean 'sb3:maskable_ppo'"):
        trained(tmp_path, name, budget_turns=10)


@pytest.mark.parametrize("algo", SB3)
def test_our_values_stand_beside_those_of_the_library(algo):
    ours, theirs = SB3[algo].settings, SB3[algo].defaults()
    assert theirs["gamma"] == 0.99
    assert theirs["learning_rate"] == (1e-4 if algo == "dqn" else 3e-4)
    assert set(ours.passed_on()) <= set(theirs), "SB3 knows every name that it is given"
    plain = SB3Config(algo=algo, env=KUHN, budget_turns=1).to_plain()
    assert plain["algorithm"]["name"] == f"sb3:{algo}"
    assert plain["algorithm"]["gamma"] == 1.0
    assert plain["sb3_defaults"] == theirs
    assert yaml.safe_load(yaml.safe_dump(plain)) == plain


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget_turns": None}, "needs an end"),
        ({"budget_turns": 0}, "budget_turns=0 must be above 0"),
        ({"budget_turns": None, "budget_seconds": float("nan")}, "budget_seconds=nan must be"),
        ({"probe_points": 0}, "probe_points=0 must be at least 1"),
        ({"seed": -1}, "seed=-1 must be at least 0"),
        ({"settings": DQNSettings()}, "maskable_ppo takes MaskablePPOSettings"),
        ({"opponents": "slef"}, "unknown opponent 'slef'"),
        (
            {"env": "coevo/openspiel-v0", "env_options": {"game": "gin_rummy"}},
            "cannot be turned",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong, message, tmp_path):
    given = {"algo": "maskable_ppo", "env": KUHN, "budget_turns": 10} | wrong
    with pytest.raises((ConfigError, UnknownNameError), match=message):
        trained(tmp_path, **given)


@pytest.mark.parametrize("wrong", [{"latest": 2}, {"every": 0}, {"size": 0}])
def test_self_play_is_checked(wrong):
    with pytest.raises(ConfigError, match="latest from 0 to 1"):
        SelfPlay(**wrong)


@pytest.mark.parametrize(
    ("algo", "module", "package"),
    [
        ("dqn", "stable_baselines3", "stable-baselines3"),
        ("maskable_ppo", "sb3_contrib", "sb3-contrib"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(algo, module, package, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"{package}.* -e '\.\[sb3\]'"):
        short(tmp_path, algo)
    assert baseline(algo).settings == SB3[algo].settings, "the tables are there all the same"


# ---- Files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("algo", SB3)
def test_a_run_leaves_the_files_of_a_run_folder(algo, tmp_path):
    measured = []

    def probe(agent):
        measured.append((agent.version, odds(agent)[0]))
        return {"value": measured[-1][1]}

    agent, progress = short(tmp_path, algo, hook=probe)
    folder = RunFolder(tmp_path)
    lines = folder.read_metrics()
    assert [m["step"] for m in lines] == list(range(progress.step + 1)), "0 is the start"
    assert lines[-1]["total_turns"] == progress.turns >= 600
    assert lines[-2]["total_turns"] < 600
    assert lines[-1]["total_seconds"] == progress.seconds > 0
    assert lines[-1]["total_tokens"] == progress.tokens == 0
    assert {"return/learner", "win_rate/player_0", "forfeit_rate", "episodes"} < lines[-1].keys()
    probed = [m for m in lines if "value" in m]
    assert [(m["step"], m["value"]) for m in probed] == measured
    assert [int(4 * min(m["total_turns"] / 600, 1)) for m in probed] == [0, 1, 2, 3, 4]
    assert {e.outcome["step"] for e in read_episodes(folder.episodes)} == {
        m["step"] for m in probed[1:]
    }
    newest = checkpoint.latest(folder.checkpoints)
    assert newest.name == f"step_{progress.step:06d}"
    loaded = load_sb3(newest)
    assert odds(loaded) == odds(agent)
    assert loaded.version == progress.step
    config = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert (config["env"], config["seed"], config["budget_turns"]) == (KUHN, 0, 600)
    assert config["algorithm"]["hidden"] == [8]


def test_turns_are_the_replies_of_all_seats(tmp_path):
    config = SB3Config(algo="ppo", env=KUHN, budget_turns=1, settings=SMALL["ppo"])
    learner = SB3Learner(config)
    learner.update(0.0)
    told = sum(len(e.turns) for e in learner.finished)
    under_way = sum(len(v.env.episode.turns) for v in learner.views)
    assert learner.progress.turns == told + under_way
    assert sum(v.actions for v in learner.views) == 32 < learner.progress.turns
    before = learner.progress.turns
    learner.update(0.5)
    assert learner.progress.turns == before + sum(v.turns for v in learner.views) - before


def test_a_run_of_seconds_ends(tmp_path):
    _, progress = trained(
        tmp_path, "ppo", budget_seconds=0.05, settings=SMALL["ppo"], probe_points=1
    )
    assert progress.seconds >= 0.05
    assert progress.seconds - RunFolder(tmp_path).read_metrics()[-1]["seconds"] < 0.05


def test_schedules_fall_with_the_budget(tmp_path):
    learner = SB3Learner(SB3Config(algo="dqn", env=KUHN, budget_turns=1, settings=SMALL["dqn"]))
    rates = []
    for share in (0.0, 0.2, 0.6):
        learner.update(share)
        rate = learner.model.policy.optimizer.param_groups[0]["lr"]
        rates.append((rate, learner.model.exploration_rate))
    assert [r for r, _ in rates] == pytest.approx([5e-4, 4e-4, 2e-4])
    assert [e for _, e in rates] == pytest.approx([1.0, 1 - 0.95 / 2, 0.05])


def test_a_learner_without_a_mask_is_charged_for_illegal_actions(tmp_path):
    short(tmp_path / "ppo", "ppo", TIC_TAC_TOE)
    short(tmp_path / "mask", "maskable_ppo", TIC_TAC_TOE)
    free, masked = (RunFolder(tmp_path / n).read_metrics()[0] for n in ("ppo", "mask"))
    assert free["illegal_rate/learner"] > 0.1
    assert free["forfeit_rate"] > 0.1
    assert masked["illegal_rate/learner"] == masked["forfeit_rate"] == 0


def test_named_opponents_can_be_learnt_against(tmp_path):
    short(tmp_path, opponents="first_legal", turns=100)
    players = {t.player for e in read_episodes(tmp_path / "episodes.jsonl") for t in e.turns}
    assert players == {"learner", "first_legal"}


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("coevo/goofspiel-v0", {"game": "goofspiel(num_cards=3)"}),
        (ANY_GAME, {"game": "kuhn_poker(players=3)"}),
        (ANY_GAME, {"game": "catch"}),
        ("coevo/tiny_hanabi-v0", {}),
    ],
)
def test_simultaneous_cooperative_and_other_numbers_of_seats(env, options, tmp_path):
    agent, progress = short(tmp_path, env=env, env_options=options, turns=200)
    assert progress.turns >= 200
    assert evaluate(agent, env, None, games=4, env_options=options).forfeit_rate == 0


# ---- Past selves ---------------------------------------------------------------------------


def weighing(number):
    return Network([(np.full((1, 1), float(number)), np.zeros(1))], "none", "softmax")


def weights_of(networks):
    return [float(n.layers[0][0][0, 0]) for n in networks]


def test_past_selves_are_kept_from_time_to_time_and_the_oldest_go():
    past = PastSelves(SelfPlay(every=2, size=3))
    for step in range(8):
        past.renew(weighing(step), step)
    assert weights_of(past.kept) == [2, 4, 6]
    assert weights_of(past.newest) == [7]
    rng = np.random.default_rng(0)
    drawn = weights_of([past.draw(rng) for _ in range(1000)])
    assert drawn.count(7) / 1000 == pytest.approx(0.5, abs=0.05)
    assert drawn.count(4) / 1000 == pytest.approx(1 / 6, abs=0.05)
    assert {past.draw(rng).name for _ in range(20)} == {"newest_self", "past_self"}
    again = PastSelves(past.settings)
    again.restore(weighing(9), past.tensors())
    assert (weights_of(again.kept), weights_of(again.newest)) == ([2, 4, 6], [9])


def test_opponents_are_the_learner_as_it_was_after_the_update():
    learner = SB3Learner(SB3Config(algo="ppo", env=KUHN, budget_turns=1, settings=SMALL["ppo"]))
    before = learner.past.newest[0]
    learner.update(0.0)
    after = learner.past.newest[0]
    rows = np.random.default_rng(0).random((4, before.inputs))
    assert (before.outputs(rows) != after.outputs(rows)).any()
    assert (after.outputs(rows) == learner.agent().network.outputs(rows)).all()
    players = {t.player for e in learner.finished for t in e.turns}
    assert players == {"learner", "newest_self", "past_self"}


# ---- Interruptions -------------------------------------------------------------------------


@pytest.mark.parametrize("algo", SB3)
@pytest.mark.parametrize("updates", [1, 5])
def test_a_killed_run_goes_on_from_its_newest_checkpoint(algo, updates, tmp_path):
    often = {"hook": odds_probe, "checkpoint_every": 3}
    with pytest.raises(Stopped):
        short(tmp_path, algo, report=stop_after(updates), **often)
    (tmp_path / "checkpoints" / ".step_000099.tmp").mkdir()
    killed = turns_of(tmp_path)
    assert killed[-1][0] == updates
    _, progress = short(tmp_path, algo, **often)
    lines = turns_of(tmp_path)
    assert [step for step, _ in lines] == list(range(progress.step + 1))
    assert all(a < b for (_, a), (_, b) in itertools.pairwise(lines))
    assert lines[-1][1] == progress.turns >= 600
    kept = 3 * (updates // 3)
    assert lines[: kept + 1] == killed[: kept + 1]


def odds_probe(agent):
    return {"value": odds(agent)[0]}


def test_what_is_restored_is_what_was_saved(tmp_path):
    config = SB3Config(algo="dqn", env=KUHN, budget_turns=1, settings=SMALL["dqn"])
    learner = SB3Learner(config)
    for _ in range(3):
        learner.update(0.0)
        learner.progress = learner.progress.plus(step=1)
    learner.save(tmp_path)
    again = SB3Learner(config, tmp_path)
    assert again.progress == learner.progress
    assert again.model.num_timesteps == learner.model.num_timesteps == 96
    assert odds(again.agent()) == odds(learner.agent())
    assert again.past.tensors().keys() == learner.past.tensors().keys()
    steps = [
        {int(s["step"]) for s in one.model.policy.optimizer.state.values()}
        for one in (learner, again)
    ]
    assert steps[0] == steps[1] != {0}
    assert again.model.learning_starts == 32 + 96, "the replay buffer is empty"
    again.update(0.5)
    deals = [{v.env.episode.seed for v in one.views} for one in (learner, again)]
    assert not deals[0] & deals[1]


@pytest.mark.usefixtures("usual_signals")
def test_ctrl_c_saves_and_a_second_call_completes(tmp_path):
    def interrupt(step):
        if step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        short(tmp_path, report=interrupt)
    assert checkpoint.latest(tmp_path / "checkpoints").name == "step_000002"
    agent, progress = short(tmp_path)
    assert progress.turns >= 600
    same, still = short(tmp_path)
    assert still == progress, "a finished run is read, not trained on"
    assert odds(same) == odds(agent)


def test_a_folder_of_another_run_is_refused(tmp_path):
    short(tmp_path, turns=60)
    for change in ({"seed": 1}, {"turns": 90}, {"algo": "ppo"}):
        with pytest.raises(ConfigError, match="holds a run with"):
            short(tmp_path, **({"turns": 60} | change))
    (tmp_path / "config.yaml").write_text("a: [")
    with pytest.raises(DataError, match="is not YAML"):
        short(tmp_path, turns=60)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    short(tmp_path, turns=60)
    newest = checkpoint.latest(tmp_path / "checkpoints")
    (newest / "past.safetensors").write_bytes(b"x")
    with pytest.raises(DataError, match=r"is damaged: past\.safetensors"):
        short(tmp_path, turns=60)


def test_equal_seeds_give_equal_runs(tmp_path):
    values = [odds(short(tmp_path / str(n), seed=n // 2, turns=200)[0]) for n in range(4)]
    assert values[0] == values[1] != values[2] == values[3]


# ---- Learning ------------------------------------------------------------------------------


def test_masked_self_play_beats_random_play_and_its_own_start(tmp_path):
    """Tic-tac-toe, some 12 s of one core; measured 0.49 at the start, 0.70 to 0.75 at the end."""

    def probe(agent):
        return {"points": evaluate(agent, TIC_TAC_TOE, "random", games=200).score}

    given = {"budget_turns": 20_000, "probe_points": 1}
    trained(tmp_path, "maskable_ppo", TIC_TAC_TOE, hook=probe, **given)
    start, end = (m["points"] for m in RunFolder(tmp_path).read_metrics() if "points" in m)
    assert end > start + 0.1
    assert end > 0.6


def test_self_play_comes_closer_to_equilibrium(tmp_path):
    """Kuhn poker; measured 0.46 at the start (random play 0.458) and 0.2 to 0.27 at the end."""
    agent, _ = trained(tmp_path, "maskable_ppo", budget_turns=6_000, probe_points=1)
    assert exploitability(agent, KUHN).exploitability < 0.35


@pytest.mark.parametrize(
    ("algo", "settings"),
    [("ppo", PPOSettings()), ("dqn", DQNSettings(learning_starts=200, learning_rate=2e-3))],
)
def test_the_others_learn_a_best_response(algo, settings, tmp_path):
    """Who always checks and folds loses a chip to every bet, whatever the cards."""
    given = {"budget_turns": 4_000, "opponents": "first_legal", "settings": settings}
    agent, _ = trained(tmp_path, algo, **given)
    assert evaluate(agent, KUHN, "first_legal", games=100).value > 0.9
