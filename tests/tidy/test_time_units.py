"""How many nanoseconds a unit of time has stands in ``transport/time_units.py`` alone."""

import re
from pathlib import Path

from product import WINGS

from aerolog.transport import time_units

PRODUCT = {*WINGS, "python"}
TABLE = "transport/time_units.py"
#: 1e9 and its forms mean nothing else here; a million is one of time where the line speaks of it.
BILLION = re.compile(r"(?<![\w.])(?:1_000_000_000|1000000000|1e9)(?![\w.])")
MILLION = re.compile(r"(?<![\w.])(?:1_000_000|1000000|1e6)(?![\w.])")
OF_TIME = re.compile(r"_ns\b|_NS\b|\bns\b|NS_PER|\b_?MS\b|_ms\b|\"ms\"|MILLIS")


def own_units(text: str) -> list[int]:
    """The numbers of lines that say how long a second or a millisecond is."""
    return [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if BILLION.search(line) or (MILLION.search(line) and OF_TIME.search(line))
    ]


def test_units_of_time_stand_in_one_table(checkout: Path, tracked: list[Path]):
    found = [
        f"{name}:{number}"
        for path in tracked
        if path.suffix == ".py"
        for name in [path.relative_to(checkout).as_posix()]
        if name.split("/")[0] in PRODUCT and name != TABLE
        for number in own_units(path.read_text())
    ]
    assert not found, f"import them from {TABLE}: {found}"


def test_native_code_has_the_same_units(checkout: Path):
    text = (checkout / TABLE).with_suffix(".pxd").read_text()
    native = {
        name: int(number)
        for name, number in re.findall(r"^    (\w+) = ([\d_]+)$", text, re.MULTILINE)
    }
    units = {name: value for name, value in vars(time_units).items() if name.startswith("NS_PER_")}
    assert native == units


def test_a_unit_is_found_in_each_of_its_forms():
    text = "A_NS = 1_000_000\nB = x / 1e9\nC = 1000000000\nD = t_ms * 1e6\n"
    text += "ROWS = 1_000_000\nE = 21e9\n"
    assert own_units(text) == [1, 2, 3, 4]
