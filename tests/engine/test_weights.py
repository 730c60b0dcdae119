"""Config and weights of a model, compared by the headers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codeserve.engine.folder import check_folder, read_config
from codeserve.engine.weights import Tensor, check_shapes, read_weights_file
from codeserve.errors import ConfigError

from .models import MINI, sharded

FOLDER = Path("model")

SIZES: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "vocab_size": 100,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def matrices(**changed: tuple[int, ...]) -> dict[str, Tensor]:
    """The tensors of a model of `SIZES`; ``changed`` gives others a shape, by the last part of the name."""
    shapes = {
        "self_attn.q_proj": (64, 64),
        "self_attn.k_proj": (32, 64),
        "self_attn.v_proj": (32, 64),
        "self_attn.o_proj": (64, 64),
        "mlp.gate_proj": (96, 64),
        "mlp.up_proj": (96, 64),
        "mlp.down_proj": (64, 96),
        "input_layernorm": (64,),
    }
    names = {f"model.layers.{layer}.{name}": shape for layer in (0, 1) for name, shape in shapes.items()}
    names |= {"model.embed_tokens": (100, 64), "model.norm": (64,), "lm_head": (100, 64)}
    return {
        f"{name}.weight": Tensor("BF16", changed.get(name.rpartition(".")[2], shape))
        for name, shape in names.items()
    }


def refusal(config: dict[str, Any], tensors: dict[str, Tensor]) -> str:
    with pytest.raises(ConfigError) as caught:
        check_shapes(FOLDER, config, tensors)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "gemma", "starcoder2"])
def test_fitting_weights_pass(family: str) -> None:
    """Weights of the config's sizes are accepted, in every family with these names."""
    check_shapes(FOLDER, SIZES | {"model_type": family}, matrices())


def test_bundled_model_passes() -> None:
    """The bundled model fits its config."""
    tensors: dict[str, Tensor] = {}
    for path in MINI.glob("*.safetensors"):
        tensors |= read_weights_file(path).tensors
    assert len(tensors) > 70
    check_shapes(MINI, read_config(MINI), tensors)


@pytest.mark.parametrize(
    ("change", "tensor", "key"),
    [
        ({"intermediate_size": 64}, "gate_proj", "intermediate_size"),
        ({"vocab_size": 128}, "embed_tokens", "vocab_size"),
        ({"hidden_size": 32, "head_dim": 16}, "embed_tokens", "hidden_size"),
        ({"num_attention_heads": 8, "head_dim": 16}, "q_proj", "num_attention_heads"),
        ({"num_key_value_heads": 4}, "k_proj", "num_key_value_heads"),
        ({"num_key_value_heads": None}, "k_proj", "num_key_value_heads"),
        ({"head_dim": 32}, "q_proj", "head_dim"),
    ],
)
def test_config_of_another_model(change: dict[str, Any], tensor: str, key: str) -> None:
    """A size that the weights do not have is refused with the tensor, both shapes and the config's key."""
    message = refusal(SIZES | change, matrices())
    assert tensor in message
    assert key in message
    assert "config.json and weights are of two models" in message


def test_shapes_are_told() -> None:
    """The message gives the shape that is there and the one that the config asks for."""
    message = refusal(SIZES, matrices(down_proj=(64, 128)))
    assert "model.layers.0.mlp.down_proj.weight is 64 x 128" in message
    assert "make it 64 x 96" in message


def test_starcoder_names() -> None:
    """StarCoder2's own names of the inner layers are known."""
    config = SIZES | {"model_type": "starcoder2"}
    tensors = matrices() | {f"model.layers.{n}.mlp.c_fc.weight": Tensor("F32", (80, 64)) for n in (0, 1)}
    assert "mlp.c_fc.weight is 80 x 64" in refusal(config, tensors)


@pytest.mark.parametrize("layers", [1, 3])
def test_number_of_layers(layers: int) -> None:
    """More or fewer layers than the config counts are refused."""
    message = refusal(SIZES | {"num_hidden_layers": layers}, matrices())
    assert f"hold 2 layers where config.json's num_hidden_layers is {layers}" in message


def test_missing_tensor() -> None:
    """A tensor that one layer lacks is named."""
    tensors = matrices()
    del tensors["model.layers.1.mlp.up_proj.weight"]
    assert "lack model.layers.1.mlp.up_proj.weight" in refusal(SIZES, tensors)


def test_quantised_weights_pass() -> None:
    """Packed weights have shapes of their own, and layers that were left out have other tensors."""
    tensors = {name: Tensor("U8", (1, 2)) if ".1." in name else tensor for name, tensor in matrices().items()}
    tensors["model.layers.1.mlp.up_proj.weight_scale"] = Tensor("F32", (1,))
    check_shapes(FOLDER, SIZES | {"quantization_config": {"quant_method": "awq"}}, tensors)


@pytest.mark.parametrize(
    ("config", "tensors"),
    [
        (SIZES | {"model_type": "deepseek_v2"}, matrices(q_proj=(7, 64))),
        (SIZES, {"transformer.h.0.attn.weight": Tensor("F32", (1,))}),
        ({"model_type": "llama"}, matrices()),
    ],
    ids=["other family", "other names", "config without sizes"],
)
def test_what_is_not_known_passes(config: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    """Where shapes cannot be told from the config, nothing is refused."""
    check_shapes(FOLDER, config, tensors)


def test_folder_check_compares(tmp_path: Path) -> None:
    """Checking a folder compares its config with its weights."""
    for file in MINI.iterdir():
        (tmp_path / file.name).symlink_to(file)
    check_folder(tmp_path)
    config = read_config(MINI) | {"intermediate_size": 1024}
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match=r"is 1408 x 512 where .* make it 1024 x 512"):
        check_folder(tmp_path)


def test_index_lists_what_a_file_lacks(tmp_path: Path) -> None:
    """A tensor that the index places in a file without it is named."""
    model = sharded(tmp_path / "model")
    index = model / "model.safetensors.index.json"
    weight_map = json.loads(index.read_text())["weight_map"]
    index.write_text(json.dumps({"weight_map": weight_map | {"w9": "model-00001-of-00002.safetensors"}}))
    with pytest.raises(ConfigError, match=r"model-00001-of-00002\.safetensors lacks w9"):
        check_folder(model)
