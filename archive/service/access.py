"""Makes the authenticator and the authorisation service that the archive's properties name.

Other packages add theirs by entry points (``aerolog.transport.security.plug_ins``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aerolog.archive.service import properties as p
from aerolog.archive.service.access_rules import RulesAuthorisation
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.security.authentication import AcceptAll, FixedAuthorisation
from aerolog.transport.security.hmac_challenge import HmacAuthenticator
from aerolog.transport.security.password_file import PasswordFileAuthenticator
from aerolog.transport.security.plug_ins import AUTHENTICATOR_METHODS, make_from
from aerolog.transport.security.sample import SampleAuthenticator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aerolog.archive.service.properties import ArchiveConfig
    from aerolog.transport.config.definition import Property
    from aerolog.transport.security.authentication import Authenticator, AuthorisationService


def _file(config: ArchiveConfig, prop: Property[str | None], needed_by: str) -> str:
    path: str | None = config[prop]
    if not path:
        raise ConfigurationError(f"{needed_by} needs {prop.name}: the path of its file")
    return path


AUTHENTICATORS: Final[Mapping[str, Callable[[ArchiveConfig], Authenticator]]] = {
    "default": lambda _config: AcceptAll(),
    "sample": lambda _config: SampleAuthenticator(),
    "password-file": lambda config: PasswordFileAuthenticator(
        _file(config, p.PASSWORD_FILE, "the authenticator password-file")
    ),
    "hmac": lambda config: HmacAuthenticator(
        _file(config, p.HMAC_KEY_FILE, "the authenticator hmac")
    ),
}
AUTHORISATION_SERVICES: Final[Mapping[str, Callable[[ArchiveConfig], AuthorisationService]]] = {
    "ALLOW_ALL": lambda _config: FixedAuthorisation(allowed=True),
    "DENY_ALL": lambda _config: FixedAuthorisation(allowed=False),
    "rules-file": lambda config: RulesAuthorisation(
        _file(config, p.RULES_FILE, "the authorisation service rules-file")
    ),
}


def authenticator_of(config: ArchiveConfig) -> Authenticator:
    """Return the authenticator that the properties name.

    Raises:
        ConfigurationError: the authenticator cannot be made.
    """
    found: Authenticator = make_from(p.AUTHENTICATOR, AUTHENTICATORS, config, AUTHENTICATOR_METHODS)
    return found


def authorisation_of(config: ArchiveConfig) -> AuthorisationService:
    """Return the authorisation service that the properties name.

    Raises:
        ConfigurationError: the authorisation service cannot be made.
    """
    found: AuthorisationService = make_from(
        p.AUTHORISATION, AUTHORISATION_SERVICES, config, ("is_authorised",)
    )
    return found
