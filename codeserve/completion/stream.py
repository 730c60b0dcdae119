"""From the token ids that an engine generates to the text of a completion."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from codeserve.completion.indent import Indenter
from codeserve.completion.junk import JunkFinder
from codeserve.completion.leading import LeadingLines
from codeserve.completion.prompt import Prompt
from codeserve.completion.stop import stop_rule
from codeserve.completion.tokens import Tokenizer
from codeserve.completion.trim import joins_word, trim

__all__ = ["CompletionStream"]


class CompletionStream:
    """One completion as it grows: token ids in, text out, with "\\n" line ends.

    `feed` gives text as soon as it may belong to the completion; `finish` gives what does belong to it. That
    is always a prefix of what `feed` gave, because all rules cut at the end.
    """

    def __init__(self, tokenizer: Tokenizer, prompt: Prompt) -> None:
        self.stopped = False  # nothing further belongs to the completion: abort the engine
        self._prompt = prompt
        self._stops = frozenset(prompt.stop_token_ids)
        self._newline = tokenizer.newline_id
        self._joins = joins_word(prompt.suffix)
        self._decoder = tokenizer.decoder()
        self._rule = stop_rule(prompt.mode, prompt.prefix, prompt.suffix, prompt.language)
        self._text = ""  # decoded so far
        self._end = 0  # how much of it belongs to the completion
        self.sent = 0  # characters that `feed` has given
        self._starts: list[int] = []  # where in the text each token begins
        self._logprobs: list[float] = []
        self._leading = (
            LeadingLines(prompt.prefix, prompt.suffix, prompt.language) if prompt.mode == "line" else None
        )
        self._indenter = Indenter(prompt.prefix, prompt.suffix, prompt.language)
        self._junk = JunkFinder(prompt.prefix, prompt.suffix, prompt.language)
        self._carriage = False  # the text so far ended with "\\r"

    def feed(self, token_ids: Sequence[int], logprobs: Sequence[float] = ()) -> str:
        """Take further ids; returns the text to send on, "" when none is settled.

        ``logprobs`` are the ids' natural log-probabilities, where the engine tells them. White space is held
        back until something follows it, and the beginning of a line while it may still turn out to be
        outside the block.
        """
        if self.stopped:
            return ""
        ended = next((place for place, id in enumerate(token_ids) if id in self._stops), None)
        if ended is not None:
            # The newline may be a stop token; it is text all the same, the rule ends the line at it.
            token_ids = token_ids[: ended + (token_ids[ended] == self._newline)]
        self._logprobs += logprobs[: len(token_ids)]
        for id in token_ids:
            self._starts.append(len(self._text))
            text = self._line_ends(self._decoder.feed((id,)))
            self._text += self._indenter.feed(self._leading.feed(text) if self._leading else text)
        junk = self._junk.scan(self._text)  # None, or where the text ends
        over = ended is not None or junk is not None
        self._end = self._rule.scan(self._text[:junk], ended=over)
        self.stopped = over or self._rule.stopped
        settled = len(self._text[: self._end].rstrip())
        if self._rule.line_over:
            settled = self._text.find("\n", settled) + 1  # tells who reads along that the line is whole
        elif self.stopped and self._joins:
            settled = self._end  # with the space in front of the word behind the cursor
        delta = self._text[self.sent : settled]
        self.sent = max(self.sent, settled)
        return delta

    def finish(self, *, deadline: bool = False) -> str:
        """The completion, trimmed; "" when there is nothing to suggest.

        With ``deadline`` the model was not at its end yet: only whole lines count. Where it used up its
        output budget in a block, the line it broke off in does not count either, unless it is the only one.
        """
        text = self._text[: self._end]
        if not self.stopped:
            whole = text[: max(self._text.rfind("\n"), 0)]
            exhausted = self._prompt.mode == "block" and len(self._starts) >= self._prompt.max_tokens
            if deadline or (exhausted and whole.strip()):
                text = whole
            text = text.rstrip()  # no further than what was sent
        return trim(text, self._prompt.prefix, self._prompt.suffix, self._prompt.language)

    def confidence(self, length: int) -> float | None:
        """The mean log-probability of the tokens in which the first ``length`` characters are.

        None when there are none, or the engine does not tell.
        """
        logprobs = self._logprobs[: bisect_left(self._starts, length)]
        return sum(logprobs) / len(logprobs) if logprobs else None

    def _line_ends(self, text: str) -> str:
        """The document's line ends are put in by the editor; here they are "\\n"."""
        if self._carriage and text.startswith("\n"):
            text = text[1:]
            self._carriage = False
        if text:
            self._carriage = text.endswith("\r")
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
