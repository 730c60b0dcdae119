from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from codeserve.completion.tokens import Tokenizer

# No deadlines: a slow example on a busy machine is not a wrong one.
settings.register_profile("codeserve", deadline=None, max_examples=60)
settings.load_profile("codeserve")

MODEL = Path(__file__).parents[2] / "models" / "mini-codellama"


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    """The bundled model's tokenizer, which is CodeLlama's."""
    return Tokenizer.load(MODEL)
