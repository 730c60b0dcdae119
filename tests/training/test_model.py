"""The model is Llama as others read it, and its attention stays within examples."""

import itertools
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from codeserve.engine.rounding import quantise_rows
from training.attention import SEGMENTS_IN_ROW, boundaries
from training.export import export_int8, save_model
from training.model import SIZES, Llama, rounded

TOKENS = 256


@pytest.fixture(scope="module")
def model() -> Llama:
    return Llama(SIZES["tiny"], "dense", seed=5)


def _input(segments: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, 32000, segments.shape, generator=generator)
    starts = torch.cummax(
        torch.where(torch.diff(segments, prepend=segments[:, :1] - 1) > 0, torch.arange(TOKENS), 0), 1
    )
    return ids, segments, torch.arange(TOKENS) - starts.values


def _segments(*lengths: int) -> Tensor:
    return torch.cat([torch.full((length,), number) for number, length in enumerate(lengths)])


def test_sizes() -> None:
    """The bundled model has the seed's shape, 38.9 M parameters."""
    with torch.device("meta"):
        assert sum(p.numel() for p in Llama(SIZES["mini"], "dense", 0).parameters()) == 38_945_280


def test_examples_do_not_see_each_other(model: Llama) -> None:
    """A row of two examples gives each what it gives alone."""
    ids, segments, positions = _input(_segments(100, 156)[None])
    both = model(ids, segments, positions)
    alone = model(ids[:, 100:], segments[:, 100:], positions[:, 100:])
    torch.testing.assert_close(both[:, 100:], alone, atol=1e-5, rtol=1e-4)


def test_int8_is_what_the_published_form_holds() -> None:
    """Matrices are rounded in training to the very numbers that are exported; inputs to whole 127ths."""
    matrix = Llama(SIZES["tiny"], "dense", seed=5).model.layers[0].mlp.up_proj.weight.detach()
    whole, scale = quantise_rows(matrix, search=False)
    torch.testing.assert_close(rounded(matrix, stored=True), whole.float() * scale.float(), atol=1e-8, rtol=0)
    step = matrix.abs().amax(1, keepdim=True) / 127
    steps = rounded(matrix) / step
    torch.testing.assert_close(steps, (matrix / step).round(), atol=1e-3, rtol=0)
    assert whole.abs().max() == 127


def test_int8_learns_what_rounding_hides(model: Llama) -> None:
    """Gradients reach matrices through the rounding, and they and the outputs are nearly the same."""
    inputs = _input(_segments(256)[None])
    gradients, outputs = [], []
    for each in (model, Llama(SIZES["tiny"], "dense", seed=5, int8=True)):
        logits = each(*inputs)
        logits.square().sum().backward()
        gradients.append(each.model.layers[0].self_attn.q_proj.weight.grad)
        outputs.append(logits.detach())
        each.zero_grad()
    assert torch.nn.functional.cosine_similarity(*(x.flatten() for x in gradients), dim=0) > 0.98
    assert 0 < (outputs[0] - outputs[1]).abs().max() < 0.1 * outputs[0].abs().max()


LENGTHS = [(256,), (100, 156), (128, 128), (5, 3, 120, 60, 68), (16,) * 16]


@pytest.mark.parametrize("lengths", LENGTHS)
def test_boundaries(lengths: tuple[int, ...]) -> None:
    """Each example of all rows is a sequence of its own, in their order; what is missing is empty."""
    rows = torch.stack([_segments(*lengths), _segments(128, 128)])
    found = boundaries(rows)
    assert found.dtype == torch.int32
    assert len(found) == 2 * SEGMENTS_IN_ROW + 1
    assert torch.diff(found).tolist() == [*lengths, 128, 128, *[0] * (30 - len(lengths))]


@pytest.mark.parametrize("lengths", LENGTHS)
def test_varlen_attention_is_the_same(
    model: Llama, lengths: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Examples handed over as sequences attend to what the masked rows attend to; without a GPU a plain
    computation of each sequence stands in for the kernel.
    """
    if not torch.cuda.is_available():
        monkeypatch.setattr("training.attention.varlen_attn", _each_sequence)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    rows = torch.stack([_segments(*lengths), _segments(128, 128)])
    inputs = [x.to(device) for x in _input(rows)]
    outputs = [
        Llama(SIZES["tiny"], attention, seed=5).to(device, kind)(*inputs) for attention in ("varlen", "dense")
    ]
    tolerance = 1e-5 if kind == torch.float32 else 0.02
    torch.testing.assert_close(*outputs, atol=tolerance, rtol=tolerance)


def _each_sequence(
    q: Tensor, k: Tensor, v: Tensor, starts: Tensor, _: Tensor, *__: int, window_size: tuple[int, int]
) -> Tensor:
    assert window_size == (-1, 0)  # causal
    out = torch.empty_like(q)
    for begin, end in itertools.pairwise(starts.tolist()):
        if begin < end:
            part = [x[begin:end].transpose(0, 1) for x in (q, k, v)]
            out[begin:end] = F.scaled_dot_product_attention(*part, is_causal=True).transpose(0, 1)
    return out


def test_the_loss_counts_the_next_token(model: Llama) -> None:
    """Weights belong to the token that is predicted; middles are counted apart."""
    ids, segments, positions = _input(_segments(256)[None])
    weights, middles = torch.zeros(1, TOKENS), torch.zeros(1, TOKENS, dtype=torch.bool)
    weights[0, 10], middles[0, 20] = 2.0, True
    batch = {"ids": ids, "segments": segments, "positions": positions, "weights": weights, "middles": middles}
    loss, middle = model.losses(batch)
    predicted = model(ids, segments, positions).log_softmax(-1)
    assert loss.tolist() == pytest.approx([-2 * predicted[0, 9, ids[0, 10]].item(), 2.0], rel=1e-4)
    assert middle.tolist() == pytest.approx([-predicted[0, 19, ids[0, 20]].item(), 1.0], rel=1e-4)


def test_transformers_reads_it(model: Llama, tmp_path: Path, tokenizer_folder: Path) -> None:
    """`LlamaForCausalLM` loads the exported folder and gives the same logits, up to the bf16 of its
    weights.
    """
    transformers = pytest.importorskip("transformers", reason="compares with transformers")
    save_model(model, tmp_path, tokenizer_folder)
    loaded = transformers.LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    ids, segments, positions = _input(_segments(256)[None])
    ours, theirs = model(ids, segments, positions), loaded(ids).logits
    torch.testing.assert_close(ours, theirs, atol=0.02, rtol=0.05)
    assert (ours.argmax(-1) == theirs.argmax(-1)).float().mean() > 0.95


def test_int8_folder(model: Llama, tmp_path: Path, tokenizer_folder: Path) -> None:
    """The INT8 folder has 8-bit matrices with a scale for each row, and says so in its config."""
    from safetensors.torch import load_file

    save_model(model, tmp_path / "bf16", tokenizer_folder)
    size = export_int8(tmp_path / "bf16", tmp_path / "int8")
    tensors = load_file(tmp_path / "int8" / "model.safetensors")
    assert sum(tensor.nbytes for tensor in tensors.values()) == size
    for name, parameter in model.named_parameters():
        if name.endswith("_proj.weight"):
            scale = tensors[name.replace("weight", "weight_scale")].float()
            torch.testing.assert_close(tensors[name].float() * scale, parameter.detach(), atol=2e-3, rtol=0)
        else:
            assert tensors[name].dtype == torch.bfloat16
    assert '"compressed-tensors"' in (tmp_path / "int8" / "config.json").read_text()
