"""An option: the name of one function of a slot, with the parameters that differ from its defaults.

An algorithm is a record of options. They are compared, hashed, written to JSON and checked against
the table of their slot before anything is computed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin

from coevo.envs.core.errors import ConfigError, nearest, unknown

Scalar = float | int | str | bool | None
Table = Mapping[str, Callable[..., Any]]


@dataclass(frozen=True)
class Option:
    """The name of one function of a slot and its parameters.

    >>> Option("clip", {"bound": 5.0}) == option("clip", bound=5.0)
    True
    """

    name: str
    """Key in the table of the slot."""
    params: Mapping[str, Scalar] = field(default_factory=dict)
    """Keyword arguments that differ from the defaults; a private copy, to be read only."""

    def __post_init__(self) -> None:
        for key, value in self.params.items():
            if not isinstance(value, float | int | str | bool | None):
                raise ConfigError(
                    f"parameter {key!r} of {self.name!r} is a {type(value).__name__}; "
                    "expected a number, a string, a truth value or None"
                )
        object.__setattr__(self, "params", dict(sorted(self.params.items())))

    def __hash__(self) -> int:
        return hash((self.name, tuple(self.params.items())))

    def to_dict(self) -> dict[str, Any]:
        """Give a dictionary that JSON can hold.

        >>> option("to_go", gamma=1.0).to_dict()
        {'name': 'to_go', 'params': {'gamma': 1.0}}
        """
        return {"name": self.name, "params": dict(self.params)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Option:
        """Read what `to_dict` wrote.

        Raises:
            ConfigError: `data` has other keys than `name` and `params`.

        >>> Option.from_dict({"name": "none"})
        Option(name='none', params={})
        """
        if "name" not in data or set(data) - {"name", "params"}:
            raise ConfigError(f"an option has the keys name and params, got {sorted(data)}")
        return cls(str(data["name"]), data.get("params", {}))


def option(name: str, **params: Scalar) -> Option:
    """Write an option the way a call is written.

    >>> option("gae", level="turn", gamma=0.99).params
    {'gamma': 0.99, 'level': 'turn'}
    """
    return Option(name, params)


def check(option: Option, table: Table, slot: str) -> None:
    """Check the name of an option and its parameters against the table of its slot.

    Parameters are the keyword-only arguments that have a default. An int is accepted for a float.

    Raises:
        UnknownNameError: The table has no such name.
        ConfigError: The function has no such parameter, or the value has the wrong type.

    >>> def clip(advantage, *, bound: float = 5.0): ...
    >>> check(option("clip", bound=3), {"clip": clip}, "modify")
    >>> check(option("clip", cap=3), {"clip": clip}, "modify")
    Traceback (most recent call last):
    coevo.envs.core.errors.ConfigError: modify 'clip' has no parameter 'cap'; known: bound=5.0
    """
    if option.name not in table:
        raise unknown(f"{slot} option", option.name, table)
    known = _parameters(table[option.name])
    for key, value in option.params.items():
        if key not in known:
            close = nearest(key, known)
            hint = f", did you mean {close[0]!r}?" if close else ";"
            listed = ", ".join(f"{p.name}={p.default!r}" for p in known.values()) or "none"
            raise ConfigError(
                f"{slot} {option.name!r} has no parameter {key!r}{hint} known: {listed}"
            )
        _check_value(f"{slot} {option.name!r}: {key}", value, known[key])


def defaults(option: Option, table: Table) -> dict[str, Scalar]:
    """Give every parameter of an option: the defaults of its function, overridden by its own.

    >>> def clip(advantage, *, bound: float = 5.0): ...
    >>> defaults(option("clip"), {"clip": clip})
    {'bound': 5.0}
    """
    check(option, table, "this")
    known = _parameters(table[option.name])
    return {name: p.default for name, p in known.items()} | dict(option.params)


def accepted(function: Callable[..., Any], params: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """Give those parameters that a function declares as keyword-only.

    >>> def top(x, *, share: float = 0.2): ...
    >>> accepted(top, {"share": 0.5, "coef": 1.0})
    {'share': 0.5}
    """
    return {k: v for k, v in params.items() if k in _parameters(function)}


def check_range(name: str, value: float, low: float, high: float) -> None:
    """Refuse a parameter outside the closed interval [low, high].

    Raises:
        ConfigError: The value is outside, or not a number.

    >>> check_range("gamma", 1.5, 0.0, 1.0)
    Traceback (most recent call last):
    coevo.envs.core.errors.ConfigError: gamma=1.5 must be between 0.0 and 1.0
    """
    if not low <= value <= high:
        raise ConfigError(f"{name}={value} must be between {low} and {high}")


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    every = inspect.signature(function, eval_str=True).parameters
    return {
        name: p
        for name, p in every.items()
        if p.kind is p.KEYWORD_ONLY and p.default is not p.empty
    }


def _check_value(label: str, value: Scalar, parameter: inspect.Parameter) -> None:
    if get_origin(parameter.annotation) is Literal:
        choices = get_args(parameter.annotation)
        if value not in choices:
            raise ConfigError(f"{label}={value!r} must be one of {', '.join(map(repr, choices))}")
        return
    expected = type(parameter.default)
    right = type(value) is expected or (expected is float and type(value) is int)
    if parameter.default is not None and not right:
        raise ConfigError(f"{label}={value!r} must be of type {expected.__name__}")
