"""Takes credentials and people's addresses out of source text.

Patterns of well-known issuers (their documentation gives the prefixes and lengths), private keys,
passwords in URLs, and long random strings that are assigned to a name like `secret` or `api_key`.
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
_KEY = re.compile(
    r"(-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----).*?(-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_URL = re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"{}$<>%]+:)([^\s:/@'\"{}$<>%]{3,})(@)")
_QUOTED = re.compile(r"([\"'])([A-Za-z0-9+/=_-]{16,200})\1")
_NAME = re.compile(
    r"(?:secret|token|passw(?:or)?d|api_?key|access_?key|private_?key|credential|auth)\w*[\"']?\s*[:=]\s*$",
    re.IGNORECASE,
)
_NAME_CHARS = 60  # in front of a value, where its name is
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
        named = _NAME.search(text[max(0, match.start() - _NAME_CHARS) : match.start()])
        if named is None or _bits(value) < _MIN_BITS or not any(map(str.isdigit, value)):
            return match[0]
        count += 1
        return f"{quote}REDACTED{quote}"

    return _QUOTED.sub(replace, text), count


def _bits(value: str) -> float:
    """Shannon entropy a character."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())
