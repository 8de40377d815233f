"""The timestamp is the expiry date: the family says so, and the node refuses what would be lost at once.

Prints:
    user1 has s:token
      s:token = abc
    a cell without a date: INVALID_ARGUMENT
    a cell with a past date: OUT_OF_RANGE
    nothing of user2 was written:
      no cells
"""
from datetime import datetime, timedelta, timezone

import cellar
from cellar import Family, Mutation, TimestampMeaning, max_age
from tools import connect, fresh, show

with connect() as client:
    fresh(client, "sessions", [Family("s", max_age(timedelta(seconds=1)), timestamps=TimestampMeaning.EXPIRY)])

    now = datetime.now(timezone.utc).replace(microsecond=0)
    client.mutate_row("sessions", Mutation("user1").set("s", "token", "abc", timestamp=now + timedelta(hours=1)))
    print("user1 has s:token")
    show(client.read_row("sessions", "user1"))

    for what, date in (("without a date", None), ("with a past date", now - timedelta(minutes=1))):
        try:
            client.mutate_row("sessions", Mutation("user2").set("s", "token", "def", timestamp=date))
        except cellar.CellarError as error:
            print(f"a cell {what}: {error.code.name}")
    print("nothing of user2 was written:")
    show(client.read_row("sessions", "user2"))
