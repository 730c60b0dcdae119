"""The command line of the training pipeline.

Each command imports what it needs: `data` runs without torch.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

from safetensors import SafetensorError

from codeserve.errors import ConfigError
from training.data.packages import DataError

__all__ = ["main"]

_HERE = Path(__file__).parent
_EVALUATIONS = _HERE.parents[1] / "codeserve" / "bench" / "data"
_WORK = Path("build/training")
# Files that are damaged or cannot be read or written, and what is said of them: no mistake of this program.
_FAULTS = (DataError, ConfigError, OSError, ValueError, EOFError, BadZipFile, SafetensorError)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _list(args: argparse.Namespace) -> None:
    from training.data.fetch import fetch_new
    from training.data.listing import extend_list

    archives: list[Path] = []
    for registry in ("pypi", "npm"):
        listed: Path | None = getattr(args, registry)
        if listed is not None:
            archives += fetch_new(registry, listed.read_text(encoding="utf-8").split(), args.cache / "new")
    for folder in args.archives:
        archives += sorted(path for path in folder.iterdir() if path.suffix in (".whl", ".tgz"))
    if args.stdlib:
        from training.data.fetch import standard_library

        args.cache.mkdir(parents=True, exist_ok=True)
        standard_library(args.cache / "python.whl")
        archives.append(args.cache / "python.whl")
    packages = extend_list(args.packages, args.held_out, archives, args.cache, _say)
    _say(f"{args.packages}: {len(packages)} packages")


def _data(args: argparse.Namespace) -> None:
    from training.data.build import Options, build

    evaluations = tuple(args.evaluation) or tuple(sorted(_EVALUATIONS.glob("*.jsonl.gz")))
    if not evaluations:
        raise DataError(
            f"no evaluation sets in {_EVALUATIONS}: name them by --evaluation, so that they are kept out"
        )
    options = Options(
        packages=args.packages,
        held_out=args.held_out,
        evaluations=evaluations,
        cache=args.cache,
        out=args.out,
        workers=args.workers,
    )
    manifest = build(options, _say)
    _say(f"{args.out}/manifest.json: {manifest['languages']}")


def _train(args: argparse.Namespace) -> None:
    from training.run import RunOptions, train
    from training.schedule import Schedule

    names = (
        "data",
        "run_folder",
        "tokenizer",
        "size",
        "seed",
        "rows",
        "row_tokens",
        "micro_rows",
        "rate",
        "workers",
    )
    chosen = {
        name.replace("run_folder", "run"): getattr(args, name)
        for name in (*names, "attention", "init", "int8", "compile")
    }
    train(
        RunOptions(
            **chosen,
            schedule=Schedule(args.steps, args.minutes),
            stop_after_s=60 * args.stop_after,
        ),
        _say,
    )


def _average(args: argparse.Namespace) -> None:
    from training.average import average

    average(args.run_folder, args.other, args.share)
    _say(f"{args.run_folder}/model: {args.share:g} of the run's weights, the rest of {args.other}")


def _export(args: argparse.Namespace) -> None:
    from training.export import ExportOptions, export

    names = ("run_folder", "data", "packages", "out", "int8", "reports")
    size = export(ExportOptions(**{name.replace("run_folder", "run"): getattr(args, name) for name in names}))
    _say(f"{args.out}: {size / 1e6:.1f} MB of weights")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training", description="Makes the bundled model.")
    commands = parser.add_subparsers(required=True)
    lists = argparse.ArgumentParser(add_help=False)
    lists.add_argument("--packages", type=Path, default=_HERE / "packages.toml", help="the list of packages")
    lists.add_argument("--held-out", type=Path, default=_HERE / "heldout.toml", help="packages to keep out")
    lists.add_argument(
        "--cache", type=Path, default=_WORK / "archives", help="where fetched archives are kept"
    )

    listing = commands.add_parser("list", parents=[lists], help="extend the list of packages")
    listing.add_argument("--pypi", type=Path, help="a file of name==version")
    listing.add_argument("--npm", type=Path, help="a file of name@version")
    listing.add_argument(
        "--archives", type=Path, action="append", default=[], help="a folder of fetched archives"
    )
    listing.add_argument("--stdlib", action="store_true", help="add this interpreter's standard library")
    listing.set_defaults(run=_list)

    data = commands.add_parser("data", parents=[lists], help="fetch, filter and write the text shards")
    data.add_argument(
        "--evaluation", type=Path, action="append", default=[], help="gzipped problems to keep out"
    )
    data.add_argument("--out", type=Path, default=_WORK / "data", help="where the shards go")
    data.add_argument("--workers", type=int, default=2, help="processes")
    data.set_defaults(run=_data)

    train = commands.add_parser("train", help="train on the shards; goes on where an earlier call stopped")
    train.add_argument("--data", type=Path, default=_WORK / "data", help="where the shards are")
    train.add_argument("--run-folder", type=Path, default=_WORK / "run", help="checkpoints, log and model")
    train.add_argument(
        "--tokenizer", type=Path, default=_HERE.parent / "mini-codellama", help="a folder with tokenizer.json"
    )
    train.add_argument("--minutes", type=float, default=0.0, help="how long the run is, all calls together")
    train.add_argument("--steps", type=int, default=0, help="how long it is in steps, instead of minutes")
    train.add_argument(
        "--stop-after", type=float, default=0.0, help="end this call after so many minutes, with a checkpoint"
    )
    train.add_argument(
        "--size", choices=("mini", "draft-target", "tiny"), default="mini", help="shape of the model"
    )
    train.add_argument("--seed", type=int, default=1)
    train.add_argument("--rows", type=int, default=64, help="sequences a step")
    train.add_argument("--row-tokens", type=int, default=4096, help="tokens a sequence, a multiple of 128")
    train.add_argument("--micro-rows", type=int, default=32, help="sequences at once on one GPU")
    train.add_argument("--rate", type=float, default=1.0, help="scales the learning rates")
    train.add_argument("--workers", type=int, default=12, help="processes that tokenise and make batches")
    train.add_argument(
        "--attention", choices=("varlen", "dense"), default="varlen", help="dense runs without a GPU too"
    )
    train.add_argument(
        "--init",
        type=Path,
        help="a model folder to start from, instead of random weights; one half as wide grows",
    )
    train.add_argument(
        "--int8", action="store_true", help="round matrices and their inputs as the INT8 form does"
    )
    train.add_argument("--no-compile", dest="compile", action="store_false", help="without torch.compile")
    train.set_defaults(run=_train)

    average = commands.add_parser("average", help="mix a finished run's weights with others")
    average.add_argument("--run-folder", type=Path, default=_WORK / "run", help="the finished run")
    average.add_argument(
        "--with", dest="other", type=Path, required=True, help="a model folder, such as the run began with"
    )
    average.add_argument("--share", type=float, default=0.7, help="of the run's weights, 0 to 1")
    average.set_defaults(run=_average)

    export = commands.add_parser("export", help="write the folder to publish, with its card")
    export.add_argument("--run-folder", type=Path, default=_WORK / "run", help="the finished run")
    export.add_argument("--data", type=Path, default=_WORK / "data", help="where the manifest is")
    export.add_argument("--packages", type=Path, default=_HERE / "packages.toml", help="the list of packages")
    export.add_argument("--out", type=Path, default=_WORK / "mini-codellama", help="the folder to write")
    export.add_argument("--bf16", dest="int8", action="store_false", help="as trained, instead of INT8")
    export.add_argument(
        "--quality", dest="reports", type=Path, action="append", default=[], help="a report for the card"
    )
    export.set_defaults(run=_export)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status: 1 where a file, a setting or the machine is at fault, which one line
    says.
    """
    args = _parser().parse_args(argv)
    try:
        args.run(args)
    except _FAULTS as exc:
        _say(f"error: {_line(exc)}")
        return 1
    return 0


def _line(exc: Exception) -> str:
    if isinstance(exc, OSError) and exc.filename is not None:
        return f"{exc.filename}: {exc.strerror}"
    return " ".join(str(exc).split()) or type(exc).__name__
