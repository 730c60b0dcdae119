"""Finding a cursor in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from codeserve.commands.source import locate, read_source
from codeserve.errors import CodeserveError


@pytest.mark.parametrize(
    ("text", "line", "column", "prefix", "suffix"),
    [
        ("ab\ncd\n", 1, 1, "", "ab\ncd\n"),
        ("ab\ncd\n", 1, 3, "ab", "\ncd\n"),
        ("ab\ncd\n", 2, None, "ab\ncd", "\n"),
        ("ab\ncd\n", 3, None, "ab\ncd\n", ""),
        ("ab\r\ncd", 1, None, "ab", "\r\ncd"),
        ("ab\r\ncd", 2, 2, "ab\r\nc", "d"),
        ("ab\rcd", 2, 1, "ab\r", "cd"),
        ("", 1, None, "", ""),
        ("x\u2028y\x0cz", 1, None, "x\u2028y\x0cz", ""),
        ("é😀b", 1, 3, "é😀", "b"),
        ("\tx", 1, 2, "\t", "x"),
    ],
)
def test_cursor(text: str, line: int, column: int | None, prefix: str, suffix: str) -> None:
    """Lines end as in editors, columns count characters, and the default column is the line's end."""
    cursor = locate(text, line, column)
    assert (cursor.prefix, cursor.suffix) == (prefix, suffix)
    assert cursor.prefix.endswith(cursor.line_start)
    assert cursor.column == len(cursor.line_start) + 1


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        (0, None, "there is no line 0: lines go from 1 to 3"),
        (4, None, "there is no line 4: lines go from 1 to 3"),
        (-1, 1, "there is no line -1"),
        (1, 0, "there is no column 0 in line 1: columns go from 1 to 3"),
        (1, 4, "there is no column 4 in line 1: columns go from 1 to 3"),
    ],
)
def test_place_outside_the_text(line: int, column: int | None, message: str) -> None:
    """A line or column that is not there is named with those that are."""
    with pytest.raises(CodeserveError, match=message):
        locate("ab\ncd\n", line, column)


def test_line_ends_and_mark(tmp_path: Path) -> None:
    """Line ends are kept, and a byte order mark is no part of the text."""
    file = tmp_path / "a.py"
    file.write_bytes(b"\xef\xbb\xbfa\r\nb\n")
    assert read_source(str(file)) == "a\r\nb\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x7fELF\0\0", "is a binary file"),
        (b"caf\xe9 = 1\n", r"not UTF-8 \(byte 4\): convert it, for example with `iconv"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    """Binary files and other encodings get one line that says what to do."""
    file = tmp_path / "a.bin"
    file.write_bytes(data)
    with pytest.raises(CodeserveError, match=message):
        read_source(str(file))


def test_missing_file_and_folder(tmp_path: Path) -> None:
    """What cannot be read is named with the reason."""
    with pytest.raises(CodeserveError, match=r"none\.py cannot be read: No such file"):
        read_source(str(tmp_path / "none.py"))
    with pytest.raises(CodeserveError, match="cannot be read: Is a directory"):
        read_source(str(tmp_path))
