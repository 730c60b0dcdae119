"""What goes along with a completion: other open files, imported declarations, in an order that lasts."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from codeserve.protocol import Snippet
from codeserve_lsp import collect, privacy
from codeserve_lsp import context as module
from codeserve_lsp.collect import Piece
from codeserve_lsp.context import Context, arrange
from codeserve_lsp.documents import Document, Documents
from codeserve_lsp.session import Session
from codeserve_lsp.settings import Settings


def piece(name: str, text: str = "x") -> Piece:
    return Piece(f"file:///{name}", Snippet(name, text))


def test_order_is_kept_and_new_ones_are_appended() -> None:
    """What has not changed stays in front, whatever order it comes in; the rest goes behind."""
    old = [piece("a"), piece("b"), piece("c")]
    new = [piece("d"), piece("c"), piece("b", "changed"), piece("a")]
    assert arrange(old, new) == [piece("a"), piece("c"), piece("d"), piece("b", "changed")]


@pytest.fixture
def context(tmp_path: Path) -> Context:
    made = Context(Documents())
    made.set_folders([tmp_path.as_uri(), "untitled:x"])
    made.set_room(4_096)
    return made


def test_folders_that_change(context: Context, tmp_path: Path) -> None:
    """Those that nobody took out stay; one that is taken out and put in again is there."""
    other = tmp_path / "other"
    context.change_folders([], [other.as_uri(), other.as_uri() + "/", "untitled:x"])
    assert context.privacy.folders == [tmp_path, other]
    context.change_folders([tmp_path.as_uri()], [tmp_path.as_uri()])
    assert set(context.privacy.folders) == {tmp_path, other}
    context.change_folders([other.as_uri() + "/"], [])
    assert context.privacy.folders == [tmp_path]


def opened(context: Context, path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    context._documents.open(path.as_uri(), text, language="python")
    return path.as_uri()


async def ready(context: Context, uri: str) -> list[str]:
    """The paths of a document's snippets once they are made."""
    context.opened(uri)
    await asyncio.gather(*context._tasks.values())
    return [snippet.path for snippet in context.snippets(uri)]


async def test_open_and_imported_files(context: Context, tmp_path: Path) -> None:
    """Other open files go along, and declarations of imported ones, by their paths in the workspace."""
    main = opened(context, tmp_path / "main.py", "from lib.shapes import Box\n")
    opened(context, tmp_path / "other.py", "A = 1\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "shapes.py").write_text("class Box:\n    pass\n" + "print(1)\n" * 2000)
    assert await ready(context, main) == ["lib/shapes.py", "other.py"]
    texts = [snippet.text for snippet in context.snippets(main)]
    assert texts == ["class Box:\n    ...", "A = 1"]


async def test_sources_are_settings(context: Context, tmp_path: Path) -> None:
    """Each source can be switched off, and the budget can be nothing."""
    main = opened(context, tmp_path / "main.py", "import lib\n")
    opened(context, tmp_path / "other.py", "A = 1\n")
    (tmp_path / "lib.py").write_text("B = 1\n")
    for settings, paths in (
        (Settings(open_files=False), ["lib.py"]),
        (Settings(imports=False), ["other.py"]),
        (Settings(context_chars=0), []),
    ):
        context.configure(settings)
        assert await ready(context, main) == paths


async def test_refused_files_stay_here(context: Context, tmp_path: Path) -> None:
    """Neither an open file nor an imported one that is ruled out goes along, also when that comes later."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("hidden.py\nlib.py\n")
    main = opened(context, tmp_path / "main.py", "import lib\n")
    for name in ("hidden.py", ".env", "seen.py"):
        opened(context, tmp_path / name, "A = 1\n")
    (tmp_path / "lib.py").write_text("B = 1\n")
    assert await ready(context, main) == ["seen.py"]
    (tmp_path / ".codeserveignore").write_text("seen.py\n")
    context.privacy.forget()
    assert context.snippets(main) == []


async def test_imports_out_of_the_workspace(context: Context, tmp_path: Path) -> None:
    """A file outside the workspace does not go along, whether by its path or by a link."""
    context.set_folders([(tmp_path / "work").as_uri()])
    (tmp_path / "lib.py").write_text("B = 1\n")
    main = opened(context, tmp_path / "work" / "main.py", "from ..lib import B\nimport linked\n")
    (tmp_path / "work" / "linked.py").symlink_to(tmp_path / "lib.py")
    assert await ready(context, main) == []
    (tmp_path / "work" / "linked.py").unlink()
    (tmp_path / "work" / "linked.py").write_text("C = 1\n")
    assert await ready(context, main) == ["linked.py"]


async def test_list_stays_while_one_works_in_a_document(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change elsewhere comes in after a while and not with the next keystroke."""
    main = opened(context, tmp_path / "main.py", "x\n")
    other = opened(context, tmp_path / "other.py", "A = 1\n")
    await ready(context, main)
    context._documents.change(other, ["B = 2\n"], 2)
    context.snippets(main)
    await asyncio.gather(*context._tasks.values())
    assert [snippet.text for snippet in context.snippets(main)] == ["A = 1"]
    monkeypatch.setattr(module, "RENEW_S", 0.0)
    for _ in range(2):
        context.snippets(main)
        await asyncio.gather(*context._tasks.values())
        assert [snippet.text for snippet in context.snippets(main)] == ["A = 1"]
    assert context.rested(main)
    assert [snippet.text for snippet in context.snippets(main)] == ["B = 2"]
    assert not context.rested(main)


async def test_odd_documents_have_no_snippets(context: Context, tmp_path: Path) -> None:
    """No file, no text in UTF-8, or closed meanwhile: no snippets and no failure."""
    context._documents.open("untitled:a", "x")
    assert await ready(context, "untitled:a") == []
    assert await ready(context, "file:///unknown") == []
    main = opened(context, tmp_path / "main.py", "import lib\n")
    (tmp_path / "lib.py").write_bytes(b"\xff")
    assert await ready(context, main) == []
    context.opened(main)
    context._documents.close(main)
    await asyncio.gather(*context._tasks.values())
    assert context.snippets(main) == []


def test_shown_path(context: Context, tmp_path: Path) -> None:
    """Below a workspace folder from there on, elsewhere the name alone: no home folder's name goes out."""
    assert context.shown_path(tmp_path / "a" / "b.py") == "a/b.py"
    assert context.shown_path(Path("/home/someone/b.py")) == "b.py"


async def test_room_of_the_server(context: Context, tmp_path: Path) -> None:
    """No more goes along than the server's model has room for."""
    main = opened(context, tmp_path / "main.py", "import lib\n")
    (tmp_path / "lib.py").write_text("".join(f"def function_{i}(a): return a\n" for i in range(500)))
    await ready(context, main)
    [before] = context.snippets(main)
    assert 1_900 < len(before.text) <= 2_000
    context.set_room(256)
    await ready(context, main)
    [after] = context.snippets(main)
    assert len(after.text) <= 640 // 3
    context.set_room(256)
    assert context.snippets(main) == [after]


async def test_nothing_is_collected_before_the_server_tells(tmp_path: Path) -> None:
    """Documents that were opened have their lists made once it is known how much goes along."""
    context = Context(Documents())
    context.set_folders([tmp_path.as_uri()])
    main, gone = (opened(context, tmp_path / name, "import lib\n") for name in ("main.py", "gone.py"))
    (tmp_path / "lib.py").write_text("B = 1\n")
    for uri in (main, gone):
        assert await ready(context, uri) == []
    context.closed(gone)
    assert context._tasks == {}
    context.set_room(1_024)
    assert list(context._tasks) == [main]
    await asyncio.gather(*context._tasks.values())
    assert context.snippets(main) == [Snippet("lib.py", "B = 1"), Snippet("gone.py", "import lib")]


async def test_a_server_that_takes_none(context: Context, tmp_path: Path) -> None:
    """Nothing is collected for it, and what was for another one does not go to it."""
    main = opened(context, tmp_path / "main.py", "import lib\n")
    (tmp_path / "lib.py").write_text("B = 1\n")
    assert await ready(context, main) == ["lib.py"]
    context.set_room(0)
    assert context.snippets(main) == []
    context.opened(main)
    assert context._tasks == {}
    context.set_room(1_024)
    assert await ready(context, main) == ["lib.py"]


async def test_files_are_read_once_while_it_starts(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings that say the same again and a server that says what it has room for cost no second reading."""
    read: list[str] = []
    original = collect.declarations
    monkeypatch.setattr(
        collect, "declarations", lambda text, *rest: read.append(text) or original(text, *rest)
    )
    main = opened(context, tmp_path / "main.py", "import lib\n")
    (tmp_path / "lib.py").write_text("".join(f"def function_{i}(a): return a\n" for i in range(500)))
    await ready(context, main)
    before = context.snippets(main)
    context.configure(Settings())
    assert context.snippets(main) == before
    context.set_room(2_250)
    assert context.budget < Settings().context_chars
    context.set_room(4_096)
    await ready(context, main)
    assert len(read) == 1
    context.configure(Settings(context_chars=5_000))
    assert context.snippets(main) == []
    await asyncio.gather(*context._tasks.values())


async def test_lists_are_made_one_at_a_time(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many documents that are opened those have their turn that are still open by then."""
    jobs: list[str] = []
    original = Context._job
    monkeypatch.setattr(
        Context, "_job", lambda self, document, path: jobs.append(path.name) or original(self, document, path)
    )
    uris = [opened(context, tmp_path / f"m{i}.py", "import lib\n") for i in range(4)]
    for uri in uris:
        context.opened(uri)
    context._documents.close(uris[2])
    await asyncio.gather(*context._tasks.values())
    assert jobs == ["m0.py", "m1.py", "m3.py"]


async def test_a_list_that_is_dropped_ends(context: Context, tmp_path: Path) -> None:
    """What is collected under rules that are no more ends with the file at hand and counts for nothing."""
    main = opened(context, tmp_path / "main.py", "import lib\n")
    (tmp_path / "lib.py").write_text("B = 1\n")
    collector = context._collector
    context.opened(main)
    context.configure(Settings(open_files=False))
    job = context._job(*_document(context, main))
    assert collector.collect(job) == []
    assert [piece.snippet.path for piece in context._collector.collect(job)] == ["lib.py"]
    await asyncio.gather(*context._tasks.values())


def _document(context: Context, uri: str) -> tuple[Document, Path]:
    document = context._documents.get(uri)
    assert document is not None
    assert document.path is not None
    return document, document.path


async def test_nothing_is_read_where_nothing_is_asked(tmp_path: Path) -> None:
    """A document for which completions are off, or that has to stay here, has no files read for it."""
    session = Session(lambda _: None)
    session.start("utf-16", [tmp_path.as_uri()], {"languages": {"markdown": False}})
    for name, language in (("a.md", "markdown"), (".env", "python")):
        session.opened((tmp_path / name).as_uri(), language, 1, "import lib\n")
        assert not session.context._tasks
    session.context.set_room(1_024)
    assert not session.context._tasks
    session.opened((tmp_path / "a.py").as_uri(), "python", 1, "import lib\n")
    assert list(session.context._tasks) == [(tmp_path / "a.py").as_uri()]
    await session.close()


async def test_the_disk_is_looked_at_beside_the_event_loop(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one types, files are looked at in the other thread, before a request would have to; one that has
    come to be ruled out stays here from then on."""
    main = opened(context, tmp_path / "main.py", "")
    opened(context, tmp_path / "other.py", "A = 1\n")
    assert await ready(context, main) == ["other.py"]
    holds, threads = context.privacy._holds, set[str]()

    def held(uri: str, known: Any) -> bool:
        threads.add(threading.current_thread().name)
        return holds(uri, known)

    monkeypatch.setattr(context.privacy, "_holds", held)
    now = time.monotonic()

    def later(seconds: float) -> None:
        monkeypatch.setattr(privacy, "time", SimpleNamespace(monotonic=lambda: now + seconds))
        context._looked = 0.0

    later(0.6)
    assert not context.refuses(main, 0)
    assert context._looking is not None
    await context._looking
    assert threads == {"codeserve-files"}
    later(1.1)
    assert [snippet.path for snippet in context.snippets(main)] == ["other.py"]
    assert not context.refuses(main, 0)
    assert threads == {"codeserve-files"}
    (tmp_path / ".gitignore").write_text("other.py\n")
    later(1.7)
    assert context._looking is not None
    await context._looking
    assert context.snippets(main) == []
