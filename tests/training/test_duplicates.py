"""Near-duplicates, and content that must not be trained on."""

from training.data.dedup import Deduplicator, Signature, signature
from training.data.overlap import Hashes, Reserved, line_hashes, runs
from training.data.secrets import scrub

LINES = [f"def function_{n}(argument): return argument * {n} + {n % 7}" for n in range(100)]


def _signature(lines: list[str]) -> Signature:
    return signature(line_hashes("\n".join(lines))[0])


def test_copies_with_small_changes_are_found() -> None:
    """A file with a few changed lines, other indentation or more blank lines is the same file; another is
    not.
    """
    seen = Deduplicator()
    assert seen.is_new(_signature(LINES))
    changed = [*LINES[:50], "something_else()", *LINES[51:]]
    assert not seen.is_new(_signature(changed))
    assert not seen.is_new(_signature([line for each in LINES for line in ("    " + each, "")]))
    assert seen.is_new(_signature([line.replace("argument", "value") for line in LINES]))
    assert seen.is_new(_signature(LINES[:30] + [f"other_{n}()" for n in range(70)]))


def _runs(text: str) -> Hashes:
    return runs(*line_hashes(text))


def test_problems_are_kept_out() -> None:
    """Three lines of a test problem, at any indentation, are enough; commonplaces are not."""
    problem = (
        "def f(values):\n    if not values:\n        return None\n"
        "    largest = max(values)\n    return largest * 2\n"
    )
    reserved = Reserved([problem], [])
    inside = "class A:\n" + "".join("    " + line + "\n" for line in problem.splitlines()[1:])
    assert reserved.forbids(_runs(inside))
    assert not reserved.forbids(
        _runs("def g(other):\n    if not values:\n        return None\n    return 1\n")
    )


def test_held_out_files_are_kept_out() -> None:
    """A copy of a held-out file is refused, one that shares a header with it is not."""
    reserved = Reserved([], ["\n".join(LINES)])
    assert reserved.forbids(_runs("\n".join(LINES[:60])))
    own = [f"variable_{n} = compute_something_from({n})" for n in range(50)]
    assert not reserved.forbids(_runs("\n".join(LINES[:8] + own)))


def test_held_out_files_are_found_in_longer_ones() -> None:
    """A held-out file inside a file five times as long is refused, and so is a quarter of it."""
    own = [f"variable_{n} = compute_something_from({n})" for n in range(1600)]
    reserved = Reserved(
        [], ["\n".join(own[:3] + LINES), "\n".join(f"other_{n}(argument_{n})" for n in range(900))]
    )
    assert reserved.forbids(_runs("\n".join(own[:500] + LINES + own[500:])))
    assert reserved.forbids(_runs("\n".join(own[:500] + LINES[40:70] + own[500:])))
    assert not reserved.forbids(_runs("\n".join(own[:500] + LINES[40:55] + own[500:])))


def test_shared_headers_tell_of_no_file() -> None:
    """What many held-out files begin with may be in other files too, however short the held-out ones are."""
    header = [f"# Clause {n} of a licence, which has a good many words in it" for n in range(30)]
    reserved = Reserved([], ["\n".join([*header, f"only_{n}()"]) for n in range(3)])
    assert not reserved.forbids(_runs("\n".join(header + LINES * 2)))


def test_reserved_texts_are_scrubbed() -> None:
    """Training text reaches the comparison without its addresses: the same text is found nevertheless."""
    problem = "# Written by jane.doe@company.org for everybody\ndef largest(values):\n    return max(values)"
    assert Reserved([problem], []).forbids(_runs(scrub(problem)[0]))
    assert Reserved([], [problem]).forbids(_runs(scrub(problem)[0]))
