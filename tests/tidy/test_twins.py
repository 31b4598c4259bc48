"""One idea has one piece of code: no run of statements of the product stands in two places."""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from product import WINGS, without_docstrings

RUN = 8  # logical lines: what stands in brackets over several lines is one
PRODUCT = {*WINGS, "python"}
IMPORT = re.compile(r"(from\s+\S+\s+)?c?import\b")
SLIGHT = {"pass", "...", "try:", "else:", "finally:", "return", "continue", "break"}


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Statements with the number of their first line, white space and comments folded."""
    text = without_docstrings(text)
    depth = 0
    parts: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        bare = re.sub(r"\s+#.*|^#.*", "", line).strip()
        if not bare:
            continue
        if not parts:
            first = number
        parts.append(bare)
        plain = re.sub(r"\"[^\"]*\"|'[^']*'", "", bare)
        depth += sum(plain.count(sign) for sign in "([{") - sum(plain.count(sign) for sign in ")]}")
        if depth <= 0 and not bare.endswith("\\"):
            depth = 0
            whole = re.sub(r",? (?=[)\]}])|(?<=[(\[{]) ", "", " ".join(parts))
            parts = []
            if whole not in SLIGHT and not IMPORT.match(whole):
                yield first, whole


def twins(files: list[Path]) -> dict[tuple[Path, Path], tuple[int, int]]:
    """Pairs of files that share a run, with the line where it begins in each."""
    runs: defaultdict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path in files:
        found = list(logical_lines(path.read_text()))
        for start in range(len(found) - RUN + 1):
            run = found[start : start + RUN]
            runs[tuple(text for _, text in run)].append((path, run[0][0]))
    pairs: dict[tuple[Path, Path], tuple[int, int]] = {}
    for places in runs.values():
        for (one, line), (other, other_line) in pairwise(places):
            # A .pxd says again what its .pyx defines.
            if one == other or one.with_suffix("") != other.with_suffix(""):
                pairs.setdefault((one, other), (line, other_line))
    return pairs


def test_a_run_of_statements_stands_in_one_place(checkout, tracked):
    product = [
        path
        for path in tracked
        if path.suffix in {".py", ".pyx", ".pxd"}
        if path.relative_to(checkout).parts[0] in PRODUCT and "migrations" not in path.parts
    ]
    found = {
        f"{one.relative_to(checkout)} ~ {other.relative_to(checkout)}": lines
        for (one, other), lines in twins(product).items()
    }
    new = [f"{pair} at lines {found[pair]}" for pair in sorted(found)]
    assert not new, "the same statements twice:\n" + "\n".join(new)


def test_a_twin_is_found_whatever_its_layout(tmp_path):
    statements = [f"value_{number} = call({number}, name)" for number in range(RUN)]
    one = tmp_path / "one.py"
    one.write_text('"""One."""\n' + "\n".join(statements) + "\n")
    other = tmp_path / "other.py"
    spread = [text.replace("(", "(\n    ").replace(")", ",\n)  # why") for text in statements]
    other.write_text("import os\n\n" + "\n\n".join(spread) + "\n")
    assert twins([one, other]) == {(one, other): (2, 3)}
    other.write_text("\n".join(spread[1:]) + "\n")
    assert twins([one, other]) == {}
