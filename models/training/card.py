"""The model card: the README of a published model folder, from the manifest, the run's log and quality
reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training.data.packages import Package
from training.model import LlamaConfig

__all__ = ["CardFacts", "render_card"]

_PARTS = {
    "single-line": "HumanEval, single-line infilling",
    "multi-line": "HumanEval, multi-line infilling",
    "lines": "lines of held-out packages",
}


@dataclass(frozen=True)
class CardFacts:
    """What a card is made from."""

    name: str
    config: LlamaConfig
    parameters: int
    form: str  # of the weights, in words
    weight_bytes: int
    manifest: Mapping[str, Any]
    packages: Sequence[Package]
    log: Sequence[Mapping[str, str]]
    seed: int
    continued: bool  # from other weights, instead of random ones
    share: float  # of the run in the weights; the rest is of those that it began with
    reports: Sequence[Mapping[str, Any]]  # of `codeserve bench quality --json`


def render_card(facts: CardFacts) -> str:
    """The card, as Markdown."""
    c, log = facts.config, facts.log[-1]
    tokens, minutes = float(log["tokens"]), float(log["seconds"]) / 60
    millions = facts.parameters / 1e6
    licences = Counter(package.licence for package in facts.packages)
    return f"""\
# {facts.name}

A Llama model of {millions:.1f} M parameters with CodeLlama's own tokenizer and infilling sentinels: a
{millions:.0f} M-parameter stand-in for CodeLlama, for machines without a GPU, for development and for tests. It is no substitute for
CodeLlama: it writes plausible lines and is often wrong.

| | |
| --- | --- |
| shape | {c.num_hidden_layers} layers, hidden {c.hidden_size}, {c.num_attention_heads} heads with {c.num_key_value_heads} KV heads, MLP {c.intermediate_size:,}, tied embeddings, RoPE theta {c.rope_theta:.0e} |
| context | {c.max_position_embeddings:,} tokens |
| weights | {facts.form}, {facts.weight_bytes / 1e6:.1f} MB |
| prompt format | CodeLlama infilling: suffix first (`codellama-spm`), of which it saw most, or prefix first (`codellama-psm`) |
| licence | the project's; see the training data below |

## Figures

Greedy, by `codeserve bench quality`; in brackets the 95 % interval.

{_figures(facts.reports)}

## Training

{"Continued from the weights published before" if facts.continued else "From scratch"} by the pipeline in `models/training`, seed {facts.seed}: {tokens / 1e9:.2f} G tokens in
{minutes:.0f} minutes. Its validation loss, on packages that it never saw, ended at {_last(facts.log, "validation_loss")}, of the middles alone at
{_last(facts.log, "validation_middle_loss")} (nats a token).{_averaged(facts.share)}

![loss over tokens](curve.svg)

## Data

Source code of {len(facts.packages):,} packages under permissive licences, by their own metadata and
licence files: {_languages(facts.manifest)}. Left out: near-duplicates, generated and minified files, data,
files and folders under other licences, and all that overlaps with the evaluation sets or the
{facts.manifest["held_out_packages"]} held-out packages. Credentials and mail addresses were replaced. `models/training/packages.toml` has each package with its
version, SHA-256 and licence.

| licence | packages |
| --- | --- |
{_licences(licences)}

## Limits

Python first, some JavaScript and TypeScript, other languages by accident. It knows no library well, makes
up names, and may repeat code from its training data. Nothing was done to make it safe or to align it.
Review what it writes.
"""


def _averaged(share: float) -> str:
    if share == 1.0:
        return ""
    return (
        f" The weights published are an average:\n{100 * share:.0f} % of what the run ended with and {100 * (1 - share):.0f} % "
        "of what it began with."
    )


def _figures(reports: Sequence[Mapping[str, Any]]) -> str:
    rows = [row for report in reports for row in _rows(report)]
    if not rows:
        return "Not measured yet."
    return "\n".join(["| | n | exact match | pass@1 |", "| --- | --- | --- | --- |", *rows])


def _rows(report: Mapping[str, Any]) -> Iterable[str]:
    for part, title in _PARTS.items():
        figures = report["parts"].get(part)
        if figures is None:
            continue
        groups = {title: figures["models"]}
        groups |= {f"{title}, {language}": some for language, some in figures.get("by_language", {}).items()}
        for label, models in groups.items():
            for model, row in models.items():
                shown = f"{label} ({model})"
                exact = row["exact_match"]
                yield f"| {shown} | {exact['n']:,} | {_share(exact)} | {_share(row['pass_at_1'])} |"


def _share(figure: Mapping[str, Any] | None) -> str:
    if figure is None or figure["share"] is None:
        return "–"
    low, high = figure["ci95"]
    return f"{100 * figure['share']:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _last(log: Sequence[Mapping[str, str]], name: str) -> str:
    return next((f"{float(row[name]):.3f}" for row in reversed(log) if row[name]), "–")


def _languages(manifest: Mapping[str, Any]) -> str:
    names = {"python": "Python", "javascript": "JavaScript", "typescript": "TypeScript"}
    found = sorted(manifest["languages"].items(), key=lambda each: -each[1]["bytes"])
    return ", ".join(f"{each['bytes'] / 1e6:,.0f} MB of {names.get(name, name)}" for name, each in found)


def _licences(licences: Counter[str]) -> str:
    most = licences.most_common(8)
    rows = [f"| {name} | {count:,} |" for name, count in most]
    if rest := licences.total() - sum(count for _, count in most):
        rows.append(f"| others, and combinations | {rest:,} |")
    return "\n".join(rows)
