"""Compiles the native loops of the benchmarks, which are not part of the package."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

CHECKOUT = Path(__file__).resolve().parent.parent
_TARGET = CHECKOUT / "build" / "benchmarks"
_SETUP = """
from Cython.Build import cythonize
from setuptools import Extension, setup
setup(script_args=["build_ext", "--build-lib", {target!r}, "--build-temp", {target!r}],
      ext_modules=cythonize(
          [Extension({name!r}, [{source!r}], include_dirs=["native"],
                     extra_compile_args=["-std=c11", "-O3", "-g0"])],
          include_path=["python"], build_dir={target!r},
          compiler_directives={{"language_level": 3, "boundscheck": False, "wraparound": False,
                                "cdivision": True, "initializedcheck": False}}))
"""


@cache
def native(name: str) -> ModuleType:
    """The module made of ``benchmarks/<name>.pyx``, compiled when anything it is made of changed.

    Raises:
        RuntimeError: the compiler's words, when it cannot be built.
    """
    source = CHECKOUT / "benchmarks" / f"{name}.pyx"
    built = _TARGET / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    inputs = [
        source,
        *source.parent.glob("*.pxi"),
        *(CHECKOUT / "transport").rglob("*.pxd"),
        *CHECKOUT.glob("native/*.h"),
    ]
    if not built.exists() or built.stat().st_mtime < max(each.stat().st_mtime for each in inputs):
        _compile(name, source)
    spec = importlib.util.spec_from_file_location(name, built)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{built} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _compile(name: str, source: Path) -> None:
    script = _SETUP.format(target=str(_TARGET), name=name, source=os.path.relpath(source, CHECKOUT))
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the loops of the benchmarks do not build:\n{done.stderr[-4000:]}")
