"""The constants that a file of native declarations gives names to."""

from pathlib import Path


def native_constants(source: Path) -> dict[str, int]:
    """Constants of a .pxd file by name."""
    found: dict[str, int] = {}
    for line in source.read_text(encoding="ascii").splitlines():
        name, equals, value = line.partition("#")[0].strip().partition(" = ")
        if equals:
            found[name] = sum(
                found[part] if part in found else int(part) for part in value.split(" + ")
            )
    return found
