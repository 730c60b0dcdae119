"""What an operator may do to a running engine: put it to sleep, wake it, empty its cache, profile it."""

from __future__ import annotations

import asyncio
from typing import Any

from codeserve.engine.preset import Preset
from codeserve.errors import RequestError
from codeserve.protocol import ErrorCode

__all__ = ["LEVERS", "pull", "with_profiles"]

LEVERS = ("sleep", "wake", "reset-cache", "profile")

_ASLEEP = "the weights are in the machine's memory and the GPU's is free: codeserve admin wake"


def with_profiles(engine_args: dict[str, Any], folder: str) -> dict[str, Any]:
    """Engine arguments with which `profile` writes into ``folder``; the preset's own win."""
    config = {"profiler": "torch", "torch_profiler_dir": folder, "ignore_frontend": True}
    return {"profiler_config": config} | engine_args


async def pull(engine: Any, preset: Preset, lever: str, seconds: float) -> str:
    """Do it on vLLM's ``engine``; returns what was done, in one line. ``seconds`` is a profile's length.

    Raises: RequestError for what this engine was not set up for, or cannot do now; vLLM's own error when the
    engine has died.
    """
    try:
        match lever:
            case "sleep":
                if not preset.engine_args.get("enable_sleep_mode"):
                    raise _refusal(
                        "sleep needs a GPU, and enable_sleep_mode = true in the preset's [engine_args]"
                    )
                await engine.sleep(1)
                return _ASLEEP
            case "wake":
                await engine.wake_up()
                return "awake"
            case "reset-cache":
                if await engine.reset_prefix_cache() is False:
                    raise _refusal("the prefix cache is in use: ask again when no request is running")
                return "the prefix cache is empty"
            case _:
                folder = (preset.engine_args.get("profiler_config") or {}).get("torch_profiler_dir")
                if not folder:
                    raise _refusal("a profile needs a folder: set profile_dir and start the server again")
                await engine.start_profile()
                try:
                    await asyncio.sleep(seconds)
                finally:
                    await engine.stop_profile()
                return f"{seconds:g} s are in {folder}: open the file in Perfetto or chrome://tracing"
    except RequestError:
        raise
    except Exception as error:  # what fails in the engine's process comes as a plain Exception
        if engine.errored:
            raise
        text = " ".join(str(error).split())[:200]
        raise _refusal(f"the engine cannot do this: {text or type(error).__name__}") from error


def _refusal(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID, message)
