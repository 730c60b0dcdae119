"""A model folder made INT8."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from codeserve.engine import quantize as module
from codeserve.engine.folder import check_folder, read_config, weight_bytes
from codeserve.engine.memory import need_of
from codeserve.engine.preset import Preset
from codeserve.engine.quantize import quantize, write_int8
from codeserve.errors import ConfigError

from .llama import TINY, plain_mini, stored, tensors, tiny
from .models import MINI, sharded


def refusal(source: Path, out: Path) -> str:
    """Why a folder is not made INT8, in one line; nothing is left behind."""
    before = sorted(out.parent.iterdir())
    with pytest.raises(ConfigError) as caught:
        quantize(source, out)
    assert "\n" not in str(caught.value)
    assert sorted(out.parent.iterdir()) == before
    return str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_values_are_near(tmp_path: Path, dtype: torch.dtype) -> None:
    """Matrices of the layers come out near what they were, in 8 bits; all else is as it was, in 16."""
    weights = tensors(dtype)
    size = quantize(tiny(tmp_path / "m", weights), tmp_path / "q")
    found = stored(tmp_path / "q")
    kept = torch.bfloat16 if dtype is torch.float32 else dtype
    assert sum(tensor.nbytes for tensor in found.values()) == size
    for name, weight in weights.items():
        if name.endswith("_proj.weight"):
            assert found[name].dtype == torch.int8
            back = found[name].float() * found[f"{name}_scale"].float()
            assert (back - weight.float()).norm() < 0.01 * weight.float().norm()
        else:
            assert torch.equal(found[name], weight.to(kept))
    assert len(found) == len(weights) + 14


def test_folder_is_whole(tmp_path: Path) -> None:
    """Config, tokenizer and terms go along; the weights by their headers fit the config."""
    source = tiny(tmp_path / "m", tensors(torch.float32), torch_dtype="float32")
    (source / "LICENSE").write_text("terms")
    (source / "README.md").write_text("of other weights")
    quantize(source, tmp_path / "deep" / "q")
    out = tmp_path / "deep" / "q"
    check_folder(out)
    config = read_config(out)
    assert config.pop("quantization_config") == read_config(MINI)["quantization_config"]
    assert config == TINY | {"torch_dtype": "bfloat16"}
    names = {path.name for path in out.iterdir()}
    assert names == {"config.json", "LICENSE", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert (out / "tokenizer.json").read_bytes() == (source / "tokenizer.json").read_bytes()
    assert [path.name for path in out.parent.iterdir()] == ["q"]


def test_memory_is_counted_right(tmp_path: Path) -> None:
    """What preflight counts for the folder is its files' size, but for norms, scales and headers."""
    quantize(tiny(tmp_path / "m"), tmp_path / "q")
    preset = Preset(name="x", model=tmp_path / "q", fim="codellama-spm")
    need = need_of(preset, config=read_config(tmp_path / "q"), weights=weight_bytes(tmp_path / "q"))
    assert need is not None
    linear, embeddings = 2 * (64 * 64 * 3 + 64 * 96 * 3), 2 * 32016 * 64
    assert need.weights == linear + 2 * embeddings
    assert 0 < weight_bytes(tmp_path / "q") - need.weights < 20_000


def test_bundled_model_comes_back(tmp_path: Path) -> None:
    """From the values that the bundled model's INT8 weights stand for come the same INT8 weights."""
    bundled = stored(MINI)
    quantize(plain_mini(tmp_path / "m"), tmp_path / "q")
    found = stored(tmp_path / "q")
    assert set(found) == set(bundled)
    assert all(torch.equal(found[name], bundled[name]) for name in bundled)


def test_shards(tmp_path: Path) -> None:
    """A large model lies in several files of at most the limit, all in the index, the same in sum."""
    source = tiny(tmp_path / "m")
    for name in ("one", "many"):
        (tmp_path / name).mkdir()
    whole = write_int8(source, tmp_path / "one")
    assert write_int8(source, tmp_path / "many", shard_bytes=4_110_000) == whole
    files = sorted((tmp_path / "many").glob("*.safetensors"))
    assert len(files) > 2
    assert max(path.stat().st_size for path in files) < 4_120_000
    check_folder(tmp_path / "many")
    index = json.loads((tmp_path / "many" / "model.safetensors.index.json").read_text())
    one, many = stored(tmp_path / "one"), stored(tmp_path / "many")
    assert set(index["weight_map"]) == set(one) == set(many)
    assert all(torch.equal(one[name], many[name]) for name in one)


def test_a_few_rows_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than so many values are read at once, and the numbers do not depend on how many."""
    source = tiny(tmp_path / "m")
    quantize(source, tmp_path / "a")
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(module, "_VALUES", 1000)
    quantize(source, tmp_path / "b", on_progress=lambda *step: seen.append(step))
    read, total = zip(*seen, strict=True)
    steps = [after - before for before, after in zip((0, *read), read, strict=False)]
    assert max(steps) <= 2 * 1000
    assert set(total) == {sum(tensor.nbytes for tensor in tensors().values())} == {read[-1]}
    a, b = stored(tmp_path / "a"), stored(tmp_path / "b")
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_families(tmp_path: Path) -> None:
    """Biases of Qwen's layers keep 16 bits; tensors that a model computes itself are left out."""
    extra: dict[str, Any] = {
        "self_attn__q_proj__bias": (64,),
        "self_attn__rotary_emb__inv_freq": (8,),
    }
    weights = tensors(torch.bfloat16, **extra)
    weights |= {name.replace(".0.", ".1."): tensor for name, tensor in weights.items() if ".0." in name}
    source = tiny(tmp_path / "m", weights, architectures=["Qwen2ForCausalLM"], model_type="qwen2")
    quantize(source, tmp_path / "q")
    found = stored(tmp_path / "q")
    bias = "model.layers.1.self_attn.q_proj.bias"
    assert torch.equal(found[bias], weights[bias])
    assert not [name for name in found if "inv_freq" in name]


def test_what_is_not_covered(tmp_path: Path) -> None:
    """Other families, other tensors and other types are refused by name."""
    out = tmp_path / "q"
    family = tiny(tmp_path / "a", architectures=["GPT2LMHeadModel"], model_type="gpt2")
    assert "is a GPT2LMHeadModel, which is not covered: CodeLlama," in refusal(family, out)
    weights = tensors() | {"model.layers.0.mlp.experts.weight": torch.zeros(2, 2, dtype=torch.float16)}
    weights["model.layers.1.mlp.experts.weight"] = torch.zeros(2, 2, dtype=torch.float16)
    assert "holds model.layers.0.mlp.experts.weight" in refusal(tiny(tmp_path / "b", weights), out)
    weights = tensors() | {"model.norm.weight": torch.zeros(64, dtype=torch.int8)}
    assert "model.norm.weight is I8, and only BF16, F16 and F32" in refusal(
        tiny(tmp_path / "c", weights), out
    )


def test_quantised_already(tmp_path: Path) -> None:
    """A folder of quantised weights, the bundled model's for one, is refused."""
    assert "is quantised already" in refusal(MINI, tmp_path / "q")


def test_pickled_weights(tmp_path: Path) -> None:
    """A folder with pickled weights alone is refused, and they are not read."""
    source = tiny(tmp_path / "m")
    for path in source.glob("*.safetensors"):
        path.unlink()
    (source / "pytorch_model.bin").write_bytes(b"no pickle")
    assert "holds pickled weights (*.bin), which run code" in refusal(source, tmp_path / "q")


def test_source_that_is_not_whole(tmp_path: Path) -> None:
    """A folder that lacks something is refused as it is when it is served."""
    assert "does not exist" in refusal(tmp_path / "none", tmp_path / "q")
    source = sharded(tmp_path / "m")
    (source / "model-00002-of-00002.safetensors").unlink()
    assert "is missing although the index lists it" in refusal(source, tmp_path / "q")


@pytest.mark.parametrize("value", [torch.inf, torch.nan])
def test_weights_that_are_no_numbers(tmp_path: Path, value: float) -> None:
    """A damaged matrix is named, and half a folder is not left behind."""
    weights = tensors()
    name = "model.layers.1.mlp.up_proj.weight"
    weights[name][50, 7] = value
    message = refusal(tiny(tmp_path / "m", weights), tmp_path / "q")
    assert f"{name}: it holds values that are infinite or not a number" in message


def test_out_that_exists(tmp_path: Path) -> None:
    """A folder or file that is there is never written into."""
    source = tiny(tmp_path / "m")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for out in (source, tmp_path / "empty", tmp_path / "link"):
        assert "is there already" in refusal(source, out)


def test_out_that_cannot_be(tmp_path: Path) -> None:
    """A target in a file's place is told as such."""
    source = tiny(tmp_path / "m")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file/q cannot be written: "):
        quantize(source, tmp_path / "file" / "q")


def test_tensors_of_a_damaged_file(tmp_path: Path) -> None:
    """A file whose tensors lie over each other, which its size does not show, is told to be damaged."""
    source = tiny(tmp_path / "m")
    path = source / "model-0.safetensors"
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    norms = [name for name in header if name.endswith("layernorm.weight")]
    header[norms[0]]["data_offsets"] = header[norms[1]]["data_offsets"]
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    assert "is damaged" in refusal(source, tmp_path / "q")


def test_part_of_another_run(tmp_path: Path) -> None:
    """What another run is writing is left alone."""
    source = tiny(tmp_path / "m")
    (tmp_path / "q.part").mkdir()
    assert "another run writes it, or one was killed" in refusal(source, tmp_path / "q")


def test_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little space is told before anything is written."""
    source = tiny(tmp_path / "m")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage._replace(free=1 << 20))
    message = refusal(source, tmp_path / "q")
    assert "are needed in" in message
    assert "0.0 GiB are free: make room" in message


def test_disk_that_fills_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error while it is written leaves nothing behind."""
    source = tiny(tmp_path / "m")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.TensorFile, "append", full)
    assert "q cannot be written: No space left on device" in refusal(source, tmp_path / "q")


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl+C leaves nothing behind."""
    source = tiny(tmp_path / "m")

    def interrupt(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quantize(source, tmp_path / "q", on_progress=interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
