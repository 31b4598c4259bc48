"""Prints the messages of a stream as they come, until its publishers have ended."""

from aerolog.transport.client import Aeron

CHANNEL, STREAM = "aeron:ipc", 1001

with Aeron() as aeron, aeron.add_subscription(CHANNEL, STREAM) as subscription:
    print("waiting for a publisher", flush=True)
    for message in subscription.messages(until_eos=True):
        print(message.position, message.data.decode())
