"""A real shell in a pseudo-terminal, typed into."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PATIENCE_S = 90


class TypingShell:
    """An interactive shell; what it shows is read until it shows what is waited for."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self._terminal, inner = pty.openpty()
        self._process = subprocess.Popen(
            command, stdin=inner, stdout=inner, stderr=inner, env=environ, start_new_session=True
        )
        os.close(inner)
        self._shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)
        os.close(self._terminal)

    def type(self, keys: str) -> None:
        """Types."""
        os.write(self._terminal, keys.encode())

    def shows(self, pattern: str) -> str:
        """Waits until the pattern is shown; gives its group, and forgets what was before."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, self._shown)) is None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._terminal], [], [], left)[0]:
                raise AssertionError(f"{pattern!r} is not in {self._shown!r}")
            self._shown += os.read(self._terminal, 65536).decode(errors="replace")
        self._shown = self._shown[found.end() :]
        return found[1]
