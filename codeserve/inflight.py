"""The client's requests under way: by id, by document, each with the time it may take."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from codeserve.handle import CompletionHandle

__all__ = ["Inflight"]


class Inflight:
    """What the server owes an answer to. At most one request for a kind (a message class) and document."""

    def __init__(self) -> None:
        self._handles: dict[str, CompletionHandle] = {}
        self._latest: dict[tuple[type, str], CompletionHandle] = {}
        self._kinds: dict[str, type] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._handles)

    def add(self, kind: type, handle: CompletionHandle, wait_s: float, overdue: Callable[[], None]) -> None:
        """Keep a request; ``overdue`` is called when it is still here after ``wait_s`` seconds."""
        self._handles[handle.id] = handle
        self._latest[kind, handle.document] = handle
        self._kinds[handle.id] = kind
        self._timers[handle.id] = asyncio.get_running_loop().call_later(wait_s, overdue)

    def get(self, id: str | None) -> CompletionHandle | None:
        """The request with this id, or None when it has ended."""
        return self._handles.get(id) if id is not None else None

    def latest(self, kind: type, document: str) -> CompletionHandle | None:
        """The request of this kind for a document, if there is one."""
        return self._latest.get((kind, document))

    def remove(self, handle: CompletionHandle) -> None:
        """Forget a request that is here."""
        del self._handles[handle.id]
        self._timers.pop(handle.id).cancel()
        del self._latest[self._kinds.pop(handle.id), handle.document]

    def clear(self) -> list[CompletionHandle]:
        """Forget all; returns them in the order in which they began."""
        handles = list(self._handles.values())
        for handle in handles:
            self.remove(handle)
        return handles
