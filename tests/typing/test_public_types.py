"""Type checkers see the public surface as the documentation says it."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.timeout(300)


def mypy(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(path)],
        cwd=HERE.parents[1],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_program_has_the_types_that_it_says():
    done = mypy(HERE / "sample_program.py")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_program_is_found_out(tmp_path):
    wrong = tmp_path / "wrong_program.py"
    text = (HERE / "sample_program.py").read_text()
    wrong.write_text(text.replace("add_publication(", "add_publication(1.5, "))
    done = mypy(wrong)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "incompatible type" in done.stdout


@pytest.mark.parametrize(
    "call",
    [
        'offer(b"x")|offer("x")',
        'offer(b"x")|send("x")',
        'offer(b"x")|offer_parts([1])',
        'offer(b"x")|offer_many(["x"])',
    ],
)
def test_what_is_no_buffer_is_found_out(tmp_path, call):
    right, _, wrong = call.partition("|")
    program = tmp_path / "wrong_program.py"
    text = (HERE / "sample_program.py").read_text()
    program.write_text(text.replace(f"publication.{right}", f"publication.{wrong}"))
    done = mypy(program)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Buffer" in done.stdout


def test_the_quickstart_is_strict():
    done = mypy(HERE.parents[1] / "examples" / "quickstart.py")
    assert done.returncode == 0, done.stdout + done.stderr
