"""Options of a reset: a name that no environment asks for is a mistake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from coevo.envs.core.env import TextEnv
from coevo.envs.core.errors import unknown


class Asked(Mapping[str, Any]):
    """Options that remember which names were asked for, there or not.

    >>> options = Asked({"max_cycles": 3})
    >>> options.get("difficulty"), options.asked
    (None, {'difficulty'})
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options, self.asked = options, set[str]()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return self._options[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._options)

    def __len__(self) -> int:
        return len(self._options)


def check_options(
    options: Mapping[str, Any], names: Iterable[str], envs: Iterable[TextEnv]
) -> None:
    """Reset environments, and refuse the first name that none of them asks for.

    Args:
        options: of the resets.
        names: all that may be given, now or by a schedule.
        envs: what is trained in.

    Raises:
        UnknownNameError: the nearest names that are asked for are listed.
    """
    names, asked = list(names), set[str]()
    for env in envs if names else ():
        given = Asked(options)
        env.reset(seed=0, options=cast(dict[str, Any], given))
        asked |= given.asked
    for name in names:
        if name not in asked:
            raise unknown("option of a reset in collect.options", name, asked)
