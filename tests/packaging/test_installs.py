"""The other ways to install: editable, from the source distribution, on other interpreters."""

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from prerequisites import skip_without

CHECKOUT = Path(__file__).resolve().parents[2]
OTHERS = ("3.12", "3.13")
SMOKE = ("tests/unit/memory", "tests/unit/logbuffer", "tests/unit/concurrent", "tests/unit/config")
pytestmark = pytest.mark.timeout(600)


def test_the_source_distribution_holds_what_a_build_needs(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    tracked = subprocess.check_output(
        ["git", "ls-files", "*.pyx", "*.pxd", "*.pyi", "native/*.h"], cwd=CHECKOUT, text=True
    )
    for name in tracked.split():
        if not name.startswith("benchmarks/"):
            inside = name if name.startswith(("native/", "python/")) else f"python/aerolog/{name}"
            assert inside in names, f"{inside} is not in the source distribution"
    assert not [name for name in names if name.endswith((".so", ".c"))]


def test_an_editable_install_runs_from_the_checkout(source, call, tmp_path, monkeypatch):
    monkeypatch.setenv("AEROLOG_EXT", "aerolog.transport.concurrent.*")  # the wheel's are all
    call(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    call(python, "-m", "pip", "install", "-q", "-e", source)
    where = call(
        python,
        "-c",
        "import aerolog.transport.concurrent.clock as c; print(c.__file__, c.Clock.__module__)",
        cwd=tmp_path,
    ).split()
    assert Path(where[0]).resolve().is_relative_to(source.resolve())
    assert where[1] == "aerolog.transport.concurrent.clock"
    site = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    added = {path.name for path in site.iterdir()} - {"pip", "setuptools", "pkg_resources"}
    ours = {name for name in added if not name.startswith(("pip-", "setuptools-", "_distutils"))}
    assert all("aerolog" in name for name in ours - {"distutils-precedence.pth"}), ours


@pytest.mark.parametrize("version", OTHERS)
def test_the_wheel_builds_and_works_on_another_python(
    version, source, call, wheels, tmp_path, monkeypatch
):
    monkeypatch.setenv("AEROLOG_OPTIMIZE", "0")
    python = wheels.find_python(version)
    if python is None:
        skip_without(f"no Python {version} on this machine")
    wheel = wheels.build_wheel(python, source, tmp_path)
    runner = ("pytest", "pytest-timeout", "pytest-asyncio", "hypothesis")
    inside = wheels.make_environment(python, tmp_path / "venv", wheel, *runner)
    tests = [path for path in SMOKE if (CHECKOUT / path).is_dir()]
    output = call(inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, cwd=CHECKOUT)
    assert " passed" in output


def test_pythons_that_are_not_there_are_named(wheels, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(wheels, "find_python", lambda version: None)
    monkeypatch.setattr(wheels, "copy_source", lambda copy: None)
    assert wheels.main(tmp_path / "dist") == 1
    assert capsys.readouterr().out.splitlines() == [
        f"CPython 3.{minor}: not found, no wheel was built or tested" for minor in range(11, 15)
    ]
