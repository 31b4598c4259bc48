"""Lists the recordings of an archive and replays the newest one."""

from aerolog.archive.client import AeronArchive

with AeronArchive() as archive:
    recordings = list(archive.recordings())
    for one in recordings:
        print(f"recording {one.recording_id}: stream {one.stream_id} up to {one.stop_position}")
    messages = list(archive.read(recordings[-1].recording_id))
    print(len(messages), "messages")
    print("first:", messages[0].data.decode())
    print("last: ", messages[-1].data.decode())
