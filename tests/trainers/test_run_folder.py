import errno
import json
import os
from dataclasses import replace

import pytest

from coevo.envs.core.config import plain
from coevo.envs.core.episode import Episode, Turn, read_episodes
from coevo.envs.core.errors import DataError
from coevo.envs.core.parsing import Status
from coevo.trainers import files, loggers, run_state
from coevo.trainers.files import StorageError, replace_text, storage, write_json
from coevo.trainers.run_folder import RunFolder
from coevo.trainers.tail import Tail


def spoken(text="[bet]"):
    turn = Turn("a", (), text, None, Status.LEGAL, None)
    return Episode("coevo/some-v0", 1, {"prompt_style": "terse"}, ("a",), turns=[turn])


def test_a_run_is_created_once_and_read_back(config, folder):
    made = folder(config())
    assert plain(made.config()) == plain(config()) and made.checkpoints.is_dir()
    with pytest.raises(DataError, match="holds a run already; continue it with --resume"):
        made.create(config())


def test_a_folder_without_a_run_says_so(tmp_path):
    with pytest.raises(DataError, match=r"not a run folder: it has no config\.yaml"):
        RunFolder(tmp_path).config()


def test_resuming_drops_what_will_be_repeated(config, folder):
    made = folder(config())
    for step in range(1, 6):
        made.log(step, {"return": step / 10}, [spoken(f"turn {step}")])
    made.truncate(3)
    assert [line["step"] for line in made.read_metrics()] == [1, 2, 3]
    kept = list(read_episodes(made.episodes))
    assert [e.turns[0].text for e in kept] == ["turn 1", "turn 2", "turn 3"]
    assert kept[0].options == {"prompt_style": "terse"} and kept[0].outcome["step"] == 1
    made.truncate(0)
    assert made.read_metrics() == [] and list(read_episodes(made.episodes)) == []


@pytest.mark.parametrize("text", ["é" * 5, "\u2028 \x85 \x0c end", "‹", "\ud83d", "a\nb\r\nc"])
@pytest.mark.parametrize("cut", range(1, 12))
def test_a_line_that_a_kill_cut_anywhere_is_dropped_and_the_rest_kept(config, folder, text, cut):
    made = folder(config())
    made.log(1, {"x": 1.0}, [spoken(text)])
    made.log(2, {"x": 2.0}, [spoken(text)])
    torn = made.episodes.read_bytes()
    made.episodes.write_bytes(torn[:-cut])
    made.metrics.write_bytes(made.metrics.read_bytes()[:-cut])
    made.truncate(2)
    made.log(3, {"x": 3.0}, [spoken(text)])
    steps = [1, 2, 3] if cut == 1 else [1, 3]
    assert [line["step"] for line in made.read_metrics()] == steps
    episodes = list(read_episodes(made.episodes))
    assert [e.outcome["step"] for e in episodes] == steps
    assert all(e.turns[0].text == text for e in episodes)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "summary.json"
    replace_text(path, "old")
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(StorageError, match=r"the disk is full.*go on"), storage(path):
        replace_text(path, "new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["metrics", "episodes"])
def test_a_disk_that_refuses_a_log_is_said_to(config, folder, name):
    made = folder(config())
    getattr(made, name).mkdir()  # as good as a disk that is full
    with pytest.raises(StorageError, match=rf"cannot write .*{name}\.jsonl"):
        made.log(1, {"x": 1.0}, [spoken()])


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_results_are_written_as_json(config, folder):
    made = folder(config())
    write_json(made.summary, {"before": {"forfeit_rate": 0.5}})
    assert json.loads(made.summary.read_text()) == {"before": {"forfeit_rate": 0.5}}


def test_logging_does_not_change_the_options_of_an_episode(config, folder):
    episode = spoken()
    before = replace(episode)
    folder(config()).log(7, {}, [episode])
    assert episode.options == before.options


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_or_a_folder_in_the_place_of_a_file_is_one_line(config, folder, make):
    made = folder(config())
    made.log(1, {"x": 1.0}, [spoken()])
    for path in (made.metrics, made.path / "progress.json", made.path / "loggers.json"):
        path.unlink(missing_ok=True)
        make(path)
    for read in (made.read_metrics, lambda: made.truncate(1), Tail(made.metrics).read):
        with pytest.raises(DataError, match=r"cannot read .*metrics\.jsonl: it is not a file"):
            read()
    with pytest.raises(DataError, match="not a file"):
        run_state.recorded(made.path)
    assert loggers.recorded(made) == ()
    made.metrics.rmdir() if made.metrics.is_dir() else made.metrics.unlink()
    made.seal(1)
    made.episodes.unlink()
    make(made.episodes)
    with pytest.raises(DataError, match=r"cannot read .*episodes\.jsonl: it is not a file"):
        made.truncate(1)
