"""The messages on the wire: one JSON object a WebSocket text frame, told apart by their ``type``.

The client says `Hello`, the server answers `Welcome`; from then on each `Complete` or `Prewarm` gets exactly
one `Done` or one `Error` with its id, with any number of `Delta` before a `Done`. `Done.text` is what counts:
it is always a prefix of the deltas put together (post-processing only ever cuts at the end).
Unknown fields are ignored, so that either side may be newer.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import attrs

__all__ = [
    "MAX_ACCEPTED_CHARS",
    "MAX_CANDIDATES",
    "MAX_DEADLINE_MS",
    "MAX_FRAME_BYTES",
    "MAX_OUTPUT_TOKENS",
    "MAX_PREFIX_CHARS",
    "MAX_SUFFIX_CHARS",
    "MIN_CONFIDENCE",
    "PROTOCOL_VERSION",
    "Admin",
    "Cancel",
    "ClientMessage",
    "Complete",
    "Delta",
    "Done",
    "Error",
    "ErrorCode",
    "Feedback",
    "Finish",
    "Hello",
    "Limits",
    "Mode",
    "Prewarm",
    "ProtocolError",
    "Report",
    "ServerMessage",
    "Snippet",
    "Status",
    "Timings",
    "Tokens",
    "Welcome",
]

PROTOCOL_VERSION = 1

# Characters (code points) around the cursor that a request carries; the client cuts (completion/cut.py).
MAX_PREFIX_CHARS = 65_536
MAX_SUFFIX_CHARS = 16_384
# One frame: the texts above at up to six bytes a character as JSON escapes, snippets, and room to spare.
MAX_FRAME_BYTES = 1 << 20
MAX_DEADLINE_MS = 60_000
MAX_CANDIDATES = 5
MAX_OUTPUT_TOKENS = 4_096
MAX_ACCEPTED_CHARS = 1_000_000  # more than any completion has
# The least `min_confidence`: no mean log-probability is below it, so that it lets everything through.
MIN_CONFIDENCE = -100.0

Mode = Literal["line", "block", "auto"]


class Finish(StrEnum):
    """Why a completion ended. An empty text always has its reason here."""

    STOP = "stop"  # the model or a stop rule ended it
    LENGTH = "length"  # the output budget was used up
    DEADLINE = "deadline"  # time was up: the whole lines so far
    SUPERSEDED = "superseded"  # a newer request for the same document took its place
    CANCELLED = "cancelled"  # the client cancelled it
    NO_SUGGESTION = "no_suggestion"  # the model had nothing to add, or nothing survived post-processing
    PREWARMED = "prewarmed"  # the answer to `Prewarm`


class ErrorCode(StrEnum):
    """The codes of `Error`."""

    BAD_MESSAGE = "bad_message"  # not a JSON object in a text frame
    UNKNOWN_TYPE = "unknown_type"
    INVALID = "invalid"  # a field is missing, of the wrong type or out of range
    UNSUPPORTED_VERSION = "unsupported_version"
    HELLO_REQUIRED = "hello_required"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"  # the token's scope does not cover it
    DUPLICATE_ID = "duplicate_id"  # a request with this id is live on this connection
    OVERLOADED = "overloaded"
    UNAVAILABLE = "unavailable"  # no engine at present
    INTERNAL = "internal"


class ProtocolError(Exception):
    """A frame that is not a message. ``id`` is the request it names, if it could be read."""

    def __init__(self, code: ErrorCode, message: str, id: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.id = id


def _length(low: int, high: int) -> Any:
    def check(_: object, field: attrs.Attribute[str], value: str) -> None:
        if not low <= len(value) <= high:
            raise ValueError(f"{field.name} must have {low} to {high} characters")

    return check


def _between(low: float, high: float) -> Any:
    def check(_: object, field: attrs.Attribute[float], value: float) -> None:
        if not low <= value <= high:
            raise ValueError(f"{field.name} must be from {low} to {high}")

    return check


def _least(low: int) -> Any:
    def check(_: object, field: attrs.Attribute[int], value: int) -> None:
        if value < low:
            raise ValueError(f"{field.name} must be at least {low}")

    return check


_id = _length(1, 256)
_document = _length(1, 4096)


@attrs.frozen
class Snippet:
    """A piece of another file that may help; earlier ones are kept when room runs out."""

    path: str
    text: str


@attrs.frozen
class Hello:
    version: int
    token: str | None = attrs.field(default=None, repr=False)
    client: str = ""  # name and version, for the log


@attrs.frozen
class Complete:
    """Ask for a completion at the cursor between ``prefix`` and ``suffix``.

    ``document`` is its URI or any stable key: one request a document is live, a newer one supersedes it.
    The deadline counts from arrival at the server.
    """

    id: str = attrs.field(validator=_id)
    document: str = attrs.field(validator=_document)
    prefix: str = attrs.field(repr=False)
    suffix: str = attrs.field(default="", repr=False)
    path: str = ""
    language: str = ""  # an LSP language id, e.g. "python"
    snippets: list[Snippet] = attrs.field(factory=list, repr=False)
    deadline_ms: int = attrs.field(
        default=300, validator=_between(1, MAX_DEADLINE_MS)
    )  # from arrival at the server
    mode: Mode = "auto"
    candidates: int = attrs.field(default=1, validator=_between(1, MAX_CANDIDATES))
    max_tokens: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(_between(1, MAX_OUTPUT_TOKENS))
    )  # of output, if less than the server's own limit
    # in place of the server's own: what is less sure is not suggested; MIN_CONFIDENCE takes everything
    min_confidence: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(_between(MIN_CONFIDENCE, 0))
    )


@attrs.frozen
class Prewarm:
    """Fill the KV cache for a `Complete` that may follow; yields to any completion."""

    id: str = attrs.field(validator=_id)
    document: str = attrs.field(validator=_document)
    prefix: str = attrs.field(repr=False)
    suffix: str = attrs.field(default="", repr=False)
    path: str = ""
    language: str = ""
    snippets: list[Snippet] = attrs.field(factory=list, repr=False)


@attrs.frozen
class Cancel:
    id: str


@attrs.frozen
class Feedback:
    """What became of a completion in the editor. Counted, never answered."""

    id: str
    event: Literal["shown", "accepted", "partially_accepted", "dismissed"]
    characters: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(_between(0, MAX_ACCEPTED_CHARS))
    )  # how many were accepted


@attrs.frozen
class Admin:
    """Ask for an action of the operator's; answered by `Report`, `Status` for "status", or `Error`."""

    action: str = attrs.field(validator=_length(1, 64))
    id: str | None = attrs.field(default=None, validator=attrs.validators.optional(_id))
    seconds: float = attrs.field(default=3.0, validator=_between(0, 60))  # of a profile


@attrs.frozen
class Limits:
    """What the server takes; a client keeps to it."""

    prefix_chars: int = attrs.field(default=MAX_PREFIX_CHARS, validator=_least(0))
    suffix_chars: int = attrs.field(default=MAX_SUFFIX_CHARS, validator=_least(0))
    frame_bytes: int = attrs.field(default=MAX_FRAME_BYTES, validator=_least(1))
    candidates: int = attrs.field(default=MAX_CANDIDATES, validator=_least(1))
    deadline_ms: int = attrs.field(default=MAX_DEADLINE_MS, validator=_least(1))
    context_tokens: int = attrs.field(default=4096, validator=_least(1))
    # Of a prompt, for what snippets say; 0: they are left out, send none. None: an older server, which takes
    # a quarter of context_tokens.
    snippet_tokens: int | None = attrs.field(default=None, validator=attrs.validators.optional(_least(0)))


@attrs.frozen
class Welcome:
    """The answer to a good `Hello`. ``state`` is an engine state: while it is not "ready" requests fail."""

    version: int
    model: str
    limits: Limits
    state: str = "ready"


@attrs.frozen
class Delta:
    id: str
    text: str = attrs.field(repr=False)


@attrs.frozen
class Timings:
    """Milliseconds since the request arrived at the server."""

    queue_ms: float  # until the engine first worked on it
    ttft_ms: float | None  # until its first token came back; None without one
    total_ms: float


@attrs.frozen
class Tokens:
    prompt: int = 0
    cached: int = 0  # of the prompt, found in the prefix cache
    output: int = 0  # generated, including what post-processing cut
    drafted: int = 0
    accepted: int = 0


@attrs.frozen
class Done:
    id: str
    text: str = attrs.field(repr=False)
    finish: Finish
    timings: Timings
    tokens: Tokens
    candidates: list[str] = attrs.field(
        factory=list, repr=False
    )  # distinct texts, `text` first; [] unless asked
    # Mean natural log-probability of the tokens of `text`, 0 at most; where that is empty, of the greedy text
    # that was too unsure. None without a `min_confidence`, or without a text.
    confidence: float | None = None


@attrs.frozen
class Error:
    code: str  # an ErrorCode; a str, so that an older client reads a newer server
    message: str
    id: str | None = None
    retry_after_ms: int | None = None


@attrs.frozen
class Status:
    """Sent on a change: ``state`` is an engine state, ``load`` the share of the admission limit in use."""

    state: str
    load: float = 0.0


@attrs.frozen
class Report:
    """An `Admin` action was done; ``message`` says what came of it."""

    action: str
    message: str
    id: str | None = None


ClientMessage = Hello | Complete | Prewarm | Cancel | Feedback | Admin
ServerMessage = Welcome | Delta | Done | Error | Status | Report
