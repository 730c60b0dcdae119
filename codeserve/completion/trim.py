"""Cuts what a completion should not insert; only ever at the end, so that a prefix of the text is left."""

from __future__ import annotations

import re

from codeserve.completion.brackets import CLOSERS, OPENERS, balance, in_string
from codeserve.completion.lines import LONGEST_LOOP, line_below, loop_length

__all__ = ["joins_word", "trim"]

_ECHO = 3  # characters of the line behind the cursor that, repeated, are no chance
_WHOLE_REST = 6  # characters of it that are no chance in the middle of a completion either
_SEPARATORS = (",", ";")  # one is enough
_QUOTES = "\"'`"
_LINES = 32  # below the cursor that are compared
_ABOVE = 9  # line ends above it that are looked behind
# Letters and digits in a line that is no bracket, `else:` or `</td>`, which come again in good code.
_TELLING = 6
# A piece said six times over is a loop when it has a letter in it; one of digits when it goes on for longer
# than numbers and rows of them do; one of signs is a ruler.
_LONG_ROW = 36
# In `it's` it is no quote.
_APOSTROPHE = re.compile(r"[a-z]'(?:d|ll|m|re|s|t|ve)\b")
# Behind `Map<String, `, `<a `, `#include <`; not behind `a < b`.
_ANGLE = re.compile(r"<(?![\s=<])[^<>]*$|<$")
_STUTTER = re.compile(r"([^\n]{3,40}?)\1{5,}")


def trim(text: str, prefix: str, suffix: str, language: str = "") -> str:
    """What of the completion ``text`` is worth inserting between ``prefix`` and ``suffix``; maybe "".

    Cut are: what the document already has behind the cursor, on the line and on those below; closing
    brackets and quotes that are there already; lines and pieces said over and over; white space at the end,
    unless a word stands directly behind it.
    A completion that begins with the line above again is dropped.
    """
    head = prefix[prefix.rfind("\n") + 1 :]
    rest = suffix.partition("\n")[0].strip()
    whole = text.rstrip()
    blank = text[len(whole) :]
    text = _stop_loops(whole, prefix, head)
    if text != whole:
        if rest and blank.endswith("\n"):
            return ""  # without its end a line of its own would run into what is there
        blank = ""  # it stood behind what is cut
    if _repeats_above(text, prefix, head):
        return ""
    if rest:
        kept = _cut_rest(text, head, rest, language)
        directly = suffix[0] == rest[0]
        if kept != text and directly:
            return kept if kept.strip() else ""  # with the space that stood in front of what is there
        if text == kept != "" and blank.endswith("\n"):
            return text + blank  # a line of its own, in front of what is there (`stop.LineRule`)
        if directly and not blank and _writes_anew(text, rest):
            return ""
        if text == kept != "" and joins_word(suffix) and "\n" not in text + blank:
            return text + blank  # `not ` in front of `value`
        text = kept
    return _cut_lines(text, head, suffix, language).rstrip()


def joins_word(suffix: str) -> bool:
    """Whether a word stands directly behind the cursor, which the completion may run into."""
    return suffix[:1].isalnum() or suffix[:1] == "_"


def _cut_rest(text: str, head: str, rest: str, language: str) -> str:
    """Cut what the document has behind the cursor on its line."""
    if "\n" not in text:
        if _ends_string(head, rest):
            return _cut_quote(text, rest)
        if rest[0] in CLOSERS:
            return _cut_closers(text, head, rest, language)
        if rest[0] == ">" and _ANGLE.search(head):
            return _cut_angle(text, head, rest)
    return _cut_echo(text, rest, language)


def _writes_anew(text: str, rest: str) -> bool:
    """Whether the text is the word behind the cursor again, and something that it cannot stand behind."""
    word = re.match(r"\w{2,}", rest)
    closed = text[-1:].isalnum() or text.endswith((*CLOSERS, *_QUOTES, "_"))
    return word is not None and text.startswith(word[0]) and closed


def _stop_loops(text: str, prefix: str, head: str) -> str:
    for match in _STUTTER.finditer(text):
        behind = text[match.end() :].partition("\n")[0]
        # what comes to an end is a row of something: `[None, None, None, None, None, None]`
        if match[0] in prefix or not match[1].startswith(behind):
            continue
        long_row = len(match[0]) >= _LONG_ROW and any(map(str.isdigit, match[1]))
        if long_row or any(map(str.isalpha, match[1])):
            text = text[: match.end(1)]
            break
    lines, end = [], -1
    ends = []
    for line in (head + text).split("\n"):
        end += len(line) + 1
        if line.strip():
            lines.append(line.rstrip())
            ends.append(end - len(head))
            length = loop_length(lines)
            if length:
                return text[: max(ends[-2 * length - 1], 0)]
    kept = _before_cycle(lines, prefix)
    return text if kept is None else text[: max(ends[kept - 1], 0)] if kept else ""


def _before_cycle(lines: list[str], prefix: str) -> int | None:
    """How many lines to keep of some that end in a cycle, first round included; None when they do not.

    It is one when its third round has begun, or when two rounds follow the same lines above the cursor.
    """
    above = [line.rstrip() for line in prefix.rsplit("\n", _ABOVE)[1:-1] if line.strip()]
    for length in range(2, LONGEST_LOOP + 1):
        if all(sum(map(str.isalnum, line)) < _TELLING for line in lines[-length:]):
            continue
        before = above[-length:]
        every = before + lines
        again = 0  # lines at the end that are the same as those a round before them
        while again + length < len(every) and every[-again - 1] == every[-again - 1 - length]:
            again += 1
        kept = len(lines) - again  # the first round may stand above the cursor
        if again >= 2 * length or (again > length and kept >= length):
            return max(kept, 0)
    return None


def _repeats_above(text: str, prefix: str, head: str) -> bool:
    """Whether the first line of the completion is the line above it again."""
    first = text.lstrip("\n").partition("\n")[0]
    if text.startswith("\n") and head.strip():
        above, line = head, first
    else:
        above = next((line for line in reversed(prefix.rsplit("\n", _ABOVE)[-8:-1]) if line.strip()), "")
        line = first if text.startswith("\n") else head + first
    return line.rstrip() == above.rstrip() and sum(map(str.isalnum, line)) >= _TELLING


def _ends_string(head: str, rest: str) -> bool:
    return rest[0] in _QUOTES and in_string(head, rest[0])


def _cut_quote(text: str, rest: str) -> str:
    """Cut from the quote on that is behind the cursor, unless the text begins another string that it ends."""
    mark = rest[:3] if rest[:3] == 3 * rest[0] else rest[0]
    ends = [
        match.end() - len(mark)
        for match in re.finditer(rf"(?<!\\)(?:\\\\)*{mark}", text)
        if not _APOSTROPHE.match(text, match.end() - 2)
    ]
    if len(ends) % 2 == 0:
        return text
    return text[: -len(rest)] if text.endswith(rest) else text[: ends[0]]


def _surplus(text: str, rest: str, start: int) -> str:
    """Cut from ``start`` on, where something is closed once too often.

    Where the text ends with what is behind the cursor, only that: the line then is as the model has written
    it. A bracket alone is there by chance.
    """
    return text[: -len(rest)] if len(rest) > 1 and text.endswith(rest) else text[:start]


def _cut_angle(text: str, head: str, rest: str) -> str:
    """Cut from the angle bracket on that is behind the cursor."""
    have = len(rest) - len(rest.lstrip(">"))
    needed = max(_angles(head)[0] - have, 0)
    surplus = _angles(text)[1][needed:]
    return _surplus(text, rest, surplus[0]) if surplus else text


def _angles(code: str) -> tuple[int, list[int]]:
    """How many angle brackets are open at the end, and where those stand that close one in front."""
    opened, unmatched = 0, []
    nested = 0  # in other brackets, where they may be comparisons
    for match in re.finditer(r"[-=]>|[<>]=|[<>()\[\]{}]", code):
        if match[0] in OPENERS or match[0] in CLOSERS:
            nested += 1 if match[0] in OPENERS else -1
        elif len(match[0]) > 1 or nested > 0:
            continue
        elif match[0] == ">" and opened == 0:
            unmatched.append(match.start())
        else:
            opened += 1 if match[0] == "<" else -1
    return opened, unmatched


def _cut_closers(text: str, head: str, rest: str, language: str) -> str:
    """Cut from the closer on that the editor, or the user, has already put behind the cursor."""
    closers = balance(text, language).unmatched
    # Of three closers where the line needs two and has one, the last two are too many.
    have = len(rest) - len(rest.lstrip(CLOSERS))
    # Brackets that the completion leaves open take theirs from behind the cursor first.
    for opener, closer in zip(reversed(balance(text, language).open), rest[:have], strict=False):
        if OPENERS[CLOSERS.index(closer)] != opener:
            break
        have -= 1
    needed = max(len(balance(head, language).open) - have, 0)
    surplus = closers[needed:]
    return _surplus(text, rest, surplus[0]) if surplus and text[surplus[0]] == rest[0] else text


def _cut_echo(text: str, rest: str, language: str) -> str:
    """Cut the end of the text that is the beginning of what follows on the line."""
    # A name alone comes again in good code: `.name = ` in front of `name`.
    telling = len(rest) >= _WHOLE_REST and re.fullmatch(r"\w+", rest) is None
    again = text.find(rest) if telling else -1
    if again > 0 and not _belongs(text[:again], rest, language):
        return text[:again]  # and what the model has behind it
    word = re.match(r"\w*", rest)
    joined = len(word[0]) if word else 0  # of a word that the completion runs into
    for length in range(min(len(rest), len(text)), 0, -1):
        if not text.endswith(rest[:length]):
            continue
        whole = length in (len(rest), len(text)) or 0 < joined <= length or rest[:length] in _SEPARATORS
        if not whole and length < _ECHO:
            return text
        kept, echo = text[:-length], rest[:length]
        return text if _belongs(kept, echo, language) else kept
    return text


def _belongs(kept: str, echo: str, language: str) -> bool:
    """Whether ``echo`` closes what ``kept`` opened, so that both are needed."""
    own = balance(kept + echo, language)
    if len(balance(kept, language).open) > len(own.open):
        return True
    tag = re.match(r"</([\w.:-]+)", echo)
    if tag and len(re.findall(rf"<{re.escape(tag[1])}\b", kept)) > kept.count(f"</{tag[1]}"):
        return True
    return echo[0] in _QUOTES and in_string(kept.rpartition("\n")[2], echo[0])


def _cut_lines(text: str, head: str, suffix: str, language: str) -> str:
    """Cut the lines at the end that are the lines below the cursor."""
    if not line_below(suffix):
        return text
    below = [line.rstrip() for line in suffix.split("\n", _LINES + 1)[1 : _LINES + 1] if line.strip()]
    lines: list[str] = []
    starts: list[int] = []  # what is kept when this line and those behind it are cut
    position = 0
    for line in text.split("\n"):
        full = head + line if position == 0 else line
        if full.strip() and line.strip():
            lines.append(full.rstrip())
            starts.append(max(position - 1, 0))
        position += len(line) + 1
    for count in range(min(len(lines), len(below)), 0, -1):
        if lines[-count:] != below[:count]:
            continue
        kept = text[: starts[-count]]
        symbols = not any(letter.isalnum() for line in lines[-count:] for letter in line)
        # Closers alone may belong to what the completion opens.
        if symbols and balance(kept, language).open:
            continue
        return kept
    return text
