"""What a line says by itself: how it is indented, whether it opens a block, whether it was said before."""

from __future__ import annotations

from codeserve.completion.brackets import OPENERS, balance
from codeserve.completion.languages import indents_blocks, opens_by_word, opens_tag

__all__ = [
    "LONGEST_LOOP",
    "TAB",
    "indentation",
    "leading",
    "line_below",
    "loop_length",
    "opens_block",
    "statement_column",
]

TAB = 4  # columns
LONGEST_LOOP = 4  # lines
_GOES_ON = ("\\", "&&", "||")
# Of a statement's beginning that is looked for: lines, and characters.
_STATEMENT, _STATEMENT_CHARS = 40, 4_000


def leading(line: str) -> str:
    """The spaces and tabs in front."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def indentation(line: str) -> int:
    """The column of the first character that is not a space or tab, or of the end."""
    return len(leading(line).expandtabs(TAB))


def statement_column(prefix: str, language: str) -> int:
    """The column of the statement that the line at the end of ``prefix`` belongs to, which may begin above.

    It begins where the brackets were opened that this line closes, as in parameters that are aligned, and
    above lines that say that they go on.
    """
    first, *above = reversed(prefix.rsplit("\n", _STATEMENT)[-_STATEMENT:])
    code = first
    for line in above:
        if len(code) > _STATEMENT_CHARS:
            break
        if not (line.rstrip().endswith(_GOES_ON) or balance(code, language).unmatched):
            break
        first, code = line, f"{line}\n{code}"
    return indentation(first)


def line_below(suffix: str) -> str:
    """The first line that is not blank below the cursor's own, without trailing space."""
    for line in suffix.split("\n", 64)[1:]:
        if line.strip():
            return line.partition("\n")[0].rstrip()
    return ""


def opens_block(line: str, language: str) -> bool:
    """Whether ``line``, without space at its end, ends with what opens a block, or brackets."""
    colon = line.endswith(":") and indents_blocks(language)
    return (
        colon
        or line.endswith(tuple(OPENERS))
        or opens_by_word(line, language)
        or bool(opens_tag(line, language))
    )


def loop_length(lines: list[str]) -> int:
    """How many lines at the end are said three times over; 0 when none are."""
    for length in range(1, min(LONGEST_LOOP, len(lines) // 3) + 1):
        last = lines[-length:]
        if last == lines[-2 * length : -length] == lines[-3 * length : -2 * length]:
            return length
    return 0
