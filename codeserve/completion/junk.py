"""Where a completion turns into what is no code: sentinels spelt out, fences, control characters.

A model that was trained on text with sentinels, or to chat, writes them as letters; by id they end the output
anyway (`codeserve.completion.fim`). What the document itself has is left alone: code about them is code.
"""

from __future__ import annotations

import re

from codeserve.completion.languages import is_prose

__all__ = ["JunkFinder"]

# Control characters but for tab, newline and form feed; what changes the direction of text unseen
# (CVE-2021-42574); and the character for bytes that are no text.
_CHARACTERS = "[\x00-\x08\x0b\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069\ufffd]"
_SENTINELS = (
    r"<EOT>|<SUF>|<MID>"
    r"|<\|?(?:fim_(?:prefix|suffix|middle|pad)|endoftext|file_sep|file_separator|repo_name|im_start|im_end)\|?>"
    r"|<\|(?:fim_begin|fim_hole|fim_end|eot_id|end_of_text)\|>|<(?:end_of_turn|start_of_turn)>"
    r"|<｜[\w▁]{2,24}｜>|\[/?INST\]|\[MIDDLE\]"
)
_FENCE = r"(?:(?<=\n)|\A)```"
_JUNK = re.compile(f"{_CHARACTERS}|{_SENTINELS}")
_JUNK_OR_FENCE = re.compile(f"{_CHARACTERS}|{_SENTINELS}|{_FENCE}")
_LONGEST = 32  # characters, of a sentinel


class JunkFinder:
    """Looks through a text that grows. ``at`` is where junk begins, None while there is none."""

    def __init__(self, prefix: str, suffix: str, language: str) -> None:
        self.at: int | None = None
        self._document = prefix, suffix
        self._pattern = _JUNK if is_prose(language) or prefix.endswith("`") else _JUNK_OR_FENCE
        self._seen = 0

    def scan(self, text: str) -> int | None:
        """Look through all of ``text`` there is so far; gives ``at``."""
        position = max(self._seen - _LONGEST, 0)
        self._seen = len(text)
        while self.at is None and (match := self._pattern.search(text, position)):
            if any(match[0] in part for part in self._document):
                position = match.end()
            else:
                self.at = match.start()
        return self.at
