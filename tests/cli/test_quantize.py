"""`codeserve quantize`, and what `codeserve serve` says where its work is missing."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from tests.cli.command import codeserve
from tests.engine.llama import stored, tiny
from tests.engine.models import MINI


async def test_folder(tmp_path: Path) -> None:
    """A folder is made INT8; the last line says what to do with it."""
    source, out = tiny(tmp_path / "m"), tmp_path / "my models" / "q"
    result = await codeserve("quantize", str(source), str(out))
    assert (result.status, result.out) == (0, "")
    said, then = result.err.splitlines()
    assert re.fullmatch(rf"{re.escape(str(out))}: 0\.0 GiB of weights after \d+ s", said)
    assert then == f"next: codeserve serve --model '{out}'"
    assert "model.layers.0.mlp.up_proj.weight_scale" in stored(out)


async def test_what_cannot_be_made_int8(tmp_path: Path) -> None:
    """Sources and targets that cannot be are refused in one line, and nothing is written."""
    cases = {
        (str(tmp_path / "none"), "q"): "is not a folder: pass a model folder",
        ("no-id", "q"): "is not a folder: pass a model folder",
        ("org/model", "q"): "org/model is not on this machine and cannot be fetched",
        (str(MINI), "q"): "is quantised already",
        ("org/model", "."): "is there already",
    }
    (tmp_path / "here").mkdir()
    results = await asyncio.gather(
        *(
            codeserve("quantize", source, str(tmp_path / "here" / out), HF_HUB_OFFLINE="1", HF_HOME="/none")
            for source, out in cases
        )
    )
    for result, message in zip(results, cases.values(), strict=True):
        assert (result.status, result.out) == (1, "")
        (line,) = result.err.splitlines()
        assert line.startswith("codeserve: ")
        assert message in line
    assert not list((tmp_path / "here").iterdir())


async def test_serve_says_what_to_run(tmp_path: Path) -> None:
    """Serving and checking a preset whose weights have to be made end in the command that makes them."""
    (tmp_path / "CodeLlama-13b-hf").mkdir()
    own = tmp_path / "own.toml"
    own.write_text("model = 'a/b'\nfim = 'codellama-spm'\nweights = 'quantize'\n")
    here = str(tmp_path)
    plain, kept, mine, checked = await asyncio.gather(
        codeserve("serve", "--model", "codellama-7b-int8"),
        codeserve("serve", "--model", "codellama-13b-int8", "--models-dir", here),
        codeserve("serve", "--model", str(own)),
        codeserve("check", "--model", "codellama-7b-int8"),
    )
    assert plain.err.splitlines()[-1] == (
        "codeserve: the INT8 weights of codellama-7b-int8 are not here: make them with `codeserve quantize "
        "codellama/CodeLlama-7b-hf ~/models/codellama-7b-int8`, then serve with --models-dir ~/models"
    )
    assert kept.err.splitlines()[-1].endswith(
        f"make them with `codeserve quantize {here}/CodeLlama-13b-hf {here}/codellama-13b-int8`, "
        "then serve again"
    )
    assert mine.err.splitlines()[-1].endswith(
        "`codeserve quantize a/b ~/models/own`, then set model = '~/models/own' in the preset"
    )
    assert (plain.status, kept.status, mine.status, checked.status) == (1, 1, 1, 1)
    assert "codeserve quantize codellama/CodeLlama-7b-hf" in " ".join(checked.out.split())
