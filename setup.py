"""Extension modules: one for every .pyx under python/aerolog, found by path.

Everything else about the package is in pyproject.toml. Environment:

AEROLOG_EXT       comma-separated shell patterns of module names; only these are built
AEROLOG_SANITIZE  ``address,undefined``: build with those sanitizers and without optimisation
AEROLOG_COVERAGE  any value: Cython line tracing, for profiling builds only
AEROLOG_OPTIMIZE  0 to 3 (default): the compiler's -O level; 0 is for tests of packaging
AEROLOG_JOBS      modules made at once (default: the number of cores)
"""

import ast
import fnmatch
import multiprocessing
import multiprocessing.connection
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar, TextIO

from Cython.Build import cythonize
from Cython.Build.Dependencies import DependencyTree, create_dependency_tree
from Cython.Compiler import ExprNodes, Nodes, Pipeline
from Cython.Compiler.Errors import CompileError as CythonError
from Cython.Compiler.Main import Context
from Cython.Compiler.Options import CompilationOptions
from Cython.Compiler.StringEncoding import EncodedString
from Cython.Utils import file_generated_by_this_cython
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, ExecError, LinkError

sys.path.insert(0, str(Path(__file__).parent / "scripts"))
from stubs import arguments_of, functions_of

ROOT = Path("python")
C_FOLDER = Path("build/cython")
HEADERS = [str(path) for path in sorted(Path("native").glob("*.h"))]
SHARED = "aerolog._cython_shared"
SANITIZE = os.environ.get("AEROLOG_SANITIZE", "")
PATTERNS = [p for p in os.environ.get("AEROLOG_EXT", "*").split(",") if p]
TRACE = bool(os.environ.get("AEROLOG_COVERAGE"))
OPTIMIZE = os.environ.get("AEROLOG_OPTIMIZE", "3")
JOBS = int(os.environ.get("AEROLOG_JOBS", os.cpu_count() or 1))

COMPILE = ["-std=c11", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Wno-cast-function-type"]
COMPILE += ["-O1", "-g", f"-fsanitize={SANITIZE}"] if SANITIZE else [f"-O{OPTIMIZE}", "-g0"]
FORK = multiprocessing.get_context("fork")
FAILURES = (CythonError, CompileError, ExecError, LinkError)
LINK = [f"-fsanitize={SANITIZE}"] if SANITIZE else []
MACROS = [("CYTHON_TRACE_NOGIL", "1")] if TRACE else []
CYTHON = {
    "include_path": [str(ROOT)],
    "build_dir": str(C_FOLDER),
    "shared_utility_qualified_name": SHARED,
    "compiler_directives": {
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
}


def pyx_files() -> list[Path]:
    """All Cython sources, through the links of python/aerolog (rglob does not follow them)."""
    found = [
        Path(folder) / name
        for folder, _, names in os.walk(ROOT / "aerolog", followlinks=True)
        for name in names
        if name.endswith(".pyx")
    ]
    return sorted(found)


def extension(name: str, source: str) -> Extension:
    """An extension of one source, with what all have in common."""
    return Extension(
        name,
        [source],
        include_dirs=["native"],
        depends=HEADERS,
        define_macros=MACROS,
        extra_compile_args=COMPILE,
        extra_link_args=LINK,
    )


def extensions() -> list[Extension]:
    """One extension a source, named by its path below python/, so that classes know their home.

    What Cython needs in every module (memory views, functions, keywords) is compiled once, in
    a module of its own that comes with any of ours.
    """
    modules = []
    for source in pyx_files():
        name = ".".join(source.relative_to(ROOT).with_suffix("").parts)
        if any(fnmatch.fnmatch(name, pattern) for pattern in PATTERNS):
            modules.append(extension(name, str(source)))
    shared = str(ROOT.joinpath(*SHARED.split(".")).with_suffix(".c"))
    return [extension(SHARED, shared), *modules] if modules else []


def stub_of(source: str) -> Path:
    """The stub beside a source; not each has one."""
    return Path(source).with_suffix(".pyi")


def age_of_types(source: str) -> float:
    """When the stub of a source, or how it is read, was changed last."""
    files = [Path(__file__), stub_of(source)]
    return max(path.stat().st_mtime for path in files if path.exists())


class StubTypes:
    """The types that a stub gives to functions, and the signatures it gives to classes.

    Both are for ``help()`` and editors. Types become annotations of the compiled functions, which
    are texts: Cython derives no types of C from them. Signatures are the first line of a class's
    docstring, from which the interpreter takes them; it allows no types there.
    """

    def __init__(self, stub: Path) -> None:
        """Reads a stub; one that is not there gives no types."""
        self._functions = functions_of(stub)
        self._types: dict[str, str] = {}  # by qualified names, with a dot before what they end in
        for name, function in self._functions.items():
            found = [
                (a.arg, a.annotation) for a in ast.walk(function.args) if isinstance(a, ast.arg)
            ]
            for end, annotation in [*found, ("return", function.returns)]:
                if annotation is not None:
                    self._types[f"{name}.{end}"] = ast.unparse(annotation)

    def annotate(self, node: Any, prefix: str = "") -> None:
        """Gives types to the functions in a node of a parsed module, where they have none."""
        for inner in getattr(node.body, "stats", [node.body]):
            if isinstance(inner, Nodes.CClassDefNode | Nodes.PyClassDefNode):
                name = getattr(inner, "class_name", None) or inner.name
                self.annotate(inner, f"{prefix}{name}.")
                made = self._functions.get(f"{prefix}{name}.__init__")
                if made is not None and isinstance(inner, Nodes.CClassDefNode):
                    arguments = arguments_of(made, is_method=True, has_types=False)
                    inner.doc = EncodedString(f"{name}{arguments}\n--\n\n{inner.doc or ''}")
            elif isinstance(inner, Nodes.DefNode):
                function = f"{prefix}{inner.name}"
                for arg in filter(None, [*inner.args, inner.star_arg, inner.starstar_arg]):
                    arg.annotation = arg.annotation or self._annotation(
                        arg, f"{function}.{self._name(arg)}"
                    )
                inner.return_type_annotation = inner.return_type_annotation or self._annotation(
                    inner, f"{function}.return"
                )

    @staticmethod
    def _name(arg: Any) -> str:
        """The name of an argument, which the parser takes for a type where it stands alone."""
        return getattr(arg, "name", "") or arg.declared_name() or str(arg.base_type.name)

    def _annotation(self, node: Any, name: str) -> Any:
        text = self._types.get(name)
        if text is None:
            return None
        literal = ExprNodes.UnicodeNode(node.pos, value=EncodedString(text))
        annotation = ExprNodes.AnnotationNode(node.pos, ExprNodes.NoneNode(node.pos), literal)
        annotation.untyped = True
        return annotation


def parse_with_types(context: Context) -> Any:
    """The first step of a compilation: what Cython parses, with the types of the stub."""
    parse = PARSER(context)

    def stage(source: Any) -> Any:
        tree = parse(source)
        StubTypes(stub_of(source.source_desc.filename)).annotate(tree)
        return tree

    return stage


PARSER, Pipeline.parse_stage_factory = Pipeline.parse_stage_factory, parse_with_types


class Progress:
    """Modules done, modules in all and the time left, on one line of a terminal.

    Elsewhere it is a line after each quarter of the work.
    """

    def __init__(self, work: list[int]) -> None:
        """Begins.

        Args:
            work: of each module, in any unit.
        """
        self._count, self._all_work = len(work), sum(work)
        self._done = self._done_work = self._quarter = 0
        self._begin = time.monotonic()
        self._terminal = sys.stdout.isatty()

    def say(self, text: str) -> None:
        """Prints in full what compilers said, above the line."""
        if text:
            print(("\r\033[K" if self._terminal else "") + text.rstrip(), flush=True)

    def add(self, work: int) -> None:
        """Tells that a module is done."""
        self._done += 1
        self._done_work += work
        seconds = time.monotonic() - self._begin
        if self._done == self._count:
            line = f"compiled {self._done} of {self._count} modules in {seconds:.0f} s"
        else:
            left = seconds * (self._all_work / self._done_work - 1)
            line = f"compiled {self._done} of {self._count} modules, about {left:.0f} s left"
        quarter = 4 * self._done_work // self._all_work
        if self._terminal:
            end = "\n" if self._done == self._count else ""
            print(f"\r\033[K{line}", end=end, flush=True)
        elif quarter > self._quarter:
            print(line, flush=True)
        self._quarter = quarter


class Build(build_ext):
    """Makes the modules that are out of date, each in one go from its source to its shared file."""

    user_options: ClassVar = [*build_ext.user_options, ("c-only", None, "stop at the C")]
    boolean_options: ClassVar = [*build_ext.boolean_options, "c-only"]

    def initialize_options(self) -> None:
        super().initialize_options()
        self.c_only = False

    def build_extensions(self) -> None:
        """Makes what is stale, the largest first, and ends at the first that fails."""
        tree = create_dependency_tree(
            Context.from_options(CompilationOptions(**CYTHON)), quiet=True
        )
        work = {
            index: 20_000 + (Path(one.sources[0]).stat().st_size if one.name != SHARED else 100_000)
            for index, one in enumerate(self.extensions)
            if self.is_stale(one, tree)
        }
        waiting = sorted(work, key=work.__getitem__)
        progress = Progress(list(work.values()))
        running = {}
        with ExitStack() as files:
            while waiting or running:
                while waiting and len(running) < JOBS:
                    index = waiting.pop()
                    said = files.enter_context(tempfile.TemporaryFile("w+", errors="replace"))
                    # A copy of this process, which has read what depends on what.
                    process = FORK.Process(target=self.make, args=(self.extensions[index], said))
                    process.start()
                    running[process.sentinel] = index, process, said
                for sentinel in multiprocessing.connection.wait(running):
                    index, process, said = running.pop(sentinel)
                    process.join()
                    said.seek(0)
                    progress.say(said.read())
                    if process.exitcode != 0:
                        name = self.extensions[index].name
                        raise CompileError(f"{name} was not built, see above")
                    progress.add(work[index])

    def is_stale(self, module: Extension, tree: DependencyTree) -> bool:
        """Whether a source, what it depends on, or this program is younger than the result."""
        source = module.sources[0]
        c_file = (C_FOLDER / source).with_suffix(".c")
        if self.force or self.c_only or not file_generated_by_this_cython(str(c_file)):
            return True
        ages = [Path(path).stat().st_mtime for path in [c_file, *HEADERS]]
        if module.name != SHARED:
            ages += [tree.newest_dependency(source)[0], age_of_types(source)]
        result = Path(self.get_ext_fullpath(module.name))
        return not result.exists() or result.stat().st_mtime < max(ages)

    def make(self, module: Extension, said: TextIO) -> None:
        """Makes a module in a process of its own, whose compilers print into a file.

        Its C is made where that is out of date, then compiled and linked.
        """
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        try:
            source = module.sources[0]
            c_file = (C_FOLDER / source).with_suffix(".c")
            old = c_file.exists() and c_file.stat().st_mtime < age_of_types(source)
            module.sources = cythonize([module], quiet=True, force=old or None, **CYTHON)[0].sources
            if not self.c_only:
                self.build_extension(module)
        except FAILURES as error:
            sys.exit(str(error))


setup(ext_modules=extensions(), cmdclass={"build_ext": Build})
