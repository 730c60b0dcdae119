"""What the real language server sends along of other files."""

from __future__ import annotations

from pathlib import Path

from codeserve.bench.quality.crossfile import listening, neighbours
from codeserve.bench.quality.sources import Source

FILES = {
    "pkg/a.py": "from pkg.shapes import Circle\n\n\ndef area(c: Circle) -> float:\n    return c\n",
    "pkg/shapes.py": "class Circle:\n    def radius_in_metres(self) -> float:\n        return 1.0\n",
    "pkg/open.py": "def opened_too() -> None:\n    pass\n",
}


async def test_imports_and_open_files_come_along(tmp_path: Path) -> None:
    """Declarations of an imported file, and the open one; paths are below the project."""
    sources = {path: Source(path, "python", text) for path, text in FILES.items()}
    (tmp_path / "pkg").mkdir()
    for path, text in FILES.items():
        (tmp_path / path).write_text(text)
    async with listening(tmp_path, tmp_path) as listener:
        found = await listener.snippets(sources["pkg/a.py"], [sources["pkg/open.py"]])
        alone = await listener.snippets(sources["pkg/shapes.py"], [])
    texts = {snippet.path: snippet.text for snippet in found}
    assert "radius_in_metres" in texts["pkg/shapes.py"]
    assert "opened_too" in texts["pkg/open.py"]
    assert "pkg/a.py" not in texts
    assert alone == ()


def test_neighbours() -> None:
    """The files next to it in the same package, not itself."""
    sources = [Source(f"{package}/{name}.py", "python", "") for package in "pq" for name in "abcd"]
    assert [each.path for each in neighbours(sources[1], sources)] == ["p/a.py", "p/c.py"]
    assert [each.path for each in neighbours(sources[4], sources)] == ["q/b.py", "q/c.py"]
