"""The model's tokenizer, such that text is text: no sentinel ever comes out of it, and no space is lost.

Three things set it apart from the library's own object. The added tokens are taken out, so that source code
with `<PRE>` or `<|fim_prefix|>` in it is encoded as the characters it has; their ids are looked up by name.
The leading space of SentencePiece is the caller's choice. And where no token of the vocabulary spans the end
of a line, lines are encoded one by one through a cache, so that a keystroke costs one line.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import tokenizers

from codeserve.errors import ConfigError

__all__ = ["Decoder", "Tokenizer"]

_SPACE = "▁"  # U+2581, SentencePiece's letter for a space
_CACHED_LINES = 32_768
_MAX_CACHED = 2048  # characters; a longer line is encoded anew each time


class Tokenizer:
    """Text to token ids and back. Thread-safe."""

    def __init__(self, data: dict[str, Any]) -> None:
        """``data`` is the content of a `tokenizer.json` with a BPE model. Raises: ConfigError."""
        try:
            added = {str(token["content"]): int(token["id"]) for token in data.get("added_tokens") or ()}
            vocab: dict[str, int] = dict(data["model"]["vocab"])
            self._ids = vocab | added
            plain, self.leading_space = _plain(data, set(added))
            self._library = tokenizers.Tokenizer.from_str(json.dumps(plain))
        except Exception as exc:  # the library raises bare Exception
            raise ConfigError(f"tokenizer.json cannot be used: {type(exc).__name__}: {exc}") from exc
        byte_level = "ByteLevel" in {part.get("type") for part in _parts(data)}
        self._bytes = {id: _piece_bytes(piece, byte_level) for piece, id in plain["model"]["vocab"].items()}
        # `encode_infilling` of a piece of one line, its "\n" included, through the cache.
        self.encode_line: Callable[[str], tuple[int, ...]] = lru_cache(maxsize=_CACHED_LINES)(self._encode)
        # Whether no token spans the end of a line, so that lines can be encoded one by one.
        self.linewise = not byte_level and _lines_apart(plain)
        newline = self._encode("\n")
        self.newline_id = newline[0] if len(newline) == 1 else None

    @classmethod
    def load(cls, folder: Path) -> Tokenizer:
        """The tokenizer of a model folder. Raises: ConfigError when it is missing or unreadable."""
        path = folder / "tokenizer.json"
        try:
            data = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise ConfigError(
                f"no tokenizer.json in {folder}: download the model again, or convert its tokenizer"
            ) from None
        except (OSError, ValueError) as exc:
            raise ConfigError(f"{path} cannot be read ({exc}): download the model again") from exc
        if not isinstance(data, dict):
            raise ConfigError(f"{path} is not a tokenizer: download the model again")
        return cls(data)

    def token_id(self, token: str) -> int | None:
        """The id of a sentinel or other token by its name, or None."""
        return self._ids.get(token)

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, with a leading space where the model's SentencePiece puts one in front."""
        # Put in front by hand: the library's "first" scheme leaves it out where the text begins with a space,
        # SentencePiece does not.
        return self.encode_infilling(" " + text if self.leading_space and text else text)

    def encode_infilling(self, text: str) -> list[int]:
        """The ids of ``text`` as it is, without a leading space.

        What Meta's ``encode_infilling`` gives by encoding "☺" + text and dropping the first two ids.
        """
        if not self.linewise:
            return list(self._encode(text))
        *lines, last = text.split("\n")
        return list(chain.from_iterable(map(self._by_line, (*(line + "\n" for line in lines), last))))

    def _by_line(self, line: str) -> tuple[int, ...]:
        # A very long line is not worth a place in the cache.
        return self.encode_line(line) if len(line) <= _MAX_CACHED else self._encode(line)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids that `encode` gave."""
        text = self.decode_infilling(ids)
        return text.removeprefix(" ") if self.leading_space else text

    def decode_infilling(self, ids: Iterable[int]) -> str:
        """The text of ids that continue other text; sentinels are dropped, spaces kept."""
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", "replace")

    def token_bytes(self, id: int) -> bytes:
        """The UTF-8 bytes that a token stands for; empty for a sentinel and for ids that do not exist."""
        return self._bytes.get(id, b"")

    def decoder(self) -> Decoder:
        """A decoder for one stream of ids."""
        return Decoder(self)

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self._library.encode(text, add_special_tokens=False).ids)


class Decoder:
    """Decodes a stream of ids; a character comes out when its last byte is there, never half of one."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._bytes = tokenizer.token_bytes
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, ids: Sequence[int]) -> str:
        """The text that these further ids complete; sentinels give none."""
        return self._utf8.decode(b"".join(map(self._bytes, ids)))


def _byte_letters() -> dict[str, int]:
    """How byte-level BPE (GPT-2) writes bytes: printable ones as themselves, others from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(0x100) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


_BYTE_LETTERS = _byte_letters()


def _is_byte(piece: str) -> bool:
    return len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">")


def _piece_bytes(piece: str, byte_level: bool) -> bytes:
    if byte_level:
        if all(letter in _BYTE_LETTERS for letter in piece):
            return bytes(_BYTE_LETTERS[letter] for letter in piece)
        return piece.encode()
    if _is_byte(piece):
        return bytes([int(piece[3:5], 16)])
    return piece.replace(_SPACE, " ").encode()


def _parts(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The normalizers, pre-tokenizers and decoders of a tokenizer.json, those inside sequences too."""
    found: list[dict[str, Any]] = []
    todo = [data.get("normalizer"), data.get("pre_tokenizer"), data.get("decoder")]
    while todo:
        part = todo.pop()
        if part:
            found.append(part)
            for inner in ("normalizers", "pretokenizers", "decoders"):
                todo.extend(part.get(inner) or ())
    return found


def _plain(data: dict[str, Any], added: set[str]) -> tuple[dict[str, Any], bool]:
    """The tokenizer without sentinels or a leading space of its own, and whether it had that space."""
    # Runs of white space may be added tokens too; they are text.
    sentinels = {token for token in added if token.strip(_SPACE + " \t\r\n") and not _is_byte(token)}
    plain: dict[str, Any] = json.loads(json.dumps(data | {"model": None, "decoder": None}))
    leading_space = False
    for part in _parts(plain):
        if part["type"] == "Metaspace":
            leading_space |= part.get("prepend_scheme", "always") != "never"
            part["prepend_scheme"] = "never"
            part.pop("add_prefix_space", None)
        elif part["type"] == "ByteLevel" and "add_prefix_space" in part:
            part["add_prefix_space"] = False
        elif part["type"] == "Sequence" and "normalizers" in part:
            kept = [inner for inner in part["normalizers"] if inner["type"] != "Prepend"]
            leading_space |= len(kept) < len(part["normalizers"])
            part["normalizers"] = kept
    if (plain.get("normalizer") or {}).get("type") == "Prepend":
        plain["normalizer"], leading_space = None, True
    model = dict(data["model"])
    model["vocab"] = {piece: id for piece, id in model["vocab"].items() if piece not in sentinels}
    model["merges"] = [merge for merge in model["merges"] if _merged(merge) not in sentinels]
    if model.get("unk_token") in sentinels:
        model["unk_token"] = None
    plain |= {"model": model, "added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
    return plain, leading_space


def _merged(merge: str | list[str]) -> str:
    return "".join(merge.split(" ", 1) if isinstance(merge, str) else merge)


def _lines_apart(plain: dict[str, Any]) -> bool:
    """Whether encoding line by line is exact: nothing in the tokenizer reaches over a newline."""
    model = plain["model"]
    if model.get("ignore_merges") or model.get("dropout") or not model.get("byte_fallback"):
        return False
    if any(part["type"] not in ("Sequence", "Replace", "Metaspace") for part in _parts(plain)):
        return False
    if any("\n" in str(part.get("pattern")) for part in _parts(plain)):
        return False
    return not any(
        ("\n" in piece and piece != "\n") or ("<0x0A>" in piece and piece != "<0x0A>")
        for piece in model["vocab"]
    )
