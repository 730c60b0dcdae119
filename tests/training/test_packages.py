"""The list of packages: its form, and that the committed one may be used."""

from pathlib import Path

import pytest

from training.data.licences import is_permissive
from training.data.packages import DataError, Package, dump_packages, load_packages

LIST = Path(__file__).parents[2] / "models" / "training" / "packages.toml"
HASH = "0" * 64
ENTRY = f'name = "a-b"\nversion = "1"\nsha256 = "{HASH}"\n'


def test_committed_list_is_permissive_throughout() -> None:
    """Every package that the model is trained on has a permissive licence, a version and a hash."""
    packages = load_packages(LIST)
    assert len(packages) > 1000
    assert [package.id for package in packages if not is_permissive(package.licence)] == []


def test_round_trip(tmp_path: Path) -> None:
    """What is written is read again."""
    packages = [Package("npm", "@a/b", "1.0", HASH, "MIT"), Package("pypi", "c", "2.0", HASH, "ISC")]
    dump_packages(tmp_path / "list.toml", packages, "A comment.")
    assert load_packages(tmp_path / "list.toml") == packages


def test_a_list_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that cannot be written to its end leaves the old one, and nothing beside it."""
    path = tmp_path / "list.toml"
    path.write_text("before")

    def full(self: Path, text: str, encoding: str) -> None:
        with self.open("w") as file:
            file.write(text[:10])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space left"):
        dump_packages(path, [Package("npm", "a", "1.0", HASH, "MIT")], "")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_held_out_form(tmp_path: Path) -> None:
    """Entries as the quality benchmark writes them, with fields of its own, are read."""
    fields = 'registry = "pypi"\nname = "Foo_Bar"\nversion = "1"\nfile = "f.whl"\nfolder = "foo"'
    (tmp_path / "heldout.toml").write_text(f'[[package]]\n{fields}\nsha256 = "{HASH}"\n')
    assert [package.id for package in load_packages(tmp_path / "heldout.toml")] == ["pypi:foo-bar"]


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ('name = "a"\nversion = "1"', "lacks 'sha256'"),
        ('name = "a"\nversion = "1"\nsha256 = "12"', "64 hexadecimal digits"),
        (f'registry = "x"\nname = "a"\nversion = "1"\nsha256 = "{HASH}"', "registry must be one of"),
        (f"{ENTRY}[[package]]\n{ENTRY.replace('a-b', 'A_b')}", "twice"),
    ],
)  # fmt: skip
def test_bad_entries(tmp_path: Path, entry: str, complaint: str) -> None:
    """An entry that cannot be used is named, with what is wrong."""
    (tmp_path / "list.toml").write_text(f"[[package]]\n{entry}\n")
    with pytest.raises(DataError, match=complaint):
        load_packages(tmp_path / "list.toml")


def test_no_list(tmp_path: Path) -> None:
    """A missing list is one line, not a traceback."""
    with pytest.raises(DataError, match="no list of packages"):
        load_packages(tmp_path / "nothing.toml")
