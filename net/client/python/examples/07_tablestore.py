"""Tablestore: max versions, a time to live, and a max version offset that bounds the timestamps of writes.

Prints:
    maxversions=3 or maxage=1d
    writes from 1 day, 0:00:00 before to 1 day, 0:00:00 after the clock, in whole seconds: True
    two days ahead: OUT_OF_RANGE, not applied
    two days ago: OUT_OF_RANGE, not applied
      m:q = now
"""
from datetime import datetime, timedelta, timezone

import cellar
from cellar import Family, Mutation, Profile, max_age, max_versions
from tools import connect, fresh, show

with connect() as client:
    fresh(client, "metrics", [Family("m", max_versions(3) | max_age(timedelta(days=1)))], profile=Profile.TABLESTORE)
    m = client.describe_table("metrics").family("m")
    print(m.rule)
    past, future = (timedelta(microseconds=us) for us in (m.window.past, m.window.future))
    print(f"writes from {past} before to {future} after the clock, in whole seconds: {m.window.whole_seconds}")

    now = datetime.now(timezone.utc).replace(microsecond=0)
    client.mutate_row("metrics", Mutation("r").set("m", "q", "now", timestamp=now))
    for what, when in (("two days ahead", now + timedelta(days=2)), ("two days ago", now - timedelta(days=2))):
        try:
            client.mutate_row("metrics", Mutation("r").set("m", "q", what, timestamp=when))
        except cellar.OutOfRange as error:
            print(f"{what}: {error.code.name}, {error.applied.name.lower().replace('_', ' ')}")
    show(client.read_row("metrics", "r"))
