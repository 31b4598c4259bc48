"""What the wheel holds and how it behaves in an environment with nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
FOLDERS = ("transport", "archive", "cluster", "catalog", "tools")
pytestmark = pytest.mark.timeout(600)


def run_bare(python: Path, *args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, *args],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def evaluate(python: Path, expression: str, cwd: Path) -> str:
    done = run_bare(python, "-c", f"print({expression})", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def names(wheel: Path) -> list[str]:
    return zipfile.ZipFile(wheel).namelist()


def test_the_wheel_holds_one_package(names):
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"aerolog"}


def test_the_wheel_ships_stubs_declarations_and_the_typing_mark(names):
    assert "aerolog/py.typed" in names
    assert "aerolog/tools/wireshark/dissector.lua" in names
    assert "aerolog/tools/metrics/grafana-dashboard.json" in names
    for folder in FOLDERS:
        for suffix in ("*.pyi", "*.pxd"):
            for source in (CHECKOUT / folder).rglob(suffix):
                assert f"aerolog/{source.relative_to(CHECKOUT)}" in names


def test_every_module_is_in_the_wheel_with_the_migrations_of_the_catalog(names):
    tracked = subprocess.check_output(["git", "ls-files", *FOLDERS], cwd=CHECKOUT, text=True)
    modules = {f"aerolog/{name}" for name in tracked.split() if name.endswith(".py")}
    assert "aerolog/catalog/index/migrations/versions/r0001_recordings.py" in modules
    assert modules <= set(names)


def test_the_wheel_ships_no_native_sources(names):
    assert not [name for name in names if name.endswith((".pyx", ".c"))]


def test_every_extension_is_in_the_wheel(names):
    tracked = subprocess.check_output(["git", "ls-files", "*.pyx"], cwd=CHECKOUT, text=True)
    shared = {name.split(".")[0] for name in names if name.endswith(".so")}
    sources = {name.removeprefix("python/aerolog/") for name in tracked.split()}
    modules = {name.removesuffix(".pyx") for name in sources if not name.startswith("benchmarks/")}
    assert shared == {f"aerolog/{name}" for name in modules | {"_cython_shared"}}


def test_nothing_of_the_checkout_is_importable_by_its_folder_name(bare_python, tmp_path):
    found = evaluate(
        bare_python,
        f"[n for n in {(*FOLDERS, 'tests', 'native')!r} if __import__('importlib.util')"
        ".util.find_spec(n) is not None]",
        tmp_path,
    )
    assert found == "[]"


def test_classes_know_their_qualified_home(bare_python, tmp_path):
    home = evaluate(
        bare_python,
        "__import__('aerolog.transport.concurrent.clock', fromlist=['x']).Clock.__module__",
        tmp_path,
    )
    assert home == "aerolog.transport.concurrent.clock"


def test_transport_and_archive_import_nothing_but_the_standard_library(bare_python, tmp_path):
    script = """
import importlib, pkgutil, sys
for name in ("aerolog.transport", "aerolog.archive", "aerolog.cluster"):
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
foreign = {n.split(".")[0] for n in sys.modules} - set(sys.stdlib_module_names)
internal = ("__", "cython_runtime", "_cython", "_distutils")
foreign = {n for n in foreign if not n.startswith(internal)}
print(sorted(foreign))
"""
    done = run_bare(bare_python, "-c", script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['aerolog']"


def test_without_the_extra_the_command_names_it_and_exits_2(bare_python, tmp_path):
    for command in (["driver"], ["recordings", "list"], ["export", "1", "--to", "x"], ["--help"]):
        done = run_bare(bare_python.parent / "aerolog", *command, cwd=tmp_path)
        assert done.returncode == 2, (command, done)
        assert "aerolog[cli]" in done.stderr
        assert "Traceback" not in done.stderr


def test_the_driver_runs_without_extras(bare_python, tmp_path):
    folder = tmp_path / "aeron"
    driver = subprocess.Popen(
        [bare_python, "-m", "aerolog.transport.driver", f"-Daeron.dir={folder}"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert driver.stdout is not None
    ready = driver.stdout.readline()
    driver.terminate()
    _, errors = driver.communicate(timeout=20)
    assert ready.strip(), errors
    assert driver.returncode == 0
    assert errors == ""


def test_a_wheel_gets_tags_and_runs_alone_without_a_compiler(wheel, wheels, tmp_path):
    tagged = wheels.tag_wheel(wheel, tmp_path)
    assert "-manylinux" in tagged.name
    said = wheels.try_wheel(sys.executable, tagged, tmp_path)
    assert said == "recording 0: 1000 messages, last b'message 999'\n"
