"""Errors that end the use of a chat API; a failure of one request is data instead."""

from __future__ import annotations

from coevo.envs.core.errors import CoevoError


class ApiError(CoevoError):
    """A chat API cannot be used any further now; what it answered before is in the cache."""

    exit_code = 1


class ApiRefusedError(ApiError):
    """A server refuses these settings: key, model name, or a field of the request."""

    exit_code = 2


class LimitReachedError(ApiError):
    """One more request could pass a limit of tokens or money; it was not sent."""
