"""Notebooks: which cells one has, in order, and a cell's surroundings as a request sees them."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from codeserve.protocol import MAX_PREFIX_CHARS, MAX_SUFFIX_CHARS
from codeserve_lsp.documents import Documents, Snapshot, near_prefix, near_suffix
from codeserve_lsp.text import newlines

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

    def cells(self, uri: str) -> list[str]:
        """The URIs of a notebook's cells, none when it is not open."""
        notebook = self._open.get(uri)
        return [cell for cell, _ in notebook.cells] if notebook is not None else []

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
        uris = [uri for uri, code in notebook.cells if code or uri == snapshot.uri]
        here = uris.index(snapshot.uri)
        language = snapshot.language
        before = self._texts(reversed(uris[:here]), language, MAX_PREFIX_CHARS - len(snapshot.prefix))
        behind = self._texts(uris[here + 1 :], language, MAX_SUFFIX_CHARS - len(snapshot.suffix))
        return attrs.evolve(
            snapshot,
            prefix=near_prefix("".join(text + "\n\n" for text in reversed(before)) + snapshot.prefix),
            suffix=near_suffix(snapshot.suffix + "".join("\n\n" + text for text in behind)),
        )

    def _texts(self, uris: Iterable[str], language: str, room: int) -> list[str]:
        """The texts of cells in a language, whole ones until ``room`` characters are filled."""
        texts: list[str] = []
        for uri in uris:
            if room <= 0:
                break
            document = self._documents.get(uri)
            if document is not None and document.language == language and not document.lost:
                texts.append(newlines(document.text).rstrip("\n"))
                room -= len(texts[-1])
        return texts
