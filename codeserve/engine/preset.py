"""A model preset: which model runs, how it is prompted, and how the engine is set up."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import attrs

from codeserve.engine.shape import Shape
from codeserve.protocol import MIN_CONFIDENCE

__all__ = ["Preset", "Speculation"]

_positive = attrs.validators.ge(1)
_maybe_positive = attrs.validators.optional(_positive)
_WITH_MODEL = ("draft_model", "eagle", "eagle3")


def _confidence(_: object, field: attrs.Attribute[float | None], value: float | None) -> None:
    if value is not None and not MIN_CONFIDENCE <= value <= 0:
        raise ValueError(f"{field.name} must be from {MIN_CONFIDENCE:g} to 0")


@attrs.frozen(kw_only=True)
class Speculation:
    """Speculative decoding: tokens are proposed cheaply and verified together.

    ``ngram`` proposes what followed the same tokens earlier in the prompt; ``suffix`` the same with earlier
    answers too (needs ``arctic-inference``); ``draft_model`` and ``eagle`` what a small model writes, which
    has the same vocabulary: ``model`` is its folder, or an id of Hugging Face.
    """

    method: Literal["ngram", "suffix", "draft_model", "eagle", "eagle3"] = attrs.field(
        validator=attrs.validators.in_(("ngram", "suffix", *_WITH_MODEL))
    )
    model: Path | str | None = None
    num_speculative_tokens: int = attrs.field(default=4, validator=_positive)
    prompt_lookup_max: int = attrs.field(default=4, validator=_positive)
    prompt_lookup_min: int = attrs.field(default=2, validator=_positive)
    # Turned off while it costs more than it brings: with more sequences at a time than this (0: never for
    # that), and while fewer drafted tokens a step are accepted than this. Not for `suffix`, whose proposer in
    # vLLM must draft at every step (vllm/v1/spec_decode/suffix_decoding.py asserts it).
    max_batch: int = attrs.field(default=0, validator=attrs.validators.ge(0))
    min_accepted: float = attrs.field(default=0.0, validator=attrs.validators.ge(0))
    # For measuring cost with dummy weights, which accept nothing: so many tokens a step are taken as good.
    pretended_length: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.ge(1))
    )

    def __attrs_post_init__(self) -> None:
        if self.prompt_lookup_min > self.prompt_lookup_max:
            raise ValueError("prompt_lookup_min is above prompt_lookup_max")
        if (self.method in _WITH_MODEL) != (self.model is not None):
            raise ValueError(f"{' and '.join(_WITH_MODEL)} need a model, the other methods have none")
        if self.method == "suffix" and self.varies:
            raise ValueError(
                "suffix drafts at every step and cannot pause: leave max_batch and min_accepted out, "
                "or use another method"
            )

    @property
    def varies(self) -> bool:
        """Whether it is turned off at times."""
        return bool(self.max_batch or self.min_accepted)


@attrs.frozen(kw_only=True)
class Preset:
    """A model and how it runs. Fields with a None default leave the choice to the engine."""

    name: str
    description: str = ""
    model: Path | str  # a folder, or a Hugging Face id
    # quantize: `codeserve quantize` makes them out of the model's
    weights: Literal["published", "quantize"] = "published"
    fim: str  # a name of `codeserve.completion.fim.FIM_FORMATS`
    refused: str = ""  # why this model cannot complete code, and what to take in its place
    device: Literal["auto", "cpu", "gpu"] = "auto"
    context_tokens: int = attrs.field(default=4096, validator=attrs.validators.ge(256))
    max_output_tokens: int = attrs.field(default=128, validator=_positive)
    snippet_tokens: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.ge(0))
    )  # of a prompt, for what other files say: 0 leaves it out; None, and more than that, is a quarter
    min_confidence: float | None = attrs.field(
        default=None, validator=_confidence
    )  # mean log-probability of a completion's tokens below which it is not suggested; None: no such rule
    dtype: str = "auto"
    quantization: str | None = None
    kv_cache_dtype: str = "auto"
    kv_cache_bytes: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.gt(0))
    )  # fixed size of the KV cache; on the CPU 512 MiB when None
    kv_offload_gib: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(attrs.validators.gt(0))
    )  # of the machine's memory, for KV blocks that the GPU has no room for
    gpu_memory_utilization: float = attrs.field(
        default=0.9, validator=[attrs.validators.gt(0), attrs.validators.le(1)]
    )
    block_size: int | None = attrs.field(default=None, validator=_maybe_positive)  # tokens a KV block
    tensor_parallel: int = attrs.field(default=1, validator=_positive)
    pipeline_parallel: int = attrs.field(default=1, validator=_positive)
    data_parallel: int = attrs.field(default=1, validator=_positive)
    max_sequences: int | None = attrs.field(
        default=None, validator=_maybe_positive
    )  # running at once; the rest waits in the engine's queue
    batch_tokens: int | None = attrs.field(default=None, validator=_maybe_positive)  # of one step, at most
    load_format: Literal["auto", "dummy"] = "auto"  # dummy: weights made up, for measuring speed alone
    shape: Shape | None = None  # the model's sizes, known before its config.json is here
    speculation: Speculation | None = None
    engine_args: dict[str, Any] = attrs.field(factory=dict)  # further AsyncEngineArgs fields, as they are

    def __attrs_post_init__(self) -> None:
        if self.max_output_tokens >= self.context_tokens:
            raise ValueError("max_output_tokens leaves no room for a prompt in context_tokens")

    @property
    def gpus(self) -> int:
        """How many GPUs it runs on."""
        return self.tensor_parallel * self.pipeline_parallel * self.data_parallel

    @property
    def float32(self) -> bool:
        """Whether it computes with 32 bits."""
        return self.dtype in ("float32", "float")

    @property
    def label(self) -> str:
        """Its name, and that its weights are made up where they are."""
        return f"{self.name} (dummy weights)" if self.load_format == "dummy" else self.name
