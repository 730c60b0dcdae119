"""Source text and small tokenizers for the tests."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

SENTINELS = (
    "<PRE>", " <PRE>", "▁<PRE>", "▁<SUF>", "▁<MID>", "▁<EOT>", "<s>", "</s>", "<unk>", "<0x0A>",
    "<|fim_prefix|>", "<fim_middle>", "<|endoftext|>", "[SUFFIX]", "[PREFIX]", "<｜fim▁begin｜>", "<bos>",
    "<eos>", "<file_sep>",
)  # fmt: skip

_BITS = [
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "    ",
    "\t",
    "def f(x):",
    "return x",
    "}",
    "\0",
    "é",
    "😀",
    "\ud83d",
    "▁",
]

# Code, sentinels, line ends of all kinds, and whatever else Unicode has, lone surrogates included.
any_text = st.lists(
    st.one_of(
        st.text(st.characters(), max_size=12),
        st.sampled_from(_BITS),
        st.sampled_from(SENTINELS),
    ),
    max_size=25,
).map("".join)

# What a tokenizer is given: no lone surrogates.
utf8_text = any_text.map(lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def document(lines: int, seed: int = 1) -> str:
    """Made-up code with functions, blank lines and indentation."""
    rng = random.Random(seed)
    words = ["value", "node", "index", "items", "count", "result", "left", "right", "buffer", "offset"]
    out: list[str] = []
    while len(out) < lines:
        name = f"{rng.choice(words)}_{rng.randrange(1000)}"
        out += ["", f"def {name}({rng.choice(words)}):"]
        out += [
            f"    {rng.choice(words)} = {rng.choice(words)}.{rng.choice(words)}({rng.randrange(100)})"
            for _ in range(rng.randrange(2, 9))
        ]
        out += [f"    return {rng.choice(words)}"]
    return "\n".join(out[:lines]) + "\n"


def byte_level(*sentinels: str, add_as_special: bool = True) -> dict[str, Any]:
    """The tokenizer.json of a byte-level BPE that was trained on the spot, with sentinels as added tokens."""
    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    library.train_from_iterator([document(300), "\n\n\n    \n        "], trainer)
    library.add_tokens([AddedToken(token, special=add_as_special, normalized=False) for token in sentinels])
    data: dict[str, Any] = json.loads(library.to_str())
    return data


def sentencepiece(*sentinels: str, prepend: bool = True) -> dict[str, Any]:
    """The tokenizer.json of a small BPE as SentencePiece has it; the sentinels are in its vocabulary."""
    vocab: dict[str, int] = {token: id for id, token in enumerate(("<unk>", *sentinels))}
    for byte in range(256):
        vocab[f"<0x{byte:02X}>"] = len(vocab)
    merges = [["▁", "▁"], ["▁▁", "▁▁"], ["r", "e"], ["re", "t"], ["▁", "ret"], ["<", "s"], ["<s", ">"]]
    for letter in "▁abcdefghijklmnopqrstuvwxyz()[]:=+<>|/_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789":
        vocab.setdefault(letter, len(vocab))
    for left, right in merges:
        vocab.setdefault(left + right, len(vocab))
    normalizers = [{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": vocab[token], "content": token, "single_word": False, "lstrip": False, "rstrip": False,
                "normalized": False, "special": True,
            }
            for token in ("<unk>", *sentinels)
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [{"type": "Prepend", "prepend": "▁"}] * prepend + normalizers,
        },
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": True, "ignore_merges": False,
            "vocab": vocab, "merges": merges,
        },
    }  # fmt: skip
