"""Who may send which requests, by rules of a file.

A line is ``PRINCIPAL allow|deny REQUEST...``; the principal ``*`` is everybody, ``-`` the one
without a name; a request is its name in the protocol, a group of them, or ``all``. A principal's
own rules stand before those of everybody, a request's before ``all``, later lines before earlier
ones, and what no rule names is denied, but for the requests of the group ``session``, without
which nobody can connect.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aerolog.archive import protocol as ap
from aerolog.archive.protocol import (
    query_requests,
    recording_requests,
    replay_requests,
    replication_requests,
    storage_requests,
)
from aerolog.archive.protocol.layout import messages_of
from aerolog.archive.service.security.watched_file import (
    CHECK_INTERVAL_S,
    WatchedFile,
    lines_of,
)
from aerolog.transport.errors import ConfigurationError

if TYPE_CHECKING:
    import os

EVERYBODY: Final = "*"
NOBODY: Final = "-"
ALL: Final = "all"
_ANY: Final = -1

GROUPS: Final[dict[str, tuple[type[ap.Message], ...]]] = {
    "session": (ap.KeepAliveRequest, ap.ArchiveIdRequest),
    "query": messages_of(query_requests),
    "replay": messages_of(replay_requests),
    "record": messages_of(recording_requests),
    "manage": messages_of(storage_requests),
    "replicate": messages_of(replication_requests),
}
REQUESTS: Final[dict[str, int]] = {
    each.LAYOUT.name: each.LAYOUT.template_id for group in GROUPS.values() for each in group
}
_SESSION: Final = frozenset(each.LAYOUT.template_id for each in GROUPS["session"])


@dataclass(slots=True)
class Rules:
    """Rules by principal and request.

    Attributes:
        own: principal -> template id, or -1 for all -> whether it is allowed.
        general: the same for everybody.
    """

    own: dict[bytes, dict[int, bool]] = field(default_factory=dict)
    general: dict[int, bool] = field(default_factory=dict)

    def allows(self, principal: bytes, action_id: int) -> bool:
        """Whether a principal may send a request of a template id."""
        for rules in (self.own.get(principal), self.general):
            if rules:
                for key in (action_id, _ANY):
                    answer = rules.get(key)
                    if answer is not None:
                        return answer
        return action_id in _SESSION


def parse_rules(text: str) -> Rules:
    """The rules of a file.

    Raises:
        ConfigurationError: a line that is none; begins with the line's number.
    """
    found = Rules()
    for number, line in lines_of(text):
        try:
            principal, verb, *names = shlex.split(line, comments=True)
        except ValueError as error:
            raise ConfigurationError(
                f"{number}: expected PRINCIPAL allow|deny REQUEST..."
            ) from error
        if verb not in {"allow", "deny"} or not names:
            raise ConfigurationError(f"{number}: expected PRINCIPAL allow|deny REQUEST...")
        rules = found.general
        if principal != EVERYBODY:
            key = b"" if principal == NOBODY else principal.encode()
            rules = found.own.setdefault(key, {})
        for name in names:
            rules.update(dict.fromkeys(_actions(name, number), verb == "allow"))
    return found


def _actions(name: str, number: int) -> list[int]:
    if name == ALL:
        return [_ANY]
    if name in GROUPS:
        return [each.LAYOUT.template_id for each in GROUPS[name]]
    if name in REQUESTS:
        return [REQUESTS[name]]
    raise ConfigurationError(
        f"{number}: {name!r} is no request; groups are {', '.join((*GROUPS, ALL))}, requests are"
        f" named as in the protocol, for example {ap.ReplayRequest.LAYOUT.name}"
    )


class RulesAuthorisation:
    """Asks the rules of a file.

    Args:
        path: of the file; changes count within a second.
        check_interval_s: how often, at most, it is looked at.

    Raises:
        ConfigurationError: a file that cannot be used.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, check_interval_s: float = CHECK_INTERVAL_S
    ) -> None:
        self._file = WatchedFile(
            path, parse_rules, private=False, check_interval_s=check_interval_s
        )

    def is_authorised(
        self, protocol_id: int, action_id: int, kind: object, principal: bytes
    ) -> bool:
        """What the rules say; another protocol's actions are denied."""
        del kind
        return protocol_id == ap.SCHEMA_ID and self._file.current().allows(principal, action_id)
