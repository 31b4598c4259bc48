"""Commands of root without its right to read every file: permissions hold for them, too.

The capabilities go with the bounding set before the program is loaded, so that the user and the
owner of all files stay what they are. A user other than root has no such right to lose.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_PR_CAPBSET_DROP: Final = 24
_CAP_DAC_OVERRIDE: Final = 1
_CAP_DAC_READ_SEARCH: Final = 2


def run_unprivileged(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a command of aerolog as a user whom permissions bind."""
    libc = ctypes.CDLL(None, use_errno=True)
    return subprocess.run(
        [sys.executable, "-m", "aerolog", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=partial(_drop, libc),  # one call into the kernel, nothing that takes a lock
    )


def _drop(libc: ctypes.CDLL) -> None:
    if os.geteuid() == 0:
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                os._exit(99)


def forbid(path: Path) -> None:
    """Takes all permissions of a file or folder away."""
    path.chmod(0)
