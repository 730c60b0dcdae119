"""When a keystroke is worth a request: not where a line is over, not within a word, not while deleting.

A request made by hand is always sent; what is in the cache is shown wherever it fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["Triggers", "check_triggers", "make_triggers", "worth_asking"]

# What a statement ends with: behind it there is the next line at most.
_ENDS = (";", ")", "}")


@attrs.frozen
class Triggers:
    """Where to ask although the rules say not to."""

    line_end: bool = False  # behind ``;``, ``)`` or ``}`` at a line's end
    inside_word: bool = False  # with a letter directly behind the cursor
    deletion: bool = False  # after a change that only deleted


_NAMES = {"lineEnd": "line_end", "insideWord": "inside_word", "deletion": "deletion"}


def check_triggers(value: object) -> None:
    """Raises: ValueError unless it is an object of the rules' names with true or false each."""
    if (
        not isinstance(value, Mapping)
        or not all(name in _NAMES for name in value)
        or not all(isinstance(on, bool) for on in value.values())
    ):
        raise ValueError(f"must give true or false for {', '.join(_NAMES)}")


def make_triggers(value: Mapping[str, Any]) -> Triggers:
    """The rules from a setting that `check_triggers` has passed; what it does not name is at its default."""
    return Triggers(**{_NAMES[name]: on for name, on in value.items()})


def worth_asking(before: str, after: str, *, deleted: bool, triggers: Triggers) -> bool:
    """Whether to ask for a completion between the parts of the cursor's line.

    ``deleted``: the last change did nothing but delete, and left the cursor here.
    """
    if deleted and not triggers.deletion:
        return False
    if not triggers.inside_word and (after[:1].isalnum() or after[:1] == "_"):
        return False
    return triggers.line_end or bool(after.strip()) or not before.rstrip().endswith(_ENDS)
