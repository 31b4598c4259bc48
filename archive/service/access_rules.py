"""Authorisation of requests by rules in a file.

A line is ``PRINCIPAL allow|deny REQUEST...``. The principal ``*`` stands for every client and ``-``
for clients with an empty principal. A request is a name in the protocol, a group of names, or
``all``. A principal's own rules take precedence over those of ``*``, rules for a request over those
for ``all``, and later lines over earlier ones. A request without a rule is denied, except for those
of the group ``session``, without which no client can connect.
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
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.protocol.sbe import messages_of
from aerolog.transport.security.watched_file import (
    CHECK_INTERVAL_S,
    WatchedFile,
    lines_of,
)

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
    """The rules by principal and request.

    Attributes:
        own: by principal, whether each template id, or -1 for all, is allowed.
        general: the same for every client.
    """

    own: dict[bytes, dict[int, bool]] = field(default_factory=dict)
    general: dict[int, bool] = field(default_factory=dict)

    def allows(self, principal: bytes, action_id: int) -> bool:
        """Return whether a principal may send a request with a template id."""
        for rules in (self.own.get(principal), self.general):
            if rules:
                for key in (action_id, _ANY):
                    answer = rules.get(key)
                    if answer is not None:
                        return answer
        return action_id in _SESSION


def parse_rules(text: str) -> Rules:
    """Parse the text of a rules file.

    Raises:
        ConfigurationError: a line is invalid; begins with the line's number.
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
    """An authorisation service that applies the rules in a file.

    Args:
        path: path of the file; by default a change takes effect within a second.
        check_interval_s: shortest time between checks for a changed file, seconds.

    Raises:
        ConfigurationError: the file cannot be used.
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
        """Return what the rules decide; actions of another protocol are denied."""
        del kind
        return protocol_id == ap.SCHEMA_ID and self._file.current().allows(principal, action_id)
