"""Programs as agents: experts' scores, every environment, records, resumed runs, refusals."""

import copy
import json
import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pydantic_monty", reason="the extra `programs` is not installed")

import coevo.envs
from coevo.agents.agent import request_of
from coevo.agents.load import load_agent
from coevo.agents.models.folders import fingerprint
from coevo.agents.program import ProgramAgent, view_of
from coevo.agents.registry import scripted
from coevo.envs.core.episode import StopReason
from coevo.envs.core.errors import ConfigError
from coevo.envs.core.parsing import Status
from coevo.envs.core.single_agent import SingleAgentEnv
from coevo.envs.programs.sandbox import is_plain
from coevo.trainers.collect.rollout import EpisodeSpec, rollout

PROGRAMS = Path(__file__).parent / "programs"
SEATS = ("player_0", "player_1")


def named(name):
    return f"program:{PROGRAMS / name}.py"


@pytest.fixture
def written(tmp_path):
    """Return a function that makes a program of a source."""

    def write(source, name="a.py"):
        (tmp_path / name).write_text(source, encoding="utf-8")
        return f"program:{tmp_path / name}"

    return write


def games(env_id, first, second, count=1, **options):
    """Play an agent in either seat against another; return the episodes."""
    agents = {"one": load_agent(first), "other": load_agent(second)}
    specs = []
    for seed in range(count):
        for seats in (SEATS, SEATS[::-1]):
            specs.append(EpisodeSpec(players=dict(zip(seats, agents, strict=True)), seed=seed))
    return rollout(env_id, specs, agents, options)


def moves(episodes):
    return [[t.move for t in episode.turns] for episode in episodes]


@pytest.mark.parametrize("other", ["always_d", "grim", "wsls", "alternator", "tf2t", "defect_once"])
def test_tit_for_tat_as_a_program_plays_as_the_expert_does(other):
    env = "coevo/iterated_game-v0"
    ours, theirs = (games(env, agent, other) for agent in (named("tit_for_tat"), "tft"))
    assert moves(ours) == moves(theirs)
    assert [e.outcome for e in ours] == [e.outcome for e in theirs]


@pytest.mark.parametrize(("game", "win"), [("tic_tac_toe", 0.0), ("nim", 1.0)])
def test_a_perfect_program_has_the_value_of_the_game(game, win):
    """Over both seats: draws in tic-tac-toe; in nim the first player wins, whoever it is."""
    env = f"coevo/{game}-v0"
    for episodes in (games(env, named(game), "oracle", 3), games(env, named(game), named(game))):
        values = [e.total("player_0", "payoff") for e in episodes]
        assert values == [win] * len(values)
    for episode in games(env, named(game), "random", 10):
        seat = next(t.agent for t in episode.turns if t.player == "one")
        assert episode.total(seat, "payoff") >= (0 if game == "tic_tac_toe" else -win)
        assert all(t.status is Status.LEGAL for t in episode.turns)


def test_a_program_is_shown_plain_data_and_moves_in_every_environment():
    agent, rng = load_agent(named("anything")), np.random.default_rng(0)
    for spec in coevo.envs.list_envs():
        env = coevo.envs.make(spec.id)
        env.reset(seed=1)
        seat = env.agent_selection
        request = request_of(env, seat, rng)
        assert is_plain(view_of(request), 10**6), spec.id
        reply = agent.act([request])[0]
        assert ": ok" in reply.notes["program"], (spec.id, reply.notes)
        env.step(reply.text)
        if env.episode.turns[0].legal:
            assert env.episode.turns[0].status is Status.LEGAL, spec.id


def test_the_view_of_a_seat_does_not_change_with_what_is_hidden():
    env, rng = coevo.envs.make("coevo/kuhn_poker-v0"), np.random.default_rng(0)
    env.reset(seed=3)
    before, seen = view_of(request_of(env, "player_0", rng)), set()
    for _ in range(20):
        other = copy.deepcopy(env)
        other.task.hide("player_0", rng)
        seen.add(other.state())
        other._infos = {}
        assert view_of(request_of(other, "player_0", rng)) == before
    assert len(seen) == 2, "the other card"


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("return 1 / 0", "raised: ZeroDivisionError: division by zero"),
        ("return 7", "ok"),
        ("return [1]", "ok"),
        ("return True", "ok"),
        ("return view['inside']", "raised: KeyError"),
        ("view['legal_actions'].append('cheat')\n    return 'cheat'", "ok"),
    ],
)
def test_what_is_no_move_is_an_illegal_reply_with_its_reason_on_record(written, body, verdict):
    agent = written(f"def policy(view):\n    {body}")
    (episode, _) = games("coevo/kuhn_poker-v0", agent, "random")
    assert episode.stop is StopReason.FORFEIT
    assert episode.offenders == ("player_0",)
    turn = episode.turns[0]
    assert turn.notes["program"].startswith(fingerprint(agent))
    assert f": {verdict}" in turn.notes["program"]
    assert json.loads(episode.to_json())["turns"][0]["notes"] == turn.notes


def test_its_random_numbers_follow_the_generator_it_is_given(written, monkeypatch):
    source = "import random\ndef policy(view): return random.choice(view['legal_actions'])"
    agent = written(source)
    monkeypatch.setenv("COEVO_TASK_KEY", "one")
    env = "coevo/goofspiel-v0"
    first = moves(games(env, agent, agent, 4))
    assert first == moves(games(env, agent, agent, 4))
    assert len({str(m) for m in first}) > 1


def test_it_plays_the_others_of_a_single_agent_view():
    env = SingleAgentEnv("coevo/nim-v0", seat=1, opponents=named("nim"))
    _, info = env.reset(seed=0)
    while True:
        _, reward, ended, cut, info = env.step(f"[{info['legal_actions'][0]}]")
        if ended or cut:
            break
    assert reward == -1.0


@pytest.mark.parametrize("path", ["/dev/zero", "{tmp}/pipe", "{tmp}"])
def test_what_is_no_file_is_refused_before_it_is_read(path, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="it is not a file"):
        load_agent("program:" + path.format(tmp=tmp_path))


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = 1", "must define policy.view.: raised, NameError: name 'policy' is not defined"),
        ("def policy(view:", "must define policy.view.: syntax"),
        ("import numpy\ndef policy(view): return 0", "unsupported, ModuleNotFoundError"),
        ("while True: pass", "time, "),
        ("#" * 100_001, "larger than 100000 bytes"),
    ],
)
def test_what_cannot_play_is_refused_in_one_line(written, source, says):
    with pytest.raises(ConfigError, match=says) as error:
        scripted(written(source))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("path", ["absent.py", "", "."])
def test_a_file_that_cannot_be_read_is_refused(path):
    with pytest.raises(ConfigError, match="cannot read the program"):
        ProgramAgent(path)


def test_a_text_of_no_encoding_is_refused(tmp_path):
    (tmp_path / "a.py").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not UTF-8"):
        ProgramAgent(str(tmp_path / "a.py"))


def test_the_digest_of_a_program_tells_two_tournaments_apart(written):
    one, other = (written(f"def policy(view): return {n}", f"{n}.py") for n in (0, 1))
    assert fingerprint(one) and fingerprint(one) != fingerprint(other)
