"""What the CPU's kernels are compiled with at start: a C++ compiler and Python's headers."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path

__all__ = ["missing_for_compiling"]


def missing_for_compiling(
    environ: Mapping[str, str] = os.environ, headers: Path | None = None, search: str | None = None
) -> list[str]:
    """What is not installed of it, in words; empty when kernels can be compiled.

    ``headers`` is the folder of Python.h and ``search`` a PATH to look for the compiler in; this Python's and
    this process's when None. torch's inductor takes the compiler that CXX names, else g++.
    """
    headers = headers or Path(sysconfig.get_path("include"))
    compiler = environ.get("CXX", "").split()[:1] or ["g++"]
    missing = [] if shutil.which(compiler[0], path=search) else [f"a C++ compiler ({compiler[0]})"]
    if not (headers / "Python.h").is_file():
        missing.append("Python's headers (python3-dev)")
    return missing
