"""Authentication of users and passwords with a file of hashed passwords."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from aerolog.archive.service.security.passwords import hash_password, parse_passwords
from aerolog.archive.service.security.watched_file import CHECK_INTERVAL_S, WatchedFile

if TYPE_CHECKING:
    import os
    from concurrent.futures import Executor, Future

    from aerolog.archive.service.security.authentication import SessionProxy
    from aerolog.archive.service.security.passwords import HashedPassword

CREDENTIALS_LENGTH_MAX: Final = 1024
REMEMBERED_MAX: Final = 1024


class PasswordFileAuthenticator:
    """Takes ``user:password`` as credentials; the principal is the user name.

    Passwords are hashed one at a time on a separate thread, so that the archive is not delayed. The
    archive drops a session whose password is not checked within the connect timeout. Until the file
    changes, successful checks are remembered under a key that exists only in this object, so that
    returning clients are accepted at once.

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
        self._pending: dict[int, Future[bytes | None]] = {}
        # A password of no user: refusing an unknown user takes as long as a wrong password.
        self._nobody = hash_password(secrets.token_hex(16))
        self._key = secrets.token_bytes(32)
        self._matched: OrderedDict[bytes, HashedPassword] = OrderedDict()
        self._lock = threading.Lock()

    def on_connect_request(self, session_id: int, credentials: bytes, now_ms: int) -> None:  # noqa: ARG002
        """Start to check the credentials."""
        if len(credentials) <= CREDENTIALS_LENGTH_MAX:
            self._pending[session_id] = self._executor.submit(self._principal_of, credentials)

    def on_connected_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Accept or reject the client once its credentials are checked."""
        checked = self._pending.get(session.session_id)
        if checked is not None and not checked.done():
            return
        principal = None if checked is None else checked.result()
        if principal is None:
            session.reject()
        else:
            session.authenticate(principal)

    def on_challenge_response(self, session_id: int, credentials: bytes, now_ms: int) -> None:
        """Ignore the answer; there are no challenges."""

    def on_challenged_session(self, session: SessionProxy, now_ms: int) -> None:  # noqa: ARG002
        """Reject; there are no challenges."""
        session.reject()

    def on_session_closed(self, session_id: int) -> None:
        """Remove what is stored about the session and cancel its check if it has not started."""
        checked = self._pending.pop(session_id, None)
        if checked is not None:
            checked.cancel()

    def close(self) -> None:
        """End the hashing thread."""
        if self._owns_executor:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def _principal_of(self, credentials: bytes) -> bytes | None:
        """Return the user name, None when the password is wrong; this is slow by design."""
        user, _, password = credentials.partition(b":")
        known = self._file.current().get(user)
        hashed = self._nobody if known is None else known
        mark = hmac.new(self._key, credentials, hashlib.sha256).digest()
        with self._lock:
            # The hash is the one checked before, so the file has not changed for this user.
            if self._matched.get(mark) == known and known is not None:
                return user
        if not hashed.matches(password) or known is None:
            return None
        with self._lock:
            self._matched[mark] = known
            if len(self._matched) > REMEMBERED_MAX:
                self._matched.popitem(last=False)
        return user
