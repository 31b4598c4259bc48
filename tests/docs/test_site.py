"""The documentation site: it builds without a warning, needs nobody else, and has every page."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = {path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md")}
NO_NET = """
import socket, sys
def refuse(*args, **options):
    raise OSError(f"the site is built without the net, not with {args}")
socket.socket.connect = socket.getaddrinfo = socket.gethostbyname = refuse
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))
"""
LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("object", "data"),
    ("iframe", "src"),
}
pytestmark = pytest.mark.timeout(600)


class Page(HTMLParser):
    """What a page loads, links to and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: set[str] = set()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if (tag, name) in LOADED:
                self.loads.add(value or "")
            if (tag, name) == ("a", "href"):
                self.links.add(value or "")
            if name == "id":
                self.anchors.add(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as ``make docs`` does, in a process that cannot reach the net."""
    (recipe,) = re.findall(
        r"sphinx-build (.*?) -d \S+ docs build/docs", (ROOT / "Makefile").read_text()
    )
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-c", NO_NET, *recipe.split(), "-d", f"{out}/doctrees", "docs"]
    done = subprocess.run(
        [*command, f"{out}/html"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return out / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_every_document_is_a_page(site: Path) -> None:
    assert len(DOCUMENTS) > 50
    missing = {name for name in DOCUMENTS if not (site / name).with_suffix(".html").exists()}
    assert missing == set()


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    foreign = {url for page in pages.values() for url in page.loads if urlsplit(url).netloc}
    assert foreign == set()
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*[\"']?https?:", text), sheet
    for picture in DOCS.rglob("*.svg"):
        text = picture.read_text(encoding="utf-8")
        assert not re.search(r"(href|src)=\"https?:|url\([\"']?https?:|<script", text), picture


def test_every_link_and_picture_leads_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for url in page.links | page.loads:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            anchor = unquote(parts.fragment)
            lost = known is not None and anchor and anchor not in known.anchors
            if not target.exists() or lost:
                broken.append((path.name, url))
    assert broken == []


def test_the_reference_has_what_programs_begin_with(site: Path) -> None:
    reference = {
        path.stem: Page(path.read_text()).anchors for path in (site / "api").glob("*.html")
    }
    assert {
        "aerolog.transport.client.Aeron.add_publication",
        "aerolog.transport.client.Subscription.poll",
        "aerolog.transport.client.Publication.offer",
    } <= reference["transport-client"]
    assert "aerolog.archive.client.AeronArchive.replay" in reference["archive-client"]
    assert "aerolog.transport.errors.DriverTimeoutError" in reference["errors"]


def test_native_methods_have_the_types_of_their_stubs(site: Path) -> None:
    text = re.sub(r"<[^>]+>", "", (site / "api" / "transport-client.html").read_text())
    assert re.search(r"poll\(\s*handler: Callable\[\[memoryview, Header\], object\]", text)
    assert "poll(self" not in text


def test_commands_and_their_output_look_different(site: Path) -> None:
    sheet = (site / "_static" / "site.css").read_text()
    for page in ("index", "start/ten-minutes"):
        text = (site / page).with_suffix(".html").read_text()
        for kind in ("highlight-sh", "highlight-text"):
            assert re.search(rf'<div class="{kind} ', text)
    rules = dict(re.findall(r"\.content \.(highlight-\w+)[^{}]*\{([^}]*)\}", sheet))
    assert rules["highlight-sh"] != rules["highlight-text"]
