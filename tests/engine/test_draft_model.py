"""The model that drafts for another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from codeserve.engine.draft_model import check_draft, draft_need
from codeserve.engine.folder import read_config
from codeserve.engine.preset import Speculation
from codeserve.engine.presets import load_presets
from codeserve.errors import ConfigError

from .llama import TINY
from .models import MINI, model

PRESETS = load_presets()


def drafting(method: Any) -> Speculation:
    return Speculation(method=method, model="x/y")


def test_a_head_is_no_whole_model(tmp_path: Path) -> None:
    """A head of EAGLE has neither a tokenizer nor a causal model's name; a model that drafts has both."""
    head = model(tmp_path / "head", architectures=["LlamaForCausalLMEagle3"])
    (head / "tokenizer.json").unlink()
    check_draft(drafting("eagle3"), head)
    with pytest.raises(ConfigError, match="cannot complete code"):
        check_draft(drafting("draft_model"), head)
    check_draft(drafting("draft_model"), MINI)


@pytest.mark.parametrize("method", ["draft_model", "eagle"])
def test_what_is_not_whole_is_refused(tmp_path: Path, method: Any) -> None:
    """No folder, and one without its weights unless they are made up."""
    with pytest.raises(ConfigError, match="of the model that drafts does not exist"):
        check_draft(drafting(method), tmp_path / "none")
    folder = model(tmp_path / "m")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="holds no weights"):
        check_draft(drafting(method), folder)
    check_draft(drafting(method), folder, weights=False)


def test_it_needs_memory_by_its_own_sizes() -> None:
    """Its own config counts, not the preset's shape and quantisation; its cache is of the preset's type."""
    need = draft_need(PRESETS["codellama-7b-fp8"], TINY, 1000)
    assert need is not None
    assert (need.weights, need.kv_per_token) == (1000, 2 * 2 * 2 * 16)
    plain = draft_need(attrs.evolve(PRESETS["codellama-7b"], load_format="dummy"), read_config(MINI), None)
    assert plain is not None
    assert plain.kv_per_token == 4096


def test_a_config_of_another_kind() -> None:
    """Its weights count all the same where they are here."""
    need = draft_need(PRESETS["codellama-7b"], {}, 1000)
    assert need is not None
    assert (need.weights, need.kv_per_token) == (1000, 0)
    assert draft_need(PRESETS["codellama-7b"], {}, None) is None
