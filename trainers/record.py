"""Records to plain dictionaries and back, and changes by dotted name.

The command line, YAML and Python share one set of names: `optim.lr=1e-3`,
`advantage.credit=gae(level=turn)`, `advantage.credit.gamma=0.9`, `loss.regularise.entropy.coef=0`.
"""

from __future__ import annotations

import dataclasses
import math
import re
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_args, get_origin

import yaml

from coevo.envs.core.errors import CoevoError, ConfigError, unknown
from coevo.trainers.estimators import Option

T = TypeVar("T")
_SPLIT = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^,])+""")
"""Parts between commas; a comma inside quotes separates nothing."""
_CALL = re.compile(r"\s*([\w.-]+)\s*(?:\((.*)\))?\s*\Z", re.DOTALL)


def to_plain(value: Any) -> Any:
    """Turn a record into dictionaries, lists and scalars."""
    if isinstance(value, Option):
        return str_option(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(v) for v in value]
    return value


def from_plain(kind: type[T], data: Mapping[str, Any], where: str = "") -> T:
    """Build a record from what `to_plain` gave.

    Raises:
        UnknownNameError: a key is no field; the nearest ones are listed.
        ConfigError: a value does not fit, or fields contradict each other.
    """
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where or kind.__name__} must be a mapping of settings, given {data!r}")
    hints = typing.get_type_hints(kind)
    fields = {f.name for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in data:
        if key not in fields:
            raise unknown(f"setting{f' of {where}' if where else ''}", str(key), fields)
    values = {k: _value(hints[k], v, f"{where}.{k}" if where else k) for k, v in data.items()}
    try:
        return kind(**values)
    except CoevoError:
        raise
    except TypeError as error:
        raise ConfigError(f"{where or kind.__name__}: {error}") from None


def _value(hint: Any, given: Any, where: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if given is None and type(None) in inner:
            return None
        return _value(next(i for i in inner if i is not type(None)), given, where)
    if hint is Option:
        return _option(given, where)
    if dataclasses.is_dataclass(hint):
        return from_plain(typing.cast("type[Any]", hint), given, where)
    if origin is tuple:
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise ConfigError(f"{where}={given!r} must be a list")
        return tuple(_value(inner[0], g, where) for g in given)
    if _is_mapping(hint):
        if not isinstance(given, Mapping):
            raise ConfigError(f"{where}={given!r} must be a mapping")
        return {k: _value(inner[1], v, f"{where}.{k}") for k, v in dict(given).items()}
    return _scalar(hint, given, where)


def _is_mapping(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _option(given: Any, where: str) -> Option:
    if isinstance(given, Option):
        return given
    if not isinstance(given, str):
        raise ConfigError(f"{where}={given!r} is not an option; write name or name(key=value, ...)")
    return parse_option(given)


def _scalar(hint: Any, given: Any, where: str) -> Any:
    if hint is float and isinstance(given, int | str) and not isinstance(given, bool):
        try:
            return float(given)
        except ValueError:
            raise ConfigError(f"{where}={given!r} must be a number") from None
    if hint in (int, float, str, bool) and type(given) is not hint:
        raise ConfigError(f"{where}={given!r} must be of type {hint.__name__}")
    return given


def str_option(option: Option) -> str:
    """Write an option the way a call is written.

    >>> str_option(Option("gae", {"gamma": 0.9}))
    'gae(gamma=0.9)'
    """
    if not option.params:
        return option.name
    inside = ", ".join(f"{k}={_literal(v)}" for k, v in option.params.items())
    return f"{option.name}({inside})"


def _literal(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = str(value)
    plain = not set(text) & set(",\"'") and parse_scalar(text) == value
    if plain or not isinstance(value, str):
        return text
    return str(yaml.safe_dump(text, default_style='"', width=math.inf)).strip()


def parse_option(text: str) -> Option:
    """Read an option from `name` or `name(key=value, ...)`.

    >>> parse_option("pool(every=10, latest=0.5)").params
    {'every': 10, 'latest': 0.5}
    """
    match = _CALL.match(text)
    if match is None:
        raise ConfigError(f"{text!r} is not an option; write name or name(key=value, ...)")
    params = {}
    for part in filter(str.strip, _SPLIT.findall(match.group(2) or "")):
        key, equals, value = part.partition("=")
        if not equals:
            raise ConfigError(f"{part.strip()!r} in {text!r} must be key=value")
        params[key.strip()] = parse_scalar(value)
    return Option(match.group(1), params)


def parse_scalar(text: str) -> Any:
    """Read a number, truth value, null, list or string as YAML does, `1e-3` included.

    >>> parse_scalar("1e-3"), parse_scalar("true"), parse_scalar("linear")
    (0.001, True, 'linear')
    """
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text.strip()
    if isinstance(value, str) and value == text.strip():  # what is quoted stays a string
        try:
            return float(value)
        except ValueError:
            return value
    return value


def assign(record: T, changes: Mapping[str, Any]) -> T:
    """Give a copy of a record with fields changed by dotted name.

    All changes are made before the record is checked, so that two that belong together
    (a magnet and its loss term) can be given in any order.
    """
    plain = to_plain(record)
    for path, value in changes.items():
        _assign(type(record), plain, path.split("."), value, path)
    return from_plain(type(record), plain)


def _assign(kind: Any, plain: dict[str, Any], path: list[str], value: Any, full: str) -> None:
    hints = typing.get_type_hints(kind)
    name, rest = path[0], path[1:]
    if name not in plain:
        where = full.removesuffix(".".join(path)).rstrip(".")
        raise unknown(f"setting{f' of {where}' if where else ''}", name, plain)
    if not rest:
        plain[name] = _listed(hints[name], value)
        return
    hint = _optional(hints[name])
    if hint is Option:
        plain[name] = _with_param(plain[name], ".".join(rest), value)
    elif get_origin(hint) is tuple:
        plain[name] = _in_list(plain[name], rest, value, full)
    elif isinstance(plain[name], dict) and not dataclasses.is_dataclass(hint):
        within = plain[name]
        if len(rest) > 1 and _is_mapping(get_args(hint)[1]):  # a mapping of mappings
            within = plain[name][rest[0]] = dict(plain[name].get(rest[0], {}))
            rest = rest[1:]
        within[".".join(rest)] = value
    elif dataclasses.is_dataclass(hint):
        if plain[name] is None:
            plain[name] = to_plain(typing.cast("type[Any]", hint)())
        _assign(hint, plain[name], rest, value, full)
    else:
        raise ConfigError(f"{full}: {name} is a single value and has no {'.'.join(rest)!r}")


def _optional(hint: Any) -> Any:
    inner = get_args(hint)
    if get_origin(hint) in (typing.Union, types.UnionType):
        return next(i for i in inner if i is not type(None))
    return hint


def _listed(hint: Any, value: Any) -> Any:
    """Let one option stand for a list of one, and `none` for an empty list."""
    if get_origin(hint) is tuple and isinstance(value, str):
        return [] if value in ("", "none") else [v.strip() for v in re.split(r";", value)]
    return value


def _with_param(option: str, key: str, value: Any) -> str:
    parsed = parse_option(option)
    return str_option(Option(parsed.name, {**parsed.params, key: value}))


def _in_list(options: list[str], rest: list[str], value: Any, full: str) -> list[str]:
    names = [parse_option(o).name for o in options]
    if rest[0] not in names:
        if len(rest) == 1:
            raise unknown(f"entry of {full.rpartition('.')[0]}", rest[0], names)
        return [*options, _with_param(rest[0], ".".join(rest[1:]), value)]
    at = names.index(rest[0])
    changed = _with_param(options[at], ".".join(rest[1:]), value)
    return [*options[:at], changed, *options[at + 1 :]]
