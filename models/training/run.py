"""The `train` command: one run, from the tokenised corpus to weights, on one GPU or several of one machine.

Several: started by `torchrun`; each process takes its own batches and gradients are averaged.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training.batches import Batches, BatchShape, loader
from training.checkpoint import (
    Progress,
    latest,
    load_checkpoint,
    read_weights,
    save_checkpoint,
    take_over,
)
from training.corpus import tokenise
from training.export import save_model
from training.finished import TRAINED
from training.grow import grow
from training.model import SIZES, Llama, LlamaConfig
from training.optim import Optimizer
from training.options import RunOptions
from training.progress import Log, curve_svg
from training.schedule import Schedule
from training.team import Clock, Team

__all__ = ["RunOptions", "train"]

_VALIDATION_BATCHES = 8
_VALIDATION_ROWS = 32  # the same examples, however many processes there are
_VALIDATION_SEED = 1 << 40  # far from any seed of a run


class _Trainer:
    def __init__(self, options: RunOptions, team: Team) -> None:
        self.options, self.team = options, team
        torch.set_float32_matmul_precision("high")
        self.model = Llama(SIZES[options.size], options.attention, options.seed, int8=options.int8)
        self.model.to(team.device)
        if options.init is not None:
            _start_from(options.init, self.model, options.seed)
        compiled: Callable[[Any], Any] = torch.compile if options.compile else lambda function: function
        self.optimizer = Optimizer(self.model, options.rate, compiled)
        self._losses = compiled(self.model.losses)

    def step(self, batch: dict[str, Tensor], step: int, scale: float) -> Tensor:
        """One update; the loss sums and weights as `Llama.losses` has them, flat: (4,)."""
        total = batch["weights"][:, 1:].float().sum().clamp(min=1.0)
        sums = torch.zeros(4, device=self.team.device)
        for start in range(0, len(batch["ids"]), self.options.micro_rows):
            part = self._to_device(batch, start)
            with self._autocast():
                loss, middle = self._losses(part)
            (loss[0] / total).backward()
            sums += torch.cat([loss.detach(), middle])
        self.team.average([p.grad for p in self.model.parameters() if p.grad is not None])
        self.optimizer.step(step, scale)
        return sums

    def validate(self, batches: list[dict[str, Tensor]]) -> Tensor:
        """The same of batches that are not learned from."""
        # With gradients on, though none is wanted: without them it would be another graph to compile.
        sums = torch.zeros(4, device=self.team.device)
        for batch in batches:
            for start in range(0, len(batch["ids"]), self.options.micro_rows):
                with self._autocast():
                    sums += torch.cat(self._losses(self._to_device(batch, start))).detach()
        return sums

    def _to_device(self, batch: dict[str, Tensor], start: int) -> dict[str, Tensor]:
        end = start + self.options.micro_rows
        return {name: x[start:end].to(self.team.device, non_blocking=True) for name, x in batch.items()}

    def _autocast(self) -> torch.autocast:
        # On the CPU, where only tests train, float32 keeps results the same from one machine to the next.
        return torch.autocast("cuda", torch.bfloat16, enabled=self.team.device.type == "cuda")


def _start_from(folder: Path, model: Llama, seed: int) -> None:
    """Begin with the weights of a model folder, grown where the model is to be larger, or of a checkpoint.

    Raises: FileNotFoundError; ValueError when a file is damaged or the shapes do not go together.
    """
    weights, config = read_weights(folder), folder / "config.json"
    if config.exists():
        try:
            shape = LlamaConfig.of(json.loads(config.read_text(encoding="utf-8")))
        except ValueError as exc:
            raise ValueError(f"{config} states no shape to start from: {exc}") from exc
        if shape != model.config:
            weights = grow(weights, shape, model.config, seed)
    take_over(weights, model)


def train(options: RunOptions, say: Callable[[str], None]) -> Progress:
    """Run to the end of the schedule, or to ``stop_after_s``: then the same call goes on from there.

    Raises: ValueError, DataError and OSError, before anything is trained, when the options do not suit the
    machine or a file is not what it should be; ValueError when the loss or the weights are no numbers any
    more, with the last good checkpoint left to go on from.
    """
    begun = time.monotonic()
    team = Team()
    options.check_machine(team.size, gpu=team.device.type == "cuda")
    tokenised = options.data / "tokenised"
    if team.rank == 0:
        size = tokenise(options.data, tokenised, options.tokenizer, options.workers, say).tokens
        tokenise(options.data, options.data / "tokenised-validation", options.tokenizer, 1, say, "validation")
        say(f"{size / 1e6:.1f} M tokens of training text ({time.monotonic() - begun:.0f} s)")
    team.agree(0.0)  # wait for it
    trainer = _Trainer(options, team)
    settings = _settings(options)
    progress = Progress()
    if (found := latest(options.run / "checkpoints")) is not None:
        progress = load_checkpoint(found, trainer.model, trainer.optimizer, settings)
        say(f"going on from {found.name}")
    log = Log(options.run / "log.csv", progress.step)
    shape = BatchShape(options.rows // team.size, options.row_tokens)
    checked_shape = BatchShape(min(options.rows, _VALIDATION_ROWS), options.row_tokens)
    validation = Batches(
        options.data / "tokenised-validation", options.tokenizer, checked_shape, _VALIDATION_SEED
    )
    fixed = [validation[index] for index in range(_VALIDATION_BATCHES)]
    batches = Batches(tokenised, options.tokenizer, shape, options.seed)
    # of batch number n, process r of k takes part n * k + r
    steps = range(progress.step * team.size + team.rank, sys.maxsize, team.size)
    stream = iter(loader(batches, steps, options.workers, pin=team.device.type == "cuda"))
    clock = Clock(progress, team)
    saved = time.monotonic()
    while options.schedule.done(progress.step, progress.seconds) < 1.0:
        batch = next(stream)
        scale = options.schedule.scale(progress.step, progress.seconds)
        sums = trainer.step(batch, progress.step, scale)
        progress.step += 1
        progress.tokens += options.rows * options.row_tokens
        clock.tick()
        ended = options.schedule.done(progress.step, progress.seconds) >= 1.0
        if progress.step % options.log_every == 0 or ended:
            checked = (
                trainer.validate(fixed) if progress.step % options.validate_every == 0 or ended else None
            )
            _report(
                log, progress, sums, checked, scale, clock, options.schedule, say if team.rank == 0 else None
            )
        stop = 0 < options.stop_after_s <= team.agree(time.monotonic() - begun)
        if team.rank == 0 and (stop or ended or time.monotonic() - saved > options.save_every_s):
            save_checkpoint(options.run / "checkpoints", trainer.model, trainer.optimizer, progress, settings)
            saved = time.monotonic()
        if stop and not ended:
            say(f"stopped at step {progress.step} with a checkpoint: the same command goes on from there")
            return progress
    if team.rank == 0:
        # in 16 bits a matrix would be rounded twice, and the second time to other numbers than in training
        dtype = torch.float32 if options.int8 else torch.bfloat16
        for earlier in ("model", TRAINED):  # an average of it would be one of another model
            shutil.rmtree(options.run / earlier, ignore_errors=True)
        save_model(trainer.model, options.run / "model", options.tokenizer, dtype)
        (options.run / "curve.svg").write_text(curve_svg(log.rows), encoding="utf-8")
        say(
            f"{options.run / 'model'}: {progress.tokens / 1e9:.2f} G tokens "
            f"in {progress.seconds / 60:.1f} minutes"
        )
    return progress


def _report(
    log: Log, progress: Progress, sums: Tensor, checked: Tensor | None, scale: float, clock: Clock,
    schedule: Schedule, say: Callable[[str], None] | None,
) -> None:  # fmt: skip
    """Raises: ValueError, with nothing reported, when a loss is not finite."""
    if say is None:
        return
    loss, middle = _means(sums)
    values = {**asdict(progress), "loss": loss, "middle_loss": middle, "rate": scale}
    text = ""
    if checked is not None:
        values["validation_loss"], values["validation_middle_loss"] = _means(checked)
        text = f"  validation {values['validation_loss']:.3f} ({values['validation_middle_loss']:.3f})"
    if not all(math.isfinite(value) for name, value in values.items() if name.endswith("loss")):
        raise ValueError(
            f"the loss is {loss} at step {progress.step}{text}: this is not saved, earlier checkpoints "
            "stay; another --rate or --seed needs another --run-folder"
        )
    log.add(values)
    done = schedule.done(progress.step, progress.seconds)
    left = progress.seconds / max(done, 1e-9) * (1 - done)
    say(
        f"step {progress.step}  loss {loss:.3f} (middles {middle:.3f}){text}  rate {scale:.2f}  "
        f"{clock.pace() / 1e3:.0f} k tokens/s  {left / 60:.1f} minutes left"
    )


def _means(sums: Tensor) -> tuple[float, float]:
    loss, weight, middle, count = sums.tolist()
    return loss / max(weight, 1.0), middle / max(count, 1.0)


def _settings(options: RunOptions) -> dict[str, object]:
    """What makes a run the one that it is; the number of processes and workers does not."""
    chosen = {name: getattr(options, name) for name in ("size", "seed", "rows", "row_tokens", "rate", "int8")}
    return {
        **chosen,
        "init": str(options.init or ""),
        "steps": options.schedule.steps,
        "minutes": options.schedule.minutes,
    }
