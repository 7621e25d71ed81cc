"""Where models and replies of servers are kept between calls."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return $COEVO_CACHE, else the folder `coevo` in the user's cache.

    >>> cache_folder({"COEVO_CACHE": "/data/coevo"}).as_posix()
    '/data/coevo'
    >>> cache_folder({"XDG_CACHE_HOME": "/data"}).as_posix()
    '/data/coevo'
    """
    usual = Path(environ.get("XDG_CACHE_HOME") or "~/.cache") / "coevo"
    return Path(environ.get("COEVO_CACHE") or usual).expanduser()
