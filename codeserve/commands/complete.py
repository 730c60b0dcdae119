"""``codeserve complete``: one completion, from a file to the terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from codeserve.client import DEFAULT_URL, Client, CompletionHandle
from codeserve.commands.options import CaFile, CompletionMode, TokenFile, Url, read_token
from codeserve.commands.source import Cursor, locate, read_source
from codeserve.protocol import MAX_CANDIDATES, MAX_DEADLINE_MS, MIN_CONFIDENCE, Done, Finish

__all__ = ["complete"]

# An editor's 300 ms are for a suggestion nobody asked for. Who types this command waits for the answer: long
# enough for a full prompt that is cold in the cache, on a CPU.
DEADLINE_MS = 5_000
# Characters of the cursor's line that are shown before the completion.
_SHOWN = 400


def complete(
    file: Annotated[str, typer.Argument(help="The file to complete in; - is standard input.")],
    line: Annotated[int, typer.Option("--line", "-l", help="The cursor's line, from 1.")],
    column: Annotated[
        int | None,
        typer.Option(
            "--column",
            "-c",
            help="The cursor's column, from 1, in characters; 1 is before the first one.",
            show_default="the line's end",
        ),
    ] = None,
    url: Url = DEFAULT_URL,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    mode: Annotated[
        CompletionMode, typer.Option(help="One line, a block, or what fits the place.")
    ] = CompletionMode.AUTO,
    deadline_ms: Annotated[
        int, typer.Option(min=1, max=MAX_DEADLINE_MS, help="Milliseconds after which what is whole is shown.")
    ] = DEADLINE_MS,
    candidates: Annotated[int, typer.Option(min=1, max=MAX_CANDIDATES, help="How many to ask for.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="One JSON object instead of text.")] = False,
    stream: Annotated[bool, typer.Option(help="Show the text while it arrives (on a terminal).")] = True,
) -> None:
    """Complete the code at a place in a file.

    On a terminal, the text is shown after the line's own, as it arrives. Elsewhere standard output gets the
    completion alone and standard error the summary.
    """
    cursor = locate(read_source(file), line, column)
    client = Client(url, token=read_token(token_file), ca_file=ca_file, name="codeserve-cli")

    def ask() -> CompletionHandle:
        path = "" if file == "-" else file
        return client.complete(
            document=Path(file).resolve().as_uri() if path else "stdin:",
            prefix=cursor.prefix,
            suffix=cursor.suffix,
            path=path,
            deadline_ms=deadline_ms,
            mode=mode.value,
            candidates=candidates,
            min_confidence=MIN_CONFIDENCE,  # who asks by hand decides for themselves
        )

    if json:
        handle, done = asyncio.run(_run(client, ask, None))
        typer.echo(_as_json(client, handle, done))
    else:
        _show(client, ask, cursor, stream)


async def _run(
    client: Client, ask: Callable[[], CompletionHandle], on_text: Callable[[str], None] | None
) -> tuple[CompletionHandle, Done]:
    async with client:
        await client.wait_ready()
        handle = ask()
        async for text in handle:
            if on_text is not None:
                on_text(text)
        return handle, await handle.result()


def _show(client: Client, ask: Callable[[], CompletionHandle], cursor: Cursor, stream: bool) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    out = Console(highlight=False, soft_wrap=True)
    err = Console(stderr=True, highlight=False, soft_wrap=True)

    before = _printable(cursor.line_start)
    if len(before) > _SHOWN:
        before = "…" + before[-_SHOWN:]

    def shown(completion: str) -> Text:
        return Text.assemble((before, "dim"), (_printable(completion), "bold green"))

    if out.is_terminal:
        text = ""
        # Redrawn in place: the final text may be shorter than what was streamed.
        live = Live(console=out, auto_refresh=False, vertical_overflow="visible")

        def on_text(more: str) -> None:
            nonlocal text
            text += more
            live.start()
            live.update(shown(text), refresh=True)

        try:
            handle, done = asyncio.run(_run(client, ask, on_text if stream else None))
            live.start()
            live.update(shown(done.text), refresh=True)
        finally:
            live.stop()
    else:
        handle, done = asyncio.run(_run(client, ask, None))
        if done.text:
            typer.echo(done.text)
    for number, candidate in enumerate(done.candidates[1:], 2):
        err.print(Text(f"{number}: ", "dim") + Text(_printable(candidate), "green"))
    err.print(Text(_summary(handle, done), "dim"))


def _printable(text: str) -> str:
    """``text`` without control characters, which a model's output could use to drive the terminal."""
    text = text.replace("\r\n", "\n").expandtabs()
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def _summary(handle: CompletionHandle, done: Done) -> str:
    if not done.text and done.finish is Finish.DEADLINE:
        what = "nothing whole before the deadline: give it longer with --deadline-ms"
    elif not done.text:
        what = f"no suggestion ({done.finish})"
    else:
        what = f"{done.finish}"
    first = f"first text {handle.ttft_ms:.0f} ms, " if handle.ttft_ms is not None else ""
    tokens = f"{done.tokens.prompt} prompt tokens ({done.tokens.cached} cached), {done.tokens.output} output"
    return f"{what} · {first}total {handle.total_ms or 0:.0f} ms · {tokens}"


def _rounded(milliseconds: float | None) -> float | None:
    """To the microsecond, as the server's own."""
    return None if milliseconds is None else round(milliseconds, 3)


def _as_json(client: Client, handle: CompletionHandle, done: Done) -> str:
    import attrs
    import orjson

    body: dict[str, Any] = {
        "text": done.text,
        "finish": done.finish,
        "candidates": done.candidates,
        "confidence": done.confidence,
        "model": client.welcome.model if client.welcome else None,
        "timings": attrs.asdict(done.timings),
        "client": {"ttft_ms": _rounded(handle.ttft_ms), "total_ms": _rounded(handle.total_ms)},
        "tokens": attrs.asdict(done.tokens),
    }
    return orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()
