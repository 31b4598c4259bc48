"""Passwords hashed with scrypt and individual salts, and the file that holds them.

A line is ``user:scrypt:ln=14,r=8,p=1:SALT:HASH``, with salt and hash in base64. Each hash has its
own parameters, so that they can be raised for new passwords.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aerolog.transport.credentials import check_user
from aerolog.transport.errors import ConfigurationError
from aerolog.transport.memory.filesystem import named, read_at_most
from aerolog.transport.security.watched_file import LENGTH_MAX, lines_of, parsed

SALT_LENGTH: Final = 16
HASH_LENGTH: Final = 32
LOG_N: Final = 14
R: Final = 8
P: Final = 1
# Each check takes 128 * r * n bytes and time in proportion to n * r * p.
LOG_N_MAX: Final = 20
R_MAX: Final = 16
P_MAX: Final = 4
_PARAMETERS: Final = re.compile(r"ln=(\d{1,2}),r=(\d{1,2}),p=(\d)")


@dataclass(frozen=True, slots=True)
class HashedPassword:
    """A password in the form in which the file keeps it."""

    log_n: int
    r: int
    p: int
    salt: bytes
    digest: bytes

    def matches(self, password: bytes) -> bool:
        """Return whether this is the password; takes tens of milliseconds, without the GIL."""
        return hmac.compare_digest(self.digest, self.digest_of(password))

    def digest_of(self, password: bytes) -> bytes:
        """Return the hash of a password with this salt."""
        return hashlib.scrypt(
            password,
            salt=self.salt,
            n=1 << self.log_n,
            r=self.r,
            p=self.p,
            maxmem=256 * self.r * (1 << self.log_n) + (1 << 20),
            dklen=HASH_LENGTH,
        )

    def __str__(self) -> str:
        salt, digest = (base64.b64encode(x).decode("ascii") for x in (self.salt, self.digest))
        return f"scrypt:ln={self.log_n},r={self.r},p={self.p}:{salt}:{digest}"


def hash_password(
    password: str, *, log_n: int = LOG_N, r: int = R, p: int = P, salt: bytes | None = None
) -> HashedPassword:
    """Hash a password with a new salt.

    Args:
        password: the password in plain text.
        log_n: cost in memory and time, as the logarithm of scrypt's ``n`` to base 2.
        r: scrypt's block size.
        p: scrypt's parallelisation, the number of passes.
        salt: 16 random bytes by default.

    Raises:
        ConfigurationError: the password is empty, or a parameter is out of range.
    """
    if not password:
        raise ConfigurationError("an empty password is none")
    _check_parameters(log_n, r, p)
    salt = secrets.token_bytes(SALT_LENGTH) if salt is None else salt
    empty = HashedPassword(log_n, r, p, salt, b"")
    return HashedPassword(log_n, r, p, salt, empty.digest_of(password.encode()))


def parse_passwords(text: str) -> dict[bytes, HashedPassword]:
    """Parse the lines of a password file to hashed passwords by user.

    Raises:
        ConfigurationError: a line is invalid or a user occurs twice; begins with the line's number.
    """
    found: dict[bytes, HashedPassword] = {}
    for number, line in lines_of(text):
        try:
            user, hashed = _parse_line(line)
        except ConfigurationError as error:
            raise ConfigurationError(f"{number}: {error}") from error
        if user in found:
            raise ConfigurationError(f"{number}: user {user.decode()!r} a second time")
        found[user] = hashed
    return found


def set_password(
    path: str | os.PathLike[str], user: str, password: str | None, *, log_n: int = LOG_N
) -> bool:
    """Add a user to a password file, which is created if necessary, or remove the user.

    The file is replaced as a whole and its comments stay. Only its owner can read a new file.

    Args:
        path: path of the file.
        user: the user name, which is also the principal for authorisation.
        password: the password in plain text; None removes the user.
        log_n: cost of the hash, see ``hash_password``.

    Returns:
        Whether the user was in the file before.

    Raises:
        ConfigurationError: the name, the password or the file cannot be used.
    """
    check_user(user)
    target = Path(path)
    try:
        content = read_at_most(target, LENGTH_MAX)
        mode = target.stat().st_mode & 0o777
    except FileNotFoundError:
        content, mode = b"", 0o600
    parsed(target, content, parse_passwords)
    lines = content.decode().splitlines()
    kept = [line for line in lines if line.strip().partition(":")[0] != user]
    was_there = len(kept) != len(lines)
    if password is not None:
        kept.append(f"{user}:{hash_password(password, log_n=log_n)}")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with named(temporary), os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in kept)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return was_there


def _parse_line(line: str) -> tuple[bytes, HashedPassword]:
    fields = line.split(":")
    match = _PARAMETERS.fullmatch(fields[2]) if len(fields) == 5 else None
    if match is None or fields[1] != "scrypt":
        raise ConfigurationError("expected user:scrypt:ln=N,r=N,p=N:SALT:HASH")
    user = check_user(fields[0])
    log_n, r, p = (int(number) for number in match.groups())
    _check_parameters(log_n, r, p)
    try:
        salt, digest = (base64.b64decode(field, validate=True) for field in fields[3:])
    except (binascii.Error, ValueError) as error:
        raise ConfigurationError(f"salt and hash are base64: {error}") from error
    if len(salt) < SALT_LENGTH // 2 or len(digest) != HASH_LENGTH:
        raise ConfigurationError(
            f"a salt has at least {SALT_LENGTH // 2} bytes and a hash {HASH_LENGTH},"
            f" not {len(salt)} and {len(digest)}"
        )
    return user.encode(), HashedPassword(log_n, r, p, salt, digest)


def _check_parameters(log_n: int, r: int, p: int) -> None:
    if not (1 <= log_n <= LOG_N_MAX and 1 <= r <= R_MAX and 1 <= p <= P_MAX):
        raise ConfigurationError(
            f"scrypt with ln={log_n}, r={r}, p={p}: ln is at most {LOG_N_MAX}, r {R_MAX}, p {P_MAX}"
        )
