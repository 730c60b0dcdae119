"""``python -m training``: `data`, `train` and `export` make the bundled model; `list` extends the list of
packages.
"""

from __future__ import annotations

import sys

from training.cli import main

if __name__ == "__main__":
    sys.exit(main())
