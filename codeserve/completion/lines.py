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
    above lines that say that they go on. Where that is out of reach, the line's own column counts.
    """
    own, *above = reversed(prefix.rsplit("\n", _STATEMENT)[-_STATEMENT:])
    first, chars = own, len(own)
    closers = _closers(own, language)  # whose brackets are opened further up
    for line in above:
        chars += len(line)
        if chars > _STATEMENT_CHARS or not (closers or line.rstrip().endswith(_GOES_ON)):
            break
        first = line
        closers = _closers(line, language, closers)
    return indentation(own if closers else first)


def _closers(line: str, language: str, below: str = "") -> str:
    """The closing brackets of a line, and of those ``below`` it, that nothing in the line opens."""
    found = balance(line, language)
    still = balance(below, already_open=found.open).unmatched
    return "".join([*(line[at] for at in found.unmatched), *(below[at] for at in still)])


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
