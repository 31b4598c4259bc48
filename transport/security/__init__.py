"""Authenticators of archives and clusters (docs/archive/security.md).

An archive and a consensus module take them as objects, or by names in their properties.
"""

from aerolog.transport.security.hmac_challenge import HmacAuthenticator, new_key
from aerolog.transport.security.password_file import PasswordFileAuthenticator
from aerolog.transport.security.passwords import hash_password, set_password
from aerolog.transport.security.sample import SampleAuthenticator
from aerolog.transport.security.simple import SimpleAuthenticator

__all__ = [
    "HmacAuthenticator",
    "PasswordFileAuthenticator",
    "SampleAuthenticator",
    "SimpleAuthenticator",
    "hash_password",
    "new_key",
    "set_password",
]
