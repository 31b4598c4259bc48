"""Reports a component's errors to the mark file's error log, the error counter and the operator."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from aerolog.transport.errors import ResourceClosedError
from aerolog.transport.text_output import logger

if TYPE_CHECKING:
    from collections.abc import Hashable

    from aerolog.transport.client.client_counters import Counter
    from aerolog.transport.errors import AerologError
    from aerolog.transport.memory.error_log import DistinctErrorLog

#: Takes an error, and what makes two of them one in a log.
OnError = Callable[[BaseException, "Hashable | None"], object]


class Reporter:
    """Takes errors from any thread of a component.

    Args:
        error_log: the error log in the mark file.
        name: of the logger, which gets each error with its traceback at level DEBUG.
        event_class: of what is no fault, as the reference names it in the component's error log.
    """

    def __init__(
        self, error_log: DistinctErrorLog, name: str, event_class: type[AerologError]
    ) -> None:
        self._error_log = error_log
        self._logger = logger(name)
        self._event_class = event_class
        self._take: OnError | None = None
        self._uncounted = 0
        self._is_full = False
        self._lock = threading.Lock()

    def pass_on(self, take: OnError) -> None:
        """Give each error to who counts and logs it besides, from the first one on."""
        self._take = take

    def count_in(self, errors: Counter) -> None:
        """Count errors in a counter, for as long as there is one: a lost driver takes it along.

        Errors before this call are counted at once.
        """

        def increment(_error: BaseException, _identity: Hashable | None) -> None:
            if not errors.closed:
                with suppress(ResourceClosedError):
                    errors.add(1)

        with self._lock:
            self._take = increment
            if self._uncounted and not errors.closed:
                errors.add(self._uncounted)
            self._uncounted = 0

    def error(self, error: BaseException, identity: Hashable | None = None) -> None:
        """Log an error, count it and report it to the operator.

        Args:
            error: what happened.
            identity: what makes two of them one in the log, in place of their texts.
        """
        with self._lock:
            if not self._error_log.record_exception(error, identity) and not self._is_full:
                self._is_full = True
                self._logger.warning(
                    "the error log of the mark file is full; first left out: %s", error
                )
            if self._take is None:
                self._uncounted += 1
            else:
                self._take(error, identity)
        self._logger.debug("error", exc_info=error)

    def event(self, text: str, identity: Hashable | None = None) -> None:
        """Record a warning as the reference does: as an error of a class of its own.

        Args:
            text: what to write.
            identity: what makes two of them one in the log, where a client chooses part of the
                text: clients cannot fill the log.
        """
        self.error(self._event_class(text), identity)

    def mention(self, text: str) -> None:
        """Log something that causes no loss, without counting it."""
        with self._lock:
            self._error_log.record_exception(self._event_class(text))
        self._logger.debug(text)

    def run(self, action: Callable[[], object]) -> None:
        """Run an action and report its failure instead of raising it."""
        try:
            action()
        except Exception as error:  # noqa: BLE001 - whatever it was is reported
            self.error(error)
