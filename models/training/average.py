"""The average of a run's weights and those that it began with.

A run moves away from what it began with, which is better at some things: in between both is often as good as
either (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models").
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from torch import Tensor

from training.checkpoint import read_weights
from training.export import write_weights
from training.finished import AVERAGE_NOTE, TRAINED
from training.tensors import fitting

__all__ = ["average", "averaged"]


def averaged(trained: dict[str, Tensor], other: dict[str, Tensor], share: float) -> dict[str, Tensor]:
    """``share`` of each of ``trained`` and the rest of ``other``, in 32 bits.

    Raises: ValueError when the share is not between 0 and 1, or a tensor is missing or of another shape.
    """
    if not 0.0 < share < 1.0:
        raise ValueError(f"the share of the run's weights is between 0 and 1, not {share}")
    return {
        name: (1 - share) * fitting(other, name, tensor, "the other weights have").float()
        + share * tensor.float()
        for name, tensor in trained.items()
    }


def average(run: Path, other: Path, share: float) -> None:
    """Put the average in the place of the run's model, which stays beside it as ``run/model-trained``.

    Another call takes another share of that one.

    Raises: FileNotFoundError before a run's end, ValueError as `averaged`.
    """
    trained = run / TRAINED
    if not trained.exists():
        trained = run / "model"
    tensors = averaged(read_weights(trained), read_weights(other), share)
    config = json.loads((trained / "config.json").read_text(encoding="utf-8"))
    part = run / ".model-part"
    shutil.rmtree(part, ignore_errors=True)
    write_weights(part, tensors, config, trained)
    # with the weights that it is about, so that the one is never there without the other
    (part / AVERAGE_NOTE).write_text(json.dumps({"share": share}) + "\n", encoding="utf-8")
    if trained.name == "model":
        trained.rename(run / TRAINED)
    shutil.rmtree(run / "model", ignore_errors=True)
    part.rename(run / "model")
