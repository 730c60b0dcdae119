"""Reading a server's HTTP side."""

from __future__ import annotations

import asyncio
import socket

import pytest

from codeserve.bench.scrape import changes, get, parse_metrics, total

TEXT = """\
# HELP codeserve_requests_total Requests.
# TYPE codeserve_requests_total counter
codeserve_requests_total{finish="stop"} 3.0
codeserve_requests_total{finish="a } b"} 1e3
codeserve_ttft_seconds_bucket{le="0.1"} 7.0
codeserve_ttft_seconds_sum 1.5 1700000000
codeserve_load NaN
broken
python_info{version="3"} 1.0
"""


def test_metrics_are_parsed() -> None:
    """Names with labels, exponents and time stamps are read; buckets and noise are not."""
    metrics = parse_metrics(TEXT)
    assert metrics['codeserve_requests_total{finish="stop"}'] == 3.0
    assert metrics['codeserve_requests_total{finish="a } b"}'] == 1000.0
    assert metrics["codeserve_ttft_seconds_sum"] == 1.5
    assert len(metrics) == 5


def test_changes_are_those_of_codeserves_counters() -> None:
    """What grew, and nothing that stayed, is a gauge, or belongs to the Python process."""
    before = {
        "codeserve_a_total": 1.0,
        "codeserve_b_total": 2.0,
        "codeserve_load": 0.0,
        "python_x_total": 0.0,
    }
    after = {"codeserve_a_total": 4.0, "codeserve_b_total": 2.0, "codeserve_load": 1.0, "python_x_total": 9.0}
    assert changes(before, {**after, 'codeserve_c_total{l="x"}': 5.0}) == {
        "codeserve_a_total": 3.0,
        'codeserve_c_total{l="x"}': 5.0,
    }


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody\r\n\r\nmore", 200, "body\r\n\r\nmore"),
        (b"HTTP/1.1 503 Not Ready\r\n\r\n", 503, ""),
        (b"SSH-2.0-x\r\n", 0, ""),
        (b"", 0, ""),
    ],
)
async def test_get_reads_any_answer(answer: bytes, status: int, text: str) -> None:
    """Status and body are read; what is not HTTP has status 0."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        assert request.startswith(b"GET /metrics HTTP/1.1\r\n")
        assert b"\r\nAuthorization: Bearer abc\r\n" in request
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        response = await get(f"ws://127.0.0.1:{port}", "/metrics", token="abc")
    assert (response.status, response.text) == (status, text)


async def test_get_without_a_server() -> None:
    """Nobody there is status 0."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert (await get(f"ws://127.0.0.1:{unused.getsockname()[1]}", "/")).status == 0


def test_total_over_labels() -> None:
    """All labels of one metric count, and none of a metric whose name only begins the same."""
    samples = {'a_total{reason="x"}': 2.0, 'a_total{reason="y"}': 3.0, "a_total_more": 7.0}
    assert total(samples, "a_total") == 5.0
    assert total({}, "a_total") == 0.0
