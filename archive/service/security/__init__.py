"""Authenticators and authorisation services that come with the archive (docs/archive/security.md).

An archive takes them as objects, or by names in its properties, see ``suppliers``.
"""

from aerolog.archive.service.security.hmac_challenge import HmacAuthenticator, new_key
from aerolog.archive.service.security.password_file import PasswordFileAuthenticator
from aerolog.archive.service.security.passwords import hash_password, set_password
from aerolog.archive.service.security.rules import Rules, RulesAuthorisation
from aerolog.archive.service.security.sample import SampleAuthenticator
from aerolog.archive.service.security.simple import SimpleAuthenticator

__all__ = [
    "HmacAuthenticator",
    "PasswordFileAuthenticator",
    "Rules",
    "RulesAuthorisation",
    "SampleAuthenticator",
    "SimpleAuthenticator",
    "hash_password",
    "new_key",
    "set_password",
]
