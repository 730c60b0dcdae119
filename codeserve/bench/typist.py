"""A developer who types a file's own text and asks for completions on the way."""

from __future__ import annotations

import asyncio
import random
import time

import attrs

from codeserve.bench.corpus import Corpus, Place
from codeserve.bench.lengths import draw_length
from codeserve.bench.stats import Sample
from codeserve.client import Client, CompletionHandle, RequestError
from codeserve.protocol import MIN_CONFIDENCE, Mode

__all__ = ["Habits", "Quota", "Typist"]

# Characters a token of code: where the server does not say, and at most.
_CHARS_PER_TOKEN = 3.3
_MAX_CHARS_PER_TOKEN = 5.0
# Characters typed in one place before the developer goes elsewhere in any case.
_PLACE_CHARS = 1_500
# Characters between two requests: about three tokens.
_BURST = (4, 14)
# Seconds until a developer who does not wait for the answer has typed the next few characters.
_TYPE_ON_S = (0.02, 0.15)


@attrs.frozen
class Habits:
    """How a developer works. Probabilities are for each request."""

    context_tokens: int = 1600  # about the size of a prompt
    context_tokens_to: int | None = None  # each place's is drawn from there to here; None: all are the same
    fixed_lengths: bool = False  # of outputs, drawn from those of real lines: for made-up weights
    # Sees texts that the model is not sure of too: where the server keeps those back, a first text comes late
    # or never. Elsewhere it costs the log-probabilities that nobody asks for otherwise.
    every_text: bool = False
    mode: Mode = "line"
    deadline_ms: int = 300
    pause_s: float = 1.0  # mean of the exponential pause after an answer; 0 for none
    navigate: float = 0.03  # goes elsewhere: the next prompt is cold
    type_on: float = 0.1  # types on before the answer is there: it is superseded
    accept: float = 0.5  # takes a completion that is what would have been typed


class Quota:
    """How many requests all developers may still make, and until when (`time.monotonic`).

    They begin one after the other, up to the time ``all_in``: what they ask before it is not counted.
    """

    def __init__(self, requests: int, until: float, all_in: float = 0.0) -> None:
        self.requests = requests
        self.until = until
        self.all_in = all_in

    @property
    def left_s(self) -> float:
        return self.until - time.monotonic()

    def take(self) -> bool:
        """Take one request, if there is one left."""
        if self.requests <= 0 or self.left_s <= 0:
            return False
        self.requests -= 1
        return True


class Typist:
    """One developer on one connection."""

    def __init__(self, client: Client, corpus: Corpus, habits: Habits, *, name: str, seed: str) -> None:
        self.samples: list[Sample] = []
        self._client = client
        self._corpus = corpus
        self._habits = habits
        self._name = name
        self._rng = random.Random(seed)
        self._places = 0
        self._place = Place("", "", "", "")
        self._typed = 0  # characters of the place's own text
        self._cold = True
        self._counts = True
        self._ratio: float | None = None  # characters a token, where one measurement has to do

    async def work(self, quota: Quota) -> None:
        """Type until the quota is used up. Every completion asked for gives one sample."""
        ramp_s = max(self._habits.pause_s, quota.all_in - time.monotonic())
        await self._rest(quota, self._rng.random() * ramp_s)  # not all at the same moment
        await self._go()
        while quota.take():
            self._type()
            self._counts = time.monotonic() >= quota.all_in
            handle = self._ask()
            cold, self._cold = self._cold, False
            if self._rng.random() < self._habits.type_on and quota.take():
                await asyncio.sleep(self._rng.uniform(*_TYPE_ON_S))
                self._type()
                later = self._ask()  # supersedes the first one, unless its answer is here already
                await self._note(handle, cold, look=False)
                handle, cold = later, False
            await self._note(handle, cold, look=True)
            if self._typed >= len(self._place.typed) or self._rng.random() < self._habits.navigate:
                await self._go()
            if self._habits.pause_s > 0:
                await self._rest(quota, self._rng.expovariate(1 / self._habits.pause_s))

    async def _rest(self, quota: Quota, seconds: float) -> None:
        await asyncio.sleep(max(0.0, min(seconds, quota.left_s)))

    async def _go(self) -> None:
        """Somewhere else, with a prompt of the size asked for; typing there makes it longer."""
        self._places += 1
        self._typed, self._cold = 0, True
        habits = self._habits
        context = self._rng.randint(habits.context_tokens, habits.context_tokens_to or habits.context_tokens)
        typed = min(_PLACE_CHARS, context)
        suffix = context // 2  # well under what the server keeps of a suffix: a quarter of its budget
        place = self._corpus.place(
            self._rng,
            prefix_chars=round(context * _MAX_CHARS_PER_TOKEN),
            typed_chars=typed,
            suffix_chars=suffix,
        )
        total = context * await self._chars_per_token(place.prefix[-2 * context :])
        self._place = place.shortened(round(total) - suffix)

    async def _chars_per_token(self, text: str) -> float:
        """Characters a token there, by a prewarm: without a suffix no later prompt shares its blocks.

        That is a prompt more for the server to work on: with fixed lengths one a developer has to do.
        """
        if self._ratio is not None:
            return self._ratio
        handle = self._client.prewarm(document=f"bench:{self._name}:size", prefix=text)
        try:
            tokens = (await handle.result()).tokens.prompt
        except RequestError:
            tokens = 0  # what is wrong will show in the samples
        ratio = len(text) / tokens if tokens else _CHARS_PER_TOKEN
        ratio = min(_MAX_CHARS_PER_TOKEN, ratio)
        if self._habits.fixed_lengths:
            self._ratio = ratio
        return ratio

    def _type(self) -> None:
        self._typed = min(len(self._place.typed), self._typed + self._rng.randint(*_BURST))

    def _ask(self) -> CompletionHandle:
        return self._client.complete(
            document=f"bench:{self._name}:{self._places}",
            prefix=self._place.prefix + self._place.typed[: self._typed],
            suffix=self._place.suffix,
            path=self._place.name,
            deadline_ms=self._habits.deadline_ms,
            mode=self._habits.mode,
            max_tokens=draw_length(self._rng) if self._habits.fixed_lengths else None,
            min_confidence=MIN_CONFIDENCE if self._habits.every_text else None,
        )

    async def _note(self, handle: CompletionHandle, cold: bool, *, look: bool) -> None:
        """Wait for the end and keep a sample; with ``look``, the developer may accept the text."""
        try:
            done = await handle.result()
        except RequestError as exc:
            total = handle.total_ms or 0.0
            self._keep(Sample(cold, exc.code, handle.ttft_ms, total))
            # as an editor does: no storm on a server that has said no
            await asyncio.sleep(min((exc.retry_after_ms or 100) / 1000, 1.0))
            return
        sample = Sample(
            cold=cold,
            outcome=done.finish.value,
            client_ttft_ms=handle.ttft_ms,
            client_total_ms=handle.total_ms or 0.0,
            prompt_tokens=done.tokens.prompt,
            cached_tokens=done.tokens.cached,
            output_tokens=done.tokens.output,
            accepted=look and self._accept(handle, done.text),
        )
        if done.finish not in ("superseded", "cancelled"):
            sample = attrs.evolve(
                sample,
                server_queue_ms=done.timings.queue_ms,
                server_ttft_ms=done.timings.ttft_ms,
                server_total_ms=done.timings.total_ms,
            )
        self._keep(sample)

    def _keep(self, sample: Sample) -> None:
        if self._counts:
            self.samples.append(sample)

    def _accept(self, handle: CompletionHandle, text: str) -> bool:
        if not text:
            return False
        self._client.feedback(handle, "shown")
        if not self._place.typed.startswith(text, self._typed) or self._rng.random() >= self._habits.accept:
            return False
        self._typed += len(text)
        self._client.feedback(handle, "accepted", len(text))
        return True
