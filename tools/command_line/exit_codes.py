"""Exit codes of the command, and leaving cleanly when the reader of a pipe is gone."""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import Final

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_FAULT: Final = 70
EXIT_INTERRUPTED: Final = 130
EXIT_TERMINATED: Final = 143

#: What the codes of all commands mean.
CODES: Final = {
    0: "Done; also when the reader of a pipe goes away before the end.",
    EXIT_FAILED: "Failed: a line on standard error says what, and what to do.",
    EXIT_USAGE: "Wrong usage, an unusable configuration, or an extra that is missing and named.",
    EXIT_FAULT: "A fault of aerolog itself; --debug shows where.",
    EXIT_INTERRUPTED: "Interrupted (SIGINT); the services end with 0.",
    EXIT_TERMINATED: "Terminated (SIGTERM); the services end with 0.",
}

#: Command -> codes that have a meaning of their own there.
OWN_CODES: Final[dict[str, dict[int, str]]] = {
    "archive-tool": {255: "Wrong usage, and faulty recordings found, as the reference's tool."},
    "cluster-tool": {255: "Wrong usage, and nothing to do, as the reference's tool."},
    "doctor": {
        3: "There are warnings, the worst that was found (see --fail-on).",
        4: "There is something critical (see --fail-on).",
    },
}


def is_of_stdout(error: OSError) -> bool:
    """Whether a full disk is that of stdout: all other files are named by their errors."""
    if error.errno != errno.ENOSPC or error.filename is not None:
        return False
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (OSError, ValueError):
        return False  # it is none of the system's files
    return not stat.S_ISFIFO(mode) and not sys.stdout.isatty()


def discard_stdout() -> None:
    """Sends what is still buffered nowhere, so that it does not fail once more at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
