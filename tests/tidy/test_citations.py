"""Every citation of the specification has one form and names a section that exists.

The form is `spec PAGE N` or `spec PAGE N.M`; more sections of the page follow with commas, "and" or
"to". `N.M` is a heading of docs/spec/PAGE.md, or a row of section N where that has no headings.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SUFFIXES = {".py", ".pyx", ".pxd", ".pyi", ".h", ".c", ".java", ".lua", ".sql", ".sh", ".md", ""}
HEADING = re.compile(r"#{2,3} (\d+(?:\.\d+)?)\.? ")
ROW = re.compile(r"(?:\| )?(\d+)(?:\.| \|) ")
SPACE = r"(?: +| *\n[ \t]*(?:#:?|//|\*)?[ \t]*)"  # a line of a comment goes on in the next one
NUMBER = r"\d+(?:\.\d+)?(?![\w.]*\w)"
MORE = rf"(?:[,;]{SPACE}(?:and{SPACE})?|{SPACE}(?:and|to){SPACE}){NUMBER}"


def sections(page: Path) -> set[str]:
    """Numbers that may be cited: headings, and rows of sections without headings of their own."""
    headings: set[str] = set()
    rows: set[str] = set()
    section = ""
    for line in page.read_text().splitlines():
        if heading := HEADING.match(line):
            section = heading[1]
            headings.add(section)
        elif section and "." not in section and (row := ROW.match(line)):
            rows.add(f"{section}.{row[1]}")
    divided = {name.split(".")[0] for name in headings if "." in name}
    return headings | {row for row in rows if row.split(".")[0] not in divided}


@pytest.fixture(scope="module")
def specification(checkout: Path) -> dict[str, set[str]]:
    pages = sorted((checkout / "docs" / "spec").glob("*.md"))
    return {page.stem: sections(page) for page in pages if page.stem != "index"}


@pytest.fixture(scope="module")
def texts(checkout: Path, tracked: list[Path]) -> list[tuple[Path, str]]:
    """What may cite; the figures of tests (golden, screens) are programs' output."""
    return [
        (path.relative_to(checkout), path.read_text(errors="replace"))
        for path in tracked
        if path.suffix in SUFFIXES and path != Path(__file__) and path.stat().st_size < 1 << 20
    ]


def any_page(specification: dict[str, set[str]]) -> str:
    return "|".join(sorted(specification, key=len, reverse=True))


def found(pattern: str, texts: list[tuple[Path, str]]) -> Iterator[tuple[str, re.Match[str]]]:
    """Matches with their places."""
    compiled = re.compile(pattern)
    for path, text in texts:
        for match in compiled.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}", match


def test_every_citation_names_a_section_that_exists(specification, texts):
    cited = rf"\b[Ss]pec ({any_page(specification)}) ({NUMBER}(?:{MORE})*)"
    citations = list(found(cited, texts))
    missing = [
        f"{place}: spec {match[1]} {section}"
        for place, match in citations
        for section in re.findall(NUMBER, match[2])
        if section not in specification[match[1]]
    ]
    assert not missing, "\n".join(missing)
    assert len(citations) > 250


def test_citations_have_no_other_form(specification, texts):
    page = any_page(specification)
    hyphenated = "|".join(name for name in specification if "-" in name)
    forms = (
        rf"\b(?![Ss]pec (?:{page}) \d)[Ss]pecs?{SPACE}(?:(?:{page})\b|sections?\b|\d)",
        rf"(?<![Ss]pec )(?<![\w`/-])(?:{hyphenated})(?:\.md)?`?,?{SPACE}(?:sections?{SPACE})?\d",
        rf"[Ss]pecs? (?!(?:{page})\b)[a-z]+(?:-[a-z]+)* \d|\([Ss]pecs? (?!(?:{page}) \d)\w",
        rf"(?:\(|\d[,;]{SPACE}(?:and{SPACE})?)(?:{page})(?:\.md)? {NUMBER}[),;]",
    )
    wrong = [f"{place}: {match[0]!r}" for place, match in found("|".join(forms), texts)]
    assert not wrong, "\n".join(wrong)


def test_code_cites_no_section_without_its_page(texts):
    code = [(path, text) for path, text in texts if path.suffix != ".md"]
    wrong = [f"{place}: {match[0]!r}" for place, match in found(r"\bsections? \d", code)]
    assert not wrong, "\n".join(wrong)


def test_pages_refer_to_sections_of_their_own(specification, texts):
    pages = [(path, text) for path, text in texts if path.parent.parts == ("docs", "spec")]
    missing = [
        f"{place}: section {section}"
        for place, match in found(rf"\b[Ss]ections?{SPACE}({NUMBER}(?:{MORE})*)", pages)
        for section in re.findall(NUMBER, match[1])
        if section not in specification[Path(place.split(":")[0]).stem]
    ]
    assert not missing, "\n".join(missing)
