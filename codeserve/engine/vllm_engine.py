"""The engine that codeserve runs on: vLLM's AsyncLLM, supervised."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, Literal

from codeserve.engine import compat
from codeserve.engine.base import EngineInfo, EngineState, GenerationChunk, GenerationRequest
from codeserve.engine.launch import EngineProcess
from codeserve.engine.ledger import Ledger, Tally
from codeserve.engine.levers import pull
from codeserve.engine.output import STAGES
from codeserve.engine.preset import Preset
from codeserve.engine.supervisor import Backoff, Supervisor
from codeserve.errors import EngineUnavailable, RequestError
from codeserve.protocol import ErrorCode

__all__ = ["VllmEngine"]

# "repetition" is vLLM's own guard against a model that runs in circles.
_FINISH: dict[str, Literal["stop", "length"]] = {"stop": "stop", "length": "length", "repetition": "stop"}


def _ignore(*_: object) -> None:
    """What happens to news that nobody asked for."""


class VllmEngine:
    """A `codeserve.engine.base.Engine` for a preset.

    ``on_state`` is called with every new state. ``on_progress`` is called while the engine starts, and starts
    again, with the stage that begins (`codeserve.engine.output.STAGES`) and the seconds since the start. Both
    are called on the event loop.
    """

    def __init__(
        self,
        preset: Preset,
        *,
        on_state: Callable[[EngineState], None] | None = None,
        on_progress: Callable[[str, float], None] | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self._preset = preset
        self._on_progress = on_progress or _ignore
        self._began = time.monotonic()
        self._stage = ""
        self._asleep: EngineProcess | None = None
        self._ledger = Ledger()
        self._supervisor = Supervisor(self._make, on_state or _ignore, backoff=backoff)
        found = compat.installed()
        self._device = preset.device if preset.device != "auto" else found.device if found else "cpu"
        self._info = EngineInfo(
            model=preset.label,
            engine=f"vllm {found.version if found else '(not installed)'} ({self._device})",
            context_tokens=preset.context_tokens,
            speculation=preset.speculation.method if preset.speculation else None,
        )

    @property
    def state(self) -> EngineState:
        """Where the engine stands."""
        state = self._supervisor.state
        asleep = self._asleep is not None and self._asleep is self._supervisor.part
        return EngineState.ASLEEP if asleep and state is EngineState.READY else state

    @property
    def info(self) -> EngineInfo:
        """What runs."""
        return self._info

    @property
    def stage(self) -> str:
        """The latest stage of a start, "" before the first one."""
        return self._stage

    @property
    def failure(self) -> str | None:
        """One line on why the engine is not ready, or None."""
        return self._supervisor.failure

    @property
    def retry_after_ms(self) -> int | None:
        """Until it is expected to take requests again: what is left of a pause, and a start's time."""
        return self._supervisor.retry_after_ms

    @property
    def tokens_after_end(self) -> int:
        """Tokens generated for requests that had already ended here, counted on vLLM's raw output."""
        return self._ledger.tokens_after_end

    @property
    def restarts(self) -> int:
        """How often a crashed engine was brought up again."""
        return self._supervisor.restarts

    async def start(self) -> None:
        """Bring the engine up; returns when it is warm. Raises: EngineStartError, ConfigError."""
        await self._supervisor.start()

    async def close(self) -> None:
        """Stop; leaves no process behind. During an import of vLLM it waits for that to end. Idempotent."""
        await self._supervisor.close()

    async def abort(self, request_id: str) -> None:
        """Stop working on a request at once; its iterator ends without a finish. Unknown ids are ignored."""
        if request_id in self._ledger:
            self._ledger.end(request_id)
            await self._supervisor.running().engine.abort(request_id)

    async def administer(self, lever: str, seconds: float) -> str:
        """Do one of `codeserve.engine.levers.LEVERS`; see `codeserve.engine.base.Engine.administer`."""
        process = self._supervisor.running()
        try:
            done = await pull(process.engine, self._preset, lever, seconds)
        except process.vllm.dead as error:
            raise self._unavailable() from error
        if lever in ("sleep", "wake"):
            self._asleep = process if lever == "sleep" else None
        return done

    async def generate(self, request: GenerationRequest) -> AsyncGenerator[GenerationChunk, None]:
        """Stream a generation; see `codeserve.engine.base.Engine.generate`.

        A stop token that ends the generation is the last id. ``queue_ms`` runs from the scheduler's queue to
        the first scheduling, on the engine's own clock.
        ``accepted_tokens`` is exact; ``drafted_tokens`` while it runs is `Ledger.observe`'s, and exact in the
        last chunk where vLLM reports it by request.
        Raises: EngineUnavailable; RequestError for a prompt that does not fit; ValueError for an id in use.
        """
        process = self._supervisor.running()
        self._check(request)
        tally = self._ledger.begin(request.id)
        stream = process.engine.generate(
            compat.prompt_input(request.prompt_token_ids),
            self._parameters(request, process.vllm),
            request.id,
            priority=request.priority,
        )
        try:
            async for output in stream:
                if request.id not in self._ledger or output.outputs[0].finish_reason == "abort":
                    return
                yield self._chunk(request, output, tally)
        except (process.vllm.dead, process.vllm.failed) as error:
            if request.id in self._ledger:
                raise self._unavailable() from error
        finally:
            self._ledger.end(request.id)
            await stream.aclose()

    def _make(self) -> EngineProcess:
        self._began = time.monotonic()
        self._stage = ""
        return EngineProcess(self._preset, self._device, self._progress, self._ledger.observe)

    def _progress(self, stage: str) -> None:
        # The engine's process repeats itself; a start only goes forward.
        if not self._stage or STAGES.index(stage) > STAGES.index(self._stage):
            self._stage = stage
            self._on_progress(stage, time.monotonic() - self._began)

    def _check(self, request: GenerationRequest) -> None:
        length, limit = len(request.prompt_token_ids), self._preset.context_tokens
        if not length or request.max_tokens < 1 or length + request.max_tokens > limit:
            raise RequestError(
                ErrorCode.INVALID,
                f"a prompt of {length} tokens and {request.max_tokens} to generate do not fit into a context "
                f"of {limit} tokens",
            )

    def _parameters(self, request: GenerationRequest, vllm: compat.Vllm) -> Any:
        return vllm.sampling_params(
            temperature=request.temperature,
            seed=request.seed,
            max_tokens=request.max_tokens,
            stop_token_ids=list(request.stop_token_ids),
            detokenize=False,
            logprobs=0 if request.logprobs else None,  # 0: of the sampled token alone
            output_kind=vllm.delta,
        )

    def _chunk(self, request: GenerationRequest, output: Any, tally: Tally) -> GenerationChunk:
        completion = output.outputs[0]
        if completion.finish_reason == "error":
            raise EngineUnavailable("the engine gave the request up; ask again", retry_after_ms=100)
        drafted, accepted = tally.drafted, tally.accepted
        if self._preset.speculation is None:
            drafted = accepted = 0
        elif completion.finish_reason and (exact := compat.final_speculation(output)):
            drafted, accepted = exact
        return GenerationChunk(
            token_ids=tuple(completion.token_ids),
            finish=_FINISH[completion.finish_reason] if completion.finish_reason else None,
            prompt_tokens=len(request.prompt_token_ids),
            cached_tokens=output.num_cached_tokens or 0,
            drafted_tokens=drafted,
            accepted_tokens=accepted,
            queue_ms=compat.queue_milliseconds(output),
            logprobs=compat.sampled_logprobs(completion),
        )

    def _unavailable(self) -> EngineUnavailable:
        """The engine has died under a request; the supervisor may not have seen it yet."""
        try:
            self._supervisor.running()
        except EngineUnavailable as error:
            return error
        return EngineUnavailable("the engine died and is being restarted", retry_after_ms=5000)
