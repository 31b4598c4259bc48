"""Extensions that several publications match: both archives try each, and say the same."""

from __future__ import annotations

import pytest
from archive_storage.teller import FRAME, TERM

from aerolog.archive import protocol as ap

pytestmark = pytest.mark.interop

STREAM = 900
END = 4 * FRAME


def publication_at(t, position: int, session_id: int):
    """A publication that begins at a position; it fits the recording when that is its end."""
    return t.aeron.add_exclusive_publication(
        f"aeron:ipc?term-length={TERM}|session-id={session_id}|init-term-id=7"
        f"|term-id={7 + position // TERM}|term-offset={position % TERM}",
        STREAM,
    )


@pytest.mark.parametrize(
    ("begins", "errors", "first_session"),
    [
        ((END, 2 * END), 1, 7000),
        ((2 * END, END), 1, 7010),
        ((2 * END, 2 * END, END), 2, 7020),
        ((2 * END, END, END), 2, 7030),
        ((2 * END, 2 * END), 2, 7040),
        ((END, END), 1, 7050),
    ],
)
def test_an_extension_with_auto_stop_tries_each_publication(
    alike, begins: tuple[int, ...], errors: int, first_session: int
) -> None:
    def scenario(t) -> None:
        recording_id = t.recorded(STREAM, END)
        publications = [
            publication_at(t, position, first_session + index)
            for index, position in enumerate(begins)
        ]
        request = t.post(
            ap.ExtendRecordingRequest2,
            recording_id=recording_id,
            stream_id=STREAM,
            source_location=ap.SourceLocation.LOCAL,
            auto_stop=ap.BooleanType.TRUE,
            channel="aeron:ipc",
        )
        if END in begins:
            t.signal(request, ap.RecordingSignal.STOP)
        t.wait(lambda: len(t.find(ap.ControlResponse, request)) == 1 + errors, "all errors")
        t.wait(lambda: not any(p.is_connected for p in publications), "the subscription to go")
        t.tell("extended")
        t.describe(recording_id)
        for publication in publications:
            publication.close()

    assert alike(scenario)
