"""What is logged again and again."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import pytest

from codeserve_lsp.repeats import AGE_S, MAX_KINDS, Repeats


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[logging.Logger]:
    """A logger whose records go through a filter of their own."""
    caplog.set_level("DEBUG")
    repeats = Repeats()
    caplog.handler.addFilter(repeats)
    yield logging.getLogger("repeats")
    caplog.handler.removeFilter(repeats)


def test_the_same_is_told_by_powers_of_ten(log: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    """A warning comes through the first time, then with its count; another one is another one."""
    for _ in range(1_234):
        log.warning("no %s", "such")
    log.warning("no %s", "other")
    assert caplog.messages == [
        "no such",
        *(f"no such (the {count}th time)" for count in ("10", "100", "1,000")),
        "no other",
    ]


def test_details_are_not_counted(log: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    """Below warnings each record goes through."""
    for _ in range(5):
        log.info("again")
    assert len(caplog.messages) == 5


def test_kinds_are_bounded(log: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    """Messages that are all different take no memory without end."""
    for number in range(MAX_KINDS + 1):
        log.warning("%s", number)
    log.warning("%s", 0)
    assert len(caplog.messages) == MAX_KINDS + 2
    assert (
        len(next(each for each in caplog.handler.filters if isinstance(each, Repeats))._counts) == MAX_KINDS
    )


def test_exceptions_are_told_apart(log: logging.Logger, caplog: pytest.LogCaptureFixture) -> None:
    """The same message for another exception is something else."""
    for exception in (KeyError, KeyError, ValueError):
        try:
            raise exception
        except LookupError:
            log.exception("failed")
        except ValueError:
            log.exception("failed")
    assert len(caplog.messages) == 2


def test_a_message_that_cannot_be_filled_in() -> None:
    """It is left to the handler, which says so; the one who logs it does not fail."""
    record = logging.LogRecord("x", logging.WARNING, "", 0, "%d of %d", ("one",), None)
    assert Repeats().filter(record)


def test_what_has_not_come_up_for_long_is_new(
    log: logging.Logger, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count begins anew, so that the second fault of a day is told again."""
    for _ in range(3):
        log.warning("lost")
    later = time.time() + AGE_S
    monkeypatch.setattr(time, "time", lambda: later)
    for _ in range(3):
        log.warning("lost")
    assert caplog.messages == ["lost", "lost"]
