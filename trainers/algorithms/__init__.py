"""The table of algorithms; adding one is a file here and an entry in `ALGORITHMS`."""

from collections.abc import Mapping
from typing import Any

from coevo.envs.core.errors import unknown
from coevo.trainers.algorithm import Algorithm
from coevo.trainers.algorithms import grpo, mars, ppo, reinforce, rloo, spiral
from coevo.trainers.record import assign

ALGORITHMS: dict[str, Algorithm] = {
    module.ALGORITHM.name: module.ALGORITHM for module in (grpo, mars, ppo, reinforce, rloo, spiral)
}


def algorithm(
    name: str, variant: str | None = None, changes: Mapping[str, Any] | None = None
) -> Algorithm:
    """Give an algorithm's record, with a named variant and further changes applied.

    Args:
        name: key of ALGORITHMS.
        variant: one of the record's variants.
        changes: dotted slot -> value; see `coevo.trainers.record`.
    """
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    record = ALGORITHMS[name]
    if variant is not None:
        if variant not in record.variants:
            raise unknown(f"variant of {name}", variant, record.variants)
        record = assign(record, record.variants[variant])
    return assign(record, changes or {})
