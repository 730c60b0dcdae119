"""The cases: what is in the editor, what the model writes, and the edit that is right for the user.

A file of ``cases`` is a family; its cases are tables ``[[case]]`` with the fields of `Case`. In a document
the cursor is at ``‸``; where the editor's completion menu has an entry picked, ``«…»`` is what it replaces.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

import attrs
import cattrs

__all__ = ["CASES", "CURSOR", "Case", "Cell", "families", "load"]

CASES = Path(__file__).parent / "cases"
CURSOR = "‸"
_LEFT, _RIGHT = "«", "»"


@attrs.frozen
class Cell:
    """A cell of a notebook; one of them has the cursor."""

    text: str
    language: str = ""  # the case's
    markup: bool = False


@attrs.frozen(kw_only=True)
class Case:
    """One completion. Exactly one of ``insert`` and ``none`` is given."""

    name: str
    family: str
    language: str
    document: str = ""
    before: tuple[str, int] = ("", 0)  # a text and how often it stands in front of the document
    cells: list[Cell] = attrs.field(factory=list)  # in place of ``document``
    uri: str = ""

    # the model: text, or tokens by id or name; then it ends, or says nothing any more
    output: str = ""
    tokens: list[int | str] = attrs.field(factory=list)  # behind ``output``
    chunk: int = 1  # tokens that arrive at a time; 0 for all
    ends: Literal["eot", "eos", "stall"] = "eot"
    logprobs: list[float] = attrs.field(
        factory=list
    )  # of the tokens in turn, the last one of all that follow

    # the editor
    encoding: Literal["utf-8", "utf-16", "utf-32"] = "utf-16"
    trigger: Literal["automatic", "invoked"] = "automatic"
    menu: bool = False  # it knows the completion menu only
    selected: str | None = None  # the text of the entry that is picked
    settings: dict[str, Any] = attrs.field(factory=dict)
    # what the user does: after a first answer, while the answer is awaited, or before asking
    typed: str = ""
    meanwhile: str = ""
    deleted: int = 0

    # what is right
    insert: str | None = None  # the text, in place of ``«…»`` or at the cursor
    none: str = ""  # nothing is shown, for this reason (`codeserve/stats`)
    range: list[list[int]] | None = None  # [[line, column], [line, column]], where worth writing out
    asked: int | None = None  # how often the model was asked
    prompt_ends: str = ""  # how the text goes in front of the cursor that the model was given
    prompt_suffix: str | None = None  # and all of it behind the cursor

    def __attrs_post_init__(self) -> None:
        if (self.insert is None) == (not self.none):
            raise ValueError(f"{self.family}: {self.name}: one of insert and none")
        if bool(self.document) == bool(self.cells):
            raise ValueError(f"{self.family}: {self.name}: one of document and cells")
        marked = [text for text in self.texts if CURSOR in text]
        if len(marked) != 1 or marked[0].count(CURSOR) != 1:
            raise ValueError(f"{self.family}: {self.name}: one cursor")

    @property
    def texts(self) -> list[str]:
        """The document, or the cells, with their marks."""
        text, times = self.before
        return [cell.text for cell in self.cells] or [text * times + self.document]

    @property
    def place(self) -> int:
        """Which of the texts has the cursor."""
        return next(index for index, text in enumerate(self.texts) if CURSOR in text)

    @property
    def text(self) -> str:
        """The text with the cursor, without marks."""
        return plain(self.texts[self.place])

    @property
    def cursor(self) -> int:
        """Offset of the cursor in `text`, in code points."""
        return len(plain(self.texts[self.place].partition(CURSOR)[0]))

    @property
    def span(self) -> tuple[int, int]:
        """Offsets of what an entry that is picked replaces."""
        marked = self.texts[self.place]
        if self.selected is None:
            return self.cursor, self.cursor
        return len(plain(marked.partition(_LEFT)[0])), len(plain(marked.partition(_RIGHT)[0]))


def plain(marked: str) -> str:
    """A text without marks; quotes of this kind are marks only, cases use none in code."""
    return marked.replace(CURSOR, "").replace(_LEFT, "").replace(_RIGHT, "")


def families() -> list[str]:
    """The names of the families."""
    return sorted(path.stem for path in CASES.glob("*.toml"))


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook(int | str, lambda value, _: value)
    return converter


def load(family: str) -> list[Case]:
    """The cases of a family. Raises: ValueError, or cattrs' own, for one that is not as it should be."""
    body = tomllib.loads((CASES / f"{family}.toml").read_text(encoding="utf-8"))
    converter = _converter()
    return [converter.structure({**given, "family": family}, Case) for given in body["case"]]
