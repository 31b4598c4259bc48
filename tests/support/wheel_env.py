"""An interpreter that has the wheel, what one of its extras needs, and nothing else.

The wheel is made from what git tracks and the extension modules that are built in the checkout;
compiling them once more is the business of the packaging tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import files
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = CHECKOUT / "python" / "aerolog"
PATIENCE_S = 240


def run(*command: str | Path, cwd: Path) -> None:
    """A command that has to succeed; its output is in the error when it does not."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, f"{command} exited {done.returncode}:\n{done.stdout[-4000:]}"


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, for this interpreter."""
    source = folder / "source"
    listed = subprocess.check_output(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CHECKOUT,
        text=True,
    )
    for name in filter(None, listed.split("\0")):
        origin = CHECKOUT / name
        if origin.suffix != ".pyx" and (origin.is_symlink() or origin.exists()):
            target = source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, target, follow_symlinks=False)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    packed = source / "prebuilt.py"
    packed.write_text(SETUP)
    settings = (source / "pyproject.toml").read_text()
    changed = PACKAGE_DATA.sub(r'\1"*.so", ', settings)
    assert changed != settings
    (source / "pyproject.toml").write_text(changed)
    built = 0
    for top, _, names in os.walk(PACKAGE, followlinks=True):
        for name in names:
            if name.endswith(suffix):
                origin = Path(top) / name
                target = source / "python" / "aerolog" / origin.relative_to(PACKAGE)
                shutil.copy2(origin, target)
                built += 1
    assert built, "no extension modules are built in the checkout: make build"
    run(sys.executable, packed, "-q", "bdist_wheel", "-d", folder, cwd=source)
    (wheel,) = folder.glob("*.whl")
    return wheel


# Modules that are built already are data of the package, and the wheel is of this platform.
SETUP = """
from setuptools import Distribution, setup

class Built(Distribution):
    def has_ext_modules(self):
        return True

setup(distclass=Built)
"""
PACKAGE_DATA = re.compile(r'(\[tool\.setuptools\.package-data\]\n"\*" = \[)')


def wheel_python(folder: Path, packages: tuple[str, ...]) -> Path:
    """An interpreter in a new environment.

    Args:
        folder: empty, for the environment and what it is made of.
        packages: distributions of this environment that are to be there too, by links.

    Returns:
        Path of the interpreter.
    """
    wheel = build_wheel(folder)
    home = folder / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=folder)
    site = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    run(
        *(sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"),
        *("--no-compile", "--target", site, wheel),
        cwd=folder,
    )
    for package in packages:
        _link(package, site)
    return home / "bin" / "python"


def _link(package: str, site: Path) -> None:
    """Give another environment what is installed of a distribution here."""
    listed = files(package)
    assert listed, f"{package} is not installed"
    tops = {path.parts[0] for path in listed if path.parts[0] not in {"..", "__pycache__"}}
    for name in tops:
        origin = Path(str(listed[0].locate())).parents[len(listed[0].parts) - 1] / name
        if not (site / name).exists():
            (site / name).symlink_to(origin)
