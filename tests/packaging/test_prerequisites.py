"""What a machine lacks is installed where that is allowed, and named elsewhere."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
UNSET = ("AEROLOG_INSTALL", "JAVA_HOME")
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


def fake(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/usr/bin/env bash\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def debian(bare_path: Path) -> Path:
    """The same with an apt-get that notes how it is called and brings fish and zsh."""
    fake(
        bare_path,
        "apt-get",
        f'echo "$DEBIAN_FRONTEND $*" >> {bare_path}/calls\n'
        f'for name in "$@"; do case $name in fish | zsh)\n'
        f'  printf "#!/bin/sh\\n" > {bare_path}/$name; printf "" > {bare_path}/done\n'
        f"  [ -x {bare_path}/$name ] || {shutil.which('chmod')} +x {bare_path}/$name\n"
        f"esac; done",
    )
    fake(bare_path, "apt-cache", '[[ "$1 $2" == "show default-jdk-headless" ]]')
    fake(bare_path, "id", "echo 0")
    return bare_path


def calls(folder: Path) -> list[str]:
    """How apt-get was called."""
    noted = folder / "calls"
    return noted.read_text().splitlines() if noted.exists() else []


def check(path: str | Path, *parts: str, **more: str) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if name not in UNSET}
    return subprocess.run(
        [SCRIPT, *parts],
        env={**environ, "PATH": str(path), **more},
        capture_output=True,
        text=True,
        check=False,
    )


def keep_only(folder: Path, *names: str) -> None:
    """Everything of .ci/packages is found, but for these."""
    programs = {
        "java_compiler": "java",
        "postgresql_server": "initdb",
        "libclang_library": "llvm-config",
    }
    for words in rows():
        if words[0] not in names:
            fake(folder, programs.get(words[2], words[2]), "")
    fake(folder, "cargo", "echo cargo 1.85.0")
    fake(folder, "python3", "")
    fake(folder, "cc", "")
    fake(folder, "javac", "")


def rows() -> list[list[str]]:
    """Package, parts, how it is found and what it is."""
    lines = (CHECKOUT / ".ci" / "packages").read_text().splitlines()
    return [line.split(None, 3) for line in lines if not line.startswith("#")]


def test_a_machine_that_has_all_passes_silently():
    done = check(os.environ["PATH"], "build", "bench")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("part", "package"),
    [
        ("build", "gcc"),
        ("build", "libc6-dev"),
        ("build", "python3"),
        ("demo", "openjdk-17-jdk-headless"),
        ("bench", "maven"),
    ],
)
def test_what_is_missing_is_named_with_its_package(bare_path, part, package):
    done = check(bare_path, part)
    assert done.returncode == 1
    assert package in done.stderr.rstrip(")\n").partition("packages: ")[2].split()


@pytest.mark.parametrize(
    ("broken", "package"), [("venv", "python3-venv"), ("Python.h", "python3-dev")]
)
def test_a_python_without_venv_or_headers_is_found_out(bare_path, broken, package):
    fake(bare_path, "python3", f'[[ "$2" != *{broken}* ]]')
    done = check(bare_path, "build")
    assert done.returncode == 1
    assert done.stderr.endswith(f"(Debian's packages: make gcc libc6-dev {package})\n")


def test_ci_installs_what_the_check_names():
    listed = {words[0].split("|")[0] for words in rows()}
    assert {"gcc", "libc6-dev", "make", "python3-dev", "python3-venv"} <= listed
    assert {"openjdk-17-jdk-headless", "maven"} <= listed
    assert "scripts/prerequisites build test" in (CHECKOUT / ".ci" / "run").read_text()


@pytest.mark.parametrize("words", rows(), ids=lambda words: words[0])
def test_each_package_has_known_parts_and_is_looked_for(words, bare_path):
    assert len(words) == 4
    assert set(words[1].split(",")) <= {"build", "demo", "demo-udp", "bench", "test"}
    if "_" in words[2]:
        assert f"\n{words[2]}() " in SCRIPT.read_text()
    else:
        part = words[1].split(",")[0]
        assert words[0] in check(bare_path, "--list", part).stdout.split()


def test_where_nothing_may_be_installed_one_line_names_all(debian):
    done = check(debian, "build", "test", AEROLOG_INSTALL="no")
    assert done.returncode == 1
    assert calls(debian) == []
    (line,) = done.stderr.splitlines()
    named = line.partition("apt-get install ")[2].split()
    assert {"gcc", "python3-venv", "maven", "zsh", "groff-base"} <= set(named)
    assert done.stdout == ""


def test_without_apt_get_what_is_missing_is_named(bare_path):
    done = check(bare_path, "build", "demo")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "lacks make, a C compiler, " in line
    assert "a Java development kit" in line
    assert "apt-get" not in line


def test_tests_and_the_lossy_demo_do_without(bare_path):
    keep_only(bare_path, "maven", "iproute2")
    for part, name in (("test", "Maven"), ("demo-udp", "ip (of iproute2)")):
        done = check(bare_path, "build", part)
        assert done.returncode == 0, done.stderr
        assert name in done.stderr
    assert check(bare_path, "build", "bench").returncode == 1


def test_root_installs_what_is_missing_after_a_line_that_names_it(debian):
    keep_only(debian, "zsh", "fish")
    done = check(debian, "build", "test")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith(": zsh fish")
    assert calls(debian) == [
        "noninteractive -q update",
        "noninteractive -q install -y --no-install-recommends zsh fish",
    ]
    assert done.stderr == ""


def test_a_sudo_that_asks_nothing_is_used(debian):
    keep_only(debian, "fish")
    fake(debian, "id", "echo 1000")
    fake(debian, "sudo", f'[[ "$1" == -n ]] && shift && echo "sudo $*" >> {debian}/calls && "$@"')
    fake(debian, "true", "")
    done = check(debian, "test")
    assert done.returncode == 0, done.stderr
    assert calls(debian)[-1].endswith("install -y --no-install-recommends fish")
    assert calls(debian)[1].startswith("sudo env DEBIAN_FRONTEND=noninteractive apt-get")


def test_a_sudo_that_asks_is_left_alone(debian):
    keep_only(debian, "gcc", "fish")
    (debian / "cc").unlink()
    fake(debian, "id", "echo 1000")
    fake(debian, "sudo", "exit 1")
    done = check(debian, "build", "test")
    assert done.returncode == 1
    wanted = "gcc libc6-dev fish libbsd-dev uuid-dev"  # headers are not found without a compiler
    assert f"apt-get install --no-install-recommends {wanted}\n" in done.stderr
    assert calls(debian) == []


def test_an_installation_that_fails_is_told_with_what_is_still_missing(debian):
    keep_only(debian, "fish", "maven")
    done = check(debian, "bench", "test")
    assert done.returncode == 1
    assert done.stderr.endswith("apt-get install --no-install-recommends maven\n")


def test_the_first_name_that_the_release_has_is_taken(debian):
    (words,) = [words for words in rows() if "|" in words[0] and "demo" in words[1]]
    assert words[0].split("|")[1] == "default-jdk-headless"
    assert check(debian, "--list", "demo").stdout == "default-jdk-headless\n"


def test_a_part_that_is_not_there_is_refused(bare_path):
    done = check(bare_path, "build", "tests")
    assert (done.returncode, done.stderr) == (2, "prerequisites: unknown part tests\n")


@pytest.mark.parametrize(
    ("goals", "parts"),
    [
        (["build"], "build"),
        (["demo"], "build demo"),
        (["test"], "build test"),
        (["test-long"], "build test"),
        (["demo", "test"], "build demo test"),
    ],
)
def test_make_asks_once_for_what_its_goals_need(goals, parts):
    shown = subprocess.run(
        ["make", "-n", *goals], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout
    asked = [line for line in shown.splitlines() if line.startswith("scripts/prerequisites")]
    assert asked == [f"scripts/prerequisites {parts}"]
