"""Settings of an agent behind a chat API, and their sources.

Later sources win:

1. the defaults of `ApiSettings`, with the cache in `~/.cache/coevo/api` (or under
   COEVO_CACHE)
2. OPENAI_BASE_URL
3. the YAML or JSON file named by COEVO_API_SETTINGS: fields of `ApiSettings`
4. its section `models`: model name -> fields for that model alone
5. COEVO_API_<FIELD>, such as COEVO_API_COST_LIMIT=5 or COEVO_API_CACHE=none
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator

from coevo.agents.cache_folder import cache_folder
from coevo.envs.core.config import config, parse, read, real, whole
from coevo.envs.core.errors import ConfigError, DataError

OPENAI_URL = "https://api.openai.com/v1"
PREFIX = "COEVO_API_"
FILE_VARIABLE = "COEVO_API_SETTINGS"
_OURS = {"model", "messages", "temperature", "seed", "n", "stream"}
_LENGTHS = ("max_tokens", "max_completion_tokens")


@config
class ApiSettings:
    """One model behind one OpenAI-compatible server, and how it may be used."""

    model: str
    """Name of the model at the server."""
    base_url: str = OPENAI_URL
    """Address that `/chat/completions` is added to."""
    key_variable: str = "OPENAI_API_KEY"
    """Environment variable that holds the key; the key itself is never stored or shown."""

    temperature: Annotated[float, real(0)] | None = None
    """Of sampling; None leaves it to the server."""
    max_tokens: Annotated[int, whole(1)] | None = 512
    """Longest reply in tokens, hidden reasoning included; None leaves it to the server."""
    length_field: Literal["max_tokens", "max_completion_tokens"] | None = None
    """What the server calls the above; None takes the second at api.openai.com, else the first."""
    seed: Annotated[int, whole(0, 2**64 - 1)] = 0
    """Tells series of samples apart: another seed never gets the cached replies of this one."""
    send_seed: bool = False
    """Also send a seed with each request, different for every sample; some servers refuse it."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request, such as reasoning_effort."""

    timeout: Annotated[float, real(above=0)] = 120.0
    """Seconds that one attempt may take, from the connection to the last byte."""
    concurrency: Annotated[int, whole(1)] = 8
    """Most requests at a time."""
    max_retries: Annotated[int, whole(0)] = 6
    """Attempts after the first one."""
    backoff: Annotated[float, real(0)] = 0.5
    """Seconds: before retry k the wait is drawn evenly from 0 .. backoff * 2^(k-1)."""
    max_wait: Annotated[float, real(0)] = 60.0
    """Longest wait in seconds; a server that asks for a longer one has failed."""
    give_up_after: Annotated[int, whole(1)] = 20
    """Requests in a row that failed in spite of retries, after which nothing more is asked."""
    requests_per_minute: Annotated[int, whole(1)] | None = None
    """Most requests sent in any 60 seconds, retries included; None for no limit."""
    tokens_per_minute: Annotated[int, whole(1)] | None = None
    """Most tokens, read and written, of the requests of any 60 seconds; None for no limit."""

    request_limit: Annotated[int, whole(0)] | None = None
    """Most requests sent in this process, retries included; None for no limit."""
    token_limit: Annotated[int, whole(0)] | None = None
    """Most tokens, read and written, in this process; None for no limit."""
    cost_limit: Annotated[float, real(0)] | None = None
    """Most money in this process, in the currency of the prices; None for no limit."""
    price_in: Annotated[float, real(0)] = 0.0
    """Price of a million tokens read."""
    price_out: Annotated[float, real(0)] = 0.0
    """Price of a million tokens written."""

    cache: Annotated[Path, AfterValidator(Path.expanduser)] | None = None
    """Folder where replies are kept, so that what is interrupted continues; None keeps them for
    this process alone."""
    cache_replies: Annotated[int, whole(1)] = 1_000_000
    """Most replies that are kept there; the oldest make room."""
    cache_bytes: Annotated[int, whole(2**20)] = 2**32
    """Largest size of what is kept there; the oldest make room."""

    def __post_init__(self) -> None:
        if not self.model:
            raise ConfigError("model='' must name a model of the server, as in openai:NAME")
        _check_address(self.base_url)
        for name in self.extra_body:
            if name in _OURS or name in _LENGTHS:
                raise ConfigError(
                    f"extra_body sets {name!r}, which has a setting or use of its own"
                )
        for name in ("token_limit", "cost_limit", "tokens_per_minute"):
            if getattr(self, name) is not None and self.max_tokens is None:
                raise ConfigError(
                    f"{name}={getattr(self, name)} needs max_tokens: without it there is no upper "
                    "bound of what a request can use"
                )
        if self.cost_limit is not None and not self.price_in + self.price_out:
            raise ConfigError(
                f"cost_limit={self.cost_limit} needs price_in and price_out (per million tokens)"
            )

    @property
    def sampled(self) -> bool:
        """Whether two replies to one chat may differ."""
        return self.temperature != 0

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Return the price of one reply.

        >>> ApiSettings(model="m", price_in=0.5, price_out=2.0).cost(1_000_000, 500_000)
        1.5
        """
        return (prompt_tokens * self.price_in + completion_tokens * self.price_out) / 1e6

    def fields(self, seed: int) -> dict[str, Any]:
        """Return the fields of a request beside model and messages.

        Args:
            seed: of this sample; sent only where `send_seed` says so.
        """
        usual = _LENGTHS[urlsplit(self.base_url).hostname == "api.openai.com"]
        sent = {
            "temperature": self.temperature,
            self.length_field or usual: self.max_tokens,
            "seed": seed if self.send_seed else None,
        }
        return {**self.extra_body, **{k: v for k, v in sent.items() if v is not None}}


def settings_for(model: str, environ: Mapping[str, str] | None = None) -> ApiSettings:
    """Return the settings of one model as the environment has them.

    Raises:
        ConfigError: a value does not fit.
        UnknownNameError: no such setting; the nearest ones are listed.
        DataError: the settings file cannot be read.
    """
    environ = os.environ if environ is None else environ
    found: dict[str, Any] = {"cache": cache_folder(environ) / "api"}
    if environ.get("OPENAI_BASE_URL"):
        found["base_url"] = environ["OPENAI_BASE_URL"]
    if environ.get(FILE_VARIABLE):
        found |= _from_file(Path(environ[FILE_VARIABLE]).expanduser(), model)
    for variable, text in environ.items():
        if variable.startswith(PREFIX) and variable != FILE_VARIABLE:
            try:
                found[variable.removeprefix(PREFIX).lower()] = parse(text)
            except ConfigError as error:
                raise ConfigError(f"{variable}: {error}") from None
    if "model" in found:
        raise ConfigError("model is no setting: the agent's name, openai:MODEL, says it")
    values = {name: _value(given) for name, given in found.items()}
    return read(ApiSettings, {"model": model, **values})


def _from_file(path: Path, model: str) -> dict[str, Any]:
    try:
        data = dict(parse(path.read_text(encoding="utf-8")))  # JSON is YAML
        models = dict(data.pop("models", {}))
        return data | dict(models.get(model, {}))
    except (OSError, TypeError, ValueError) as error:
        why = str(error).rpartition(" is not YAML: ")[2]
        raise DataError(
            f"{FILE_VARIABLE}={path} must be a YAML or JSON file with a mapping of settings, in it "
            f"`models` a mapping of such mappings: {why}"
        ) from None


def _value(given: Any) -> Any:
    """`none` or nothing empties a field, and 1e6 is a whole number."""
    if isinstance(given, str) and given.strip().lower() in ("", "none"):
        return None
    return int(given) if isinstance(given, float) and given.is_integer() else given


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        sound = sound and url.isprintable() and " " not in url
    except ValueError:
        sound = False
    if not sound or parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(  # without the address, which may hold a secret
            f"base_url must be an http or https address such as {OPENAI_URL}, without user, "
            "password or query; key_variable names the variable that has the key"
        )
