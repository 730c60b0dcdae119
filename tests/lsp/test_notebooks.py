"""What a request in a notebook's cell sees of the others."""

from __future__ import annotations

from codeserve.protocol import MAX_PREFIX_CHARS, MAX_SUFFIX_CHARS
from codeserve_lsp.documents import Documents, Snapshot
from codeserve_lsp.notebooks import Notebooks


def widened(texts: list[str], at: int) -> Snapshot:
    documents = Documents()
    notebooks = Notebooks(documents)
    notebooks.open("n", [(str(i), True) for i in range(len(texts))])
    for i, text in enumerate(texts):
        documents.open(str(i), text, language="python")
    document = documents.get(str(at))
    assert document is not None
    return notebooks.widen(document.snapshot(0, 0, "utf-16"))


def test_cells_before_and_behind() -> None:
    """They come in their order, with an empty line between them and line ends as everywhere."""
    seen = widened(["a\r\nb\n", "c", "", "d\n\n", "e"], 2)
    assert (seen.prefix, seen.suffix) == ("a\nb\n\nc\n\n", "\n\nd\n\ne")


def test_no_more_than_a_request_may_hold() -> None:
    """In a long notebook the nearest cells count; the others are not even put together."""
    cells = [f"{i}" + "x" * 9_999 for i in range(100)]
    seen = widened(cells, 50)
    assert seen.prefix.endswith(cells[49] + "\n\n")
    assert MAX_PREFIX_CHARS <= len(seen.prefix) < MAX_PREFIX_CHARS + 11_000
    assert MAX_SUFFIX_CHARS <= len(seen.suffix) < MAX_SUFFIX_CHARS + 11_000
