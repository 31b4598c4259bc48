"""The tables of folders in docs/architecture.md are the tree as it stands."""

import re
from pathlib import Path, PurePosixPath

from product import WINGS

DEPTH = 3  # a wing, and two levels below it
ROW = re.compile(r"^\| (?P<names>`[^|]*) \|", re.MULTILINE)
NAME = re.compile(r"`([\w./]+)`")


def sections(page: str) -> dict[str, str]:
    """What stands under "Inside `FOLDER/`", by that folder; "" has the table of the whole."""
    first, *others = re.split(r"^Inside `([\w/]+)/`", page, flags=re.MULTILINE)
    return {"": first, **dict(zip(others[::2], others[1::2], strict=True))}


def named(page: str) -> set[str]:
    """Files and folders in the first columns of the tables, as paths from the checkout."""
    return {
        str(PurePosixPath(folder, name))
        for folder, text in sections(page[: page.index("## Control in Python")]).items()
        for row in ROW.finditer(text)
        for name in NAME.findall(row["names"])
    }


def package_folders(checkout: Path, tracked: list[Path]) -> set[str]:
    inits = (path.relative_to(checkout) for path in tracked if path.name == "__init__.py")
    return {
        folder.as_posix()
        for folder in (init.parent for init in inits)
        if folder.parts[0] in WINGS and 1 < len(folder.parts) <= DEPTH
    }


def test_every_folder_of_a_wing_is_in_a_table(checkout: Path, tracked: list[Path]):
    page = (checkout / "docs" / "architecture.md").read_text()
    assert sorted(package_folders(checkout, tracked) - named(page)) == []


def test_what_a_table_names_is_there(checkout: Path):
    names = named((checkout / "docs" / "architecture.md").read_text())
    assert len(names) > 60
    assert [name for name in sorted(names) if not (checkout / name).exists()] == []


def test_folders_are_read_from_their_tables():
    page = "| `a/`, `b.py` | is |\nInside `a/`:\n| `c/` | `d` |\n## Control in Python\n| `e/` | |"
    assert named(page) == {"a", "b.py", "a/c"}
