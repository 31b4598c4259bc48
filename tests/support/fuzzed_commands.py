"""Commands on damaged input: how they end, and input that is damaged at random."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import threading
from typing import TYPE_CHECKING, Any

from aerolog.tools.command_line.exit_codes import EXIT_INTERRUPTED
from aerolog.tools.main import main

if TYPE_CHECKING:
    import random

#: Exit codes of a command that knows what is wrong; 3 and 4 are the doctor's, 255 is of
#: ``archive-tool``.
KNOWN = {0, 1, 2, 3, 4, 255}

_INSERTED = (
    b"\xff", b"\0", b"\n", b'"', b"'", b"[", b"{", b"]", b"}", b"=", b",", b"-1", b"9" * 20,
    b"1e999", b"nan", b"null", b"true", b"\xf0\x9f\x98\x80", b"\\ud800", b"\\u0000", b"../",
)  # fmt: skip
_NUMBERS = (b"-1", b"0", b"9" * 25, b"4294967296", b"1.5", b"'x'", b"true", b"[]", b"{}")
_STRINGS = (b'""', b"1", b"[]", b"{}", b"null", b'"\xff"', b'"\\ud800"', b'["a"]', b"true")


def said(*arguments: object) -> tuple[int, str]:
    """The exit code of a command and what it printed to standard error."""
    error = io.StringIO()
    # A text stream over bytes, as a terminal or a pipe is.
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(error):
        return main([str(argument) for argument in arguments]), error.getvalue()


def said_within(seconds: float, *arguments: object) -> tuple[int, str]:
    """The same of a command that may have no end: it is interrupted as by a person after a time.

    Returns:
        Its exit code, 130 for one that ended with the interrupt, and its standard error.
    """
    ended = threading.Event()

    def interrupt(_number: int, _frame: object) -> None:
        if not ended.is_set():
            raise KeyboardInterrupt

    def person() -> None:
        patience_s = seconds
        while not ended.wait(patience_s):
            os.kill(os.getpid(), signal.SIGINT)
            # Once may not do: a callback of the collector's swallows what it is interrupted with.
            patience_s = 5.0

    before = signal.signal(signal.SIGINT, interrupt)
    interrupting = threading.Thread(target=person)
    interrupting.start()
    try:
        return said(*arguments)
    except KeyboardInterrupt:  # before the command had begun, or behind its end
        return EXIT_INTERRUPTED, ""
    finally:
        ended.set()
        interrupting.join()
        signal.signal(signal.SIGINT, before)


def check_end(code: int, error: str, what: Any) -> None:
    """A command ended as one that knows what is wrong, or did what it was asked."""
    assert code in KNOWN, f"{what}: {error}"
    assert "Traceback" not in error, f"{what}: {error}"


def damaged(rng: random.Random, content: bytes) -> bytes:
    """A binary file that was cut, overwritten, emptied or has something behind it."""
    data = bytearray(content)
    kind = rng.randrange(6)
    if not data or kind == 0:
        return bytes(data) + rng.randbytes(rng.randrange(1, 3000))
    if kind == 1:
        return bytes(data[: rng.choice([0, rng.randrange(len(data))])])
    if kind == 2:
        at, length = rng.randrange(len(data)), rng.choice([1, 4, 8, 64, 4096])
        data[at : at + length] = rng.choice([b"\xff", b"\0", b"\x80", b"\x7f"]) * length
        return bytes(data)
    used = [at for at, byte in enumerate(data[: 1 << 16]) if byte] or [0]
    for _ in range(rng.choice([1, 1, 2, 8, 50])):
        data[rng.choice(used)] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    return bytes(data)


def garbled(rng: random.Random, text: bytes) -> bytes:
    """A text file with a few edits: other bytes, values, words and lines."""
    data = bytearray(text)
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        if not data:
            break
        at = rng.randrange(len(data))
        match rng.randrange(8):
            case 0:
                del data[at : at + rng.choice([1, 3, 20])]
            case 1:
                data[at] = rng.randrange(256)
            case 2:
                data[at:at] = rng.choice(_INSERTED)
            case 3:
                del data[at:]
            case 4:
                _replace(rng, data, rb"\d+", _NUMBERS)
            case 5:
                _replace(rng, data, rb'"[^"\n]*"', _STRINGS)
            case 6:
                _replace(rng, data, rb"\w+", re.findall(rb"\w+", bytes(data)))
            case _:
                lines = bytes(data).split(b"\n")
                lines.insert(rng.randrange(len(lines)), rng.choice(lines))
                data = bytearray(b"\n".join(lines))
    return bytes(data)


def _replace(rng: random.Random, data: bytearray, form: bytes, others: Any) -> None:
    found = list(re.finditer(form, bytes(data)))
    if found:
        one = rng.choice(found)
        data[one.start() : one.end()] = rng.choice(others)
