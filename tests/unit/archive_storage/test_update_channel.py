"""Entries of the catalog that get longer, while others look."""

from __future__ import annotations

from aerolog.archive import protocol as ap
from aerolog.archive.format.catalog_file import CatalogReader

LONG = "aeron:ipc?alias=" + "x" * 1000


def test_readers_of_a_live_catalog_find_entries_that_have_moved(rig) -> None:
    for stream_id in range(1, 5):
        rig.recorded(3, stream_id=stream_id)
    with CatalogReader.open("/archive", rig.disk) as reader:
        before = [reader.descriptor(i) for i in range(4)]
        rig.ask(ap.UpdateChannelRequest, recording_id=1, channel=LONG)
        after = [reader.descriptor(i) for i in range(4)]
    assert after[1].original_channel == LONG
    assert after[:1] + after[2:] == before[:1] + before[2:]


def test_listings_and_changes_of_channels_wait_for_each_other(rig) -> None:
    rig.recorded(3)
    update = rig.post(ap.UpdateChannelRequest, recording_id=0, channel=LONG)
    listing = rig.post(ap.ListRecordingRequest, recording_id=0)
    again = rig.post(ap.UpdateChannelRequest, recording_id=0, channel="aeron:ipc")
    unknown = rig.post(ap.UpdateChannelRequest, recording_id=9, channel="aeron:ipc")
    for refused in (listing, again, unknown):
        answer = rig.answer_to(refused)
        assert (answer.relevant_id, answer.error_message) == (
            1,
            "active listing already in progress",
        )
    assert rig.answer_to(update).code == ap.ControlResponseCode.OK
    with CatalogReader.open("/archive", rig.disk) as reader:
        assert reader.descriptor(0).original_channel == LONG


def test_no_channel_is_logged_and_frees_the_turn(rig) -> None:
    rig.recorded(3)
    before = len(rig.errors())
    request = rig.post(ap.UpdateChannelRequest, recording_id=0, channel="nonsense")
    rig.ask(ap.ArchiveIdRequest)
    assert rig.answers(request) == []
    assert len(rig.errors()) == before + 1
    rig.ask(ap.UpdateChannelRequest, recording_id=0, channel=LONG)


def test_a_full_disk_leaves_the_catalog_as_it_was(rig) -> None:
    for stream_id in (1, 2):
        rig.recorded(3, stream_id=stream_id)
    rig.disk.fill_up()
    request = rig.post(
        ap.UpdateChannelRequest, recording_id=0, channel="aeron:ipc?alias=" + "y" * 4000
    )
    answer = rig.answer_to(request)
    assert answer.code == ap.ControlResponseCode.ERROR
    with CatalogReader.open("/archive", rig.disk) as reader:
        assert [reader.descriptor(i).stream_id for i in range(2)] == [1, 2]
        assert reader.descriptor(0).original_channel.startswith("aeron:ipc?term-length=64k")
    rig.disk.fill_up(1 << 20)
    rig.ask(ap.UpdateChannelRequest, recording_id=0, channel=LONG)
