"""Native objects whose ``__init__`` did not run never end the process, whatever is done to them.

A subclass that forgets ``super().__init__()``, or a debugger that shows an object whose making
failed, meets such objects.
"""

import faulthandler
import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WINGS = ("transport", "archive", "catalog")  # those with native modules
HEAP_TYPE = 1 << 9
# Agents hold sessions by address; whoever adds one keeps it alive.
KEPT: list[list[tuple[Any, ...]]] = []
SPECIAL = ("__repr__", "__len__", "__iter__", "__next__", "__enter__", "__bool__", "__hash__")


def native_modules() -> list[str]:
    """Dotted names of all native modules."""
    return sorted(
        ".".join(("aerolog", *source.relative_to(ROOT).with_suffix("").parts))
        for wing in WINGS
        for source in (ROOT / wing).rglob("*.pyx")
    )


def native_classes(module: str) -> Iterator[type]:
    """The native classes that a module defines, private ones as well."""
    for value in vars(importlib.import_module(module)).values():
        is_own = isinstance(value, type) and value.__module__ == module
        if is_own and not value.__flags__ & HEAP_TYPE:
            yield value


def arguments(other: object) -> list[tuple[Any, ...]]:
    """Argument lists that a method without checks would stumble over."""
    return [
        (), (0,), (1,), (-1,), (b"x",), (bytearray(64),), (None,), ("a",), ([b"x"],), (len,),
        (len, 1), (0, 0), (0, 1), (b"x", b"x"), (0, 0, 0), (1, 2, 3, 4), (other,),
    ]  # fmt: skip


def attempt(name: str, call: Callable[[], object]) -> None:
    """Call; what it raises is fine. The name is left on stdout for the case that it ends us."""
    print(name, flush=True)
    try:
        call()
    except Exception:
        return


def use(cls: type) -> None:
    """Use an object whose ``__init__`` did not run, in every way that the class offers."""
    try:
        made = cls.__new__(cls)
    except TypeError:
        return  # it cannot be had without its arguments
    for name in SPECIAL:
        if hasattr(cls, name):
            attempt(f"{cls}.{name}", lambda name=name: getattr(cls, name)(made))
    attempt(f"{cls}[0]", lambda: made[0])
    attempt(f"{cls} == ", lambda: made == made)  # noqa: PLR0124 (its own __eq__)
    attempt(f"memoryview({cls})", lambda: memoryview(made))
    for name in dir(cls):
        if name.startswith("__"):
            continue
        attempt(f"{cls}.{name}", lambda name=name: getattr(made, name))
        if callable(inspect.getattr_static(cls, name)):
            KEPT.append(arguments(cls.__new__(cls)))
            for given in KEPT[-1]:
                attempt(
                    f"{cls}.{name}{given}",
                    lambda name=name, given=given: getattr(made, name)(*given),
                )
        else:
            attempt(f"{cls}.{name} = 1", lambda name=name: setattr(made, name, 1))
    if hasattr(cls, "__exit__"):
        attempt(f"{cls}.__exit__", lambda: cls.__exit__(made, None, None, None))
    print(f"del {cls}", flush=True)


@pytest.mark.parametrize("wing", WINGS)
def test_native_objects_that_were_not_initialised_can_be_used(wing: str) -> None:
    modules = [name for name in native_modules() if name.split(".")[1] == wing]
    found = subprocess.run(
        [sys.executable, __file__, json.dumps(modules)],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    last = found.stdout.strip().rsplit("\n", 1)[-1]
    assert found.returncode == 0, f"signal {-found.returncode} at {last}\n{found.stderr[-2000:]}"
    assert last == "done"
    assert ("del <class" in found.stdout) == (wing != "catalog"), "objects that were used"


if __name__ == "__main__":
    faulthandler.enable()
    for each in json.loads(sys.argv[1]):
        for found_class in native_classes(each):
            use(found_class)
    print("done")
