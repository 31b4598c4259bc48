import io.aeron.security.CredentialsSupplier;

import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import java.security.GeneralSecurityException;

/** What a test says about who it is: fixed bytes, a fixed answer to a challenge, or an HMAC-SHA256 of it. */
final class Credentials implements CredentialsSupplier
{
    private final byte[] credentials;
    private final byte[] answer;
    private final byte[] hmacKey;

    Credentials(final Request request)
    {
        credentials = request.has("credentials") ? request.bytes("credentials") : new byte[0];
        answer = request.has("answer") ? request.bytes("answer") : new byte[0];
        hmacKey = request.has("hmac_key") ? request.bytes("hmac_key") : null;
    }

    public byte[] encodedCredentials()
    {
        return credentials;
    }

    public byte[] onChallenge(final byte[] encodedChallenge)
    {
        if (null == hmacKey)
        {
            return answer;
        }
        try
        {
            final Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(hmacKey, "HmacSHA256"));
            mac.update(credentials);
            mac.update((byte)0);
            return mac.doFinal(encodedChallenge);
        }
        catch (final GeneralSecurityException ex)
        {
            throw new IllegalStateException(ex);
        }
    }
}
