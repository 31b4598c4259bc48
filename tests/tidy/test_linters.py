"""Formatter, linters, type checkers and the layer contracts, each as a test."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
ALLOWLIST = Path(__file__).parent / "stubtest_allowlist.txt"
TYPED = (
    "aerolog.transport",
    "aerolog.archive",
    "aerolog.cluster",
    "aerolog.catalog",
    "aerolog.tools",
)
pytestmark = pytest.mark.timeout(300)


def run(checkout: Path, program: str, *args: str) -> None:
    command = shutil.which(program, path=BIN) or shutil.which(program)
    assert command is not None, f"{program} is not installed"
    done = subprocess.run(
        [command, *args],
        cwd=checkout,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, f"{program} {' '.join(args)[:200]}\n{done.stdout[-8000:]}"


def native_modules(tracked: list[Path], checkout: Path) -> list[str]:
    """The package's own; benchmarks build theirs when they run."""
    names = [path.relative_to(checkout).with_suffix("") for path in tracked if is_shipped(path)]
    return sorted(
        ".".join(name.parts[1:] if name.parts[0] == "python" else ("aerolog", *name.parts))
        for name in names
    )


def is_shipped(path: Path) -> bool:
    return path.suffix == ".pyx" and "benchmarks" not in path.parts


def test_ruff_finds_nothing(checkout):
    run(checkout, "ruff", "check", ".")


def test_python_is_formatted(checkout):
    run(checkout, "ruff", "format", "--check", ".")


def test_types_are_strict(checkout):
    packages = [part for name in TYPED for part in ("-p", name)]
    run(checkout, "mypy", *packages, "-p", "aerolog.testing")


def test_stubs_say_what_the_native_modules_do(checkout, tracked):
    modules = native_modules(tracked, checkout)
    for name in modules:  # stubtest passes silently over what it cannot import
        importlib.import_module(name)
    options = ["--mypy-config-file", "pyproject.toml", "--allowlist", str(ALLOWLIST)]
    options += ["--ignore-disjoint-bases", "--concise"]
    run(checkout, "stubtest", *modules, *options, "--ignore-unused-allowlist")


def test_cython_is_clean(checkout, tracked):
    sources = [path for path in tracked if path.suffix in {".pyx", ".pxd"}]
    run(checkout, "cython-lint", *(str(path.relative_to(checkout)) for path in sources))


def test_layers_hold(checkout):
    run(checkout, "lint-imports")
