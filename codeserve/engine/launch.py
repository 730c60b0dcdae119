"""One engine process, from before vLLM is imported until nothing of it is left."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import logging
import multiprocessing
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from codeserve.engine import compat, preflight
from codeserve.engine.arguments import engine_arguments
from codeserve.engine.child import EngineMain
from codeserve.engine.compiler import missing_for_compiling
from codeserve.engine.environment import applied, cache_folder, engine_environment, find_preload
from codeserve.engine.failure import explain_failure
from codeserve.engine.folder import read_config
from codeserve.engine.hub import fetch_preset
from codeserve.engine.machine import affinity, cpu_quota
from codeserve.engine.output import STAGES, EngineOutput
from codeserve.engine.preset import Preset
from codeserve.engine.processes import kill_groups, stop_tracker, wait_gone
from codeserve.engine.threads import plan_threads
from codeserve.engine.warmup import WARMUP_TOKENS, warmup_prompts
from codeserve.errors import EngineStartError

__all__ = ["EngineProcess"]

_POLL = 1.0  # seconds between two looks at an engine that says nothing
_CODE_SECONDS = 2.0  # to wait for a dead process's exit code
_GRACE = 5.0  # seconds from asking the engine's processes to end to ending them

# A start changes the environment and a class of vLLM for a while: one at a time in a process.
_STARTING = threading.Lock()


class EngineProcess:
    """vLLM's AsyncLLM with its process. Made for one start; use on one event loop."""

    def __init__(
        self,
        preset: Preset,
        device: str,
        on_stage: Callable[[str], None],
        on_step: Callable[[compat.StepOutput], None],
    ) -> None:
        self._preset = preset
        self._device = device
        self._on_stage = on_stage
        self._on_step = on_step
        self._loop = asyncio.get_running_loop()
        self._dead = asyncio.Event()
        self._lock = threading.Lock()
        self._groups: list[int] = []  # process groups of the engine, by their leader's id
        self._stopping = False
        self._warm = False
        self._output = EngineOutput(self._stage, self._began, self._closed)
        self._life_reader, self._life = multiprocessing.Pipe(duplex=False)
        self._building: asyncio.Task[tuple[compat.Vllm, Any]] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._engine: Any = None
        self._model: Path
        self.vllm: compat.Vllm

    @property
    def engine(self) -> Any:
        """vLLM's AsyncLLM, once started."""
        return self._engine

    async def start(self) -> None:
        """Bring it up, warm. Raises: ConfigError, EngineStartError with the cause and the way out."""
        self._stage(STAGES[0])
        self._building = asyncio.create_task(self._bring_up())
        self.vllm, self._engine = await asyncio.shield(self._building)
        self._output.seal()
        compat.watch_outputs(self._engine, self._step)
        self._stage("warming up")
        try:
            await self._warm_up()
        except (self.vllm.dead, self.vllm.failed) as error:
            raise self._start_error(error) from None
        self._warm = True
        self._output.clear()
        self._stage("ready")

    async def wait_dead(self) -> str:
        """Wait for the end of the process, noticed within a second even when idle. Returns why."""
        while not (self._dead.is_set() or self._engine.errored):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._dead.wait(), _POLL)
        # What it printed last is still on its way.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._dead.wait(), _POLL)
        code = await asyncio.to_thread(compat.exit_code, self._engine, _CODE_SECONDS)
        return explain_failure(self._output.tail(), code)

    async def close(self) -> None:
        """End its processes; during a start too, where it waits for an import of vLLM to come to its end."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    # --- the start; what takes long is done on worker threads

    async def _bring_up(self) -> tuple[compat.Vllm, Any]:
        preflight.require(await asyncio.to_thread(preflight.checks, self._preset, self._preset.model))
        fetched = await asyncio.to_thread(fetch_preset, self._preset)
        self._model = Path(fetched.model)
        # Apart from the rest: errors that vLLM meets and keeps while it imports hold on to their call stack,
        # and so to what would be built in it.
        vllm = await asyncio.to_thread(self._import)
        if self._stopping:
            raise EngineStartError("the start was broken off")
        return vllm, await asyncio.to_thread(self._build, vllm, fetched)

    @contextlib.contextmanager
    def _surroundings(self) -> Iterator[None]:
        environment = engine_environment(
            device=self._device,
            threads=plan_threads(affinity(), cpu_quota()),
            preload=find_preload(),
            offline=isinstance(self._preset.model, Path),
            cache=cache_folder(),
            environ=os.environ,
        )
        with _STARTING, applied(environment), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield

    def _import(self) -> compat.Vllm:
        # torch warns that it finds no Triton, which vLLM for the CPU does without.
        logging.getLogger("torch._library.triton").setLevel(logging.ERROR)
        with self._surroundings():
            vllm = compat.load()
            logger = logging.getLogger("vllm")
            logger.addHandler(self._output)
            logger.setLevel(logging.INFO)
            logger.propagate = False
            return vllm

    def _build(self, vllm: compat.Vllm, fetched: Preset) -> Any:
        version = compat.check_version(compat.installed()).version
        known = [field.name for field in dataclasses.fields(vllm.engine_args)]
        compiled = not missing_for_compiling()
        arguments = engine_arguments(fetched, fetched.model, self._device, compiled=compiled)
        arguments = compat.keep_known(arguments, known, version)
        with self._surroundings():
            original = vllm.engine_process.run_engine_core
            vllm.engine_process.run_engine_core = EngineMain(
                self._output.writer,
                self._life_reader,
                self._preset.speculation.min_accepted if self._preset.speculation else 0.0,
            )
            try:
                return vllm.async_llm.from_engine_args(
                    vllm.engine_args(**arguments), stat_loggers=[compat.silent_stats(vllm)]
                )
            except Exception as error:  # whatever it is, it ends the start and is told in one line
                failure = self._start_error(error)
            finally:
                vllm.engine_process.run_engine_core = original
        # Raised out here, so that it does not hold on to what vLLM had built up so far.
        raise failure

    def _start_error(self, error: BaseException) -> EngineStartError:
        """The cause, from what the processes printed and from the exception."""
        self._output.seal()
        self._kill()
        self._output.join(2.0)
        lines = self._output.tail()
        chain: BaseException | None = error
        while chain is not None:
            lines += f"{type(chain).__name__}: {chain}".splitlines()
            chain = chain.__cause__ or chain.__context__
        return EngineStartError(f"{self._preset.name} cannot be started: {explain_failure(lines)}")

    def _step(self, step: compat.StepOutput) -> None:
        """Pass on what a step brought; a warm-up's tokens are nobody's, and not wasted either."""
        if self._warm:
            self._on_step(step)

    async def _warm_up(self) -> None:
        vocabulary = int(read_config(self._model).get("vocab_size", 2))
        parameters = self.vllm.sampling_params(
            temperature=0.0,
            max_tokens=WARMUP_TOKENS,
            ignore_eos=True,
            detokenize=False,
            logprobs=0,
            output_kind=self.vllm.delta,
        )
        for number, ids in enumerate(warmup_prompts(self._preset.context_tokens, vocabulary)):
            prompt = compat.prompt_input(ids)
            async for _ in self._engine.generate(prompt, parameters, f"warm-up {number}"):
                pass

    # --- called on the thread that reads the output

    def _began(self, pid: int) -> None:
        with self._lock:
            self._groups.append(pid)
            stopping = self._stopping
        if stopping:
            self._kill()

    def _stage(self, stage: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know any more
            self._loop.call_soon_threadsafe(self._on_stage, stage)

    def _closed(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._dead.set)

    # --- the end

    async def _close(self) -> None:
        with self._lock:
            self._stopping = True
        if self._building is not None and not self._building.done():
            self._kill()
        if self._building is not None:
            with contextlib.suppress(Exception):  # it was told to whoever started it
                self.vllm, self._engine = await self._building
        await asyncio.to_thread(self._end)
        self._engine = self._building = None
        # vLLM leaves its sockets' context and more in reference cycles: a restart should not pile them up.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()

    def _end(self) -> None:
        if self._engine is not None:
            compat.shut_down(self._engine, _GRACE)
        self._output.seal()
        self._life.close()
        self._life_reader.close()
        self._kill()
        wait_gone(self._groups, _GRACE)
        self._output.join(1.0)
        logging.getLogger("vllm").removeHandler(self._output)
        stop_tracker()

    def _kill(self) -> None:
        """End every process of the engine, and all that they have started, at once."""
        with self._lock:
            groups = list(self._groups)
        kill_groups(groups)
