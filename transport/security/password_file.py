"""Authentication of users and passwords with a file of hashed passwords."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from aerolog.transport.security.authentication import NoChallenges
from aerolog.transport.security.password_checks import PasswordCheck, PasswordChecks
from aerolog.transport.security.passwords import hash_password, parse_passwords
from aerolog.transport.security.watched_file import CHECK_INTERVAL_S, WatchedFile

if TYPE_CHECKING:
    import os
    from concurrent.futures import Executor

    from aerolog.transport.security.authentication import SessionProxy
    from aerolog.transport.security.passwords import HashedPassword

CREDENTIALS_LENGTH_MAX: Final = 1024
REMEMBERED_MAX: Final = 1024


class PasswordFileAuthenticator(NoChallenges):
    """Takes ``user:password`` as credentials; the principal is the user name.

    Passwords are hashed one at a time on a separate thread, so that no agent is delayed. An
    archive drops a session whose password is not checked within the connect timeout. Sources take
    turns, and what waits is bounded, see ``PasswordChecks``. Until the file changes, successful
    checks are remembered under a key that exists only in this object, so that returning clients are
    accepted at once, without a turn.

    Args:
        path: path of the file, see ``passwords``; by default a change takes effect within a second.
        executor: where hashing runs; by default one thread, which ``close`` ends.
        check_interval_s: shortest time between checks for a changed file, seconds.

    Raises:
        ConfigurationError: the file cannot be used.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        executor: Executor | None = None,
        check_interval_s: float = CHECK_INTERVAL_S,
    ) -> None:
        self._file = WatchedFile(
            path, parse_passwords, private=False, check_interval_s=check_interval_s
        )
        self._executor = executor or ThreadPoolExecutor(1, "archive-passwords")
        self._owns_executor = executor is None
        self._checks = PasswordChecks(self._executor, self._principal_of)
        self._pending: dict[int, PasswordCheck] = {}
        self._sources: dict[int, str] = {}
        # A password of no user: refusing an unknown user takes as long as a wrong password.
        self._nobody = hash_password(secrets.token_hex(16))
        self._key = secrets.token_bytes(32)
        self._matched: OrderedDict[bytes, HashedPassword] = OrderedDict()
        self._lock = threading.Lock()

    def on_source(self, session_id: int, source: str) -> None:
        """Note the host that a client connects from; its ports are all one source."""
        self._sources[session_id] = source.rpartition(":")[0]

    def on_connect_request(self, session_id: int, credentials: bytes, now_ms: int) -> None:  # noqa: ARG002
        """Accept credentials that matched before, and queue the check of others."""
        source = self._sources.pop(session_id, "")
        if len(credentials) > CREDENTIALS_LENGTH_MAX:
            return
        self._pending[session_id] = check = PasswordCheck(source, credentials)
        principal = self._matched_before(credentials)
        if principal is not None:
            check.settle(principal)
        else:
            self._checks.add(check)

    def on_connected_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Accept or reject the client once its credentials are checked."""
        check = self._pending.get(session.session_id)
        if check is not None and not check.is_done:
            return
        principal = None if check is None or check.answer is None else check.answer.result()
        if principal is None:
            session.reject()
        else:
            session.authenticate(principal)

    def on_session_closed(self, session_id: int) -> None:
        """Remove what is stored about the session and cancel its check if it has not started."""
        check = self._pending.pop(session_id, None)
        if check is not None:
            self._checks.cancel(check)

    def close(self) -> None:
        """End the hashing thread."""
        self._checks.close()
        if self._owns_executor:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def _mark(self, credentials: bytes) -> bytes:
        return hmac.new(self._key, credentials, hashlib.sha256).digest()

    def _matched_before(self, credentials: bytes) -> bytes | None:
        """Return the user name if these credentials matched and the user's line is the same."""
        user = credentials.partition(b":")[0]
        with self._lock:
            known = self._file.current().get(user)
            is_same = known is not None and self._matched.get(self._mark(credentials)) == known
        return user if is_same else None

    def _principal_of(self, credentials: bytes) -> bytes | None:
        """Return the user name, None when the password is wrong; this is slow by design."""
        principal = self._matched_before(credentials)
        if principal is not None:
            return principal
        user, _, password = credentials.partition(b":")
        with self._lock:
            known = self._file.current().get(user)
        hashed = self._nobody if known is None else known
        if not hashed.matches(password) or known is None:
            return None
        with self._lock:
            self._matched[self._mark(credentials)] = known
            if len(self._matched) > REMEMBERED_MAX:
                self._matched.popitem(last=False)
        return user
