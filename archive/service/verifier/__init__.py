"""The verifier: closed segments, read again and again at a bounded rate."""
