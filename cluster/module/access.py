"""Makes the authenticator and the authorisation service that a module's properties name.

Other packages add theirs by entry points (``aerolog.transport.security.plug_ins``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.cluster.module import properties as p
from aerolog.cluster.protocol import SCHEMA_ID, BackupQuery, HeartbeatRequest, StandbySnapshot
from aerolog.transport.security.authentication import AcceptAll, FixedAuthorisation
from aerolog.transport.security.plug_ins import AUTHENTICATOR_METHODS, make_from
from aerolog.transport.security.sample import SampleAuthenticator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aerolog.cluster.module.properties import ModuleConfig
    from aerolog.transport.security.authentication import Authenticator, AuthorisationService

_BACKUP: Final = frozenset(
    each.LAYOUT.template_id for each in (BackupQuery, HeartbeatRequest, StandbySnapshot)
)


class BackupAuthorisation:
    """Allows what a backup asks for and nothing else, as the reference does by default."""

    def is_authorised(
        self,
        protocol_id: int,
        action_id: int,
        kind: object,  # noqa: ARG002
        principal: bytes,  # noqa: ARG002
    ) -> bool:
        """Return whether a request is one of a backup."""
        return protocol_id == SCHEMA_ID and action_id in _BACKUP


AUTHENTICATORS: Final[Mapping[str, Callable[[ModuleConfig], Authenticator]]] = {
    "default": lambda _config: AcceptAll(),
    "sample": lambda _config: SampleAuthenticator(),
}
AUTHORISATION_SERVICES: Final[Mapping[str, Callable[[ModuleConfig], AuthorisationService]]] = {
    "default": lambda _config: BackupAuthorisation(),
    "ALLOW_ALL": lambda _config: FixedAuthorisation(allowed=True),
    "DENY_ALL": lambda _config: FixedAuthorisation(allowed=False),
}


def authenticator_of(config: ModuleConfig) -> Authenticator:
    """Return the authenticator that the properties name.

    Raises:
        ConfigurationError: the authenticator cannot be made.
    """
    found: Authenticator = make_from(p.AUTHENTICATOR, AUTHENTICATORS, config, AUTHENTICATOR_METHODS)
    return found


def authorisation_of(config: ModuleConfig) -> AuthorisationService:
    """Return the authorisation service that the properties name.

    Raises:
        ConfigurationError: the authorisation service cannot be made.
    """
    found: AuthorisationService = make_from(
        p.AUTHORISATION, AUTHORISATION_SERVICES, config, ("is_authorised",)
    )
    return found
