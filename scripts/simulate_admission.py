"""Admission with hundreds of developers on a GPU that is simulated: answers a second, and their times.

The step times are those of CodeLlama 7B in fp8 on one H200 (docs/performance.md): 3.4 ms, 0.27 ms for each
sequence that decodes, 0.0155 ms for each prompt token; 7 ms pass before a request is first scheduled. The KV
cache holds 470,000 tokens, least recently used contexts go first. Usage: simulate_admission.py DEVELOPERS…
"""

from __future__ import annotations

import random
import sys
from collections import OrderedDict

import attrs

from codeserve.bench.lengths import draw_length
from codeserve.bench.stats import percentile
from codeserve.errors import RequestError
from codeserve.server.admission import Admission, Share
from codeserve.server.pace import Service

SECONDS, WARM_UP = 40.0, 20.0
DEADLINE_MS, CACHE_TOKENS, BATCH_TOKENS = 300.0, 470_000, 4096


@attrs.define(eq=False)
class Request:
    arrived: float
    live: int
    since_s: float | None
    prompt: int
    cached: int
    length: int
    left: int  # prompt tokens to prefill
    times: list[float] = attrs.field(factory=list)  # of its tokens


@attrs.define(eq=False)
class Developer:
    share: Share
    context: int
    next: float  # milliseconds, as all times here
    worked_on: float | None = None
    request: Request | None = None


class Simulation:
    def __init__(self, developers: int, seed: int = 0) -> None:
        self.rng = random.Random(seed)
        self.now = 0.0
        self.admission = Admission(512, 16, clock=lambda: self.now / 1000)
        self.developers = [
            Developer(self.admission.share(), self._context(), self.rng.random() * WARM_UP * 1000)
            for _ in range(developers)
        ]
        self.cache: OrderedDict[Developer, int] = OrderedDict()
        self.lines: list[float] = []
        self.refused = 0

    def _context(self) -> int:
        return self.rng.randrange(1500, 3900)

    @property
    def counts(self) -> bool:
        return self.now > WARM_UP * 1000

    def ask(self, one: Developer) -> None:
        since_s = None if one.worked_on is None else (self.now - one.worked_on) / 1000
        try:
            one.share.take(1, DEADLINE_MS, since_s=since_s)
        except RequestError as error:
            self.refused += self.counts
            wait = min(error.retry_after_ms or 0, 1000)
            one.next = self.now + wait + self.rng.expovariate(1 / 1000)
            return
        cached = min(self.cache.get(one, 0), one.context)
        one.request = Request(
            self.now,
            self.admission.live,
            since_s,
            one.context,
            cached,
            draw_length(self.rng),
            one.context - cached,
        )

    def end(self, one: Developer, request: Request) -> None:
        times = request.times
        service = Service(
            live=(request.live + self.admission.live) / 2,
            age_ms=self.now - request.arrived,
            ttft_ms=times[0] - request.arrived if times else None,
            tpot_ms=(times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None,
            prompt_tokens=request.prompt,
            cached_tokens=request.cached,
            since_s=request.since_s,
        )
        self.admission.observe(service)
        one.share.give_back(1)
        if self.counts:
            self.lines.append(service.age_ms)
        one.request, one.worked_on, one.context = None, self.now, min(3990, one.context + 3)
        if self.rng.random() < 0.03:  # somewhere else
            self.cache.pop(one, None)
            one.worked_on, one.context = None, self._context()
        one.next = self.now + self.rng.expovariate(1 / 1000)

    def step(self) -> None:
        for one in self.developers:
            if one.request is None and one.next <= self.now:
                self.ask(one)
            elif one.request is not None and self.now - one.request.arrived >= DEADLINE_MS:
                self.end(one, one.request)
        live = [(one.request, one) for one in self.developers if one.request is not None]
        decoding = [(request, one) for request, one in live if request.times]
        room, prefilled, started = BATCH_TOKENS - len(decoding), 0, []
        for request, one in sorted(live, key=lambda pair: pair[0].arrived):
            if not request.times and room > 0 and request.arrived + 7 <= self.now:
                tokens = min(room, max(1, request.left))
                request.left, room, prefilled = request.left - tokens, room - tokens, prefilled + tokens
                if request.left <= 0:
                    started.append((request, one))
        self.now += 3.4 + 0.27 * len(decoding) + 0.0155 * prefilled if decoding or prefilled else 1.0
        for request, one in (*decoding, *started):
            request.times.append(self.now)
            if len(request.times) == 1:
                self._keep(one, request.prompt)
            if len(request.times) >= request.length:
                self.end(one, request)

    def _keep(self, one: Developer, tokens: int) -> None:
        self.cache.pop(one, None)
        self.cache[one] = tokens
        while sum(self.cache.values()) > CACHE_TOKENS:
            self.cache.popitem(last=False)


def main() -> None:
    for developers in map(int, sys.argv[1:]):
        run = Simulation(developers)
        while run.now < (WARM_UP + SECONDS) * 1000:
            run.step()
        late = sum(line >= DEADLINE_MS for line in run.lines) / len(run.lines)
        print(
            f"{developers} developers: {len(run.lines) / SECONDS:.0f} answers a second, "
            f"p50 {percentile(run.lines, 50):.0f} ms, p95 {percentile(run.lines, 95):.0f} ms, "
            f"{100 * late:.1f} % cut off, {run.refused / SECONDS:.0f} refused a second"
        )


if __name__ == "__main__":
    main()
