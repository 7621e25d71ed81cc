"""Same seed, same actions, same play: again, in another process, forked, interleaved, pickled."""

import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import coevo.envs

IDS = [spec.id for spec in coevo.envs.list_envs()]
BOTH = [(env_id, style) for env_id in IDS for style in ("full", "terse")]


def start(env_id, style, seed=3, steps=0, record=None):
    env = coevo.envs.make(env_id, prompt_style=style)
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        if env.awaiting:
            env.step(record.reply(env, rng))
    return env, rng


def seen(env):
    return [env.observe(a) for a in env.possible_agents], env.infos, env.agent_selection


@pytest.fixture(scope="module")
def other_process(record):
    """Digest of every environment's golden lines, computed in a process with other hash seeds."""
    code = (
        "import sys, json, hashlib; sys.path.insert(0, sys.argv[1]); import record\n"
        "ids = sys.argv[2:]\n"
        "print(json.dumps({i: hashlib.sha256(record.lines(i).encode()).hexdigest() for i in ids}))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(record.FOLDER), *IDS],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "11"},
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("env_id", IDS)
def test_two_processes_agree(env_id, record, other_process):
    here = hashlib.sha256(record.lines(env_id).encode()).hexdigest()
    assert other_process[env_id] == here


@pytest.mark.parametrize(("env_id", "style"), BOTH)
def test_reset_with_a_seed_starts_the_same_play_again(env_id, style, record):
    env, rng = start(env_id, style)
    first = copy.deepcopy(seen(env))
    record.finish(env, rng)
    env.reset(seed=3)
    assert seen(env) == first


@pytest.mark.parametrize("env_id", IDS)
def test_reset_without_a_seed_goes_on_with_the_generator(env_id, record):
    plays = []
    for _ in range(2):
        env, rng = start(env_id, "full")
        record.finish(env, rng)
        env.reset()
        plays.append(record.finish(env, rng).to_json())
    assert plays[0] == plays[1]


@pytest.mark.parametrize("env_id", IDS)
def test_a_fork_leaves_the_original_alone(env_id, record):
    env, rng = start(env_id, "full", steps=1, record=record)
    fork, fork_rng = copy.deepcopy((env, rng))
    assert seen(fork) == seen(env)
    ahead = record.finish(fork, fork_rng).to_json()
    other = copy.deepcopy(env)
    record.finish(other, np.random.default_rng(99))
    assert len(env.episode.turns) == 1
    assert record.finish(env, rng).to_json() == ahead


@pytest.mark.parametrize("env_id", IDS)
def test_a_pickle_goes_on_like_the_original(env_id, record):
    env, rng = start(env_id, "full", steps=1, record=record)
    loaded, loaded_rng = pickle.loads(pickle.dumps((env, rng)))
    assert seen(loaded) == seen(env)
    assert record.finish(loaded, loaded_rng).to_json() == record.finish(env, rng).to_json()


@pytest.mark.parametrize("env_id", IDS)
def test_interleaved_plays_do_not_touch_each_other(env_id, record):
    alone = []
    for seed in (3, 4):
        env, rng = start(env_id, "full", seed)
        alone.append(record.finish(env, rng).to_json())
    pair = [start(env_id, "full", seed) for seed in (3, 4)]
    while any(e.awaiting and len(e.episode.turns) < record.MOST_TURNS for e, _ in pair):
        for env, rng in pair:
            if env.awaiting and len(env.episode.turns) < record.MOST_TURNS:
                env.step(record.reply(env, rng))
    assert [env.episode.to_json() for env, _ in pair] == alone
