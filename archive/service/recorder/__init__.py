"""The archive's recorder: recordings, their sessions and writers, and their segment files."""
