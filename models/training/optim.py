"""Muon for the matrices and Adam for the rest.

Muon (Jordan et al. 2024, "Muon: an optimizer for hidden layers"): momentum, then the nearest orthogonal
matrix by a quintic Newton-Schulz iteration. Matrices of one shape are worked on together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from training.tensors import fitting

__all__ = ["Optimizer"]

MUON_RATE = 0.02
ADAM_RATE = 3e-3
_BETAS = (0.9, 0.95)
_EPS = 1e-10
_MOMENTUM = (0.85, 0.95)  # at the start, and from _MOMENTUM_STEPS on
_MOMENTUM_STEPS = 300
# The coefficients of the iteration, from its publication: they push singular values into 0.7 to 1.2 in
# five rounds.
_QUINTIC = (3.4445, -4.7750, 2.0315)
_ROUNDS = 5


def orthogonal(g: Tensor) -> Tensor:
    """Roughly the nearest semi-orthogonal matrix to each of ``g`` [n, rows, columns]."""
    a, b, c = _QUINTIC
    x = g.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(_ROUNDS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if tall else x


class Optimizer:
    """Both, over one model. Its tensors are plain, so that a checkpoint is a file of named tensors."""

    def __init__(
        self,
        model: nn.Module,
        rate: float,
        compiled: Callable[[Callable[[Tensor], Tensor]], Callable[[Tensor], Tensor]],
    ) -> None:
        """``rate`` scales both learning rates. ``compiled`` compiles a function or leaves it as it is."""
        matrices: dict[torch.Size, list[tuple[str, nn.Parameter]]] = defaultdict(list)
        self._others: list[tuple[str, nn.Parameter]] = []
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2 and "embed" not in name:
                matrices[parameter.shape].append((name, parameter))
            else:
                self._others.append((name, parameter))
        self._matrices = list(matrices.values())
        self._rate = rate
        self._orthogonal = compiled(orthogonal)
        self._momenta = {name: torch.zeros_like(p) for group in self._matrices for name, p in group}
        self._firsts = {name: torch.zeros_like(p) for name, p in self._others}
        self._seconds = {name: torch.zeros_like(p) for name, p in self._others}

    def state(self) -> dict[str, Tensor]:
        """The optimizer's tensors by name; they are its own, not copies."""
        kinds = {"momentum": self._momenta, "first": self._firsts, "second": self._seconds}
        return {
            f"{kind}/{name}": tensor for kind, tensors in kinds.items() for name, tensor in tensors.items()
        }

    def load(self, state: dict[str, Tensor]) -> None:
        """Take over what `state` gave. Raises: ValueError when it is of another model."""
        for name, tensor in self.state().items():
            tensor.copy_(fitting(state, name, tensor, "the optimizer is of another model: it has"))

    @torch.no_grad()
    def step(self, step: int, scale: float) -> None:
        """Update the parameters from their gradients and drop these.

        ``scale``: of the learning rates, 0 to 1.
        """
        low, high = _MOMENTUM
        beta = low + (high - low) * min(step / _MOMENTUM_STEPS, 1.0)
        for group in self._matrices:
            momenta = [self._momenta[name] for name, _ in group]
            gradients = [_gradient(parameter) for _, parameter in group]
            torch._foreach_lerp_(momenta, gradients, 1 - beta)
            looked_ahead = torch._foreach_lerp(gradients, momenta, beta)  # Nesterov
            updates = self._orthogonal(torch.stack(looked_ahead))
            rows, columns = group[0][1].shape
            rate = MUON_RATE * self._rate * scale * max(1.0, rows / columns) ** 0.5
            torch._foreach_add_([p for _, p in group], [u.float() for u in updates], alpha=-rate)
        self._adam(step, ADAM_RATE * self._rate * scale)
        for _, parameter in self._all():
            parameter.grad = None

    def _adam(self, step: int, rate: float) -> None:
        parameters = [parameter for _, parameter in self._others]
        gradients = [_gradient(parameter) for parameter in parameters]
        firsts, seconds = list(self._firsts.values()), list(self._seconds.values())
        one, two = _BETAS
        torch._foreach_lerp_(firsts, gradients, 1 - one)
        torch._foreach_mul_(seconds, two)
        torch._foreach_addcmul_(seconds, gradients, gradients, value=1 - two)
        roots = torch._foreach_sqrt(torch._foreach_div(seconds, 1 - two ** (step + 1)))
        torch._foreach_add_(roots, _EPS)
        torch._foreach_addcdiv_(parameters, firsts, roots, value=-rate / (1 - one ** (step + 1)))

    def _all(self) -> Iterable[tuple[str, nn.Parameter]]:
        yield from self._others
        for group in self._matrices:
            yield from group


def _gradient(parameter: nn.Parameter) -> Tensor:
    if parameter.grad is None:
        raise RuntimeError("a parameter has no gradient: the loss does not depend on it")
    return parameter.grad
