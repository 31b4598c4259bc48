"""What the doctor can find, as data: severities, kinds of finding, findings, their ranking."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from string import Formatter
from typing import TYPE_CHECKING, Any, TypeAlias

from aerolog.tools.doctor import figure_text

if TYPE_CHECKING:
    from collections.abc import Iterable

Figure: TypeAlias = int | float | str


class Severity(IntEnum):
    """How bad a finding is; the greater the number, the worse."""

    NOTICE = 1
    """Good to know; nothing has to be done today."""
    WARNING = 2
    """It works, but slower than it could, or it will stop working."""
    CRITICAL = 3
    """Something does not work now, or data is being lost."""

    @property
    def label(self) -> str:
        """The name as it is printed."""
        return self.name.lower()


class Area(StrEnum):
    """What part of the system a finding is about; ranks findings of one severity."""

    PROCESSES = "processes"
    RECORDINGS = "recordings"
    HEALTH = "health"
    TIMES = "times"
    RETENTION = "retention"
    CLUSTER = "cluster"
    DISK = "disk"
    PUBLISHERS = "publishers"
    LOSS = "loss"
    SOCKETS = "sockets"
    CYCLES = "cycles"
    SETTINGS = "settings"
    CAPACITY = "capacity"
    ERRORS = "errors"


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One thing that can be wrong; its texts have places for the figures of a finding.

    ``{name}`` shows a figure as it is, ``{name!n}`` a number with groups of digits, ``{name!b}``
    bytes, ``{name!m}`` a duration in milliseconds, ``{name!t}`` one in nanoseconds, ``{name!v}``
    a rate in bytes a second.

    Attributes:
        area: what it is about.
        code: what scripts know it by; never changes its meaning.
        severity: the usual severity, which a check may raise or lower.
        what: the sentence with the figures.
        reason: what causes it, or what follows from it.
        remedy: what to do about it.
    """

    area: Area
    code: str
    severity: Severity
    what: str
    reason: str
    remedy: str

    def found(
        self, subject: str, severity: Severity | None = None, /, **figures: Figure
    ) -> Finding:
        """A finding of this kind.

        Args:
            subject: what has it: a process, a stream, a recording, a file.
            severity: other than as a rule.
            figures: everything that the texts name, and more for scripts.
        """
        return Finding(self, self.severity if severity is None else severity, subject, figures)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with one subject."""

    kind: FindingKind
    severity: Severity
    subject: str
    figures: dict[str, Figure] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The code of the finding's kind."""
        return self.kind.code

    @property
    def what(self) -> str:
        """The sentence with the figures."""
        return fill(self.kind.what, self.figures)

    @property
    def reason(self) -> str:
        """Why, or what follows."""
        return fill(self.kind.reason, self.figures)

    @property
    def remedy(self) -> str:
        """What an operator should do."""
        return fill(self.kind.remedy, self.figures)

    def as_json(self) -> dict[str, Any]:
        """The finding as a JSON object."""
        return {
            "severity": self.severity.label,
            "code": self.code,
            "area": self.kind.area.value,
            "subject": self.subject,
            "what": self.what,
            "reason": self.reason,
            "remedy": self.remedy,
            "figures": self.figures,
        }


def ranked(findings: Iterable[Finding]) -> list[Finding]:
    """The worst first; of one severity by area, then by code and subject."""
    areas = {area: place for place, area in enumerate(Area)}
    return sorted(
        findings,
        key=lambda one: (-one.severity, areas[one.kind.area], one.code, one.subject),
    )


def worst(findings: Iterable[Finding]) -> Severity | None:
    """The greatest severity, None without findings."""
    return max((one.severity for one in findings), default=None)


def fill(template: str, figures: dict[str, Figure]) -> str:
    """A text with its figures in their places."""
    return _FORMATTER.vformat(template, (), figures)


def outline(template: str) -> str:
    """A text as it is before there are figures, with their names in their places."""
    parts = []
    for text, name, _, _ in _FORMATTER.parse(template):
        parts.append(text if name is None else f"{text}[{name.replace('_', ' ')}]")
    return "".join(parts)


class _FiguresFormatter(Formatter):
    """``str.format`` with the units of figures as conversions."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        unit = figure_text.UNITS.get(conversion)
        if unit is None:
            return super().convert_field(value, conversion)
        return unit(value)


_FORMATTER = _FiguresFormatter()
