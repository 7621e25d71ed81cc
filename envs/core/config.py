"""One configuration language: nested frozen dataclasses, read and checked by pydantic.

A configuration is a tree. The same tree is a Python object, a YAML file and `--set` on the command
line. A choice among components is a tagged union: every component has a field `name`, and
`{name: gae, lam: 0.95}` says which one and how. Ranges stand where a field is defined.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, TypeVar, dataclass_transform, get_args

import yaml
from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic_core.core_schema import CoreSchema, no_info_wrap_validator_function

from coevo.envs.core.errors import CoevoError, ConfigError, DataError, unknown

T = TypeVar("T")
LARGEST = 10**12
"""Largest number of a setting that states no other bound: far beyond what any means, and small
enough for arithmetic with floats to be exact."""
DEEPEST = 64
"""Most brackets within brackets of a configuration: more take the parser minutes."""
LONGEST = 4 * 2**20
"""Most characters of a configuration."""
_RULES = ConfigDict(extra="forbid", arbitrary_types_allowed=True)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def config(kind: type[T]) -> type[T]:
    """Make a class a frozen dataclass with keyword-only fields that are checked when it is made.

    Raises:
        ConfigError: at construction, in one line, for the first field that does not fit.

    >>> @config
    ... class Clip:
    ...     eps: typing.Annotated[float, real(0, 1)] = 0.2
    >>> Clip(eps=2)
    Traceback (most recent call last):
    coevo.envs.core.errors.ConfigError: Clip.eps=2 must be less than or equal to 1
    """
    made: Any = pydantic_dataclass(kind, frozen=True, kw_only=True, config=_RULES)
    checked = made.__init__

    @functools.wraps(checked)
    def init(self: Any, **fields: Any) -> None:
        try:
            checked(self, **fields)
        except ValidationError as error:
            raise _explained(error, type(self), type(self).__name__) from None

    made.__init__ = init
    return made


def whole(low: int | None = None, high: int | None = None) -> Any:
    """Return the range of a whole number, written beside `int` in `Annotated`.

    Args:
        low: smallest value that is allowed.
        high: largest value that is allowed; None for no bound but `LARGEST`.
    """
    numeric = Field(strict=True, ge=low, le=high)
    return numeric if high is not None else _checked(numeric, _sized)


def real(
    low: float | None = None,
    high: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
    infinite: bool = False,
) -> Any:
    """Return the range of a number, written beside `float` in `Annotated`.

    Whatever the range, a finite number is at most `LARGEST` in size.

    Args:
        low: smallest value that is allowed.
        high: largest value that is allowed.
        above: every value must be larger than this.
        below: every value must be smaller than this.
        infinite: whether infinity is allowed; NaN never is.
    """
    numeric = Field(strict=True, ge=low, le=high, gt=above, lt=below)
    return _checked(numeric, functools.partial(_number, infinite))


def _checked(numeric: Any, check: Callable[[Any], Any]) -> Any:
    """Add a check of what holds for every number; the range that is shown has no part in it."""
    numeric.metadata.append(BeforeValidator(check))
    return numeric


@dataclasses.dataclass(frozen=True)
class _Choice:
    made: tuple[type, ...]

    def __get_pydantic_core_schema__(self, union: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        members = tuple(kind for kind in get_args(union) if kind not in self.made)
        tagged = handler(Annotated[typing.Union[members or union], Field(discriminator="name")])  # noqa: UP007
        return no_info_wrap_validator_function(self._read, tagged)

    def _read(self, given: Any, tagged: Callable[[Any], Any]) -> Any:
        return given if isinstance(given, self.made) else tagged(by_name(given))


def choice(*made: type) -> Any:
    """Return the tag of a union of components, written beside it in `Annotated`.

    A bare name stands for a component with its defaults: `read(Credit, "gae")` is `Gae()`.

    Args:
        made: classes whose objects are taken as they are, for components of one's own; the union
            may name them, for type checkers.
    """
    return _Choice(made)


def by_name(given: Any) -> Any:
    """Return what a component is given as; a bare name stands for it with its defaults.

    >>> by_name("gae")
    {'name': 'gae'}
    """
    return {"name": given} if isinstance(given, str) else given


def components(kind: Any) -> dict[str, type]:
    """Return the classes of a union of components by name."""
    return {name: member for member in _classes(kind) for name in _tags(member)}


def read(kind: type[T] | Any, tree: Any, where: str = "") -> T:
    """Return the configuration that a tree of mappings, lists and scalars stands for.

    Args:
        kind: a configuration class, or a union of components with `choice()`.
        tree: as YAML gives it; parts that are configuration objects already are taken as they are.
        where: dotted name of the tree, for errors.

    Raises:
        UnknownNameError: a key is no field, or a `name` no component; the nearest are listed.
        ConfigError: a value does not fit, or fields contradict each other.

    >>> @config
    ... class Gae:
    ...     name: typing.Literal["gae"] = "gae"
    ...     lam: typing.Annotated[float, real(0, 1)] = 1.0
    >>> read(Gae, {"name": "gae", "lam": 0.95})
    Gae(name='gae', lam=0.95)
    >>> read(Gae, {"name": "gae", "lambda": 0.95}, "advantage.credit")
    Traceback (most recent call last):
    coevo.envs.core.errors.UnknownNameError: unknown setting of advantage.credit 'lambda'; \
did you mean 'lam'? Known: lam, name
    """
    try:
        return _adapter(typing.cast("Any", kind)).validate_python(tree)
    except ValidationError as error:
        raise _explained(error, kind, where) from None


def plain(value: Any) -> Any:
    """Return a configuration as dictionaries, lists and scalars; `read` takes them back.

    >>> @config
    ... class Clip:
    ...     eps: typing.Annotated[float, real(0, 1)] = 0.2
    >>> plain({"clip": Clip(), "roles": ("a", "b")})
    {'clip': {'eps': 0.2}, 'roles': ['a', 'b']}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    return value


def changed(value: Any) -> dict[str, Any]:
    """Return the fields of a configuration that differ from their defaults, and its `name`.

    Configurations in its fields are treated in the same way.

    >>> @config
    ... class Clip:
    ...     eps: typing.Annotated[float, real(0, 1)] = 0.2
    >>> changed(Clip()), changed(Clip(eps=0.5))
    ({}, {'eps': 0.5})
    """
    return {
        f.name: changed(given) if dataclasses.is_dataclass(given) else plain(given)
        for f in dataclasses.fields(value)
        if (given := getattr(value, f.name)) != _default(f) or f.name == "name"
    }


def assign(value: T, changes: Mapping[str, Any]) -> T:
    """Return a copy of a configuration with fields changed by dotted name.

    A mapping or a bare name replaces a whole component, `credit={name: gae, lam: 0.95}`; a dotted
    name changes one field of it, `credit.lam=0.9`. In a list of components a dotted name says which
    one by its `name`: `regularise.kl.coef=0.1`. All changes are made before anything is checked, so
    that two that belong together can be given in any order.

    >>> @config
    ... class Clip:
    ...     eps: typing.Annotated[float, real(0, 1)] = 0.2
    >>> assign(Clip(), {"eps": 0.3})
    Clip(eps=0.3)
    """
    try:
        return _assigned(value, changes)
    except CoevoError as error:
        if renamed := {k: v for k, v in changes.items() if k.endswith(".name")}:
            _advise(value, changes, renamed, error)
        raise


def _assigned(value: T, changes: Mapping[str, Any]) -> T:
    tree = plain(value)
    for path, new in changes.items():
        _put(tree, path.split("."), plain(new), path)
    return read(type(value), tree)


def _advise(
    value: Any, changes: Mapping[str, Any], renamed: Mapping[str, Any], error: CoevoError
) -> None:
    """Raise what to write where a component was only renamed and its old fields do not fit."""
    others = {k: v for k, v in changes.items() if k not in renamed}
    whole = {k.removesuffix(".name"): {"name": v} for k, v in renamed.items()}
    try:
        _assigned(value, whole | others)
    except CoevoError:
        return
    written = " ".join(f"{k}={v['name']}" for k, v in whole.items())
    raise ConfigError(
        f"{', '.join(renamed)} changes the name and keeps the old component's fields ({error}); "
        f"replace the whole component: {written}"
    ) from None


def parse(text: str) -> Any:
    """Return the value that `--set key=TEXT` stands for: YAML, with 1e-3 a number.

    >>> parse("1e-3"), parse("{name: gae, lam: 0.95}"), parse("cosine")
    (0.001, {'name': 'gae', 'lam': 0.95}, 'cosine')
    """
    try:
        return _numbers(_tree(text))
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{_start(text)!r} is not YAML: {_line(error)}") from None


def read_tree(path: Path) -> Any:
    """Return what a YAML file holds, as plain values.

    Raises:
        DataError: it cannot be read, or holds no YAML; in one line.
    """
    if path.exists() and not path.is_file():  # a pipe may never end
        raise DataError(f"cannot read {path}: it is not a file")
    try:
        if path.stat().st_size > LONGEST:
            raise ValueError(f"it is longer than {LONGEST >> 20} MiB")
        return _tree(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise DataError(f"{path} is not YAML: {_line(error)}") from None


class _Loader(yaml.SafeLoader):
    """Takes no references: a few lines of them stand for more than any memory holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("it refers to another part of itself by *")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping; a key that stands there twice is refused."""
        seen = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key in seen:
            if seen.count(key) > 1:
                raise ValueError(f"the key {_start(key)!r} stands there twice")
        return super().construct_mapping(node, deep=deep)


def _tree(text: str) -> Any:
    depth = 0
    for sign in text:
        depth += (sign in "[{") - (sign in "]}")
        if depth > DEEPEST:
            raise ValueError("it is nested too deeply")
    try:
        return yaml.load(text, Loader=_Loader)
    except RecursionError:  # by indentation
        raise ValueError("it is nested too deeply") from None


def _start(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:100]}..."


def _line(error: Exception) -> str:
    said, mark = str(error), getattr(error, "problem_mark", None)
    if mark is not None:
        said = f"{getattr(error, 'problem', said)}, line {mark.line + 1}, column {mark.column + 1}"
    return " ".join(said.split())[:300]


def _numbers(value: Any) -> Any:
    """YAML 1.1 reads 1e-3 as text; people mean the number."""
    if isinstance(value, dict):
        return {k: _numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_numbers(v) for v in value]
    if isinstance(value, str) and value[:1] in "+-.0123456789":
        try:
            return float(value)
        except ValueError:
            return value
    return value


def setting(value: Any, path: str) -> Any:
    """Return the setting that a dotted name stands for, as a plain value.

    >>> @config
    ... class Clip:
    ...     eps: typing.Annotated[float, real(0, 1)] = 0.2
    >>> setting(Clip(), "eps")
    0.2
    """
    tree, where = plain(value), list[str]()
    for name in path.split("."):
        if isinstance(tree, list):
            tree = {str(item["name"]): item for item in tree if isinstance(item, dict)}
        known = tree if isinstance(tree, dict) else {}
        if name not in known:
            raise unknown(f"setting{f' of {where[-1]}' if where else ''}", name, known)
        tree, where = known[name], [*where, name]
    return tree


def _put(tree: Any, path: list[str], value: Any, full: str) -> None:
    name, rest = path[0], path[1:]
    where = full.removesuffix(".".join(path)).rstrip(".")
    if isinstance(tree, list):
        named = {str(item["name"]): item for item in tree if isinstance(item, dict)}
        if name not in named:
            raise unknown(f"entry of {where}", name, named)
        if not rest:
            raise ConfigError(f"{full}: name a field of {name}, or give the whole list {where}")
        _put(named[name], rest, value, full)
    elif not isinstance(tree, dict):
        raise ConfigError(f"{where}={tree!r} is a single value and has no {name!r}")
    elif not rest:
        component = isinstance(tree.get(name), dict) and "name" in tree[name]
        tree[name] = by_name(value) if component else value  # `read` names unknown keys
    else:
        if tree.get(name) is None:
            tree[name] = {}
        _put(tree[name], rest, value, full)


def _number(infinite: bool, value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a number")
    if isinstance(value, int | float) and not (infinite and abs(value) == float("inf")):
        if value != value or abs(value) == float("inf"):
            raise ValueError("must be a finite number")
        return _sized(value)
    return value


def _sized(value: Any) -> Any:
    if isinstance(value, int | float) and abs(value) > LARGEST:
        raise ValueError(f"must be at most {LARGEST:g} in size")
    return value


@functools.lru_cache(maxsize=4096)
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _default(given: dataclasses.Field[Any]) -> Any:
    if given.default_factory is not dataclasses.MISSING:
        return given.default_factory()
    return given.default


def _explained(error: ValidationError, kind: Any, where: str) -> CoevoError:
    """Return the first complaint of pydantic as one line of ours.

    What is missing comes last: where a name is misspelt, that is why its field is missing.
    """
    complaints = error.errors(include_url=False)
    first = min(complaints, key=lambda complaint: complaint["type"] == "missing")
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, CoevoError):
        return cause
    path = [str(part) for part in first["loc"]]
    name = ".".join([where, *path] if where else path) or "the configuration"
    given, what = first["input"], first["type"]
    shown = _start(repr(given))
    if what in ("unexpected_keyword_argument", "extra_forbidden"):
        owner = ".".join([where, *path[:-1]] if where else path[:-1])
        setting = f"setting{f' of {owner}' if owner else ''}"
        return unknown(setting, _start(path[-1]), _fields(kind, path))
    if what == "union_tag_invalid":
        known = [tag.strip("'") for tag in first["ctx"]["expected_tags"].split(", ")]
        return unknown(name, _start(str(first["ctx"]["tag"])), known)
    if what in ("union_tag_not_found", "model_attributes_type"):
        return ConfigError(f"{name}={shown} must be a name, or a mapping with one: {{name: ...}}")
    if what == "dataclass_type":
        return ConfigError(f"{name}={shown} must be a mapping")
    message = first["msg"].removeprefix("Value error, ").removeprefix("Input should ")
    must = message if message.startswith("must ") else f"must {message}"
    return ConfigError(f"{name}={shown} {must}" if what != "missing" else f"{name} is missing")


def _fields(kind: Any, path: list[str]) -> list[str]:
    """Return the field names of the class in which the last part of a path was looked up."""
    for part in path[:-1]:
        members = _classes(kind)
        tagged = [m for m in members if part in _tags(m)]
        if tagged:
            kind = tagged[0]
            continue
        for member in members:
            if part in (hints := typing.get_type_hints(member, include_extras=True)):
                kind = hints[part]
    return sorted({f.name for m in _classes(kind) for f in dataclasses.fields(m)})


def _classes(kind: Any) -> list[Any]:
    if dataclasses.is_dataclass(kind):
        return [kind] if isinstance(kind, type) else []
    return [found for inner in get_args(kind) for found in _classes(inner)]


def _tags(kind: Any) -> tuple[Any, ...]:
    return get_args(typing.get_type_hints(kind).get("name"))
