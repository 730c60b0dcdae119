"""Names, order and vocabulary of a GGUF file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from codeserve.bench.llama_cpp.convert import gguf_name, pairs_of_halves, tensors_of, vocabulary
from codeserve.errors import ConfigError
from tests.engine.models import MINI


def test_names() -> None:
    """Tensors get the names that llama.cpp looks for; one that no Llama has is told."""
    assert gguf_name("model.embed_tokens.weight") == "token_embd.weight"
    assert gguf_name("model.layers.11.mlp.down_proj.weight") == "blk.11.ffn_down.weight"
    assert gguf_name("model.layers.0.input_layernorm.weight") == "blk.0.attn_norm.weight"
    with pytest.raises(ConfigError, match=r"self_attn\.q_proj\.bias"):
        gguf_name("model.layers.0.self_attn.q_proj.bias")


def rotated(vector: np.ndarray, angles: np.ndarray, *, pairs: bool) -> np.ndarray:
    """A head's vector turned: neighbouring pairs of it, or its halves."""
    low, high = (vector[0::2], vector[1::2]) if pairs else np.split(vector, 2)
    return np.concatenate(
        [low * np.cos(angles) - high * np.sin(angles), low * np.sin(angles) + high * np.cos(angles)]
    )


def test_rotary_embedding_is_the_same() -> None:
    """Queries and keys that are turned by pairs after the change give what they gave by halves before."""
    rng = np.random.default_rng(0)
    heads, width, hidden = 2, 8, 6
    query, key = rng.normal(size=(2, heads * width, hidden))
    one, other = rng.normal(size=(2, hidden))
    frequencies = 0.3 ** np.arange(width // 2)

    def score(q: np.ndarray, k: np.ndarray, pairs: bool) -> list[float]:
        qs, ks = (q @ one).reshape(heads, width), (k @ other).reshape(heads, width)
        return [
            float(rotated(a, 5 * frequencies, pairs=pairs) @ rotated(b, 2 * frequencies, pairs=pairs))
            for a, b in zip(qs, ks, strict=True)
        ]

    changed = score(pairs_of_halves(query, heads), pairs_of_halves(key, heads), True)
    assert changed == pytest.approx(score(query, key, False))
    assert changed != pytest.approx(score(query, key, True))


def test_vocabulary() -> None:
    """Every id has its text; sentinels are control tokens and bytes are bytes."""
    texts, scores, kinds = vocabulary(json.loads((MINI / "tokenizer.json").read_bytes()))
    assert len(texts) == len(scores) == len(kinds) == 32_016
    assert (texts[0], kinds[0]) == ("<unk>", 2)
    assert (texts[13], kinds[13]) == ("<0x0A>", 6)
    assert (texts[32_007], kinds[32_007]) == ("▁<PRE>", 3)
    assert (texts[822], kinds[822]) == ("▁def", 1)
    assert scores == sorted(scores, reverse=True)


def test_int8_matrices_stand_for_whole_numbers_times_a_scale(tmp_path: Path) -> None:
    """Rows are multiplied by their scales, which may be in another file; other tensors stay as they are."""
    save_file(
        {"a.weight": torch.tensor([[1, -2], [3, 4]], dtype=torch.int8)}, tmp_path / "model-1.safetensors"
    )
    others = {"a.weight_scale": torch.tensor([[0.5], [2.0]]), "norm.weight": torch.tensor([7.0])}
    save_file(others, tmp_path / "model-2.safetensors")
    found = {name: tensor.tolist() for name, tensor in tensors_of(tmp_path)}
    assert found == {"a.weight": [[0.5, -1.0], [6.0, 8.0]], "norm.weight": [7.0]}
