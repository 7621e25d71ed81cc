import itertools
import json
from collections import Counter
from pathlib import Path

import pytest

from coevo.benchmarks.report.episodes import EpisodeFile, index, outcome, pick, read
from coevo.benchmarks.report.transcripts import LONGEST, for_script, transcript, transcripts


def source(path: Path, algorithm: str = "mars", seed: int = 0) -> EpisodeFile:
    return EpisodeFile(path, path.name, "kuhn_poker", algorithm, seed)


@pytest.fixture
def recorded(make, tmp_path) -> list[EpisodeFile]:
    """Return episodes of two algorithms: one with a single forfeit among 300, one with three."""
    many = [make["episode"](step, step % 2, seed=step) for step in range(1, 301)]
    many[150] = make["episode"](151, 0, stop="forfeit")
    few = [make["episode"](step, 0) for step in (1, 2, 3)]
    make["episodes"](tmp_path / "many.jsonl", many)
    make["episodes"](tmp_path / "few.jsonl", few)
    return [source(tmp_path / "many.jsonl"), source(tmp_path / "few.jsonl", "grpo", 1)]


def test_every_way_to_end_has_a_name(make):
    episode = make["episode"]
    assert outcome(episode(winner=0)) == "player_0 wins"
    assert outcome(episode(winner=1)) == "player_1 wins"
    assert outcome(episode(winner=None)) == "draw"
    assert outcome(episode(stop="forfeit")) == "player_1 forfeits"
    assert outcome(episode(stop="turn_limit")) == "truncated"
    assert outcome(episode(stop="error")) == "error"


@pytest.mark.parametrize("env", ["coevo/tiny_hanabi-v0", "elsewhere/never_registered-v3"])
def test_nobody_wins_where_it_is_no_contest_or_not_known_to_be_one(make, env):
    episode = make["episode"](winner=1)
    episode.env = env
    assert outcome(episode) == "finished"


def test_a_sample_shares_out_by_algorithm_then_outcome_and_spans_all_updates(recorded):
    found = index(recorded)
    chosen = pick(found, 33)
    assert len(chosen) == len(set(chosen)) == 33
    by = Counter((found.sources[e.source].algorithm, e.outcome) for e in chosen)
    assert by["grpo", "player_0 wins"] == 3
    assert by["mars", "player_1 forfeits"] == 1
    assert by["mars", "player_0 wins"] + by["mars", "player_1 wins"] == 29
    assert abs(by["mars", "player_0 wins"] - by["mars", "player_1 wins"]) <= 1
    steps = sorted(e.step for e in chosen if e.outcome == "player_1 wins")
    assert (steps[0], steps[-1]) == (1, 299)
    gaps = {b - a for a, b in itertools.pairwise(steps)}
    assert max(gaps) - min(gaps) <= 4


@pytest.mark.parametrize("most", [0, 1, 5, 1000])
def test_a_sample_is_as_large_as_wanted_or_everything(recorded, most):
    assert len(pick(index(recorded), most)) == min(most, 303)


def test_what_was_picked_is_what_is_read(recorded):
    found = index(recorded)
    for entry, episode in read(found, pick(found, 40)):
        assert (entry.step, entry.outcome) == (episode.outcome["step"], outcome(episode))
        line = found.sources[entry.source].path.read_bytes().splitlines()[entry.line - 1]
        assert json.loads(line) == json.loads(episode.to_json())


def test_torn_and_broken_lines_are_passed_over_and_counted(recorded):
    path = recorded[1].path
    whole = path.read_bytes()
    path.write_bytes(b"not json\n" + whole + b'{"schema": 99}\n' + whole.splitlines()[0][:50])
    found = index(recorded)
    assert found.unreadable == 2
    assert len(found.entries) == 303


def test_no_file_is_no_episodes(tmp_path):
    assert index([source(tmp_path / "absent.jsonl")]).entries == []


def test_messages_that_turns_share_are_written_once(make):
    told = transcript(make["episode"](text="[bet]"))
    first, second = told["turns"]
    assert first["chat"] == [0]
    assert second["chat"] == [0, 1, 2]
    assert [role for role, _ in told["messages"]] == ["user", "assistant", "user"]
    assert first["advantage"] == 0.75
    assert first["rewards"] == {"format": {"player_0": 0.05}}
    assert told["totals"]["payoff"] == {"player_0": 1.0, "player_1": -1.0}


def test_long_texts_are_cut_and_say_by_how_much(make):
    told = transcript(make["episode"](text="x" * 1_000_000))
    assert told["turns"][0]["text"] == ["x" * LONGEST[0], 1_000_000 - LONGEST[0]]


def test_episodes_that_take_too_much_room_lose_text_before_they_are_left_out(make, tmp_path):
    make["episodes"](
        tmp_path / "p.jsonl", [make["episode"](1, text="y" * 30_000), make["episode"](2)]
    )
    found = index([source(tmp_path / "p.jsonl")])
    told = transcripts(found, pick(found, 2), room=8_000)
    assert told.left_out == 0
    assert len(json.loads(told.lines[0])["turns"][0]["text"][0]) == LONGEST[2]
    assert sum(map(len, told.lines)) <= 8_000
    assert transcripts(found, pick(found, 2), room=100).left_out == 2


def test_numbers_that_json_lacks_are_words(make):
    episode = make["episode"]()
    episode.turns[0].rewards = {"judge": {"player_0": float("nan"), "player_1": float("inf")}}
    episode.turns[0].advantage = float("-inf")
    told = json.loads(for_script(transcript(episode)), parse_constant=pytest.fail)
    assert told["turns"][0]["rewards"]["judge"] == {"player_0": "nan", "player_1": "inf"}
    assert told["turns"][0]["advantage"] == "-inf"


@pytest.mark.parametrize(
    "text", ["</script><script>", "<!--<script>", "a\u2028b", "&lt;", "\n\r\0"]
)
def test_json_inside_of_the_page_has_no_markup_and_reads_back(text):
    written = for_script({"said": text})
    assert not set(written) & set("<>&\u2028\u2029\n\r")
    assert json.loads(written) == {"said": text}
