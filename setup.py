"""Extension modules: one for every .pyx under python/aerolog, found by path.

Everything else about the package is in pyproject.toml. Environment:

AEROLOG_EXT       comma-separated shell patterns of module names; only these are built
AEROLOG_SANITIZE  ``address,undefined``: build with those sanitizers and without optimisation
AEROLOG_COVERAGE  any value: Cython line tracing, for profiling builds only
AEROLOG_OPTIMIZE  0 to 3 (default): the compiler's -O level; 0 is for tests of packaging
AEROLOG_JOBS      modules compiled at once (default: the number of cores)
"""

import fnmatch
import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

ROOT = Path("python")
HEADERS = [str(path) for path in sorted(Path("native").glob("*.h"))]
SANITIZE = os.environ.get("AEROLOG_SANITIZE", "")
PATTERNS = [p for p in os.environ.get("AEROLOG_EXT", "*").split(",") if p]
TRACE = bool(os.environ.get("AEROLOG_COVERAGE"))
OPTIMIZE = os.environ.get("AEROLOG_OPTIMIZE", "3")
JOBS = int(os.environ.get("AEROLOG_JOBS", os.cpu_count() or 1))

COMPILE = ["-std=c11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-cast-function-type"]
COMPILE += ["-O1", "-g", f"-fsanitize={SANITIZE}"] if SANITIZE else [f"-O{OPTIMIZE}", "-g0"]
LINK = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
MACROS = [("CYTHON_TRACE_NOGIL", "1")] if TRACE else []


def pyx_files() -> list[Path]:
    """All Cython sources, through the links of python/aerolog (rglob does not follow them)."""
    found = [
        Path(folder) / name
        for folder, _, names in os.walk(ROOT / "aerolog", followlinks=True)
        for name in names
        if name.endswith(".pyx")
    ]
    return sorted(found)


def extensions() -> list[Extension]:
    """One extension a source, named by its path below python/, so that classes know their home."""
    modules = []
    for source in pyx_files():
        name = ".".join(source.relative_to(ROOT).with_suffix("").parts)
        if any(fnmatch.fnmatch(name, pattern) for pattern in PATTERNS):
            modules.append(
                Extension(
                    name,
                    [str(source)],
                    include_dirs=["native"],
                    depends=HEADERS,
                    define_macros=MACROS,
                    extra_compile_args=COMPILE,
                    extra_link_args=LINK,
                )
            )
    return modules


setup(
    options={"build_ext": {"parallel": JOBS}},
    ext_modules=cythonize(
        extensions(),
        include_path=[str(ROOT)],
        build_dir="build/cython",
        nthreads=JOBS if JOBS > 1 else 0,
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "binding": True,
            "embedsignature": True,
            "embedsignature.format": "python",
            "linetrace": TRACE,
        },
    ),
)
