"""Notebooks: which cells one has, in order, and a cell's surroundings as a request sees them."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from codeserve_lsp.documents import Documents, Snapshot

__all__ = ["Notebook", "Notebooks"]


@attrs.define
class Notebook:
    """An open notebook. ``cells`` are the URIs of its code cells and texts (``True`` for code), in order."""

    uri: str
    cells: list[tuple[str, bool]]


class Notebooks:
    """The open notebooks, and in which of them a cell is."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._open: dict[str, Notebook] = {}

    def open(self, uri: str, cells: Iterable[tuple[str, bool]]) -> None:
        self._open[uri] = Notebook(uri, list(cells))

    def splice(self, uri: str, start: int, count: int, cells: Iterable[tuple[str, bool]]) -> None:
        """Replace ``count`` cells from ``start``; nothing happens when the notebook is not open."""
        notebook = self._open.get(uri)
        if notebook is not None:
            notebook.cells[start : start + count] = cells

    def close(self, uri: str) -> None:
        self._open.pop(uri, None)

    def of(self, cell: str) -> Notebook | None:
        """The notebook that a document is a cell of."""
        for notebook in self._open.values():
            if any(uri == cell for uri, _ in notebook.cells):
                return notebook
        return None

    def widen(self, snapshot: Snapshot) -> Snapshot:
        """A cell's snapshot with the code cells of its language before and behind it, in order."""
        notebook = self.of(snapshot.uri)
        if notebook is None:
            return snapshot
        before: list[str] = []
        behind: list[str] = []
        into = before
        for uri, code in notebook.cells:
            if uri == snapshot.uri:
                into = behind
                continue
            document = self._documents.get(uri)
            if code and document is not None and document.language == snapshot.language:
                into.append(document.text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n"))
        return attrs.evolve(
            snapshot,
            prefix="".join(text + "\n\n" for text in before) + snapshot.prefix,
            suffix=snapshot.suffix + "".join("\n\n" + text for text in behind),
        )
