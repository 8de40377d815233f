"""Only the latest value: a late reading is dead at once, and a dead cell stays dead.

Prints:
    the latest reading:
      t:celsius = 20.7
    after a late one:
      t:celsius = 20.7
    after the latest was deleted:
      no cells
"""
from datetime import datetime, timedelta, timezone

from cellar import Mutation, max_versions
from tools import connect, fresh, show


def report(client, celsius, at):
    client.mutate_row("sensors", Mutation("kitchen").set("t", "celsius", celsius, timestamp=at))


with connect() as client:
    fresh(client, "sensors", {"t": max_versions(1)})

    now = datetime.now(timezone.utc).replace(microsecond=0)
    report(client, "20.5", now - timedelta(seconds=2))
    report(client, "20.7", now - timedelta(seconds=1))
    print("the latest reading:")
    show(client.read_row("sensors", "kitchen"))

    report(client, "20.1", now - timedelta(seconds=3))
    print("after a late one:")
    show(client.read_row("sensors", "kitchen"))

    client.mutate_row("sensors", Mutation("kitchen").delete_column("t", "celsius", start=now - timedelta(seconds=1)))
    print("after the latest was deleted:")
    show(client.read_row("sensors", "kitchen"))
