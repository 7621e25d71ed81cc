"""Check the sampler slots of a record by a dry run, before anything is played."""

from __future__ import annotations

import numpy as np

from coevo.trainers.estimators.option import Option, check, defaults
from coevo.trainers.samplers.allocate import ALLOCATE
from coevo.trainers.samplers.archive import ARCHIVE
from coevo.trainers.samplers.replay import REPLAY
from coevo.trainers.samplers.selection import SELECT
from coevo.trainers.samplers.starts import StartStats


def check_samplers(
    allocate: Option, select: Option, replay: Option, archive: Option | None = None
) -> None:
    """Refuse unknown options, unknown parameters, and values that an option would refuse.

    Raises:
        UnknownNameError: A table has no such name.
        ConfigError: A parameter is unknown, of the wrong type or out of range.

    >>> check_samplers(Option("uniform"), Option("dynamic"), Option("remix", {"share": 2.0}))
    Traceback (most recent call last):
    coevo.envs.core.errors.ConfigError: share=2.0 must be between 0.0 and 1.0
    """
    check(allocate, ALLOCATE, "allocate")
    check(select, SELECT, "select")
    check(replay, REPLAY, "replay")
    if archive is not None:
        check(archive, ARCHIVE, "archive")
        ARCHIVE[archive.name](**archive.params)
    least = defaults(allocate, ALLOCATE)["n_min"]
    plays = max(int(least or 0), 1)
    ALLOCATE[allocate.name](
        StartStats.unseen(1), plays, np.random.default_rng(0), **allocate.params
    )
    SELECT[select.name]([0.0, 1.0], [0, 0], **select.params)
    REPLAY[replay.name](**replay.params)
