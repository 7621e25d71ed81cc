"""The record of a play, and its file."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coevo.envs
from coevo.envs.core.episode import (
    SCHEMA,
    Episode,
    StopReason,
    TornLineError,
    Turn,
    read_episodes,
    write_episodes,
)
from coevo.envs.core.errors import DataError, UnknownNameError
from coevo.envs.core.illegal import PRESETS, IllegalPolicy
from coevo.envs.core.parsing import Status

KUHN = "coevo/kuhn_poker-v0"


def turn(**fields):
    given = {
        "agent": "player_0",
        "seen": ({"role": "user", "content": "go"},),
        "text": "[bet]",
        "move": "bet",
        "status": Status.LEGAL,
        "legal": ("pass", "bet"),
    }
    return Turn(**given | fields)


def episode(*turns, **fields):
    given = {"env": KUHN, "seed": 3, "options": {}, "agents": ("player_0", "player_1")}
    return Episode(**given | fields, turns=list(turns))


def full_episode(text="好 🙂\n\u2028\x85\r end"):
    first = turn(
        text=text,
        player="policy",
        version=4,
        prompt_ids=[1, 2],
        token_ids=[3, 4],
        logprobs=[-0.5, -1e-30],
        choices=[[3, 4], [3, 5]],
    )
    first.pay("payoff", {"player_0": 1.0, "player_1": -1.0})
    second = turn(agent="player_1", legal=None, move=None, status=Status.UNPARSABLE)
    return episode(
        first,
        second,
        seed=None,
        options={"prompt_style": "terse", "nested": {"a": [1, None]}},
        task="q7",
        stop=StopReason.FORFEIT,
        outcome={"return/player_0": 1.0},
        note="why",
    )


def test_one_line_holds_everything():
    line = full_episode().to_json()
    assert len(line.splitlines()) == 1, "whatever the text holds"
    back = Episode.from_json(line)
    assert back == full_episode()
    assert type(back.turns[0].status) is Status
    assert type(back.stop) is StopReason
    assert type(back.agents) is tuple
    assert type(back.turns[0].chat) is type(back.turns[0].legal) is tuple
    assert "好" in line, "people read these files"


@given(st.text(st.characters()))
def test_any_text_survives_a_file(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("any") / "episodes.jsonl"
    write_episodes(path, [full_episode(text)])
    assert list(read_episodes(path)) == [full_episode(text)]


def test_half_a_surrogate_pair_survives_a_file(tmp_path):
    path = tmp_path / "episodes.jsonl"
    write_episodes(path, [full_episode("\ud83d \\ud83d")])
    assert list(read_episodes(path)) == [full_episode("\ud83d \\ud83d")]
    json.loads(path.read_text(encoding="utf-8"))


def test_writing_appends(tmp_path):
    path = tmp_path / "episodes.jsonl"
    write_episodes(path, [episode(), episode(turn())])
    write_episodes(path, iter([full_episode()]))
    assert list(read_episodes(path)) == [episode(), episode(turn()), full_episode()]


def test_windows_line_ends_are_read(tmp_path):
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(f"{episode().to_json()}\r\n{episode(turn()).to_json()}\r\n".encode())
    assert list(read_episodes(path)) == [episode(), episode(turn())]


def without(key):
    data = json.loads(episode().to_json())
    del data[key]
    return json.dumps(data)


def with_(**fields):
    return json.dumps(json.loads(episode(turn()).to_json()) | fields)


BROKEN = {
    "empty": "",
    "cut": full_episode().to_json()[:-7],
    "not json": "hello",
    "a list": "[]",
    "a number": "3",
    "null": "null",
    "no schema": without("schema"),
    "no turns": without("turns"),
    "no agents": without("agents"),
    "no env": without("env"),
    "unknown field": with_(colour="red"),
    "unknown stop": with_(stop="bored"),
    "turns are no list": with_(turns=5),
    "turns are no objects": with_(turns=["a"]),
    "a turn lacks its text": with_(turns=[{"agent": "player_0", "seen": [0, 0], "legal": None}]),
    "an unknown status": with_(
        turns=[json.loads(episode(turn()).to_json())["turns"][0] | {"status": "x"}]
    ),
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_broken_lines_are_named_with_their_number(line, tmp_path):
    with pytest.raises(DataError, match="not an episode"):
        Episode.from_json(line)
    path = tmp_path / "episodes.jsonl"
    path.write_text(f"{episode().to_json()}\n{line}\n{episode().to_json()}\n", encoding="utf-8")
    reader = read_episodes(path)
    assert next(reader) == episode()
    with pytest.raises(DataError, match=r"episodes\.jsonl, line 2: not an episode"):
        next(reader)


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path):
    path = tmp_path / "episodes.jsonl"
    path.write_bytes(episode().to_json().encode() + b"\n\xff\xfe\xfa\n")
    reader = read_episodes(path)
    assert next(reader) == episode()
    with pytest.raises(DataError, match="line 2"):
        next(reader)


def test_a_file_cut_in_the_middle_gives_what_came_before(tmp_path):
    path = tmp_path / "episodes.jsonl"
    write_episodes(path, [episode(), full_episode()])
    path.write_bytes(path.read_bytes()[:-20])
    reader = read_episodes(path)
    assert next(reader) == episode()
    with pytest.raises(TornLineError, match="line 2"):
        next(reader)


@pytest.mark.parametrize("left", [1, 30, 200, -2])
def test_a_cut_last_line_is_told_from_a_broken_one(tmp_path, left):
    path = tmp_path / "episodes.jsonl"
    cut = episode(turn()).to_json().encode()[:left]
    path.write_bytes(f"{episode().to_json()}\n".encode() + cut)
    with pytest.raises(TornLineError):
        list(read_episodes(path))
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(DataError) as caught:
        list(read_episodes(path))
    assert type(caught.value) is DataError


def test_only_the_line_end_may_be_missing(tmp_path):
    path = tmp_path / "episodes.jsonl"
    path.write_text(episode().to_json())
    assert list(read_episodes(path)) == [episode()]
    path.write_text(with_(schema=99))
    with pytest.raises(DataError, match="schema 99") as caught:
        list(read_episodes(path))
    assert type(caught.value) is DataError, "a whole line of another version is not torn"


def test_another_schema_is_refused_before_its_fields_are_read():
    with pytest.raises(DataError, match=f"schema 99, this version reads {SCHEMA}"):
        Episode.from_json(with_(schema=99, new_field=1, stop="bored"))


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*nowhere"):
        next(read_episodes(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        write_episodes(tmp_path / "nowhere" / "episodes.jsonl", [episode()])
    with pytest.raises(IsADirectoryError):
        write_episodes(Path(tmp_path), [episode()])


def test_payments_add_up():
    one = turn()
    one.pay("payoff", {"player_0": 1})
    one.pay("payoff", {"player_0": 0.5, "player_1": -2})
    one.pay("format", {"player_0": 0.05})
    two = turn(agent="player_1", status=Status.ILLEGAL)
    two.pay("payoff", {"player_0": 1})
    both = episode(one, two)
    assert one.rewards == {
        "payoff": {"player_0": 1.5, "player_1": -2},
        "format": {"player_0": 0.05},
    }
    assert both.total("player_0") == pytest.approx(2.55)
    assert both.total("player_0", "payoff") == 2.5
    assert both.total("player_0", "judge") == 0
    assert both.total("player_1") == -2
    assert both.total("nobody") == 0
    assert type(one.rewards["payoff"]["player_0"]) is float


def test_illegal_replies_are_counted_by_seat():
    both = episode(
        turn(),
        turn(status=Status.ILLEGAL),
        turn(status=Status.UNPARSABLE),
        turn(agent="player_1", status=Status.ILLEGAL),
    )
    assert [both.illegal_replies(a) for a in both.agents] == [2, 1]


def test_a_real_play_is_recorded():
    env = coevo.envs.make(KUHN)
    env.reset(seed=5)
    prompt = env.chat("player_0")
    assert env.episode.stop is StopReason.UNFINISHED
    env.step("I pass. [check]")
    env.step("[check]")
    record = env.episode
    assert [t.agent for t in record.turns] == ["player_0", "player_1"]
    assert record.turns[0].chat == prompt
    assert (record.turns[0].text, record.turns[0].move) == ("I pass. [check]", "check")
    assert record.turns[0].legal == ("check", "bet")
    assert abs(record.total("player_0")) == 1
    assert (
        record.total("player_0") == -record.total("player_1") == record.outcome["return/player_0"]
    )
    assert (record.env, record.seed, record.task, record.stop) == (
        KUHN,
        5,
        "seed-5",
        StopReason.FINISHED,
    )


def test_unseeded_plays_have_tasks_of_their_own():
    env = coevo.envs.make(KUHN)
    tasks = []
    for _ in range(3):
        env.reset()
        tasks.append(env.episode.task)
    assert len(set(tasks)) == 3


# ---- The arguments in the record ---------------------------------------------------------------


def finish(env, seed, replies):
    env.reset(seed=seed)
    for reply in replies:
        if env.awaiting:
            env.step(reply)
    return env.episode


@pytest.mark.parametrize("max_cycles", [None, 1])
@pytest.mark.parametrize(
    "illegal",
    [*PRESETS, {"retries": 2, "penalty": -3}, {}, IllegalPolicy(others="mirror", surcharge=2)],
    ids=str,
)
def test_the_record_makes_the_same_environment_again(illegal, max_cycles):
    env = coevo.envs.make(KUHN, illegal=illegal, max_cycles=max_cycles, prompt_style="terse")
    replies = ["[check]", "nonsense", "no", "[bet]", "[call]"]
    for seed in range(3):
        back = Episode.from_json(finish(env, seed, replies).to_json())
        again = coevo.envs.make(back.env, **back.options)
        assert (again.illegal, again.max_cycles) == (env.illegal, max_cycles)
        assert finish(again, back.seed, [t.text for t in back.turns]) == env.episode


def test_only_what_differs_from_the_defaults_is_recorded():
    usual = {"prompt_style": "full"}
    for arguments, wanted in (
        ({}, {}),
        ({"illegal": "retry"}, {}),
        ({"illegal": "forfeit"}, {"illegal": "forfeit"}),
        ({"illegal": IllegalPolicy()}, {}),
        ({"illegal": "spiral"}, {"illegal": "spiral"}),
        ({"illegal": PRESETS["spiral"]}, {"illegal": "spiral"}),
        (
            {"illegal": {"penalty": -1.5, "others": 0.25}},
            {"illegal": {"penalty": -1.5, "others": 0.25}},
        ),
        ({"max_cycles": 3}, {"max_cycles": 3}),
    ):
        env = coevo.envs.make(KUHN, **arguments)
        env.reset(seed=0)
        assert env.episode.options == usual | wanted
    env.max_cycles = 5
    env.reset(seed=0)
    assert env.episode.options["max_cycles"] == 5, "as the parallel view sets it"


def test_a_policy_of_ones_own_is_not_mistaken_for_another():
    class Doubling(IllegalPolicy):
        pass

    env = coevo.envs.make(KUHN, illegal=Doubling())
    env.reset(seed=0)
    with pytest.raises(UnknownNameError, match="Doubling"):
        coevo.envs.make(KUHN, **env.episode.options)


def test_the_record_of_a_generic_game_names_the_game():
    env = coevo.envs.make("coevo/openspiel-v0", game="nim", illegal="random", max_cycles=2)
    first = finish(env, 1, ["?"] * 4)
    again = coevo.envs.make(first.env, **first.options)
    assert finish(again, 1, ["?"] * 4) == first
    assert first.stop is StopReason.TURN_LIMIT


def test_offenders_are_those_whose_illegal_reply_ended_the_play():
    env = coevo.envs.make(KUHN, illegal="forfeit")
    assert finish(env, 0, ["[check]", "no"]).offenders == ("player_1",)
    assert finish(env, 0, ["no"]).offenders == ("player_0",)
    assert finish(env, 0, ["[check]", "[check]"]).offenders == ()
    again = coevo.envs.make(KUHN, illegal="textarena")
    assert finish(again, 0, ["no", "[bet]", "no", "no"]).offenders == ("player_1",)
    replaced = coevo.envs.make(KUHN, illegal="random")
    assert finish(replaced, 0, ["no", "no", "no"]).offenders == ()
    assert Episode.from_json(env.episode.to_json()).offenders == ()


def test_a_line_grows_with_the_turns_and_holds_every_message_once():
    env = coevo.envs.make("coevo/iterated_game-v0", rounds=40)
    env.reset(seed=0)
    sizes = {}
    while env.awaiting:
        env.step("[A]")
        sizes[len(env.episode.turns)] = len(env.episode.to_json())
    assert sizes[80] - sizes[60] < 1.1 * (sizes[60] - sizes[40])
    assert env.episode.to_json().count("Round 7 of 40.") == 2, "once for each seat"
    back = Episode.from_json(env.episode.to_json())
    assert [t.chat for t in back.turns] == [t.chat for t in env.episode.turns]
    assert back.turns[-1].chat == env.chat("player_1")[:-1]
