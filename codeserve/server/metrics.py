"""What the server counts, in Prometheus' terms. No label ever holds what a client sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from codeserve.engine.base import Engine, EngineState
from codeserve.protocol import Done, Finish

__all__ = ["Metrics", "Outcome"]

# Seconds; dense around the 300 ms that an answer may take.
_LATENCY = (
    0.005,
    0.01,
    0.02,
    0.03,
    0.05,
    0.075,
    0.1,
    0.15,
    0.2,
    0.25,
    0.3,
    0.35,
    0.4,
    0.5,
    0.75,
    1,
    2,
    5,
    10,
    30,
)
_PER_TOKEN = (0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5)


@attrs.frozen
class Outcome:
    """How a request ended, as far as the metrics care."""

    done: Done
    tpot_ms: float | None  # mean time per output token after the first; None with fewer than two
    prewarm: bool = False  # however it ended: its times are no completion's


class _EngineCollector(Collector):
    """Figures that the engine keeps, read when they are asked for."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        state = GaugeMetricFamily(
            "codeserve_engine_state", "1 for the state the engine is in", labels=["state"]
        )
        for name in EngineState:
            state.add_metric([name], float(name == self._engine.state))
        yield state
        restarts = CounterMetricFamily(
            "codeserve_engine_restarts", "Times a crashed engine was brought up again"
        )
        restarts.add_metric([], self._engine.restarts)
        yield restarts
        after = CounterMetricFamily(
            "codeserve_tokens_after_end", "Tokens that the engine generated for requests that had ended"
        )
        after.add_metric([], self._engine.tokens_after_end)
        yield after


class Metrics:
    """The metrics of one server, in a registry of their own so that a process can hold several."""

    def __init__(self, engine: Engine, live: Callable[[], float], connections: Callable[[], float]) -> None:
        registry = self._registry = CollectorRegistry()
        registry.register(_EngineCollector(engine))
        Gauge("codeserve_live_sequences", "Sequences running or queued", registry=registry).set_function(live)
        Gauge("codeserve_connections", "Open WebSocket connections", registry=registry).set_function(
            connections
        )

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"codeserve_{name}", text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...] = _LATENCY) -> Histogram:
            return Histogram(f"codeserve_{name}_seconds", text, buckets=buckets, registry=registry)

        self._requests = counter("requests", "Requests answered with done, by how they ended", "finish")
        self._errors = counter("errors", "Error messages sent, by code", "code")
        self._empty = counter("empty_answers", "Requests that brought no text, by reason", "reason")
        self._wasted = counter("tokens_wasted", "Output tokens of requests whose text nobody got", "reason")
        self._prompt = counter("prompt_tokens", "Prompt tokens")
        self._cached = counter("cached_tokens", "Prompt tokens found in the prefix cache")
        self._output = counter("output_tokens", "Tokens generated")
        self._drafted = counter("drafted_tokens", "Tokens that speculation drafted")
        self._accepted = counter("accepted_tokens", "Drafted tokens that the model accepted")
        self._feedback = counter("feedback", "What became of completions in the editor", "event")
        self._accepted_characters = counter(
            "accepted_characters", "Characters accepted, as clients report them"
        )
        self._queue = histogram("queue", "From arrival until the engine first worked on a completion")
        self._ttft = histogram("ttft", "From arrival to the first token of a completion")
        self._total = histogram("request", "From arrival to the end of a completion")
        self._tpot = histogram("tpot", "Mean time per output token after the first", _PER_TOKEN)
        for finish in Finish:  # so that a counter exists before it counts
            self._requests.labels(finish)

    def ended(self, outcome: Outcome) -> None:
        """A request got its `Done`."""
        done = outcome.done
        self._requests.labels(done.finish).inc()
        self._count_tokens(done)
        if not done.text:
            self._wasted.labels(done.finish).inc(done.tokens.output)
        if outcome.prewarm:
            return
        if not done.text:
            self._empty.labels(done.finish).inc()
        self._queue.observe(done.timings.queue_ms / 1000)
        self._total.observe(done.timings.total_ms / 1000)
        if done.timings.ttft_ms is not None:
            self._ttft.observe(done.timings.ttft_ms / 1000)
        if outcome.tpot_ms is not None:
            self._tpot.observe(outcome.tpot_ms / 1000)

    def failed(self, done: Done, code: str) -> None:
        """A request got an `Error` with ``code``; ``done`` is what there was of it."""
        self._count_tokens(done)
        self._wasted.labels("error").inc(done.tokens.output)
        self._empty.labels(code).inc()

    def disconnected(self, done: Done) -> None:
        """A request's client went away; ``done`` is what there was of it."""
        self._count_tokens(done)
        self._wasted.labels("disconnected").inc(done.tokens.output)
        self._empty.labels("disconnected").inc()

    def _count_tokens(self, done: Done) -> None:
        self._prompt.inc(done.tokens.prompt)
        self._cached.inc(done.tokens.cached)
        self._output.inc(done.tokens.output)
        self._drafted.inc(done.tokens.drafted)
        self._accepted.inc(done.tokens.accepted)

    def error(self, code: str) -> None:
        """An `Error` was sent."""
        self._errors.labels(code).inc()

    def refused(self, code: str) -> None:
        """A completion was refused with ``code`` before it began."""
        self._empty.labels(code).inc()

    def feedback(self, event: str, characters: int) -> None:
        """A client told what became of a completion."""
        self._feedback.labels(event).inc()
        self._accepted_characters.inc(characters)

    def text(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)
