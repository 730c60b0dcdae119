"""Real files to type in: which ones, and where. The same seed gives the same places on the same machine."""

from __future__ import annotations

import glob
import random
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import attrs

from codeserve.completion.prompt import CompletionInput
from codeserve.errors import ConfigError
from codeserve.protocol import Mode

__all__ = ["Corpus", "Place", "find_files", "places"]

_MAX_BYTES = 1 << 20  # larger files are generated
_TRIES = 500  # files looked at for one place
_SUFFIX_CHARS = 600
_TYPED_CHARS = 200
_CHARS_PER_TOKEN = 3.0


@attrs.frozen
class Place:
    """Somewhere in a file: the developer types ``typed`` between ``prefix`` and ``suffix``."""

    name: str  # the file's name, without the machine's folders
    prefix: str
    typed: str
    suffix: str

    def shortened(self, prefix_chars: int) -> Place:
        """The same with a prefix of about so many characters, from a line's start."""
        start = len(self.prefix) - prefix_chars
        return (
            self if start <= 0 else attrs.evolve(self, prefix=self.prefix[_line_start(self.prefix, start) :])
        )


def find_files(patterns: Sequence[str]) -> list[Path]:
    """The files of the glob patterns, sorted; without any, Python's library and the installed packages.

    Raises: ConfigError when there are none.
    """
    if patterns:
        found = {Path(name) for pattern in patterns for name in glob.iglob(pattern, recursive=True)}
    else:
        paths = sysconfig.get_paths()
        found = {path for key in ("stdlib", "purelib") for path in Path(paths[key]).rglob("*.py")}
    files = sorted(path for path in found if path.is_file())
    if not files:
        raise ConfigError(f"no files match {' '.join(patterns)}: give other patterns with --files")
    return files


class Corpus:
    """Chooses places in files."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files

    def place(self, rng: random.Random, *, prefix_chars: int, typed_chars: int, suffix_chars: int) -> Place:
        """A place in a random file with about so many characters before, of typing, and after.

        The prefix starts at a line's start, the typing goes from there to a line's end.
        Raises: ConfigError when no file among many is long enough.
        """
        needed = prefix_chars + typed_chars + suffix_chars
        for _ in range(_TRIES):
            path = rng.choice(self._files)
            text = _read(path, needed)
            if len(text) < needed:
                continue
            start = _line_start(text, rng.randint(0, len(text) - needed))
            cursor = _line_start(text, start + prefix_chars)
            end = text.find("\n", cursor + typed_chars)
            if cursor <= start or end < 0:
                continue
            return Place(
                name=path.name,
                prefix=text[start:cursor],
                typed=text[cursor:end],
                suffix=text[end : end + suffix_chars],
            )
        raise ConfigError(
            f"no file of {needed} characters was found: ask for less context, or for other files with --files"
        )


def places(
    corpus: Corpus, count: int, prompt_tokens: int, seed: int, mode: Mode, max_tokens: int | None = None
) -> list[CompletionInput]:
    """So many places to complete at, with prompts of about ``prompt_tokens``.

    Raises: ConfigError when no file among many is long enough.
    """
    rng = random.Random(seed)
    chars = round(prompt_tokens * _CHARS_PER_TOKEN)
    found = []
    for _ in range(count):
        place = corpus.place(rng, prefix_chars=chars, typed_chars=_TYPED_CHARS, suffix_chars=_SUFFIX_CHARS)
        source = CompletionInput(
            prefix=place.prefix,
            suffix=place.typed[_TYPED_CHARS:] + place.suffix,
            path=place.name,
            mode=mode,
            max_tokens=max_tokens,
        )
        found.append(source)
    return found


def _line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1


def _read(path: Path, needed: int) -> str:
    try:
        if not needed <= path.stat().st_size <= _MAX_BYTES:
            return ""
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
