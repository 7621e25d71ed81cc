"""`coevo watch`: what it shows of runs and comparisons as their files grow."""

import fcntl
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from coevo.benchmarks.metrics import MEASURES
from coevo.commands import watch
from coevo.commands.sparkline import MEASURED, PLAIN_LEVELS, sparkline
from coevo.commands.watch_cells import Durations
from coevo.commands.watch_comparison import ComparisonView
from coevo.commands.watch_run import RunView, Size
from coevo.envs.core.episode import Episode, Stop, Turn, write_episodes
from coevo.envs.core.errors import DataError
from coevo.envs.core.parsing import Status

KUHN, LEDUC = "coevo/kuhn_poker-v0", "coevo/leduc_poker-v0"
BEGAN = 1_700_000_000.0


# ---- Runs that grow by hand ------------------------------------------------------------------


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
                "seconds/play": 0.25,
                "total_seconds": step / 2,
                "total_tokens": self.tokens,
                **values,
            }
            with (self.path / "metrics.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")

    def play(self, step, *texts):
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
        episode = Episode(KUHN, 1, {}, agents, turns=turns, stop=Stop.FINISHED)
        episode.outcome["step"] = step
        write_episodes(self.path / "episodes.jsonl", [episode])

    def end(self, **summary):
        (self.path / "summary.json").write_text(json.dumps(summary))


def text_of(view, width=100, height=None, **size):
    """Draw a view as plain text."""
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, highlight=False, emoji=False)
    console.print(view.render(Size(width, height, **size)))
    return file.getvalue()


@pytest.fixture
def run(tmp_path):
    return GrowingRun(tmp_path / "run", steps=10, budget_tokens=2000)


def test_a_run_is_shown_with_limits_rates_curves_and_plays(run):
    run.log(1, 2, 3, 4)
    run.log(5, exploitability=0.5)
    run.play(5, "I am sure. [bet]")
    shown = text_of(RunView(run.path))
    assert shown.startswith(f"mars on {KUHN}, seed 3\ntraining\n")
    assert " 50%  5 of 10\n" in shown
    assert " 25%  500 of 2,000\n" in shown
    assert "2,000 tokens/s | 0.5 s per update | 50.0 % of it playing | 0:02 so far | 0:02 left" in (
        shown
    )
    rows = {line.split()[0]: line for line in shown.splitlines() if "  " in line}
    assert rows["return/player_0"].split()[1:] == ["0.050", "0.010", "..", "0.050", "▁▃▄▆█"]
    assert rows["return/player_1"].split()[1:3] == ["-0.050", "-0.050"]
    assert rows["return/player_1"].split()[-1] == "█▆▅▃▁"
    assert rows["exploitability"].split()[1] == "0.500"
    assert rows["forfeit_rate"].split()[1:3] == ["12.5", "%"]
    assert rows["magnet"].split()[1] == "0.250"
    assert "approx_kl" not in rows
    assert "player_0 reads: Card: king" in shown
    assert 'says "I am sure. [bet]": plays bet' in shown
    assert "player_0 wins (player_0 +2, player_1 -2)" in shown


def test_without_another_distance_the_step_of_the_policy_is_drawn(run):
    run.log(1, magnet=None)
    shown = text_of(RunView(run.path))
    assert "approx_kl" in shown
    assert "magnet" not in shown


def test_what_is_appended_is_seen_and_a_torn_line_waits(run):
    run.log(1, 2)
    view = RunView(run.path)
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "return/pl')
    with (run.path / "episodes.jsonl").open("a") as file:
        file.write('{"schema": 1, "en')
    view.refresh()
    assert view.step == 2
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('ayer_0": 1.0, "total_tokens": 300}\n')
    view.refresh()
    assert view.step == 3
    assert view.latest["return/player_0"] == 1.0
    assert "  3 of 10" in text_of(view)


def test_a_run_that_was_cut_back_shows_no_stale_points(run):
    run.log(1, 2, 3, 4, exploitability=0.5)
    run.play(4, "stale [bet]")
    view = RunView(run.path)
    for name in ("metrics", "episodes"):
        (run.path / f"{name}.jsonl").write_text("")
    run.log(1, 2)
    view.refresh()
    assert [line["step"] for line in view.lines] == [1, 2]
    shown = text_of(view)
    assert "exploitability" not in shown
    assert "stale" not in shown


def test_only_plays_of_the_newest_probe_are_told(run):
    run.log(1, 2)
    run.play(1, "old [bet]")
    run.play(2, "first [bet]")
    run.play(2, "second [bet]", "third [bet]")
    shown = text_of(RunView(run.path))
    assert "old" not in shown
    assert shown.index("second") < shown.index("first")


def test_text_of_agents_cannot_steer_the_terminal(run):
    run.log(1)
    run.play(1, "\x1b[2J\x1b]0;owned\x07[bet]")
    assert "\x1b" not in text_of(RunView(run.path))
    assert "\x07" not in text_of(RunView(run.path))


@pytest.mark.parametrize("height", [3, 8, 14, 20, 30])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_picture_fits_the_terminal(run, width, height):
    run.log(*range(1, 10))
    for k in range(4):
        run.play(9, *(f"play {k} turn {t} " + "x" * 300 for t in range(3)))
    lines = text_of(RunView(run.path), width, height).splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) <= max(height, 13)
    if height == 30:
        assert "player_0 wins" in "\n".join(lines)


def test_terminals_that_know_only_ascii_get_ascii_curves(run):
    run.log(*range(1, 10))
    shown = text_of(RunView(run.path), levels=PLAIN_LEVELS)
    (line,) = [x for x in shown.splitlines() if x.startswith("return/player_0")]
    assert line.isascii()


def test_how_a_run_ends(run):
    view = RunView(run.path)
    assert not view.finished
    assert view.state == "making the first plays"
    run.log(*range(1, 10))
    view.refresh()
    assert (view.state, view.finished) == ("training", False)
    run.end(before={"x": 1}, command="coevo train ...")
    run.log(10)
    view.refresh()
    assert (view.state, view.finished) == ("measuring the trained model", False)
    run.end(before={"x": 1}, after={"x": 2}, steps=10)
    view.refresh()
    assert (view.state, view.finished) == ("finished", True)


def test_a_finished_run_that_is_resumed_is_not_finished(run):
    run.log(*range(1, 11))
    run.end(steps=10)
    view = RunView(run.path)
    assert view.finished
    config = yaml.safe_load((run.path / "config.yaml").read_text())
    (run.path / "config.yaml").write_text(yaml.safe_dump(config | {"steps": 20}))
    view.refresh()
    assert not view.finished


def test_a_run_without_the_command_line_ends_with_its_limit(run):
    run.log(*range(1, 11))
    assert RunView(run.path).finished


def test_a_cell_ends_with_its_result(run):
    run.log(1)
    (run.path / "cell.json").write_text('{"status": "failed", "reason": "no room"}')
    view = RunView(run.path)
    assert view.finished
    assert view.state == "failed: no room"
    assert "failed: no room" in text_of(view)


def test_a_run_that_fell_silent_says_how_to_go_on(run):
    run.log(1, 2)
    now = time.time()
    assert "no news" not in text_of(RunView(run.path, lambda: now + 20))
    shown = text_of(RunView(run.path, lambda: now + 90), width=200)
    assert f"training? no news for 1:30; continue with: coevo train --resume {run.path}" in shown
    run.log(3, seconds=60.0)  # slow updates may take their time
    assert "no news" not in text_of(RunView(run.path, lambda: now + 90))


def test_a_broken_configuration_is_one_clear_error(run):
    (run.path / "config.yaml").write_text("a: [b")
    with pytest.raises(DataError, match=r"cannot read .*config\.yaml: .*expected"):
        RunView(run.path)


def test_everything_that_probes_measure_is_drawn():
    assert set(MEASURES) <= set(MEASURED)


@pytest.mark.parametrize(
    ("values", "width", "drawn"),
    [
        ([], 5, ""),
        ([1.0], 5, "▁"),
        ([float("nan"), 1.0, 2.0, float("inf")], 5, "▁█"),
        ([0, 10], 1, "▁"),
        (list(range(100)), 8, "▁▂▃▄▅▆▇█"),
        ([-1e9, 0, 1e9], 3, "▁▅█"),
    ],
)
def test_curves_in_one_line(values, width, drawn):
    assert sparkline(values, width) == drawn


# ---- Comparisons -----------------------------------------------------------------------------


class GrowingComparison:
    """The folder of a comparison that the test fills as workers would."""

    def __init__(self, path: Path, seeds=3, environments=(KUHN,), algorithms=("mars", "mars:code")):
        self.path, self._held = path, []
        path.mkdir()
        self.manifest = {
            "kind": "comparison",
            "algorithms": list(algorithms),
            "environments": list(environments),
            "seeds": list(range(seeds)),
            "budgets": {env: {"tokens": 1000, "turns": None} for env in environments},
            "metrics": {env: {"metric": "exploitability"} for env in environments},
        }
        (path / "manifest.json").write_text(json.dumps(self.manifest))

    def folder(self, algorithm, seed, env="kuhn_poker"):
        return self.path / "cells" / env / algorithm.replace(":", "-") / str(seed)

    def start(self, algorithm, seed, tokens=0, *, locked=True, began=BEGAN, **env):
        folder = self.folder(algorithm, seed, **env)
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text("seed: 0\n")
        os.utime(folder / "config.yaml", (began, began))
        line = {"step": 4, "total_tokens": tokens, "tokens_per_second": 50.0}
        (folder / "metrics.jsonl").write_text(json.dumps(line) + "\n")
        (folder / ".lock").touch()
        if locked:
            self._held.append((folder / ".lock").open())
            fcntl.flock(self._held[-1], fcntl.LOCK_EX)

    def end(self, algorithm, seed, took=100.0, began=BEGAN, status="done", reason="", **env):
        folder = self.folder(algorithm, seed, **env)
        if not folder.exists():
            self.start(algorithm, seed, 1000, locked=False, began=began, **env)
        value = 0.25 if status == "done" else None
        result = {"status": status, "reason": reason, "value": value, "seconds": took / 2}
        (folder / "cell.json").write_text(json.dumps(result))
        os.utime(folder / "cell.json", (began + took, began + took))

    def view(self, now=BEGAN):
        return ComparisonView(self.path, self.manifest, lambda: now)

    def close(self):
        for file in self._held:
            file.close()


@pytest.fixture
def comparison(tmp_path):
    made = GrowingComparison(tmp_path / "comparison")
    yield made
    made.close()


def row(shown, algorithm):
    (found,) = [x.split()[1:] for x in shown.splitlines() if x.split()[:1] == [algorithm]]
    return found


def test_every_cell_is_shown_as_what_it_is(comparison):
    comparison.end("mars", 0)
    comparison.start("mars", 1, 450)
    comparison.start("mars", 2, 250, locked=False)
    comparison.end("mars:code", 0, status="failed", reason="out of memory")
    view = comparison.view()
    shown = text_of(view)
    assert row(shown, "mars") == ["✓", "45%", "(25%)", "0.25"]
    assert row(shown, "mars:code") == ["✗", "·", "·", "-"]
    assert "kuhn_poker (exploitability)" in shown
    assert "running: mars on kuhn_poker, seed 1: 45%, update 4, 50 tokens/s" in shown
    assert "failed: mars:code on kuhn_poker, seed 0: out of memory" in shown
    assert "45.0% of 6 cells: 2 waiting, 1 running, 1 stopped, 1 done, 1 failed" in shown
    assert not view.finished


def test_a_cell_that_moves_on_is_followed(comparison):
    comparison.start("mars", 1, 450)
    view = comparison.view()
    with (comparison.folder("mars", 1) / "metrics.jsonl").open("a") as file:
        file.write('{"step": 5, "total_tokens": 500}\n{"step": 6, "total_to')
    view.refresh()
    assert row(text_of(view), "mars")[1] == "50%"
    comparison.end("mars", 1)
    view.refresh()
    assert row(text_of(view), "mars")[1] == "✓"
    (comparison.folder("mars", 1) / "cell.json").unlink()  # as --retry does
    view.refresh()
    assert row(text_of(view), "mars")[1] == "50%"


def test_looking_takes_no_lock_away(comparison):
    comparison.start("mars", 0, locked=False)
    comparison.view()
    with (comparison.folder("mars", 0) / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_time_left_is_expected_from_cells_that_are_done(comparison):
    comparison.end("mars", 0, took=100)
    comparison.end("mars:code", 0, took=300)
    comparison.start("mars", 1, 500)
    view = comparison.view(now=BEGAN + 50)
    # 50 + 100 s of mars, 2 x 300 s of the other, one at a time
    assert view.left() == "12:30"
    comparison.start("mars:code", 1, 0)
    view.refresh()
    assert view.left() == "6:15"  # two at a time


def test_an_interruption_of_one_cell_does_not_spoil_the_estimate(comparison):
    comparison.end("mars", 0, took=100)
    comparison.end("mars", 1, took=100)
    comparison.end("mars", 2, took=90_000)  # lay still overnight
    cells = comparison.view().cells
    durations = Durations(cells.values(), BEGAN)
    assert durations.left(cells[KUHN, "mars:code", 0]) == 100


def test_before_any_cell_is_done_the_running_ones_tell(comparison):
    comparison.start("mars", 0, 50)
    assert comparison.view(now=BEGAN + 10).left() == "?"
    comparison.start("mars", 1, 500)
    view = comparison.view(now=BEGAN + 60)  # half of it took a minute
    assert Durations(view.cells.values(), BEGAN + 60).left(view.cells[KUHN, "mars", 2]) == 120
    assert view.left() == "5:27"  # 0.95 + 0.5 + 4 cells of 120 s, two at a time


def test_a_comparison_that_nobody_runs_says_how_to_go_on(comparison):
    comparison.start("mars", 0, 100, locked=False)
    wanted = f"nothing runs; continue with: coevo compare --out {comparison.path}"
    assert wanted in text_of(comparison.view(), width=200)


def test_a_comparison_is_finished_when_its_tables_are_written(comparison):
    for algorithm in ("mars", "mars:code"):
        for seed in range(3):
            comparison.end(algorithm, seed)
    view = comparison.view()
    assert not view.finished
    assert view.state == "all cells are over; computing the tables"
    (comparison.path / "comparison.json").write_text('{"headline": ["mars is not separated."]}')
    view.refresh()
    assert view.finished
    shown = text_of(view)
    assert "100.0% of 6 cells" in shown
    assert "mars is not separated." in shown


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 20), (100, 15)])
def test_a_grid_without_room_becomes_one_sign_per_cell(tmp_path, width, height):
    made = GrowingComparison(tmp_path / "wide", seeds=20, environments=(KUHN, LEDUC))
    made.start("mars", 0, 500)
    made.end("mars", 1)
    made.end("mars:code", 2, env="leduc_poker", status="failed", reason="no")
    shown = text_of(made.view(), width, height)
    assert row(shown, "mars") == ["▸✓" + "·" * 18, "·" * 20]
    assert row(shown, "mars:code") == ["·" * 20, "··✗" + "·" * 17]
    assert "seed 0: 50%" in shown
    lines = shown.splitlines()
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    made.close()


def test_signs_are_ascii_where_the_terminal_knows_nothing_else(comparison):
    comparison.end("mars", 0)
    assert row(text_of(comparison.view(), levels=PLAIN_LEVELS), "mars") == ["+", ".", ".", "0.25"]


# ---- The command -----------------------------------------------------------------------------


def test_once_prints_and_ends(cli, finished):
    done = cli("watch", finished.path, "--once")
    assert done.status == 0, done.err
    assert done.out.startswith(f"mars on {KUHN}, seed 0\nfinished\n")
    assert "100%  3 of 3" in done.out
    assert "exploitability" in done.out
    assert "\x1b" not in done.out


def test_once_shows_a_comparison(cli, comparison):
    comparison.end("mars", 0)
    done = cli("watch", comparison.path, "--once")
    assert done.status == 0, done.err
    assert row(done.out, "mars") == ["✓", "·", "·", "0.25"]


def test_a_finished_run_ends_the_watch(cli, finished):
    done = cli("watch", finished.path)
    assert done.status == 0, done.err
    assert done.out.startswith("update 3 (100.0 %)")
    assert done.out.count("finished") == 2


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (lambda p: None, "which does not exist yet; there is "),
        (lambda p: p.mkdir(), "nothing to watch: waiting for a run or a comparison to begin"),
        (lambda p: p.write_text(""), "is a file; watch takes the folder of a run or a comparison"),
        (lambda p: GrowingRun(p / "inner"), "is a folder of runs; name one of them: inner"),
        (
            lambda p: (
                GrowingComparison(p) and (p / "manifest.json").write_text('{"kind": "tournament"}')
            ),
            "holds a tournament; watch takes",
        ),
    ],
)
def test_what_cannot_be_watched_is_one_line(cli, tmp_path, make, wanted):
    (tmp_path / "mine").mkdir()
    make(tmp_path / "min")
    done = cli("watch", tmp_path / "min", "--once")
    assert done.status == 2
    assert wanted in done.error_line()


def test_the_pace_must_be_above_zero(cli, finished):
    assert "--every 0 must be above 0" in cli("watch", finished.path, "--every", "0").error_line()


def test_a_watch_may_begin_before_the_run(cli, tmp_path, monkeypatch):
    path, pauses = tmp_path / "later", []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 1:
            path.mkdir()
        elif len(pauses) == 2:
            path.rmdir()
            pauses.append(GrowingRun(path, steps=2))
        else:
            pauses[2].log(len(pauses) - 3)
            monkeypatch.setattr(watch, "LINE_EVERY", 0.0)

    monkeypatch.setattr(watch.time, "sleep", sleep)
    done = cli("watch", path, "--every", "0.5")
    assert done.status == 0, done.err
    assert done.out.startswith(f"waiting for {path}, which does not exist yet\n")
    assert "update 1 (50.0 %)" in done.out
    assert "100%  2 of 2" in done.out
    assert {p for p in pauses if isinstance(p, float)} == {0.5}


def test_ctrl_c_leaves_with_130_and_without_a_word(run):
    run.log(1)
    command = [sys.executable, "-P", "-m", "coevo", "watch", str(run.path), "--every", "0.1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("update 1")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")


def test_in_a_terminal_the_last_picture_stays(run, monkeypatch, capsys):
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
    code = "import coevo.commands.watch, sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
