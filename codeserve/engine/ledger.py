"""What the engine does for each live request, counted from the raw output of its steps."""

from __future__ import annotations

import attrs

from codeserve.engine.compat import StepOutput, external_id

__all__ = ["Ledger", "Tally"]


@attrs.define
class Tally:
    """Running totals of one request."""

    steps: int = 0
    drafted: int = 0
    accepted: int = 0


class Ledger:
    """The live requests by id. A request is live from `begin` to `end`; ids are not used again."""

    def __init__(self) -> None:
        self._live: dict[str, Tally] = {}
        self.tokens_after_end = 0  # over all requests: generated although nobody waits for them any more

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._live

    def begin(self, request_id: str) -> Tally:
        """A new request. Raises: ValueError when one with this id is live."""
        if request_id in self._live:
            raise ValueError(f"the request id {request_id!r} is in use")
        tally = self._live[request_id] = Tally()
        return tally

    def end(self, request_id: str) -> None:
        """The request has ended here, whatever the engine still does for it. Unknown ids are ignored."""
        self._live.pop(request_id, None)

    def observe(self, step: StepOutput) -> None:
        """Count one step.

        A step brings one token of its own and the accepted drafts, so the latter are known. Drafted tokens
        are given for the step as a whole: with one request in it they are its own; among several, what was
        accepted is set apart and the rest shared out evenly, which is right in sum but an estimate for each.
        """
        verified: list[tuple[Tally | None, int]] = []
        for internal, count in step.tokens:
            tally = self._live.get(external_id(internal))
            if tally is None:
                self.tokens_after_end += count
            elif count and not tally.steps:
                tally.steps = 1  # the prompt's own step, nothing was drafted for it
                continue
            if count:
                verified.append((tally, count - 1))
        rejected = max(0, step.drafted - sum(accepted for _, accepted in verified))
        for index, (tally, accepted) in enumerate(verified):
            if tally is not None:
                share = rejected * (index + 1) // len(verified) - rejected * index // len(verified)
                tally.steps += 1
                tally.accepted += accepted
                tally.drafted += accepted + share
