"""Tensors by name, as files hold them."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

__all__ = ["fitting"]


def fitting(tensors: Mapping[str, Tensor], name: str, like: Tensor, whose: str) -> Tensor:
    """The tensor of a name, of the shape of ``like``: a smaller one might be spread out unseen.

    Raises: ValueError, which begins with ``whose``, when there is none.
    """
    found = tensors.get(name)
    if found is None or found.shape != like.shape:
        raise ValueError(f"{whose} no {name} of shape {tuple(like.shape)}")
    return found
