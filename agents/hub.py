"""Whether the Hugging Face Hub can be asked, found out before its client tries for minutes."""

from __future__ import annotations

import urllib.error
import urllib.request

from huggingface_hub import constants

SECONDS = 10
"""Longest wait for a first answer."""


def hub_answers() -> bool:
    """Return whether the Hub can be asked at all; what it says does not matter.

    Its own client asks for every file six times before it gives up. What is in the cache loads
    without it.
    """
    if constants.is_offline_mode():
        return False
    try:
        request = urllib.request.Request(constants.ENDPOINT, method="HEAD")
        with urllib.request.urlopen(request, timeout=SECONDS):
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError):
        return False
