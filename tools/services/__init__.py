"""``aerolog driver``, ``archiving-driver``, ``archive`` and ``passwords``: what runs on and on."""
