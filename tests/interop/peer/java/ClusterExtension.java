import io.aeron.ExclusivePublication;
import io.aeron.FragmentAssembler;
import io.aeron.Image;
import io.aeron.cluster.ClusteredMediaDriver;
import io.aeron.cluster.ConsensusControlState;
import io.aeron.cluster.ConsensusModule;
import io.aeron.cluster.ConsensusModuleControl;
import io.aeron.cluster.ConsensusModuleExtension;
import io.aeron.cluster.codecs.CloseReason;
import io.aeron.logbuffer.ControlledFragmentHandler.Action;
import io.aeron.logbuffer.Header;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.CountersReader;

/**
 * A node with an extension of its consensus module that prints each call as a line, until its input ends. A message may
 * ask for more: "append TEXT" writes it into the log, "raise", "later" is processed at the second time only, "answer ID"
 * tells a session, "close ID" closes one.
 */
public final class ClusterExtension implements ConsensusModuleExtension
{
    private static final int SCHEMA_ID = 999;
    private ConsensusModuleControl control;
    private ConsensusControlState state;
    private FragmentAssembler reader;
    private int count;
    private boolean hasWaited;

    /**
     * @param args the node's folder, the driver's directory, and the members.
     * @throws Exception on any failure.
     */
    @SuppressWarnings("try")
    public static void main(final String[] args) throws Exception
    {
        final ConsensusModule.Context module = new ConsensusModule.Context()
            .serviceCount(0)
            .consensusModuleExtension(new ClusterExtension())
            .ingressChannel("aeron:ipc")
            .errorHandler((error) -> say("error " + error.getMessage()));
        try (ClusteredMediaDriver driver = ClusterNode.launch(args[0], args[1], args[2], module))
        {
            Server.untilInputEnds();
        }
    }

    private static void say(final String line)
    {
        System.out.println(line);
        System.out.flush();
    }

    public int supportedSchemaId()
    {
        return SCHEMA_ID;
    }

    public void onStart(final ConsensusModuleControl control, final Image image)
    {
        this.control = control;
        say("call start " + control.memberId() + " " + control.clusterId() + " " + (null != image) + counters());
        while (null != image && !image.isEndOfStream())
        {
            control.idleStrategy().idle(image.poll((buffer, offset, length, header) ->
            {
                final String text = buffer.getStringWithoutLengthAscii(offset, length);
                say("call restore " + text);
                count = Integer.parseInt(text.split(" ")[1]);
            }, 10));
        }
    }

    /** What the module has published: state, role, toggle, election state and node toggle. */
    private String counters()
    {
        final CountersReader counters = control.aeron().countersReader();
        final StringBuilder line = new StringBuilder();
        counters.forEach((id, typeId, key, label) ->
        {
            if (200 <= typeId && typeId <= 202 || 207 == typeId || 233 == typeId || 239 == typeId)
            {
                line.append(' ').append(typeId).append('=').append(counters.getCounterValue(id));
            }
        });
        return line.toString();
    }

    public int doWork(final long nowNs)
    {
        return 0;
    }

    public int slowTickWork(final long nowNs)
    {
        return 0;
    }

    public int consensusWork(final long nowNs)
    {
        final Image image = state.leaderLogSubscription().imageAtIndex(0);
        final long limit = control.aeron().countersReader().getCounterValue(control.commitPositionCounterId());
        return image.boundedPoll(reader, limit, 10);
    }

    public void onElectionComplete(final ConsensusControlState state)
    {
        this.state = state;
        reader = new FragmentAssembler((buffer, offset, length, header) ->
        {
            if (SCHEMA_ID == buffer.getShort(offset + 4))
            {
                say("call read " + length + " " + header.position());
            }
        });
        say("call elected " + state.isLeader() + " " + state.leadershipTermId() + " " + state.logRecordingId() + " " +
            state.logPublication().position() + counters());
    }

    public void onNewLeadershipTerm(final ConsensusControlState state)
    {
        say("call term " + state.isLeader() + " " + state.leadershipTermId() + " " + state.logRecordingId() +
            counters());
    }

    public Action onIngressExtensionMessage(
        final int actingBlockLength,
        final int templateId,
        final int schemaId,
        final int actingVersion,
        final DirectBuffer buffer,
        final int offset,
        final int length,
        final Header header)
    {
        say("call ingress " + actingBlockLength + " " + templateId + " " + schemaId + " " + actingVersion + " " + length);
        final String[] words = length <= 8 ? new String[]{"" } :
            buffer.getStringWithoutLengthAscii(offset + 8, length - 8).split(" ");
        switch (words[0])
        {
            case "append":
                if (state.logPublication().offer(buffer, offset, length) < 0)
                {
                    return Action.ABORT;
                }
                count++;
                break;
            case "raise":
                throw new IllegalStateException("asked to raise");
            case "later":
                hasWaited = !hasWaited;
                return hasWaited ? Action.ABORT : Action.CONTINUE;
            case "answer":
                answer(Long.parseLong(words[1]));
                break;
            case "close":
                control.closeClusterSession(Long.parseLong(words[1]));
                break;
            default:
                break;
        }
        return Action.CONTINUE;
    }

    private void answer(final long sessionId)
    {
        final byte[] text = "answered".getBytes();
        final UnsafeBuffer message = new UnsafeBuffer(new byte[32 + text.length]);
        message.putShort(0, (short)24);
        message.putShort(2, (short)1);
        message.putShort(4, (short)111);
        message.putShort(6, (short)16);
        message.putLong(8, state.leadershipTermId());
        message.putLong(16, sessionId);
        message.putBytes(32, text);
        control.getClientSession(sessionId).responsePublication().offer(message, 0, message.capacity());
    }

    public Action onLogExtensionMessage(
        final int actingBlockLength,
        final int templateId,
        final int schemaId,
        final int actingVersion,
        final DirectBuffer buffer,
        final int offset,
        final int length,
        final Header header)
    {
        count++; // offset and length are those behind the header, unlike in the ingress
        say("call log " + actingBlockLength + " " + templateId + " " + schemaId + " " + actingVersion + " " +
            (length + 8) + " " + header.position() + counters());
        return Action.CONTINUE;
    }

    public void close()
    {
        say("call close");
    }

    public void onSessionOpened(final long clusterSessionId)
    {
        say("call opened " + clusterSessionId);
    }

    public void onSessionClosed(final long clusterSessionId, final CloseReason closeReason)
    {
        say("call closed " + clusterSessionId + " " + closeReason);
    }

    public void onPrepareForNewLeadership()
    {
    }

    public void onTakeSnapshot(final ExclusivePublication snapshotPublication)
    {
        say("call snapshot " + count + counters());
        final UnsafeBuffer buffer = new UnsafeBuffer(("count " + count).getBytes());
        while (snapshotPublication.offer(buffer, 0, buffer.capacity()) < 0)
        {
            control.idleStrategy().idle();
        }
    }
}
