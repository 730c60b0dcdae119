"""A Llama model folder as one GGUF file, so that llama.cpp runs the weights that are served here.

The names of keys and tensors are those of the GGUF specification
(https://github.com/ggml-org/ggml/blob/master/docs/gguf.md); the order of rows in the query and key matrices
is that of ggml's rotary embedding, which turns neighbouring pairs where the folder's layout turns halves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from codeserve.engine.folder import read_config
from codeserve.errors import ConfigError

__all__ = ["GgufType", "gguf_name", "pairs_of_halves", "tensors_of", "vocabulary", "write_gguf"]

GgufType = Literal["bf16", "f16"]

# Of compressed-tensors' formats the one that stands for its values by whole numbers and a scale a row.
_QUANTISED = "int-quantized"
_SCALE = ".weight_scale"

_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6  # kinds of token, as llama.cpp numbers them

_OUTSIDE = {
    "model.embed_tokens.weight": "token_embd.weight",
    "model.norm.weight": "output_norm.weight",
    "lm_head.weight": "output.weight",
}
_INSIDE = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name: str) -> str:
    """GGUF's name of a tensor. Raises: ConfigError for one that no Llama has."""
    if name in _OUTSIDE:
        return _OUTSIDE[name]
    match name.split(".", 3):
        case ["model", "layers", layer, rest] if rest.removesuffix(".weight") in _INSIDE:
            return f"blk.{layer}.{_INSIDE[rest.removesuffix('.weight')]}.weight"
    raise ConfigError(f"a GGUF file is written of plain Llama models only, and this one has {name}")


def pairs_of_halves(matrix: Any, heads: int) -> Any:
    """A query or key matrix, (heads * width, hidden), with the rows of each head's two halves interleaved."""
    width = matrix.shape[0] // heads
    halves = matrix.reshape(heads, 2, width // 2, -1)
    return halves.swapaxes(1, 2).reshape(matrix.shape)


def vocabulary(tokenizer: dict[str, Any]) -> tuple[list[str], list[float], list[int]]:
    """Texts, scores and kinds of the tokens of a ``tokenizer.json``, by id: later ones have lower scores."""
    ids = dict(tokenizer["model"]["vocab"])
    added = {token["content"]: token["id"] for token in tokenizer.get("added_tokens") or ()}
    texts = [text for text, _ in sorted((ids | added).items(), key=lambda item: item[1])]

    def kind(text: str) -> int:
        if text == "<unk>":
            return _UNKNOWN
        if text in added:
            return _CONTROL
        return _BYTE if len(text) == 6 and text.startswith("<0x") and text.endswith(">") else _NORMAL

    return texts, [-float(id) for id in range(len(texts))], [kind(text) for text in texts]


def tensors_of(folder: Path) -> Iterator[tuple[str, Any]]:
    """The tensors of all weights files, as torch's: numpy has no bf16. INT8 ones as what they stand for."""
    from safetensors.torch import load_file

    tensors: dict[str, Any] = {}
    for path in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(path)
    for name, tensor in tensors.items():
        if not name.endswith(_SCALE):
            scale = tensors.get(name.removesuffix(".weight") + _SCALE)
            yield name, tensor if scale is None else tensor.float() * scale.float()


def write_gguf(folder: Path, target: Path, kind: GgufType) -> None:
    """Write the model of ``folder`` to ``target``; vectors stay in 32 bits, as llama.cpp wants them.

    Raises: ConfigError for a model that is no plain Llama.
    """
    import gguf

    config = read_config(folder)
    form = (config.get("quantization_config") or {}).get("format", _QUANTISED)
    if config.get("model_type") != "llama" or form != _QUANTISED:
        raise ConfigError(f"{folder} is no plain Llama model: there is no GGUF file to be had of it here")
    heads, groups = config["num_attention_heads"], config["num_key_value_heads"]
    width = config.get("head_dim") or config["hidden_size"] // heads
    types = gguf.GGMLQuantizationType
    chosen = types.BF16 if kind == "bf16" else types.F16
    files = gguf.LlamaFileType
    writer = gguf.GGUFWriter(str(target), "llama")
    writer.add_file_type(files.MOSTLY_BF16 if kind == "bf16" else files.MOSTLY_F16)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(groups)
    writer.add_key_length(width)
    writer.add_value_length(width)
    writer.add_rope_dimension_count(width)
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    texts, scores, kinds = vocabulary(json.loads((folder / "tokenizer.json").read_bytes()))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(texts)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    for name, tensor in tensors_of(folder):
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            tensor = pairs_of_halves(tensor, heads if "q_proj" in name else groups)
        if tensor.ndim == 1:
            writer.add_tensor(gguf_name(name), tensor.float().numpy())
        else:
            data = gguf.quants.quantize(tensor.float().contiguous().numpy(), chosen)
            writer.add_tensor(gguf_name(name), data, raw_dtype=chosen)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
