"""The archive: file formats, protocol, service, client, time index, verification, retention."""
