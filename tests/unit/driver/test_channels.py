"""Channels of IPC publications and subscriptions: what is taken, what is refused and how."""

import pytest

from aerolog.transport.errors import ErrorCode
from aerolog.transport.protocol import commands as c
from aerolog.transport.protocol import responses as r

PARAMETERS = "java.lang.IllegalStateException : "
CONFIGURATION = "io.aeron.exceptions.ConfigurationException : ERROR - "

REFUSED = [
    ("aeron:ipc?term-length=32k", 11, PARAMETERS + "Term length less than min length of 65536"),
    ("aeron:ipc?term-length=2g", 11, "length=-2147483648"),
    ("aeron:ipc?term-length=100k", 11, PARAMETERS + "Term length not a power of 2: length=102400"),
    ("aeron:ipc?term-length=12x", 11, "java.lang.NumberFormatException : term-length: 12x should"),
    ("aeron:ipc?mtu=100", 11, CONFIGURATION + "mtuLength=100 is not a multiple"),
    ("aeron:ipc?mtu=65536", 11, CONFIGURATION + "mtuLength=65536 > MAX_UDP_PAYLOAD_LENGTH=65504"),
    ("aeron:ipc?mtu=32", 11, CONFIGURATION + "mtuLength=32 <= HEADER_LENGTH=32"),
    ("aeron:ipc?mtu=8224|term-length=64k", 1, "ERROR - MTU greater than max message length"),
    ("aeron:ipc?pub-wnd=33k|term-length=64k", 1, "ERROR - pub-wnd=33792 must not exceed half"),
    ("aeron:ipc?pub-wnd=1k", 1, "ERROR - pub-wnd=1024 cannot be less than the mtu=1408"),
    ("aeron:ipc?linger=10h", 11, "java.lang.NumberFormatException : linger: 10h should end with"),
    ("aeron:ipc?max-resend=257", 1, "ERROR - invalid max-resend=257, must be > 0 and <= 256"),
    ("aeron:ipc?init-term-id=5", 1, "ERROR - params must be used as a complete set"),
    ("aeron:ipc?init-term-id=5|term-id=5|term-offset=33", 1, "must be a multiple of FRAME_ALIGN"),
    ("aeron:ipc?init-term-id=5|term-id=4|term-offset=0", 1, "difference greater than 2^31 - 1"),
    ("aeron:ipc?init-term-id=5|term-id=5|term-offset=65568", 1, "> term-length=65536"),
    ("aeron:ipc?session-id=abc", 1, "ERROR - invalid session-id, must be a number"),
    ("aeron:ipc?session-id=tag:9", 1, "must reference an IPC publication"),
    ("aeron:ipc?tags=1,abc", 1, "ERROR - invalid entity tag, must be a number"),
    ("aeron:ipc?tags=1,-1", 1, "ERROR - -1 tag is reserved"),
    ("aeron:ipc?stream-id=8", 1, "ERROR - stream-id=8 does not match provided streamId=7"),
    ("aeron:ipc?response-correlation-id=-2", 1, "ERROR - invalid response-correlation-id"),
    ("aeron:ipc?", 1, "java.lang.IllegalStateException: no more input found, state=PARAMS_KEY"),
    ("aeron:tcp", 1, "java.lang.IllegalArgumentException: unknown media: tcp"),
    ("ipc", 1, "Aeron URIs must start with 'aeron:', found: ipc"),
    ("aeron:udp?endpoint=localhost:0", 11, "endpoint has port=0 for publication"),
    ("aeron:udp?endpoint=localhost", 1, "address:port is required for ipv4: localhost"),
    ("aeron-spy:aeron:ipc", 1, "UdpChannel only supports UDP media: aeron-spy:aeron:ipc"),
]


@pytest.mark.parametrize(("channel", "code", "text"), REFUSED)
@pytest.mark.parametrize("make", [c.AddPublication, c.AddExclusivePublication])
def test_a_publication_is_refused_with_code_and_text(bench, make, channel, code, text):
    (error,) = bench.do(lambda i, n: make(i, n, 7, channel))
    assert error.code == code
    assert text in error.message
    assert [k for k in bench.cnc.counters if k.type_id] == []
    assert bench.files.list_dir(f"{bench.driver.aeron_dir}/publications") == []


@pytest.mark.parametrize(
    ("channel", "code", "text"),
    [
        (
            "aeron:ipc?session-id=abc",
            11,
            'java.lang.NumberFormatException : For input string: "abc"',
        ),
        ("aeron:ipc?term-id=5", 11, "java.lang.IllegalArgumentException : params must be used"),
        (
            "aeron:ipc?init-term-id=5|term-id=4|term-offset=0",
            11,
            "java.lang.IllegalStateException : difference greater than",
        ),
        ("aeron:ipc?untethered-linger-timeout=x", 11, "should end with: s, ms, us, or ns."),
        ("aeron:udp?control=localhost:0", 11, "control has port=0 for subscription"),
    ],
)
def test_a_subscription_is_refused_with_code_and_text(bench, channel, code, text):
    (error,) = bench.do(lambda i, n: c.AddSubscription(i, n, 7, channel))
    assert error.code == code
    assert text in error.message
    assert [k for k in bench.cnc.counters if k.type_id] == []


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        ("aeron:ipc", "aeron:ipc?mtu=4096", "'mtu': existing=1408 requested=4096"),
        ("aeron:ipc", "aeron:ipc?term-length=1m", "'term-length': existing=65536"),
        (
            "aeron:ipc?session-id=5",
            "aeron:ipc?session-id=6",
            "'session-id': existing=5 requested=6",
        ),
        (
            "aeron:ipc?init-term-id=1|term-id=2|term-offset=64",
            "aeron:ipc?init-term-id=1|term-id=2|term-offset=32",
            "'term-offset': existing=64 requested=32",
        ),
    ],
)
def test_a_shared_publication_must_be_what_is_asked_for(bench, first, second, difference):
    bench.publication(first)
    assert bench.publication("aeron:ipc?linger=1s").registration_id == 2
    (error,) = bench.do(lambda i, n: c.AddPublication(i, n, 7, second))
    assert error.code == 11
    assert f"existing publication has different {difference}" in error.message


def test_a_session_clash_is_refused_and_the_session_is_free_once_it_lingers(bench):
    ready = bench.exclusive("aeron:ipc?session-id=5")
    (error,) = bench.do(lambda i, n: c.AddExclusivePublication(i, n, 7, "aeron:ipc?session-id=5"))
    assert "existing publication has clashing sessionId=5 for streamId=7" in error.message
    bench.exclusive("aeron:ipc?session-id=5", 8)
    bench.remove_publication(ready.correlation_id)
    bench.pass_time(1_000_000_000)
    assert bench.exclusive("aeron:ipc?session-id=5").session_id == 5


def test_an_entity_tag_names_one_publication_and_lends_its_session(bench):
    tagged = bench.exclusive("aeron:ipc?tags=1,77|term-length=128k|mtu=2048")
    (error,) = bench.do(lambda i, n: c.AddPublication(i, n, 8, "aeron:ipc?tags=2,77"))
    assert "77 entityTag already in use" in error.message
    same = bench.exclusive("aeron:ipc?session-id=tag:77", 8)
    assert same.session_id == tagged.session_id
    metadata = bench.log(same).metadata
    assert (metadata.term_length, metadata.mtu_length) == (131_072, 2048)
    for channel, text in (
        ("aeron:ipc?session-id=tag:77|mtu=1024", "mtu=1024 does not match session-id tag value"),
        ("aeron:ipc?session-id=tag:77|term-length=64k", "term-length=65536 does not match"),
    ):
        (error,) = bench.do(lambda i, n, ch=channel: c.AddExclusivePublication(i, n, 9, ch))
        assert text in error.message


def test_a_subscription_with_a_session_gets_that_one_only(bench):
    bench.exclusive("aeron:ipc?session-id=5")
    bench.exclusive("aeron:ipc?session-id=6")
    bench.subscription("aeron:ipc?session-id=6")
    assert [m.session_id for m in bench.last if isinstance(m, r.AvailableImage)] == [6]
    bench.exclusive("aeron:ipc?session-id=7")
    assert not [m for m in bench.last if isinstance(m, r.AvailableImage)]


def test_session_ids_are_neither_reserved_nor_in_use(start):
    bench = start(
        publication_reserved_session_id_low=-(2**31),
        publication_reserved_session_id_high=2**31 - 1 - 2**31 - 3,
    )
    taken = {bench.exclusive(f"aeron:ipc?session-id={n}").session_id for n in (0, 1)}
    wanted = bench.do(lambda i, n: c.GetNextAvailableSessionId(i, n, 7))[0].session_id
    assert wanted not in taken
    given = {bench.exclusive().session_id for _ in range(20)}
    assert len(given) == 20
    assert not given & taken
    assert all(session >= -3 for session in given)


def test_an_unknown_parameter_has_no_effect_and_is_an_event_once(start, capsys, tmp_path):
    log = tmp_path / "events.log"
    bench = start(event_log="TEXT_DATA", event_log_filename=str(log))
    for channel in ("aeron:ipc?alaais=a", "aeron:ipc?alaais=b"):
        bench.publication(channel)
        bench.subscription(channel)
    bench.driver.close()

    events = [line for line in log.read_text().splitlines() if "TEXT_DATA" in line]
    assert len(events) == 1
    assert events[0].endswith(
        "unknown channel parameter alaais; did you mean alias? (channel aeron:ipc?alaais=a)"
    )
    assert capsys.readouterr().err == ""
    assert bench.errors() == []


def test_a_strict_driver_refuses_unknown_parameters(start):
    bench = start(strict=True)

    code, message = bench.refused(lambda i, n: c.AddPublication(i, n, 7, "aeron:ipc?mtuu=1408"))

    assert code == ErrorCode.INVALID_CHANNEL
    assert "unknown channel parameter mtuu; did you mean mtu? (channel aeron:ipc?mtuu" in message
