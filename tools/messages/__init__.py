"""``aerolog publish`` and ``aerolog subscribe``, and the forms in which messages are printed."""
