class PublicationTable:
    """A sender's publications by endpoint, session and stream; native code only."""
