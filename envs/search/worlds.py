"""Worlds to search in: documents, and where there is a triple store, exact questions about them.

from coevo.envs.search.worlds import world
here = world("fictional", seed=3)           # a small invented world, or "facts", or
squad = world({"name": "corpus", "path": folder})
path = here.sample_path(rng, hops=2)        # a chain of facts with exactly one answer
here.question(path)                         # 'Who is the mayor of the capital of Dalu?'
here.parse(here.question(path)) == path     # exact
here.answers(path)                          # {'Kimo'}
here.plan(path)                             # ['capital of Dalu', 'mayor of Suna']
hits = here.retriever(k=3).search(here.plan(path))
here.read(here.question(path), hits[0] + hits[1])   # 'Kimo', from these documents alone
"""

from __future__ import annotations

import functools
from typing import Annotated, Any

from coevo.envs.core.config import choice, read
from coevo.envs.search.facts import Facts
from coevo.envs.search.fictional import Fictional
from coevo.envs.search.passages import Corpus
from coevo.envs.search.world import World

WorldConfig = Annotated[Corpus | Facts | Fictional, choice()]
"""A world in a configuration."""


def world(given: Any = "fictional", seed: int = 0) -> World:
    """Return a world; the same arguments give the same world, byte by byte.

    Args:
        given: a world's configuration, a mapping with `name` and further fields, or a bare name.
        seed: of fictional worlds; facts and corpora have none.
    """
    config: Corpus | Facts | Fictional = read(WorldConfig, given, "world")
    return _made(config, config.stamp(int(seed)))


@functools.lru_cache(maxsize=64)
def _made(config: Corpus | Facts | Fictional, stamp: int) -> World:
    return config.make(stamp)
