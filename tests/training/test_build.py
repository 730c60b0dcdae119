"""The whole of `data`, from lists to shards, with packages that are already fetched."""

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.archives import tarball, wheel
from tests.training.conftest import source
from training import cli
from training.data.build import Options, build
from training.data.fetch import archive_of, fetch, file_sha256, standard_library
from training.data.listing import extend_list
from training.data.packages import DataError, Package, dump_packages, load_packages
from training.data.shards import read_shard
from training.data.sources import read_archive

PROBLEM = {
    "prompt": "def longest(strings):\n",
    "canonical_solution": "    if not strings:\n        return None\n",
    "suffix": "    largest = max(len(each) for each in strings)\n"
    "    return [s for s in strings if len(s) == largest][0]\n",
    "test": "def check(candidate):\n    assert candidate(['x', 'y', 'z']) == 'x'\n",
}


def _cached(path: Path, cache: Path, registry: str = "pypi", name: str = "demo") -> Package:
    package = Package(registry, name, "1.0", file_sha256(path), "MIT")
    shutil.copyfile(path, archive_of(package, cache))
    return package


@pytest.fixture
def options(tmp_path: Path) -> Options:
    """Two training packages, one held out, one problem."""
    cache = tmp_path / "cache"
    cache.mkdir()
    solution = PROBLEM["prompt"] + PROBLEM["canonical_solution"] + PROBLEM["suffix"]
    one = {f"demo/f{n}.py": source(0, n) for n in range(3)}
    one["demo/copied.py"] = source(9, 0).replace("File 0", "File, copied,")
    one["demo/solved.py"] = source(0, 4) + solution
    one["demo/again.py"] = source(0, 0).replace("package 0", "package zero")
    two = {
        "src/a.js": "export function add(first, second) {\n  return first + second; // me@company.org\n}\n"
        * 4
    }
    kept = [
        _cached(wheel(tmp_path / "1.whl", one), cache),
        _cached(tarball(tmp_path / "2.tgz", two), cache, "npm", "other"),
    ]
    held = [_cached(wheel(tmp_path / "3.whl", {"held/a.py": source(9, 0)}, name="held"), cache, name="held")]
    dump_packages(tmp_path / "packages.toml", kept, "")
    dump_packages(tmp_path / "heldout.toml", held, "")
    with gzip.open(tmp_path / "problems.jsonl.gz", "wt") as file:
        file.write(json.dumps(PROBLEM) + "\n")
    return Options(
        packages=tmp_path / "packages.toml",
        held_out=tmp_path / "heldout.toml",
        evaluations=(tmp_path / "problems.jsonl.gz",),
        cache=cache,
        out=tmp_path / "out",
        workers=1,
    )


def test_what_is_kept(options: Options) -> None:
    """Own files of the packages; not the held-out copy, the test problem or the near-duplicate; no
    addresses.
    """
    manifest = build(options, lambda text: None)
    documents = list(read_shard(options.out / "train-000.jsonl.xz"))
    assert {document.path for document in documents} <= {
        "demo/f0.py",
        "demo/again.py",
        "demo/f1.py",
        "demo/f2.py",
        "src/a.js",
    }
    assert {"demo/f1.py", "src/a.js"} <= {document.path for document in documents}
    assert len({document.path for document in documents} & {"demo/f0.py", "demo/again.py"}) == 1
    assert "me@company.org" not in "".join(document.text for document in documents)
    assert manifest["list"] == hashlib.sha256(options.packages.read_bytes()).hexdigest()
    dropped = manifest["dropped_files"]
    assert isinstance(dropped, dict)
    assert dropped["evaluation or held-out content"] == 2
    assert dropped["near-duplicate"] == 1
    assert [document.package for document in read_shard(options.out / "validation-000.jsonl.xz")] == [
        "pypi:held"
    ]


def test_twice_the_same(options: Options) -> None:
    """The same lists give the same shards, to the byte."""
    assert build(options, lambda text: None)["shards"] == build(options, lambda text: None)["shards"]


def test_held_out_packages_are_refused_by_name(options: Options) -> None:
    """A package cannot be on both lists."""
    dump_packages(options.held_out, load_packages(options.packages)[:1], "")
    with pytest.raises(DataError, match=r"on the training list: npm:other"):
        build(options, lambda text: None)


def test_a_licence_that_changed(options: Options, tmp_path: Path) -> None:
    """A listed package whose archive is not permissive stops the build."""
    package = _cached(wheel(tmp_path / "4.whl", {"demo/a.py": "x"}, licence="GPL-3.0-only"), options.cache)
    dump_packages(options.packages, [package], "")
    with pytest.raises(DataError, match="take it off the list"):
        build(options, lambda text: None)


def test_standard_library(tmp_path: Path) -> None:
    """The interpreter's own library is fetched like a package, and refused when it is of another version."""
    with pytest.raises(DataError, match=r"another hash .* use Python 3\.0 .* off the list"):
        fetch([Package("stdlib", "python", "3.0", "0" * 64, "PSF-2.0")], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_standard_library_of_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is installed, with which flags and packages, makes no difference to its archive."""
    archives = []
    for machine in ("one", "two"):
        root = tmp_path / machine / "python"
        for file, text in {
            "os.py": "x = 1\n",
            "_sysconfigdata__linux.py": machine,
            "config-3.11-linux/python-config.py": machine,
            f"site-packages/{machine}.py": "x",
        }.items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text)
        monkeypatch.setattr("sysconfig.get_path", {"stdlib": str(root)}.__getitem__)
        standard_library(tmp_path / f"{machine}.whl")
        archives.append(tmp_path / f"{machine}.whl")
    assert file_sha256(archives[0]) == file_sha256(archives[1])
    assert [name for name, _ in read_archive(archives[0], any_licence=True).files] == ["python/os.py"]


def test_listing(options: Options, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Archives that qualify are listed with what they are; others are named with the reason."""
    folder = tmp_path / "new"
    folder.mkdir()
    wheel(folder / "good.whl", {"good/a.py": source(1, 1) * 20}, name="good")
    wheel(folder / "gpl.whl", {"gpl/a.py": source(1, 2) * 20}, licence="GPL-2.0-only", name="gpl")
    wheel(folder / "held.whl", {"held/a.py": source(1, 3) * 20}, name="held")
    wheel(folder / "small.whl", {"small/a.py": "x = 1\n"}, name="small")
    said: list[str] = []
    paths = sorted(folder.iterdir())
    packages = extend_list(options.packages, options.held_out, paths, options.cache, said.append)
    assert [package.name for package in packages] == ["other", "demo", "good"]
    assert load_packages(options.packages) == packages
    assert sorted(said) == ["gpl.whl: licence", "held.whl: held out", "small.whl: too little source"]
    assert archive_of(packages[2], options.cache).exists()


def _spoil(name: str) -> Callable[[Options], Options]:
    def spoil(options: Options) -> Options:
        listing = options.held_out if name == "held" else options.packages
        package = next(each for each in load_packages(listing) if each.name == name)
        path = archive_of(package, options.cache)
        path.write_bytes(path.read_bytes()[:200])
        return options

    return spoil


def _another(options: Options) -> Options:
    """The cache has a whole archive under the name of another."""
    package = next(each for each in load_packages(options.packages) if each.name == "other")
    tarball(archive_of(package, options.cache), {"src/a.js": "export const a = 1;\n"}, name="evil")
    return options


def _unreadable(options: Options) -> Options:
    path = options.cache.parent / "page.whl"
    path.write_text("a page that says no")
    dump_packages(options.packages, [_cached(path, options.cache)], "")
    return options


def _no_packages(options: Options) -> Options:
    dump_packages(options.packages, [], "")
    return options


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (_spoil("demo"), r"pypi:demo 1.0: .*whl is not .*: delete it from the cache and run `data` again"),
        (_spoil("other"), r"npm:other 1.0: .*tgz is not what the list says: delete it"),
        (_spoil("held"), r"pypi:held 1.0: .*whl is not what the list says: delete it"),
        (_another, r"npm:other 1.0: .*tgz is not what the list says: delete it"),
        (_unreadable, r"pypi:demo 1.0: .*whl cannot be read.*: take it off the list"),
        (_no_packages, "names no packages"),
        (lambda options: replace(options, workers=0), "give --workers 1 or more"),
        (lambda options: replace(options, out=options.packages), "is not a folder"),
    ],
)
def test_what_is_there_stays(options: Options, spoil: Callable[[Options], Options], complaint: str) -> None:
    """A build that fails says why and what to do, and leaves the shards of the last one as they were."""
    build(options, lambda text: None)
    before = {path.name: path.read_bytes() for path in options.out.iterdir()}
    beside = {path.name for path in options.out.parent.iterdir()} | {"page.whl"}
    with pytest.raises(DataError, match=complaint):
        build(spoil(options), lambda text: None)
    assert {path.name: path.read_bytes() for path in options.out.iterdir()} == before
    assert {path.name for path in options.out.parent.iterdir()} <= beside


def test_shards_of_before_go(options: Options) -> None:
    """A build leaves no older shards behind, and does not touch what else is in the folder."""
    options.out.mkdir()
    (options.out / "train-007.jsonl.xz").write_text("old")
    (options.out / "tokenised").mkdir()
    part = options.out.with_name(".out.part")
    part.mkdir()
    (part / "train-003.jsonl.xz").write_text("of a killed build")
    build(options, lambda text: None)
    names = ["manifest.json", "tokenised", "train-000.jsonl.xz", "validation-000.jsonl.xz"]
    assert sorted(path.name for path in options.out.iterdir()) == names
    assert not part.exists()


@pytest.mark.parametrize("name", ['a"b', "a\nb", "a\\b", "", "-a", "a b"])
def test_names_that_cannot_be_listed(options: Options, tmp_path: Path, name: str) -> None:
    """An archive whose name would break the list is refused with the reason; the list is as before."""
    before = load_packages(options.packages)
    path = tarball(tmp_path / "a.tgz", {"src/a.js": "export const a = [1, 2];\n" * 400}, name=name)
    said: list[str] = []
    assert extend_list(options.packages, options.held_out, [path], options.cache, said.append) == sorted(
        before
    )
    assert said == ["a.tgz: name or version is not of the registry's form"]
    assert load_packages(options.packages) == sorted(before)
    assert path.exists()


def test_listing_goes_on_after_a_bad_archive(options: Options, tmp_path: Path) -> None:
    """Archives that are cut short, damaged or no archives are named, and the rest is listed."""
    paths = [
        wheel(tmp_path / "a.whl", {"a/a.py": source(1, 1) * 20}, name="a"),
        tarball(tmp_path / "b.tgz", {"src/a.js": source(1, 2) * 20}, name="b"),
        wheel(tmp_path / "c.whl", {"c/a.py": source(1, 3) * 20}, name="c"),
        tarball(tmp_path / "d.tgz", {"src/a.js": source(1, 4) * 20}, name="d"),
        wheel(tmp_path / "e.whl", {"e/a.py": source(1, 5) * 20}, name="e"),
    ]
    for path in paths[:2]:
        path.write_bytes(path.read_bytes()[:300])
    damaged = bytearray(paths[2].read_bytes())
    damaged[300] ^= 255
    paths[2].write_bytes(damaged)
    paths[3].write_text("a page that says no")
    said: list[str] = []
    packages = extend_list(options.packages, options.held_out, paths, options.cache, said.append)
    assert said == [f"{path.name}: cannot be read" for path in paths[:4]]
    assert [package.name for package in packages] == ["other", "demo", "e"]


def test_command_line(options: Options, capsys: pytest.CaptureFixture[str]) -> None:
    """The command builds the same; what goes wrong is one line and an exit status."""
    lists = [
        "--packages",
        str(options.packages),
        "--held-out",
        str(options.held_out),
        "--cache",
        str(options.cache),
    ]
    evaluation = ["--evaluation", str(options.evaluations[0])]
    assert cli.main(["data", *lists, *evaluation, "--out", str(options.out), "--workers", "1"]) == 0
    assert (options.out / "manifest.json").exists()
    assert cli.main(["data", "--packages", "nowhere.toml", *evaluation]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "error: there is no list of packages at nowhere.toml"
