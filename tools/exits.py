"""Exit codes of the command, and leaving cleanly when the reader of a pipe is gone."""

from __future__ import annotations

import os
import sys
from typing import Final

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_FAULT: Final = 70
EXIT_INTERRUPTED: Final = 130
EXIT_TERMINATED: Final = 143


def discard_stdout() -> None:
    """Sends what is still buffered nowhere, so that it does not fail once more at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
