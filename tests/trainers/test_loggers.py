import shutil
import sys
from types import ModuleType

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from coevo.envs.core.episode import Episode, Turn
from coevo.envs.core.errors import ConfigError, MissingExtraError, UnknownNameError
from coevo.envs.core.parsing import Status
from coevo.trainers.loggers import LoggerError, Loggers, read_names, recorded
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.trackers import flat, scalars

STATUS = {None: 0, RuntimeError: 1, KeyboardInterrupt: 130}


class FakeRun:
    """What a tracker keeps of one run: a list of (numbers, step)."""

    offline = True
    url = None

    def __init__(self, module):
        self.module = module

    def log(self, values, step):
        if self.module.broken:
            raise ConnectionError("no\nroute")
        self.module.points.append((step, values))

    def finish(self, **given):
        self.module.finished.append(given)


class FakeTracker(ModuleType):
    """Stands for wandb or trackio: notes every call."""

    def __init__(self, name):
        super().__init__(name)
        self.__file__ = f"{name}/__init__.py"
        self.started, self.points, self.finished = [], [], []
        self.broken = self.closed = False

    def init(self, **given):
        if self.closed:
            raise PermissionError("no key")
        self.started.append(given)
        self.run = FakeRun(self)
        return self.run

    def log(self, values, step):
        self.run.log(values, step)

    def finish(self):
        self.run.finish()

    @property
    def steps(self):
        return [step for step, _ in self.points]


@pytest.fixture(params=["wandb", "trackio"])
def tracker(request, monkeypatch):
    """Pretend that one of the trackers is installed."""
    module = FakeTracker(request.param)
    monkeypatch.setitem(sys.modules, request.param, module)
    return module


@pytest.fixture
def run(config, folder):
    """Return the folder of a run that has begun."""
    return folder(config())


def spoken(text):
    turn = Turn("player_0", (), text, "bet", Status.LEGAL, None)
    return Episode("coevo/kuhn_poker-v0", 1, {}, ("player_0",), turns=[turn])


def tell(episode):
    return ["told:", f"  {episode.turns[0].text}"]


def log(run, *steps, factor=1.0):
    """Log updates as the loop does."""
    for step in steps:
        values = {"return/player_0": factor * step, "entropy": 0.5, "total_seconds": 2.0 * step}
        run.log(step, values, [spoken(f"play {step}"), spoken("another")] if step % 2 else ())


def save(run, step):
    """Leave what stands for a finished checkpoint."""
    made = run.checkpoints / f"step_{step:06d}"
    made.mkdir()
    (made / "manifest.json").write_text("{}")


def follow(run, names, said=None):
    said = [] if said is None else said
    loggers = Loggers(names, run, run.config(), elapsed=0.0, tell=tell, say=said.append)
    return loggers


def events(run):
    found = EventAccumulator(str(run.path / "tensorboard"), {"scalars": 0, "tensors": 0})
    return found.Reload()


def points(run, name="return/player_0"):
    return [(e.step, e.value) for e in events(run).Scalars(name)]


# ---- names -----------------------------------------------------------------------------------


def test_names_are_read():
    assert read_names(" tensorboard") == ("tensorboard",)
    assert read_names("none") == ()
    with pytest.raises(ConfigError, match="names 'tensorboard' twice"):
        read_names("tensorboard, tensorboard")


@pytest.mark.parametrize("text", ["tensorbord", "", "none,tensorboard", "tensorboard,"])
def test_unknown_names_get_the_near_ones(text):
    with pytest.raises(UnknownNameError, match="unknown logger") as caught:
        read_names(text)
    assert "tensorboard" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("tensorboard", r"pip install -c constraints.txt -e '\.\[log\]'"),
        ("wandb", "pip install wandb$"),
        ("trackio", "pip install trackio$"),
    ],
)
def test_a_missing_package_is_named_with_its_remedy(name, how, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"'{name}', which is not installed: {how}"):
        read_names(name)


def test_a_folder_of_that_name_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "wandb").mkdir()  # wandb itself leaves such folders
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    with pytest.raises(MissingExtraError, match="'wandb'"):
        read_names("wandb")
    sys.modules.pop("wandb", None)


def test_what_a_package_lacks_itself_is_not_hidden(tmp_path, monkeypatch):
    (tmp_path / "trackio.py").write_text("import surely_not_installed")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="surely_not_installed"):
        read_names("trackio")


# ---- TensorBoard -----------------------------------------------------------------------------


def test_tensorboard_holds_every_point_under_a_heading(run):
    with follow(run, ["tensorboard"]) as loggers:
        for step in (1, 2, 3):
            log(run, step)
            loggers.catch_up()
            assert points(run) == [(s, float(s)) for s in range(1, step + 1)]
    found = events(run)
    assert sorted(found.Tags()["scalars"]) == [
        "learner/entropy",
        "return/player_0",
        "run/total_seconds",
    ]
    clock = [e.wall_time for e in found.Scalars("learner/entropy")]
    assert clock[1] - clock[0] == clock[2] - clock[1] == pytest.approx(2.0)


def test_tensorboard_shows_configuration_and_plays_as_text(run):
    with follow(run, ["tensorboard"]):
        log(run, 1, 2, 3)
    found = events(run)
    config = found.Tensors("config")[0].tensor_proto.string_val[0].decode()
    assert "    env: coevo/kuhn_poker-v0\n" in config
    plays = found.Tensors("play")
    told = [(p.step, p.tensor_proto.string_val[0].decode()) for p in plays]
    assert told == [(1, "    told:\n      play 1"), (3, "    told:\n      play 3")]
    assert "_hparams_/session_start_info" in found.Tags()["tensors"]


def test_a_resumed_run_has_each_point_once_and_no_stale_ones(run):
    with follow(run, ["tensorboard"]):
        log(run, 1, 2, 3, 4, 5)
    run.truncate(2)
    with follow(run, ["tensorboard"]):
        log(run, 3, 4, factor=10.0)
    assert points(run) == [(1, 1.0), (2, 2.0), (3, 30.0), (4, 40.0)]
    assert [p.step for p in events(run).Tensors("play")] == [1, 3]
    assert len(list((run.path / "tensorboard").iterdir())) == 1


def test_a_logger_that_comes_later_gets_everything(run):
    with follow(run, []):
        log(run, 1, 2)
    with follow(run, ["tensorboard"]):
        log(run, 3)
    assert points(run) == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_a_broken_line_of_plays_is_passed_over(run):
    with follow(run, ["tensorboard"]):
        log(run, 1)
        with run.episodes.open("a") as file:
            file.write("broken\n")
        log(run, 3)
    assert [p.step for p in events(run).Tensors("play")] == [1, 3]


# ---- wandb and trackio -----------------------------------------------------------------------


def test_a_tracker_is_told_the_run_its_configuration_and_its_end(run, tracker, monkeypatch):
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    with follow(run, [tracker.__name__]) as loggers:
        log(run, 1)
        save(run, 1)
    (started,) = tracker.started
    assert started["project"] == "coevo" and started["resume"] == "allow"
    assert started["config"] == flat(run.config())
    assert started["config"]["env"] == "coevo/kuhn_poker-v0"
    assert "mode" not in started  # so that WANDB_MODE decides
    wanted = {"return/player_0": 1.0, "learner/entropy": 0.5, "run/total_seconds": 2.0}
    assert tracker.points == [(1, wanted)]
    assert tracker.finished == [{"exit_code": 0} if tracker.__name__ == "wandb" else {}]
    assert started.get("id", started["name"].rpartition("-")[2]) in loggers.places[0]
    if tracker.__name__ == "wandb":
        assert (started["name"], started["dir"]) == ("run", str(run.path))
        assert "wandb sync" in loggers.places[0]


def test_projects_are_named_by_the_surroundings(run, tracker, monkeypatch):
    monkeypatch.setenv(f"{tracker.__name__.upper()}_PROJECT", "mine")
    with follow(run, [tracker.__name__]):
        pass
    assert tracker.started[0]["project"] == "mine"


@pytest.mark.parametrize("kind", STATUS)
def test_a_tracker_learns_how_the_run_ended(run, kind, monkeypatch):
    tracker = FakeTracker("wandb")
    monkeypatch.setitem(sys.modules, "wandb", tracker)
    try:
        with follow(run, ["wandb"]):
            if kind is not None:
                raise kind
    except (RuntimeError, KeyboardInterrupt):
        pass
    assert tracker.finished == [{"exit_code": STATUS[kind]}]


def test_a_tracker_is_told_what_a_checkpoint_has_kept(run, tracker):
    with follow(run, [tracker.__name__]) as loggers:
        for step in range(1, 6):
            log(run, step)
            if step % 2 == 0:
                save(run, step)
            loggers.catch_up()
            assert tracker.steps == list(range(1, step + 1 - step % 2))
        save(run, 5)
    assert tracker.steps == [1, 2, 3, 4, 5]


def test_a_killed_run_goes_on_in_a_tracker_without_a_gap_or_a_double(run, tracker):
    killed = follow(run, [tracker.__name__])
    killed.__enter__()
    log(run, 1, 2, 3)
    save(run, 2)
    killed.catch_up()  # and nothing else: no end was reached
    assert tracker.steps == [1, 2]
    run.truncate(2)
    with follow(run, [tracker.__name__]):
        log(run, 3, 4, factor=10.0)
        save(run, 4)
    assert [(s, v["return/player_0"]) for s, v in tracker.points] == [
        (1, 1.0),
        (2, 2.0),
        (3, 30.0),
        (4, 40.0),
    ]
    first, second = tracker.started
    assert first == second
    assert recorded(run) == (tracker.__name__,)


@pytest.mark.parametrize("how", ["set back", "copied", "note lost"])
def test_what_a_tracker_cannot_take_back_gets_a_new_name(run, tracker, how, tmp_path):
    with follow(run, [tracker.__name__]):
        log(run, 1, 2)
        save(run, 2)
    tracker.points.clear()
    if how == "set back":
        shutil.rmtree(run.checkpoints / "step_000002")
        save(run, 1)
        run.truncate(1)
    elif how == "copied":
        run = RunFolder(run.path.rename(tmp_path / "other"))
    else:
        (run.path / "loggers.json").write_text('{"wandb": 3')
    kept = len(run.read_metrics())
    with follow(run, [tracker.__name__]):
        log(run, 5)
        save(run, 5)
    first, second = (s.get("id", s["name"]) for s in tracker.started)
    assert first != second
    assert tracker.steps == [*range(1, kept + 1), 5]


# ---- failures --------------------------------------------------------------------------------


def test_a_tracker_that_refuses_to_start_says_so_before_anything_is_trained(run, tracker):
    tracker.closed = True
    with pytest.raises(LoggerError, match=r"PermissionError: no key.*--log none") as caught:
        follow(run, ["tensorboard", tracker.__name__]).__enter__()
    assert tracker.__name__ in str(caught.value)


def test_a_logger_that_fails_on_the_way_is_left_out_and_the_others_go_on(run, tracker):
    said = []
    with follow(run, [tracker.__name__, "tensorboard"], said) as loggers:
        log(run, 1)
        save(run, 1)
        tracker.broken = True
        loggers.catch_up()
        log(run, 2)
    assert len(said) == 1
    assert said[0].startswith(f"{tracker.__name__} is left out from here on: ConnectionError: no")
    assert "\n" not in said[0]
    assert points(run) == [(1, 1.0), (2, 2.0)]


def test_without_loggers_nothing_is_written(run):
    before = sorted(p.name for p in run.path.iterdir())
    with follow(run, []) as loggers:
        assert loggers.places == []
        loggers.catch_up()
    assert sorted(p.name for p in run.path.iterdir()) == before
    assert recorded(run) == ()


def test_turning_loggers_off_is_remembered(run):
    with follow(run, ["tensorboard"]):
        pass
    assert recorded(run) == ("tensorboard",)
    with follow(run, []):
        pass
    assert recorded(run) == ()


# ---- numbers ---------------------------------------------------------------------------------


def test_only_numbers_are_shown():
    line = {"step": 1, "name": "x", "list": [1], "none": None, "on": True, "tokens": 3}
    assert scalars(line) == {"learner/on": 1.0, "run/tokens": 3.0}


def test_a_configuration_is_flat_and_simple(config):
    found = flat(config())
    assert found["algorithm.collect.episodes"] == 8
    assert found["env_options.prompt_style"] == "terse"
    assert "budget_tokens" not in found
    assert all(isinstance(v, bool | int | float | str) for v in found.values())
