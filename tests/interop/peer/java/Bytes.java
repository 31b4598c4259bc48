import org.agrona.DirectBuffer;
import org.agrona.MutableDirectBuffer;

import java.util.HexFormat;

/** Bytes as hexadecimal text, and the numbered messages that both sides of a test can make and check. */
final class Bytes
{
    static final int INDEX_LENGTH = 8;

    private Bytes()
    {
    }

    static String hex(final DirectBuffer buffer, final int offset, final int length)
    {
        final byte[] bytes = new byte[length];
        buffer.getBytes(offset, bytes);
        return HexFormat.of().formatHex(bytes);
    }

    /** Message number index: its number as i64, then bytes index, index + 1, ... each modulo 256. */
    static void fill(final MutableDirectBuffer buffer, final long index, final int length)
    {
        buffer.putLong(0, index);
        for (int i = INDEX_LENGTH; i < length; i++)
        {
            buffer.putByte(i, (byte)(index + i - INDEX_LENGTH));
        }
    }

    static boolean matches(final DirectBuffer buffer, final int offset, final int length, final long index)
    {
        boolean matches = length >= INDEX_LENGTH && buffer.getLong(offset) == index;
        for (int i = INDEX_LENGTH; matches && i < length; i++)
        {
            matches = buffer.getByte(offset + i) == (byte)(index + i - INDEX_LENGTH);
        }
        return matches;
    }
}
