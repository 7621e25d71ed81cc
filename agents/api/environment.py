"""Settings of chat APIs from outside: environment variables and a settings file.

Later ones win:

1. the defaults of `ApiSettings`, with the cache in `~/.cache/coevo/api` (XDG_CACHE_HOME counts)
2. OPENAI_BASE_URL
3. the YAML or JSON file named by COEVO_API_SETTINGS: fields of `ApiSettings`
4. its section `models`: model name -> fields for that model alone
5. COEVO_API_<FIELD>, such as COEVO_API_COST_LIMIT=5 or COEVO_API_CACHE=none
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from coevo.agents.api.settings import ApiSettings
from coevo.envs.core.errors import ConfigError, DataError, missing_extra, unknown

PREFIX = "COEVO_API_"
FILE_VARIABLE = "COEVO_API_SETTINGS"
_FIELDS = {f.name: str(f.type) for f in fields(ApiSettings) if f.name != "model"}
_SWITCH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def settings_for(model: str, environ: Mapping[str, str] | None = None) -> ApiSettings:
    """Give the settings of one model as the environment has them.

    Args:
        model: name at the server.
        environ: variables; None takes those of the process.

    Raises:
        ConfigError: a value does not fit.
        UnknownNameError: no such setting; the nearest ones are listed.
        DataError: the settings file cannot be read.
    """
    environ = os.environ if environ is None else environ
    found: dict[str, Any] = {"cache": default_cache(environ)}
    if environ.get("OPENAI_BASE_URL"):
        found["base_url"] = environ["OPENAI_BASE_URL"]
    if environ.get(FILE_VARIABLE):
        found |= _from_file(Path(environ[FILE_VARIABLE]).expanduser(), model)
    for variable, text in environ.items():
        if variable.startswith(PREFIX) and variable != FILE_VARIABLE:
            name = variable.removeprefix(PREFIX).lower()
            if name not in _FIELDS:
                raise unknown("setting", variable, [PREFIX + n.upper() for n in _FIELDS])
            found[name] = _value(name, text, variable)
    return ApiSettings(model=model, **found)


def default_cache(environ: Mapping[str, str]) -> Path:
    """Give the folder for replies where nobody names one."""
    base = environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    return Path(base) / "coevo" / "api"


def _from_file(path: Path, model: str) -> dict[str, Any]:
    data = _mapping(_read(path), str(path))
    models = _mapping(data.pop("models", {}), f"{path}: models")
    own = _mapping(models.get(model, {}), f"{path}: models: {model}")
    found = {}
    for name, value in (data | own).items():
        if name not in _FIELDS:
            raise unknown(f"setting in {path}", str(name), [*_FIELDS, "models"])
        found[name] = _value(name, value, f"{path}: {name}")
    return found


def _read(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise DataError(f"cannot read {FILE_VARIABLE}={path}: {reason}") from None
    try:
        import yaml
    except ImportError:
        raise missing_extra("pyyaml", "api") from None
    try:
        return yaml.safe_load(text)  # JSON is YAML
    except yaml.YAMLError as error:
        raise DataError(
            f"{path} is neither YAML nor JSON: {' '.join(str(error).split())}"
        ) from None


def _mapping(data: Any, what: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise DataError(f"{what} must be a mapping of settings, given {type(data).__name__}")
    return dict(data)


def _value(name: str, given: Any, source: str) -> Any:
    """Read one value as its field wants it; `none` or nothing empties a field that may be empty."""
    kind, _, empty = _FIELDS[name].partition(" | ")
    if given is None or (isinstance(given, str) and given.strip().lower() in ("", "none")):
        if empty:
            return None
        raise ConfigError(f"{source} is empty; expected {_WANTED[kind]}")
    try:
        return _READERS[kind](given)
    except (ValueError, TypeError, KeyError, OverflowError):
        raise ConfigError(f"{source}={given!r} must be {_WANTED[kind]}") from None


def _whole(given: Any) -> int:
    number = float(given)  # 1e6 is a whole number
    if isinstance(given, bool) or number != int(number):
        raise ValueError
    return int(number)


def _number(given: Any) -> float:
    if isinstance(given, bool):
        raise TypeError
    return float(given)


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _fields(given: Any) -> dict[str, Any]:
    data = json.loads(given) if isinstance(given, str) else given
    if not isinstance(data, dict):
        raise TypeError
    return data


_READERS: dict[str, Any] = {
    "int": _whole,
    "float": _number,
    "bool": lambda given: given if isinstance(given, bool) else _SWITCH[given.strip().lower()],
    "str": _text,
    "Path": lambda given: Path(_text(given)).expanduser(),
    "Mapping[str, Any]": _fields,
}
_WANTED = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "Path": "a folder",
    "Mapping[str, Any]": "a JSON object",
}
