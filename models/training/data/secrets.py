"""Takes credentials and people's addresses out of source text.

Patterns of well-known issuers (their documentation gives the prefixes and lengths), private keys,
passwords in URLs, and random strings that are given to a name like `secret` or `api_key`.
"""

from __future__ import annotations

import math
import re
from collections import Counter

__all__ = ["scrub"]

_TOKENS = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # AWS access key ids
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{60,}\b"
    r"|\bglpat-[A-Za-z0-9_-]{20,}\b"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}\b"  # Slack
    r"|\bsk-(?:proj-|ant-)?[A-Za-z0-9_-]{32,}\b|\b[rs]k_live_[A-Za-z0-9]{20,}\b"
    r"|\bAIza[A-Za-z0-9_-]{35}\b|\bya29\.[A-Za-z0-9_-]{30,}"
    r"|\bSG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{30,}\b"
    r"|\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{60,}\b|\bhf_[A-Za-z]{34}\b"
    r"|\beyJ[A-Za-z0-9_-]{15,}\.eyJ[A-Za-z0-9_-]{15,}\.[A-Za-z0-9_-]{10,}"  # JSON web tokens
    r"|\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}\b"  # Telegram bots
)
# A key's lines, in a text of their own or in literals, after headers (RFC 1421, RFC 4880) if it has any.
_BREAK = r"(?:\\[nr]|\+\s|[\s\"'`,#*\\])"
_LINES = r"[A-Za-z0-9+/=\s\"'`,#*;\\]"
_KEY = re.compile(
    r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)"
    r"(?:[\s\"'`+#*\\nr]{0,40}(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset):[^\n\\]{0,200}){0,5}"
    r"(?:" + _BREAK + r"{0,60}[A-Za-z0-9+/=]{4}" + _LINES + r"{0,20000}"
    r"(-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----)"
    r"|(?:" + _BREAK + r"{0,60}[A-Za-z0-9+/=]{40,})+)",
)
_URL_PART = r"(?:[^\s:/@'\"{}$<>%]|%[0-9A-Fa-f]{2})"  # of user and password: no format strings
_URL = re.compile(rf"(\b[a-z][a-z0-9+.-]{{1,20}}://{_URL_PART}{{0,100}}:)({_URL_PART}{{2,200}})(@)")
_BEARER = re.compile(r"(\b(?:Bearer|Basic) )([A-Za-z0-9+/=._~-]{16,500})(?![A-Za-z0-9+/=._~-])")
# No blanks, brackets or escapes, which regular expressions and format strings have.
_QUOTED = re.compile(r"([\"'`])([!#-&(-;=?-Z^_a-z~]{8,200})\1")
_CALLED = (
    r"(secret|token|passw(?:or)?d|passphrase|pwd|(?:api|access|private)_?key|credential"
    r"|auth(?!or(?!i[sz])))\w*"  # an author is no secret, authorization is
)
_NAME = re.compile(
    # `name =`, `name: type =`, `"name":`, `["name"] =` and `set_name(`
    _CALLED + r"[\"'`]?\]?\s*(?::[\w.\[\]| \t]{1,40})?(?::|:?={1,3}>?|\()\s*[bru]{0,2}$",
    re.IGNORECASE,
)
_ARGUMENT = re.compile(  # `("name",`
    r"\(\s*[\"'`][\w.-]{0,40}" + _CALLED + r"[\"'`]\s*,\s*[bru]{0,2}$", re.IGNORECASE
)
_NAME_CHARS = 100  # in front of a value, where its name is
_LONG = 16  # shorter values are secrets of people only: passwords
_PLAIN = re.compile(r"[A-Za-z0-9+/=_-]{16,}")
_SIGNS = frozenset("$!@&^#*%~?")  # in passwords and generated keys; dotted names, paths and hosts have none
_WORDS = re.compile(
    r"[^A-Za-z0-9]*(?:(?:(?:[A-Z]?[a-z]{1,15}|[A-Z]{1,15})[0-9]{0,6}|[0-9]{1,6})(?:[^A-Za-z0-9]+|\Z))*"
)
_MANY_SIGNS = 4  # different ones; no format has as many
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")  # of camel case
_PIECE_CHARS = 4  # on average in names; random text has fewer
_FORMAT = re.compile(r"%(?:\(\w+\))?[sdr](?![A-Za-z0-9])|\$\(|://|^[+,:;.)]|\(\)")
_MAIL = re.compile(r"\b[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,4}[A-Za-z]{2,12}\b")
_PREFIXES = (
    *(
        "AKIA",
        "ASIA",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "xox",
        "sk-",
        "_live_",
    ),
    *("AIza", "ya29.", "SG.", "npm_", "pypi-", "hf_", "eyJ", ":AA"),
)
# What is looked for, what a text must have one of for it to be there (to search for that is faster), and
# what comes in its place.
_PATTERNS = (
    (_TOKENS, _PREFIXES, "REDACTED"),
    (_KEY, ("PRIVATE KEY",), r"\1\nREDACTED\n\2"),
    (_URL, ("://",), r"\1REDACTED\3"),
)
_MIN_BITS = 3.5  # a character; words and names have less
_HEX = re.compile(r"[0-9a-fA-F]{32,}")
_MIN_HEX_BITS = 3.0  # of sixteen digits, at most four bits each
_MIN_PASSWORD_BITS = 2.7  # of eight and more characters, of which few come twice
_DOMAIN = re.compile(r"@(?:[A-Za-z0-9-]{1,63}\.){1,4}[A-Za-z]{2,12}\b")  # quick to look for
_MAIL_INSTEAD = "name@example.com"


def scrub(text: str) -> tuple[str, int]:
    """The text with credentials and addresses replaced, and how many were replaced."""
    total = 0
    for found, needs, replaced in _PATTERNS:
        if any(word in text for word in needs):
            text, count = found.subn(replaced, text)
            total += count
    text, assigned = _scrub_assigned(text)
    mails = 0
    if _DOMAIN.search(text):
        text, mails = _MAIL.subn(_MAIL_INSTEAD, text)
    return text, total + assigned + mails


def _scrub_assigned(text: str) -> tuple[str, int]:
    count = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal count
        quote, value = match.groups()
        if not any(map(str.isdigit, value)):
            return match[0]
        before = text[max(0, match.start() - _NAME_CHARS) : match.start()]
        named = _NAME.search(before) or _ARGUMENT.search(before)
        if named is None or not _is_random(value, named[1].lower().startswith(("passw", "pwd"))):
            return match[0]
        count += 1
        return f"{quote}REDACTED{quote}"

    def replace_bearer(match: re.Match[str]) -> str:
        nonlocal count
        if not _is_random(match[2], password=False):
            return match[0]
        count += 1
        return f"{match[1]}REDACTED"

    replaced = _QUOTED.sub(replace, text)
    if "Bearer " in replaced or "Basic " in replaced:
        replaced = _BEARER.sub(replace_bearer, replaced)
    return replaced, count


def _is_random(value: str, password: bool) -> bool:
    """Whether a value is a secret rather than a name, a path, a placeholder or a format."""
    signs = len(_SIGNS.intersection(value))
    if _is_words(value) or (signs < _MANY_SIGNS and _FORMAT.search(value)):
        return False
    if len(value) < _LONG:
        mixed = signs or re.search(r"[A-Za-z][0-9]+[A-Za-z]", value)
        return password and bool(mixed) and _bits(value) >= _MIN_PASSWORD_BITS
    if signs:
        return _bits(value) >= _MIN_BITS
    return any(
        _bits(part) >= (_MIN_HEX_BITS if _HEX.fullmatch(part) else _MIN_BITS) and not _is_words(part)
        for part in _PLAIN.findall(value)
    )


def _is_words(value: str) -> bool:
    """Whether it is made of words, with few digits or with these after words."""
    digits = sum(map(str.isdigit, value))
    if not digits or _WORDS.fullmatch(value):
        return True
    if digits > max(2, len(value) // 10):
        return False
    pieces = _PIECES.findall(value)
    return sum(map(len, pieces)) >= _PIECE_CHARS * len(pieces)


def _bits(value: str) -> float:
    """Shannon entropy a character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())
