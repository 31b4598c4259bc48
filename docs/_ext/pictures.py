# ruff: noqa: INP001 - a program beside the pages
"""Draws the pictures of docs/concepts: boxes, arrows and words, as SVG.

Usage: python docs/_ext/pictures.py    writes them; a test holds the files to what this makes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CONCEPTS = Path(__file__).resolve().parents[1] / "concepts"
INK, PALE = "#1f2933", "#52606d"
FILLS = {
    "program": "#e3f2fd",
    "driver": "#fff3cd",
    "log": "#e6f4ea",
    "file": "#f3e8fd",
    "plain": "#ffffff",
    "empty": "#f1f3f5",
    "hot": "#fde2e1",
}
STYLE = (
    "text{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:13px;fill:" + INK + "}"
    ".s{font-size:11px;fill:" + PALE + "}.b{font-weight:600}"
    ".box{stroke:#7b8794;stroke-width:1.2}"
    ".line{stroke:" + PALE + ";stroke-width:1.5;fill:none}.dash{stroke-dasharray:5 4}"
)


class Picture:
    """An SVG that grows part by part; positions in pixels from the top left."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts = [
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                f'width="{width}" height="{height}" role="img">'
            ),
            f"<title>{escape(title)}</title><style>{STYLE}</style>",
            (
                '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
                'markerHeight="7" orient="auto-start-reverse">'
                f'<path d="M0 0 8 4 0 8z" fill="{PALE}"/></marker></defs>'
            ),
            f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
        ]

    def text(self, x: int, y: int, words: str, kind: str = "", anchor: str = "middle") -> None:
        """A line of words; ``kind`` is "s" for small and pale, "b" for bold."""
        look = f' class="{kind}"' if kind else ""
        self._parts.append(
            f'<text x="{x}" y="{y}" text-anchor="{anchor}"{look}>{escape(words)}</text>'
        )

    def box(self, x: int, y: int, w: int, h: int, words: str | Sequence[str], fill: str) -> None:
        """A box with a line of words, or with a bold one and small ones under it."""
        self._parts.append(
            f'<rect class="box" x="{x}" y="{y}" width="{w}" height="{h}" rx="6" '
            f'fill="{FILLS[fill]}"/>'
        )
        lines = [words] if isinstance(words, str) else list(words)
        top = y + h // 2 + 5 - 8 * (len(lines) - 1)
        for number, line in enumerate(lines):
            small = "s" if number else "b" if len(lines) > 1 else ""
            self.text(x + w // 2, top + 16 * number, line, small)

    def bar(self, x: int, y: int, w: int, h: int, fill: str) -> None:
        """A stretch of a log or a file."""
        self._parts.append(
            f'<rect class="box" x="{x}" y="{y}" width="{w}" height="{h}" fill="{FILLS[fill]}"/>'
        )

    def arrow(
        self, x1: int, y1: int, x2: int, y2: int, words: str = "", *, dashed: bool = False
    ) -> None:
        """An arrow with small words above its middle."""
        dash = " dash" if dashed else ""
        self._parts.append(
            f'<path class="line{dash}" d="M{x1} {y1} L{x2} {y2}" marker-end="url(#tip)"/>'
        )
        if words:
            self.text((x1 + x2) // 2, (y1 + y2) // 2 - 6, words, "s")

    def mark(self, x: int, y1: int, y2: int, words: str, *, under: bool = False) -> None:
        """An upright line at a place on a log, with its name above or under it."""
        self._parts.append(f'<path class="line" d="M{x} {y1} V{y2}"/>')
        self.text(x, y2 + 14 if under else y1 - 5, words, "s")

    def svg(self) -> str:
        """The file."""
        return "\n".join([*self._parts, "</svg>", ""])


def stream() -> Picture:
    """Publishers, drivers and subscribers of one stream."""
    p = Picture(760, 290, "A stream of two sessions between two machines")
    p.text(190, 22, "machine A", "s")
    p.text(570, 22, "machine B", "s")
    p.box(15, 45, 105, 44, "publisher", "program")
    p.box(15, 195, 105, 44, "publisher", "program")
    p.box(165, 40, 110, 54, ("log", "session 71"), "log")
    p.box(165, 190, 110, 54, ("log", "session 72"), "log")
    p.box(315, 105, 60, 74, ("driver", "sender"), "driver")
    p.box(425, 105, 64, 74, ("driver", "receiver"), "driver")
    p.box(530, 40, 100, 54, ("image", "of session 71"), "log")
    p.box(530, 190, 100, 54, ("image", "of session 72"), "log")
    p.box(665, 45, 85, 44, "subscriber", "program")
    p.box(665, 195, 85, 44, "subscriber", "program")
    p.arrow(120, 67, 163, 67)
    p.arrow(120, 217, 163, 217)
    p.arrow(275, 75, 320, 103)
    p.arrow(275, 210, 320, 181)
    p.arrow(375, 132, 423, 132, "data")
    p.arrow(425, 160, 377, 160, dashed=True)
    p.text(400, 200, "status, NAKs", "s")
    p.arrow(487, 103, 528, 75)
    p.arrow(487, 181, 528, 210)
    for begin in (60, 222):
        p.arrow(630, begin, 663, begin)
    p.arrow(630, 85, 668, 193)
    p.arrow(630, 205, 668, 91)
    p.text(380, 272, "one stream: channel aeron:udp?endpoint=…, stream id 1001", "s")
    return p


def log() -> Picture:
    """The three terms of a log."""
    p = Picture(760, 210, "The log of a publication: three terms, used in turn")
    names = (
        ("term 5", "full: its bytes are being read"),
        ("term 6", "active"),
        ("term 7", "clean"),
    )
    for number, (name, state) in enumerate(names):
        left = 20 + number * 242
        p.text(left + 118, 25, name, "b")
        p.bar(left, 35, 236, 46, "log" if number == 0 else "empty")
        p.text(left + (118 if number != 1 else 195), 100 if number != 1 else 62, state, "s")
    left = 262
    for width, fill in ((52, "log"), (30, "log"), (64, "log")):
        p.bar(left, 35, width, 46, fill)
        left += width
    p.mark(left, 35, 100, "tail: the next message goes here", under=True)
    p.arrow(288, 128, 288, 84)
    p.text(288, 143, "a frame: 32 bytes of header, then the message", "s")
    p.arrow(620, 172, 140, 172, dashed=True)
    p.text(380, 190, "after the last term the first is cleaned and used again", "s")
    return p


def positions() -> Picture:
    """Who stands where in a stream."""
    p = Picture(760, 190, "Positions of one stream")
    p.bar(30, 70, 400, 34, "log")
    p.bar(430, 70, 130, 34, "empty")
    p.text(230, 92, "published")
    p.text(495, 92, "room")
    p.mark(120, 52, 104, "slow subscriber")
    p.mark(250, 104, 122, "recording", under=True)
    p.mark(330, 52, 104, "fast subscriber")
    p.mark(430, 52, 104, "publisher")
    p.mark(560, 52, 104, "publisher limit")
    p.arrow(560, 88, 735, 88)
    p.text(650, 80, "position, in bytes", "s")
    p.arrow(120, 158, 560, 158)
    p.text(340, 176, "window: the limit is so far in front of the slowest subscriber", "s")
    return p


def recording() -> Picture:
    """A recording, its segments and its entry."""
    p = Picture(760, 230, "A recording: segment files and an entry in the catalog")
    p.box(15, 30, 130, 50, ("session 71", "of stream 1001"), "log")
    p.box(200, 30, 100, 50, ("recorder", "in the archive"), "driver")
    p.arrow(145, 55, 198, 55)
    p.arrow(250, 80, 250, 118, "")
    names = ("0-0.rec", "0-134217728.rec", "0-268435456.rec")
    for number, name in enumerate(names):
        left = 60 + number * 180
        p.bar(left, 120, 180, 40, "file" if number < 2 else "empty")
        if number == 2:
            p.bar(left, 120, 70, 40, "file")
        p.text(left + 90, 145, name)
    p.mark(60, 160, 178, "start position", under=True)
    p.mark(490, 160, 178, "stop position", under=True)
    p.text(275, 215, "segment files of 128 MiB, named by recording id and position", "s")
    p.box(
        560,
        30,
        185,
        62,
        ("archive.catalog", "entry 0: channel, stream,", "start, stop, lengths"),
        "file",
    )
    p.arrow(300, 50, 558, 50, "what it is, from where to where")
    return p


def replay() -> Picture:
    """A replay, and the join with the live stream."""
    p = Picture(760, 230, "Replay, then live")
    p.box(15, 25, 110, 44, "publisher", "program")
    p.box(15, 150, 110, 50, ("recording", "segment files"), "file")
    p.arrow(70, 69, 70, 148, "")
    p.text(110, 112, "recorded", "s")
    p.box(235, 150, 110, 50, ("replay", "a publication"), "log")
    p.arrow(125, 175, 233, 175, "replayer")
    p.box(600, 85, 140, 56, ("subscriber", "each message once"), "program")
    p.arrow(125, 47, 598, 100, "live stream")
    p.arrow(345, 175, 598, 128, "from a position on")
    p.text(560, 190, "when the replay has caught up,", "s")
    p.text(560, 206, "the live stream takes over", "s")
    return p


def catalog() -> Picture:
    """From archive folders to tables."""
    p = Picture(760, 270, "The catalog: from archive folders to tables")
    p.box(15, 40, 120, 50, ("archive folder", "ours"), "file")
    p.box(15, 180, 120, 50, ("archive folder", "the reference's"), "file")
    p.box(220, 25, 140, 56, ("SQL catalog", "SQLite or PostgreSQL"), "file")
    p.arrow(135, 55, 218, 50, "sync")
    p.arrow(135, 190, 232, 83)
    p.box(250, 165, 120, 56, ("record batches", "Arrow"), "log")
    p.arrow(135, 80, 250, 170)
    p.arrow(135, 208, 248, 200, "segments")
    p.arrow(300, 81, 305, 163, "")
    p.text(362, 125, "which recordings", "s")
    p.box(430, 165, 100, 56, ("decoders", "JSON, SBE, …"), "log")
    p.arrow(370, 193, 428, 193)
    rows = ("pandas, Polars", "DuckDB, SQL", "Parquet", "Spark")
    for number, name in enumerate(rows):
        p.box(620, 20 + 62 * number, 125, 44, name, "program")
        p.arrow(530, 185 + 4 * number, 618, 42 + 62 * number)
    return p


def cluster() -> Picture:
    """A message's way through a node of a cluster, and the answer."""
    p = Picture(760, 300, "A node of a cluster")
    p.box(15, 110, 100, 56, ("client", "AeronCluster"), "program")
    p.box(205, 105, 130, 66, ("consensus module", "order, time, session"), "driver")
    p.box(425, 110, 110, 56, ("log", "a publication"), "log")
    p.box(425, 225, 110, 50, ("recording", "segment files"), "file")
    p.box(630, 105, 115, 66, ("service", "its state"), "program")
    p.arrow(115, 138, 203, 138, "ingress")
    p.arrow(335, 138, 423, 138, "each message")
    p.arrow(535, 138, 628, 138, "up to the commit")
    p.text(581, 154, "position", "s")
    p.arrow(480, 166, 480, 223)
    p.text(522, 200, "the archive", "s")
    p.arrow(425, 250, 270, 173, dashed=True)
    p.text(310, 232, "how much is recorded", "s")
    p.arrow(687, 105, 687, 45)
    p.arrow(687, 45, 67, 45, "egress: answers to the session")
    p.arrow(67, 45, 67, 108)
    p.text(380, 20, "the same order on every node gives the same state", "s")
    return p


PICTURES: dict[str, Callable[[], Picture]] = {
    "stream": stream,
    "log": log,
    "positions": positions,
    "recording": recording,
    "replay": replay,
    "catalog": catalog,
    "cluster": cluster,
}


def main() -> None:
    """Writes every picture."""
    for name, draw in PICTURES.items():
        (CONCEPTS / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
