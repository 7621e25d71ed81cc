"""Which servers are asked: this machine's, encrypted ones, and others that are named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from coevo.envs.core.errors import ConfigError

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Names of this machine."""


def checked(url: str, allow_hosts: Sequence[str], sends: str) -> SplitResult:
    """Return the parts of a server's address.

    Args:
        url: `http://HOST/PATH` or `https://HOST/PATH`.
        allow_hosts: further hosts that are asked without encryption.
        sends: what is sent there, for the message.

    Raises:
        ConfigError: it is no such address, or sends something unencrypted to another machine.
    """
    try:
        parts = urlsplit(url)
        read = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port beyond the last one, half an address
        read = False
    if not read or not re.fullmatch("[!-~]+", url):
        raise ConfigError(
            f"url={url!r} must be http://HOST/PATH or https://HOST/PATH, with %xx for "
            "whatever is no ASCII"
        )
    if parts.scheme == "http" and parts.hostname not in (*LOOPBACK, *allow_hosts):
        raise ConfigError(
            f"url={url!r} sends {sends} unencrypted to another machine: use https, or "
            f"allow_hosts=[{parts.hostname}]"
        )
    return parts
