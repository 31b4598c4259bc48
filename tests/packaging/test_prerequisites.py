"""What a fresh machine lacks is named with the package that has it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SCRIPT = CHECKOUT / "scripts" / "prerequisites"


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A path with nothing but what a shell script needs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "env", "dirname"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


def check(path: str | Path, *parts: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *parts],
        env={**os.environ, "PATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_machine_that_has_all_passes_silently():
    done = check(os.environ["PATH"], "compiler", "python", "java", "maven")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("part", "package"),
    [
        ("compiler", "gcc"),
        ("compiler", "libc6-dev"),
        ("python", "python3"),
        ("java", "openjdk-17-jdk-headless"),
        ("maven", "maven"),
    ],
)
def test_what_is_missing_is_named_with_its_package(bare_path, part, package):
    done = check(bare_path, part)
    assert done.returncode == 1
    assert f"install {package}\n" in done.stderr


def fake(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/usr/bin/env bash\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("broken", "package"), [("venv", "python3-venv"), ("Python.h", "python3-dev")]
)
def test_a_python_without_venv_or_headers_is_found_out(bare_path, broken, package):
    fake(bare_path, "python3", f'[[ "$2" != *{broken}* ]]')
    done = check(bare_path, "python")
    assert done.returncode == 1
    assert f"install {package}\n" in done.stderr


def test_ci_installs_what_the_check_names():
    listed = set((CHECKOUT / ".ci" / "packages").read_text().split())
    assert {"gcc", "libc6-dev", "make", "python3-dev", "python3-venv"} <= listed
    assert {"openjdk-17-jdk-headless", "maven"} <= listed
