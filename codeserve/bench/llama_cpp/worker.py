"""llama.cpp in a process of its own: a line of JSON asks it, a line of JSON answers.

A request is ``{"ids": [...], "tokens": 16, "cold": true}``. The answer has the ids that it generated,
greedily, and for each the milliseconds since the request was read. While ``cold`` is false what is in its
KV cache already is not computed again.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

__all__ = ["answer", "main"]


def answer(model: Any, ids: list[int], tokens: int, cold: bool) -> dict[str, list[float] | list[int]]:
    """Generate ``tokens`` tokens after the prompt ``ids`` on a ``llama_cpp.Llama``."""
    if cold:
        model.reset()
    began = time.perf_counter()
    generated: list[int] = []
    times: list[float] = []
    for token in model.generate(ids, temp=0.0):
        times.append((time.perf_counter() - began) * 1000)
        generated.append(token)
        if len(generated) >= tokens:
            break
    return {"ids": generated, "token_ms": times}


def main(path: str, threads: int, context_tokens: int) -> None:
    """Answer the requests on standard input until it ends."""
    import llama_cpp

    model = llama_cpp.Llama(
        path, n_ctx=context_tokens, n_threads=threads, n_threads_batch=threads, verbose=False
    )
    system = llama_cpp.llama_print_system_info().decode()
    print(json.dumps({"version": llama_cpp.__version__, "system": system}), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(model, **json.loads(line))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
