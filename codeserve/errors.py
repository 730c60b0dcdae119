"""The exceptions that codeserve raises.

::

    CodeserveError            one line that says what is wrong and what to do
    ├── ConfigError           a setting, preset, file or installation that cannot work
    ├── EngineStartError      the engine could not be brought up
    ├── EngineUnavailable     no engine answers at present; carries when to ask again
    └── RequestError          one request that cannot be served; carries its wire error code
"""

from __future__ import annotations

__all__ = ["CodeserveError", "ConfigError", "EngineStartError", "EngineUnavailable", "RequestError"]


class CodeserveError(Exception):
    """Base class. ``str(error)`` is one line, without source code or tokens in it, fit for a user."""


class ConfigError(CodeserveError):
    """A setting, preset, model folder or installation that cannot work."""


class EngineStartError(CodeserveError):
    """The engine could not be brought up; trying again would not help before something changes."""


class EngineUnavailable(CodeserveError):
    """The engine is loading, has crashed and is being restarted, or has been stopped."""

    def __init__(self, message: str, *, retry_after_ms: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_ms = retry_after_ms


class RequestError(CodeserveError):
    """A request that cannot be served. ``code`` is one of `codeserve.protocol.ErrorCode`."""

    def __init__(self, code: str, message: str, *, retry_after_ms: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_ms = retry_after_ms
