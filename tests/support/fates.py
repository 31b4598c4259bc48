"""What becomes of the others when a part of a running system fails: the table of it.

The tests of tests/fate act each row on processes of ours and of the reference, and the page
docs/operations/when-a-part-fails.md shows the same rows. Run as a program, this module writes them
into the page.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "when-a-part-fails.md"
BEGIN, END = "<!-- fates -->", "<!-- end of fates -->"


class Fate(NamedTuple):
    """How a part goes on.

    Attributes:
        code: the exit code; None when it serves again.
        reason: why it ended, in the words of its error log, of its standard error, or of both;
            what comes first differs where there is an "or".
        is_said: whether its standard error has it.
        is_logged: whether its error log has it.
    """

    code: int | None = None
    reason: str = ""
    is_said: bool = True
    is_logged: bool = True

    def is_in(self, text: str) -> bool:
        """Whether a text has the reason."""
        return any(each in text for each in self.reason.split(" or "))

    def __str__(self) -> str:
        if self.code is None:
            return f"stays and serves nothing: {self.reason}" if self.reason else "serves"
        return f"{self.code}: {self.reason}"


SERVES = Fate()


def stalls(reason: str) -> Fate:
    """A part of the reference's stays and serves nothing, and its standard error says why."""
    return Fate(None, reason, is_logged=False)


def ends(code: int, reason: str) -> Fate:
    """A part ends, and both its standard error and its error log say why."""
    return Fate(code, reason)


def ends_quietly(code: int, reason: str) -> Fate:
    """A part ends, and only its error log says why."""
    return Fate(code, reason, is_said=False)


@dataclass(frozen=True)
class Row:
    """A part, how it fails, and what becomes of each part that is left.

    Attributes:
        who: the part that fails.
        how: one of `HOW`.
        ours: the fates of ours.
        reference: those of the reference that differ.
        why: why they do.
        mode: how driver and archive share threads.
        is_slow: whether the tests marked slow act it, and not each run.
    """

    who: str
    how: str
    ours: dict[str, Fate]
    reference: dict[str, Fate] = field(default_factory=dict)
    why: str = ""
    mode: str = "SHARED"
    is_slow: bool = False

    @property
    def what(self) -> str:
        """What fails, in words."""
        return f"{self.who} {HOW[self.how]}" + (
            "" if self.mode == "SHARED" else f" (`{self.mode}`)"
        )

    def fates(self, whose: str) -> dict[str, Fate]:
        """What is expected of the parts of one implementation."""
        return self.ours if whose == "ours" else self.ours | self.reference


HOW = {
    "TERM": "is asked to end (SIGTERM)",
    "KILL": "is killed (SIGKILL)",
    "again": "is killed, and another one starts",
    "short": "stands still for a moment",
    "slow": "stands still for 50 ms of every 100 ms",
    "long": "stands still for longer than the timeout, then goes on",
    "full": "has no room left, then has room again",
    "beside": "serves, and another one starts beside it",
    "stopped": "stands still for longer than the timeout, and another one starts beside it",
    "freed": "records its log no longer, because somebody has stopped that",
}

_ALL = {"driver": SERVES, "archive": SERVES, "client": SERVES}
_NODE = {"node": SERVES, "service": SERVES, "session": SERVES}


def left(all_parts: dict[str, Fate], *gone: str, **others: Fate) -> dict[str, Fate]:
    """The fates of a stage: without some parts, with others in place of serving."""
    return {name: others.get(name, fate) for name, fate in all_parts.items() if name not in gone}


SHUT, GONE = "was shut down", "is gone: its last heartbeat is"
JAVA_SHUT, JAVA_GONE = "has been shutdown", "keepalive: age="
STOOD = "was not serviced for or gave this client up or client timeout from driver"
JAVA_STOOD = (
    "service interval exceeded or client timeout from driver or unexpected close of heartbeat"
)
MODULE_GONE = "the consensus module is gone or the media driver in"
FULL = "No space left on device"
JAVA_FAULT = "unsafe memory access"
LOST = "Aeron client in service closed unexpectedly"
ACTIVE, ACTIVE_DRIVER = "active mark file detected", "Active media driver detected"
NO_DRIVER, IN_USE = "no driver heartbeat detected", "Address already in use"
TAKEN = "has taken"
WITHOUT_NODE = f"{ACTIVE} or {NO_DRIVER} or {SHUT} or {JAVA_SHUT}"
SECOND = "second"


def without_driver(reason: str) -> dict[str, Fate]:
    """What becomes of ours when the driver is gone."""
    return left(_ALL, "driver", archive=ends(1, reason), client=ends(1, reason))


def java_without_driver(reason: str) -> dict[str, Fate]:
    """What becomes of the reference's."""
    return {"archive": ends_quietly(0, reason), "client": ends(255, reason)}


def without_node(reason: str) -> dict[str, Fate]:
    """What becomes of ours when the node is gone."""
    return {"service": ends(1, f"{MODULE_GONE} or {STOOD}"), "session": ends(1, reason)}


WHY_CODE = "Whatever ends without being asked to has an exit code that a supervisor acts on."
WHY_CLIENT = "Our client raises to its program; the reference's ends the process."
WHY_FULL = (
    "The reference writes its error into a page of its mark file that has no room on the disk."
)
WHY_NODE_FULL = (
    "The reference elects itself again, and records again when there is room by then; ours ends."
)
WHY_NODE = (
    "A node stands still with its driver: the clients inside have not been served for longer than"
    " their timeout."
)
WHY_MEMORY_FULL = (
    "Meanwhile a publication is refused with STORAGE_SPACE and an image is not made, and the"
    " driver's error log has both. Streams that are there go on with ours, or get back pressure;"
    " the reference's client writes into a page of a sparse log that has no room. With room again,"
    " ours makes the image, and the reference does not."
)
WHY_TAKEN_OVER = (
    "The reference's second driver deletes the first one's directory, before its archive refuses."
)
WHY_CONTAINER = "The new node serves once a new container has started."
WHY_AGAIN = "The reference starts only when the last sign of life is 10 s old."

ROWS_SHARED = [
    Row("client", "TERM", left(_ALL, "client")),
    Row("client", "KILL", left(_ALL, "client")),
    Row("client", "again", _ALL),
    Row("client", "short", _ALL),
    Row("client", "slow", _ALL),
    Row("client", "long", _ALL | {"client": ends(1, STOOD)}, {"client": ends(1, JAVA_STOOD)}),
    Row("archive", "TERM", left(_ALL, "archive")),
    Row("archive", "KILL", left(_ALL, "archive")),
    Row("archive", "again", _ALL, why=WHY_AGAIN),
    Row("archive", "short", _ALL),
    Row("archive", "slow", _ALL),
    Row(
        "archive",
        "long",
        _ALL | {"archive": ends(1, STOOD)},
        {"archive": ends_quietly(0, JAVA_STOOD)},
        WHY_CODE,
    ),
    Row("archive", "full", _ALL, {"archive": stalls(JAVA_FAULT)}, WHY_FULL),
    Row("archive", "beside", _ALL | {SECOND: ends(1, ACTIVE)}),
    Row("driver", "TERM", without_driver(SHUT), java_without_driver(JAVA_SHUT), WHY_CLIENT),
    Row("driver", "KILL", without_driver(GONE), java_without_driver(JAVA_GONE), WHY_CLIENT),
    Row(
        "driver",
        "again",
        without_driver(GONE) | {"driver": SERVES},
        java_without_driver(JAVA_GONE),
        f"{WHY_CLIENT} {WHY_AGAIN}",
    ),
    Row("driver", "full", _ALL, {"client": stalls(JAVA_FAULT)}, WHY_MEMORY_FULL),
    Row(
        "driver",
        "beside",
        _ALL | {SECOND: ends(1, ACTIVE_DRIVER)},
    ),
    Row("driver", "short", _ALL),
    Row("driver", "slow", _ALL),
    Row(
        "driver",
        "long",
        without_driver(GONE) | {"driver": SERVES},
        java_without_driver(JAVA_GONE),
        WHY_CLIENT,
    ),
    Row("session", "TERM", left(_NODE, "session")),
    Row("session", "KILL", left(_NODE, "session")),
    Row("session", "again", _NODE),
    Row("session", "short", _NODE),
    Row("session", "slow", _NODE),
    Row("session", "long", _NODE | {"session": ends(1, STOOD)}),
    *(
        Row(
            "service",
            how,
            {"node": ends(1, LOST), "session": ends(1, SHUT)},
            {"node": ends_quietly(0, LOST)},
            WHY_CODE,
        )
        for how in ("TERM", "KILL")
    ),
    Row(
        "service",
        "again",
        {
            "node": ends(1, LOST),
            "session": ends(1, SHUT),
            SECOND: ends(1, WITHOUT_NODE),
        },
        {"node": ends_quietly(0, LOST)},
        WHY_CODE,
    ),
    Row("service", "beside", _NODE | {SECOND: ends(1, ACTIVE)}),
    Row(
        "service",
        "stopped",
        {
            "service": ends(1, f"{MODULE_GONE} or {STOOD}"),
            "node": ends(1, LOST),
            "session": ends(1, SHUT),
            SECOND: ends(1, WITHOUT_NODE),
        },
        {"node": ends_quietly(0, LOST), "service": ends_quietly(0, f"{JAVA_SHUT} or {JAVA_STOOD}")},
        WHY_CODE,
        is_slow=True,
    ),
    Row("service", "short", _NODE),
    Row("service", "slow", _NODE),
    Row(
        "service",
        "long",
        {
            "service": ends(1, f"{MODULE_GONE} or {STOOD}"),
            "node": ends(1, LOST),
            "session": ends(1, SHUT),
        },
        {"node": ends_quietly(0, LOST), "service": ends_quietly(0, f"{JAVA_SHUT} or {JAVA_STOOD}")},
        WHY_CODE,
    ),
    Row("node", "TERM", without_node(SHUT), {"service": ends_quietly(0, JAVA_SHUT)}, WHY_CODE),
    Row("node", "KILL", without_node(GONE), {"service": ends_quietly(0, JAVA_GONE)}, WHY_CODE),
    Row(
        "node",
        "again",
        without_node(GONE) | {"node": SERVES},
        {"service": ends_quietly(0, JAVA_GONE)},
        f"{WHY_CONTAINER} {WHY_AGAIN}",
    ),
    Row(
        "node",
        "beside",
        _NODE | {SECOND: ends(1, ACTIVE)},
        {SECOND: ends(1, ACTIVE_DRIVER)},
    ),
    Row(
        "node",
        "stopped",
        without_node(GONE)
        | {"node": ends(1, f"{STOOD} or {TAKEN}"), SECOND: ends(1, f"{ACTIVE} or {IN_USE}")},
        {"service": ends_quietly(0, JAVA_GONE), "node": ends_quietly(0, JAVA_STOOD)},
        f"{WHY_TAKEN_OVER} {WHY_CODE}",
        is_slow=True,
    ),
    Row("node", "short", _NODE),
    Row("node", "slow", _NODE),
    Row(
        "node",
        "long",
        without_node(GONE) | {"node": ends(1, STOOD)},
        {"service": ends_quietly(0, JAVA_GONE), "node": ends_quietly(0, JAVA_STOOD)},
        f"{WHY_NODE} {WHY_CODE}",
    ),
    Row("node", "full", without_node(SHUT) | {"node": ends(1, FULL)}, _NODE, WHY_NODE_FULL),
    Row("node", "freed", _NODE),
]
# With threads of their own a driver and an archive do these things on several at a time.
DEDICATED = {
    ("client", "long"),
    ("archive", "long"),
    ("driver", "long"),
    ("driver", "full"),
    ("node", "long"),
    ("node", "full"),
    ("node", "freed"),
}
IN_EACH_RUN = {("client", "long"), ("archive", "long")}


def in_modes(row: Row) -> Iterator[Row]:
    """A row, and the same with other threads."""
    yield row
    pair = row.who, row.how
    if pair in DEDICATED:
        yield replace(row, mode="DEDICATED", is_slow=pair not in IN_EACH_RUN)


ROWS = [each for row in ROWS_SHARED for each in in_modes(row)]


def page_table() -> str:
    """The rows as the page shows them."""
    lines = [
        "| What fails | What becomes of ours | The reference, where it differs |",
        "|---|---|---|",
    ]
    for row in ROWS:
        ours, reference = (cell(fates) for fates in (row.ours, row.reference))
        last = f"{reference}. {row.why}" if reference and row.why else reference or row.why
        lines.append(f"| {row.what} | {ours} | {last} |")
    return "\n".join(lines)


def cell(fates: dict[str, Fate]) -> str:
    """The fates of a cell, those that serve together."""
    serving = [name for name, fate in fates.items() if fate == SERVES]
    found = []
    if len(serving) > 1:
        found.append(f"{', '.join(serving[:-1])} and {serving[-1]} serve")
    elif serving:
        found.append(f"{serving[0]} serves")
    for name, fate in fates.items():
        if fate.code is not None:
            where = "" if fate.is_said else " (only in its error log)"
            found.append(f"{name} ends with {fate.code}: {quoted(fate.reason)}{where}")
        elif fate.reason:
            found.append(f"{name} stays and serves nothing: {quoted(fate.reason)}")
    return "; ".join(found)


def quoted(reason: str) -> str:
    """The words that output and error log have, one of several."""
    return " or ".join(f"`{each}`" for each in reason.split(" or "))


def with_table(text: str) -> str:
    """The page with the table of now."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{page_table()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
