"""Publishes ten messages, and waits until a subscriber is there to get them."""

from aerolog.transport.client import Aeron

CHANNEL, STREAM = "aeron:ipc", 1001

with Aeron() as aeron, aeron.add_publication(CHANNEL, STREAM) as publication:
    publication.wait_connected()
    for number in range(10):
        publication.send(f"message {number}".encode())
    print("sent up to position", publication.position)
