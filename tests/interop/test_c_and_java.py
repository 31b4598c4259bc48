"""Where the drivers in Java and in C differ in what they refuse (docs/compatibility/c-peer.md)."""

import stat
from pathlib import Path

import pytest

from aerolog.transport.errors import RegistrationError

pytestmark = pytest.mark.interop

UDP = "aeron:udp?endpoint=localhost:40125"
# What is added, and the error codes of Java's driver and of C's; 0 where it is taken.
PUBLICATIONS = {
    "an unknown host": ("aeron:udp?endpoint=nobody.invalid:40125", 1, 9),
    "flow control of groups for one receiver": (f"{UDP}|fc=max", 11, 0),
    "an unknown option of flow control": (
        "aeron:udp?endpoint=224.0.1.1:40125|interface=localhost|fc=min,x:1",
        0,
        11,
    ),
    "another stream": (f"{UDP}|stream-id=99", 1, 0),
    "a session that is no number": (f"{UDP}|session-id=abc", 1, 11),
    "a session of an unknown tag": (f"{UDP}|session-id=tag:99", 1, 11),
    "a tag that is no number": (f"{UDP}|tags=abc", 1, 1),
    "a part of a position": (f"{UDP}|init-term-id=5", 1, 11),
    "a window below the MTU": (f"{UDP}|pub-wnd=1", 1, 11),
    "a value that is neither true nor false": (f"{UDP}|sparse=maybe", 0, 11),
    "an MTU that is no multiple": (f"{UDP}|mtu=77", 11, 11),
}
COLUMNS = {"reference": 0, "ours": 0, "c": 1}  # ours answers as Java's


@pytest.fixture(params=COLUMNS)
def driver(request, session_servers):
    return session_servers(request.param, "driver")


def code_of(add, *arguments) -> int:
    """The code of the refusal, 0 where there is none."""
    try:
        add(*arguments).close()
    except RegistrationError as error:
        return error.code
    return 0


@pytest.mark.error_log(
    "For input string",
    "Invalid argument",
    "invalid channel",
    "mtuLength",
    "params must be used as a complete set",
    "pub-wnd",
    "session-id",
    "stream-id=",
    "unknown host",
    "unresolved - endpoint",
    "unsupported unicast flow control",
)
@pytest.mark.error_log("tags", at_times=True)  # the driver in C of other versions
@pytest.mark.parametrize("what", PUBLICATIONS)
def test_codes_of_refused_publications(driver, our_client, stream_id, what):
    channel, *codes = PUBLICATIONS[what]
    client = our_client(driver.aeron_dir)
    expected = codes[COLUMNS[driver.implementation]]
    assert code_of(client.add_publication, channel, stream_id) == expected


@pytest.mark.error_log(
    "Invalid argument",
    "channel does not allow manual control",
    "invalid channel",
    "unknown MDS subscription",
)
def test_codes_of_refused_destinations(driver, our_client, stream_id):
    client = our_client(driver.aeron_dir)
    publication = client.add_publication(UDP, stream_id)
    subscription = client.add_subscription("aeron:udp?endpoint=localhost:0", stream_id)
    codes = [code_of(each.add_destination, UDP) for each in (publication, subscription)]
    assert codes == [[1, 2], [11, 1]][COLUMNS[driver.implementation]]


@pytest.mark.error_log("Invalid argument", "existing publication has different")
def test_a_second_publication_with_another_mtu(driver, our_client, stream_id):
    client = our_client(driver.aeron_dir)
    with client.add_publication(UDP, stream_id):
        assert code_of(client.add_publication, f"{UDP}|mtu=1024", stream_id) == 11


@pytest.mark.parametrize("implementation", ["reference", "c"])
def test_files_of_a_new_directory_have_the_same_names_and_modes(start_server, implementation):
    folder = Path(start_server(implementation, "driver").aeron_dir)
    found = {
        str(path.relative_to(folder)): (stat.S_IMODE(path.stat().st_mode), path.stat().st_size)
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert found == {"cnc.dat": (0o644, 48_238_592), "loss-report.dat": (0o644, 1_048_576)}
    folders = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_dir()}
    assert folders == {"images", "publications"}
    assert (folder / "cnc.dat").stat().st_blocks * 512 == 48_238_592
    has_zeros = (folder / "loss-report.dat").stat().st_blocks > 0
    assert has_zeros == (implementation == "c")
