"""How the server is put together with pygls."""

from __future__ import annotations

import asyncio
import inspect

from pygls.feature_manager import is_thread_function

from codeserve_lsp.server import make_server


async def test_no_handler_runs_in_a_thread() -> None:
    """Handlers are plain or coroutines: pygls' threads read standard input too and would hold it up, and a
    generator of its own goes on after a cancel."""
    server = make_server()
    handlers = {**server.protocol.fm.features, **server.protocol.fm.commands}
    assert "textDocument/inlineCompletion" in handlers
    assert "codeserve.accepted" in handlers
    for handler in handlers.values():
        assert not is_thread_function(handler)
        assert not inspect.isgeneratorfunction(handler)
    assert asyncio.iscoroutinefunction(handlers["textDocument/inlineCompletion"])
