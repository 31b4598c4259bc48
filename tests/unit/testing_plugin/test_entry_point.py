"""The pytest plugin is found by its entry point, and gets in nobody's way."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GROUP = "pytest11"
MODULE = "aerolog.testing.pytest_plugin"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder for ``sys.path`` in which a distribution has the project's entry points."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    entries = pyproject["project"]["entry-points"][GROUP]
    info = tmp_path / "site" / "aerolog_under_test-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: aerolog-under-test\nVersion: 1\n")
    lines = [f"[{GROUP}]", *(f"{name} = {module}" for name, module in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return info.parent


def run(folder: Path, installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{ROOT / 'python'}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


USES_FIXTURES = """
def test_a_driver(media_driver_factory, media_driver_dir):
    assert not media_driver_dir.exists()
"""


@pytest.mark.parametrize("conftest", ["", f'pytest_plugins = ["{MODULE}"]\n'])
def test_the_fixtures_are_there_listed_or_not(
    tmp_path: Path, installed: Path, conftest: str
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "conftest.py").write_text(conftest)
    (project / "test_it.py").write_text(USES_FIXTURES)
    done = run(project, installed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_a_project_s_own_fixture_of_the_same_name_counts(tmp_path: Path, installed: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import pytest\n\n@pytest.fixture\ndef media_driver():\n    return 'mine'\n"
    )
    (tmp_path / "test_it.py").write_text(
        "def test_it(media_driver):\n    assert media_driver == 'mine'\n"
    )
    done = run(tmp_path, installed)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_driver_is_not_loaded_for_tests_that_do_not_ask(
    tmp_path: Path, installed: Path
) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n"
        f"    assert {MODULE!r} in sys.modules\n"
        "    assert 'aerolog.transport.driver' not in sys.modules\n"
    )
    done = run(tmp_path, installed)
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_can_be_left_out(tmp_path: Path, installed: Path) -> None:
    (tmp_path / "test_it.py").write_text(USES_FIXTURES)
    done = run(tmp_path, installed, "-p", f"no:{MODULE}")
    assert done.returncode == 1
    assert "fixture 'media_driver_factory' not found" in done.stdout
