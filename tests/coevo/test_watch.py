"""`coevo watch`: what it shows of runs and comparisons as their files grow."""

import fcntl
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from coevo.commands import watch
from coevo.commands.watch_comparison import ComparisonView
from coevo.commands.watch_run import RunView
from coevo.envs.core.episode import Episode, StopReason, Turn, write_episodes
from coevo.envs.core.errors import DataError
from coevo.envs.core.parsing import Status

KUHN = "coevo/kuhn_poker-v0"


class GrowingRun:
    """A run folder that the test writes as training would."""

    def __init__(self, path: Path, **limits):
        self.path, self.tokens = path, 0
        path.mkdir(parents=True)
        config = {"algorithm": {"name": "mars"}, "env": KUHN, "seed": 3, **limits}
        (path / "config.yaml").write_text(yaml.safe_dump(config))

    def log(self, *steps, **values):
        for step in steps:
            self.tokens += 100
            line = {
                "step": step,
                "return/player_0": step / 100,
                "return/player_1": -step / 100,
                "entropy": 1 / step,
                "approx_kl": 0.0,
                "magnet": 0.25,
                "forfeit_rate": 0.125,
                "tokens_per_second": 2000.0,
                "seconds": 0.5,
                "seconds/collect": 0.25,
                "total_seconds": step / 2,
                "total_tokens": self.tokens,
                **values,
            }
            with (self.path / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")

    def record(self, step, *texts):
        turns = [
            Turn(
                "player_0",
                ({"role": "user", "content": "Card: king"},),
                t,
                "bet",
                Status.LEGAL,
                ("bet",),
                {"payoff": {"player_0": 2.0, "player_1": -2.0}},
            )
            for t in texts
        ]
        agents = ("player_0", "player_1")
        episode = Episode(KUHN, 1, {}, agents, turns=turns, stop=StopReason.FINISHED)
        episode.outcome["step"] = step
        write_episodes(self.path / "episodes.jsonl", [episode])

    def end(self, **summary):
        (self.path / "summary.json").write_text(json.dumps(summary))


def text_of(view):
    """Return what a view shows as plain text."""
    file = io.StringIO()
    Console(file=file, width=120, markup=False, highlight=False, emoji=False).print(view.render())
    return file.getvalue()


def words(shown, name):
    """Return the words of the line that begins with a name."""
    return next(line.split()[1:] for line in shown.splitlines() if line.split()[:1] == [name])


@pytest.fixture
def run(tmp_path):
    return GrowingRun(tmp_path / "run", steps=10, budget_tokens=2000)


def test_a_run_is_shown_with_limits_metrics_and_episodes(run):
    run.log(1, 2, 3, 4)
    run.log(5, exploitability=0.5)
    run.record(5, "I am sure. [bet]")
    shown = text_of(RunView(run.path))
    for part in ("mars", KUHN, "seed 3", "training", "5 of 10", "500 of 2,000", "2,000"):
        assert part in shown
    assert words(shown, "return/player_0") == ["0.050", "0.010", "0.050"]
    assert words(shown, "exploitability") == ["0.500"] * 3
    assert words(shown, "forfeit_rate")[:2] == ["12.5", "%"]
    assert "Card: king" in shown
    assert "I am sure. [bet]" in shown
    assert "player_0 wins (player_0 +2, player_1 -2)" in shown


def test_what_is_appended_is_seen_and_a_torn_line_waits(run):
    run.log(1, 2)
    view = RunView(run.path)
    for name, torn in (("metrics", '{"step": 3, "return/pl'), ("episodes", '{"schema": 1, "en')):
        with (run.path / f"{name}.jsonl").open("a") as file:
            file.write(torn)
    view.refresh()
    assert view.latest["step"] == 2
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('ayer_0": 1.0, "total_tokens": 300}\n')
    view.refresh()
    assert view.latest["step"] == 3
    assert view.latest["return/player_0"] == 1.0


def test_a_run_that_was_cut_back_shows_nothing_stale(run):
    run.log(1, 2, 3, 4, exploitability=0.5)
    run.record(4, "stale [bet]")
    view = RunView(run.path)
    for name in ("metrics", "episodes"):
        (run.path / f"{name}.jsonl").write_text("")
    run.log(1, 2)
    view.refresh()
    assert [line["step"] for line in view.lines] == [1, 2]
    assert "exploitability" not in text_of(view)
    assert "stale" not in text_of(view)


def test_only_the_newest_episodes_are_shown_and_they_cannot_steer_the_terminal(run):
    run.log(1, 2)
    run.record(1, "old [bet]")
    run.record(2, "\x1b[2J\x1b]0;owned\x07[bet]")
    shown = text_of(RunView(run.path))
    assert "old" not in shown
    assert "owned" in shown
    assert not set(shown) & {"\x1b", "\x07"}


def test_how_a_run_ends(run):
    view = RunView(run.path)
    states = [(view.state, view.finished)]
    run.log(*range(1, 10))
    view.refresh()
    states.append((view.state, view.finished))
    run.end(before={"x": 1})
    run.log(10)
    view.refresh()
    states.append((view.state, view.finished))
    run.end(before={"x": 1}, after={"x": 2}, steps=10)
    view.refresh()
    states.append((view.state, view.finished))
    assert [ended for _, ended in states] == [False, False, False, True]
    assert len({state for state, _ in states}) == 4
    config = yaml.safe_load((run.path / "config.yaml").read_text())
    (run.path / "config.yaml").write_text(yaml.safe_dump(config | {"steps": 20}))
    view.refresh()
    assert not view.finished  # it was resumed


def test_a_run_of_a_comparison_ends_with_its_result(run):
    run.log(1)
    (run.path / "result.json").write_text('{"status": "failed", "reason": "no room"}')
    view = RunView(run.path)
    assert view.finished
    assert "no room" in text_of(view)


def test_a_run_that_fell_silent_says_how_to_go_on(run):
    run.log(1, 2)
    assert "--resume" not in text_of(RunView(run.path))
    for path in run.path.iterdir():
        os.utime(path, (0, 0))
    assert "--resume" in RunView(run.path).line()


def test_a_broken_configuration_is_one_clear_error(run):
    (run.path / "config.yaml").write_text("a: [b")
    with pytest.raises(DataError, match=r"config\.yaml"):
        RunView(run.path)


# ---- Comparisons -----------------------------------------------------------------------------


class GrowingComparison:
    """The folder of a comparison that the test fills as workers would."""

    def __init__(self, path: Path, seeds=3, algorithms=("mars", "grpo")):
        self.path, self._held = path, []
        path.mkdir()
        self.manifest = {
            "kind": "comparison",
            "algorithms": list(algorithms),
            "environments": [KUHN],
            "seeds": list(range(seeds)),
            "budgets": {KUHN: {"tokens": 1000, "turns": None}},
            "metrics": {KUHN: {"metric": "exploitability"}},
        }
        (path / "manifest.json").write_text(json.dumps(self.manifest))

    def folder(self, algorithm, seed):
        return self.path / "runs" / "kuhn_poker" / algorithm / str(seed)

    def start(self, algorithm, seed, tokens=0, *, locked=True):
        folder = self.folder(algorithm, seed)
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text("seed: 0\n")
        line = {"step": 4, "total_tokens": tokens, "tokens_per_second": 50.0}
        (folder / "metrics.jsonl").write_text(json.dumps(line) + "\n")
        (folder / ".lock").touch()
        if locked:
            self._held.append((folder / ".lock").open())
            fcntl.flock(self._held[-1], fcntl.LOCK_EX)

    def end(self, algorithm, seed, took=100.0, status="done", reason=""):
        folder = self.folder(algorithm, seed)
        if not folder.exists():
            self.start(algorithm, seed, 1000, locked=False)
        value = 0.25 if status == "done" else None
        result = {"status": status, "reason": reason, "value": value, "seconds": took}
        (folder / "result.json").write_text(json.dumps(result))

    def close(self):
        for file in self._held:
            file.close()


@pytest.fixture
def comparison(tmp_path):
    made = GrowingComparison(tmp_path / "comparison")
    yield made
    made.close()


def test_every_run_is_shown_as_what_it_is(comparison):
    comparison.end("mars", 0)
    comparison.start("mars", 1, 450)
    comparison.start("mars", 2, 250, locked=False)
    comparison.end("grpo", 0, status="failed", reason="out of memory")
    view = ComparisonView(comparison.path)
    states = {(r.algorithm, r.seed): view.states[r.path] for r in view.runs}
    assert [states["mars", s] for s in range(3)] == ["done", "running", "stopped"]
    assert [states["grpo", s] for s in range(3)] == ["failed", "waiting", "waiting"]
    assert [view.share_done(r) for r in view.runs] == [1.0, 0.45, 0.25, 1.0, 0.0, 0.0]
    shown = text_of(view)
    for part in ("kuhn_poker (exploitability)", "0.25", "45%", "update 4", "50 tokens/s"):
        assert part in shown
    assert "grpo on kuhn_poker, seed 0: out of memory" in shown
    assert not view.finished


def test_a_run_that_moves_on_is_followed(comparison):
    comparison.start("mars", 1, 450)
    view = ComparisonView(comparison.path)
    with (comparison.folder("mars", 1) / "metrics.jsonl").open("a") as file:
        file.write('{"step": 5, "total_tokens": 500}\n{"step": 6, "total_to')
    view.refresh()
    assert view.share_done(view.runs[1]) == 0.5
    comparison.end("mars", 1)
    view.refresh()
    assert view.states[comparison.folder("mars", 1)] == "done"
    (comparison.folder("mars", 1) / "result.json").unlink()  # as --retry does
    view.refresh()
    assert view.share_done(view.runs[1]) == 0.5


def test_looking_takes_no_lock_away(comparison):
    comparison.start("mars", 0, locked=False)
    ComparisonView(comparison.path)
    with (comparison.folder("mars", 0) / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_time_left_is_expected_from_runs_that_are_done(comparison):
    comparison.start("mars", 1, 500)
    assert "about ? left" in ComparisonView(comparison.path).state
    comparison.end("mars", 0, took=100)
    assert "about 7:30 left" in ComparisonView(comparison.path).state  # 0.5 + 4 runs of 100 s


def test_a_comparison_that_nobody_runs_says_how_to_go_on(comparison):
    comparison.start("mars", 0, 100, locked=False)
    assert f"coevo compare --out {comparison.path}" in ComparisonView(comparison.path).line()


def test_a_comparison_is_finished_when_its_tables_are_written(comparison):
    for algorithm in ("mars", "grpo"):
        for seed in range(3):
            comparison.end(algorithm, seed)
    view = ComparisonView(comparison.path)
    assert not view.finished
    (comparison.path / "comparison.json").write_text('{"headline": ["mars is not separated."]}')
    view.refresh()
    assert view.finished
    assert "mars is not separated." in text_of(view)


# ---- The command -----------------------------------------------------------------------------


def test_once_prints_without_colours_and_ends(cli, finished, comparison):
    comparison.end("mars", 0)
    for path, part in ((finished.path, "3 of 3"), (comparison.path, "1 done")):
        done = cli("watch", path, "--once")
        assert done.status == 0, done.err
        assert part in done.out
        assert "\x1b" not in done.out


def test_a_finished_run_ends_the_watch(cli, finished):
    done = cli("watch", finished.path)
    assert done.status == 0, done.err
    assert done.out.startswith("update 3")
    assert "exploitability" in done.out


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda p: None, "did you mean"),
        (lambda p: p.mkdir(), "expected a run"),
        (lambda p: p.write_text(""), "expected a run"),
        (lambda p: GrowingRun(p / "inner"), "there is one in"),
        (
            lambda p: (
                GrowingComparison(p) and (p / "manifest.json").write_text('{"kind": "tournament"}')
            ),
            "holds a tournament",
        ),
    ],
)
def test_what_cannot_be_watched_is_one_line(cli, tmp_path, make, said):
    (tmp_path / "mine").mkdir()
    make(tmp_path / "min")
    done = cli("watch", tmp_path / "min")
    assert done.status == 2
    assert said.removeprefix("expected ") in done.error_line()


@pytest.mark.parametrize("pace", ["0", "-1", "inf", "nan"])
def test_the_pace_must_be_above_zero_and_finite(cli, finished, pace):
    assert f"--every {pace}" in cli("watch", finished.path, "--every", pace).error_line()


def test_ctrl_c_leaves_with_130_and_without_a_word(run):
    run.log(1)
    command = [sys.executable, "-P", "-m", "coevo", "watch", str(run.path), "--every", "0.1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("update 1")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")


def test_in_a_terminal_what_was_shown_last_stays(run, monkeypatch, capsys):
    run.log(1)
    seen = []

    def sleep(seconds):
        seen.append(seconds)
        run.log(*range(2, 11))

    monkeypatch.setattr(watch.time, "sleep", sleep)
    monkeypatch.setattr(watch.Screen, "is_terminal", property(lambda self: True))
    monkeypatch.setenv("TERM", "xterm-256color")
    assert watch.run(watch.Watch(folder=str(run.path))) == 0
    out = capsys.readouterr().out
    entered, left = out.index("\x1b[?1049h"), out.index("\x1b[?1049l")
    assert "Ctrl-C leaves" in out[entered:left]
    assert "10 of 10" in out[left:]
    assert "Ctrl-C leaves" not in out[left:]
    assert seen == [1.0]


def test_watching_is_light():
    code = "import coevo.commands.watch, sys; print({'torch', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
