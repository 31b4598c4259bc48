"""What answers without any extra, and what `import aerolog` offers."""

import subprocess
import sys

import pytest

import aerolog

WITHOUT = "import sys; sys.modules['typer'] = sys.modules['rich'] = None; "


@pytest.mark.parametrize("module", ["aerolog", "aerolog.tools.main"])
def test_the_version_needs_no_extra(module: str) -> None:
    program = WITHOUT + (
        "import importlib.util as u; find = u.find_spec;"
        "u.find_spec = lambda n, *a: None if n in ('typer', 'rich') else find(n, *a);"
        "import runpy; sys.argv[1:] = ['--version'];"
        f"runpy.run_module('{module}', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"aerolog {aerolog.__version__}\n"), done.stderr


def test_the_first_names_are_loaded_when_they_are_used() -> None:
    program = (
        "import sys, aerolog; assert not any(n.startswith('aerolog.tr') for n in sys.modules);"
        "assert aerolog.Aeron is __import__('aerolog.transport.client').transport.client.Aeron;"
        "print(*sorted(n for n in dir(aerolog) if n in aerolog.__all__))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == sorted(aerolog.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Aerom'"):
        aerolog.Aerom  # noqa: B018
