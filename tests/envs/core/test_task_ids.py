"""Promise: what a seat is told of its task groups episodes, and tells neither seed nor state."""

import hashlib
import os
import re
import subprocess
import sys

import pytest

import coevo.envs
from coevo.envs.core import hashing

KUHN = "coevo/kuhn_poker-v0"
IDS = [spec.id for spec in coevo.envs.list_envs()]
SEED = 918_273_645


def shown(env, seed):
    env.reset(seed=seed)
    return {info["task_id"] for info in env.infos.values()}


@pytest.mark.parametrize("id", IDS)
def test_equal_tasks_have_one_id_and_no_info_holds_the_seed(id):
    env, other = coevo.envs.make(id), coevo.envs.make(id)
    first = shown(env, SEED)
    assert len(first) == 1
    assert str(SEED) not in repr(env.infos)
    words = re.findall(r"[\w:.-]+", repr(env.infos))  # some names are short: not any part of an id
    assert env.episode.task not in words
    assert shown(other, SEED) == first, "another environment of the process"
    assert env.episode.task == other.episode.task
    names, ids = set(), set()
    for seed in range(4):
        ids |= shown(env, seed)
        names.add(env.episode.task)
    assert len(ids) == len(names), "one id for each task"


def test_who_tries_all_seeds_finds_nothing():
    env = coevo.envs.make(KUHN)
    (given,) = shown(env, 3)
    hashes = (hashlib.md5, hashlib.sha1, hashlib.sha256, hashlib.blake2b)
    for made in hashes:
        for text in ("seed-3", "3", f"{KUHN} seed-3"):
            digest = made(text.encode()).hexdigest()
            assert given not in digest
            assert digest[:8] not in given


def _elsewhere(key: str | None) -> str:
    code = f"import coevo.envs as e; v = e.make({KUHN!r}); v.reset(seed=3); " + (
        "print(v.infos['player_0']['task_id'], v.episode.task)"
    )
    kept = {k: v for k, v in os.environ.items() if k != hashing.KEY}
    environ = kept if key is None else kept | {hashing.KEY: key}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_processes_have_keys_of_their_own_and_children_that_of_their_parent():
    env = coevo.envs.make(KUHN)
    (given,) = shown(env, 3)
    assert _elsewhere(os.environ[hashing.KEY]) == f"{given} seed-3"
    other, task = _elsewhere(None).split()
    assert other != given
    assert task == "seed-3", "the record says it all the same"
