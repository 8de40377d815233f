"""A default lifetime with exceptions: the family's rule is the default, a ttl or an expire_at of a cell takes its
place.

Prints:
    customer3
      click:page = /home, dies 2 days, 0:00:00.000001 after its timestamp: MAX_AGE
    customer7
      click:page = /home, dies 1:00:00.000001 after its timestamp: EXPIRY
    customer9
      click:page = /home, dies 3 days, 0:00:00.000001 after its timestamp: EXPIRY
    in a moment:
      click:page = /now
    after it:
      no cells
"""
import time
from datetime import datetime, timedelta, timezone

from cellar import Mutation, max_age
from tools import connect, fresh, show

with connect() as client:
    fresh(client, "events", {"click": max_age(timedelta(days=2))})

    now = datetime.now(timezone.utc).replace(microsecond=0)
    client.mutate_row("events", Mutation("customer3").set("click", "page", "/home", timestamp=now))
    client.mutate_row(
        "events", Mutation("customer7").set("click", "page", "/home", timestamp=now, expire_at=now + timedelta(hours=1))
    )
    client.mutate_row(
        "events", Mutation("customer9").set("click", "page", "/home", timestamp=now, expire_at=now + timedelta(days=3))
    )
    for row in client.read_rows("events", explain=True):
        print(row.key.decode())
        show(row)

    client.mutate_row("events", Mutation("customer1").set("click", "page", "/now", ttl=timedelta(milliseconds=300)))
    print("in a moment:")
    show(client.read_row("events", "customer1"))
    time.sleep(0.4)
    print("after it:")
    show(client.read_row("events", "customer1"))
