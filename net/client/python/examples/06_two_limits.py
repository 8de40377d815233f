"""Two limits at once: `|` kills a cell if either holds, `&` only if both do.

Prints:
    either: maxage=2d or maxversions=2
    both: maxage=2d and maxversions=2
    cells of one, two and three hours:
      both:q = a
      both:q = b
      both:q = c
      either:q = a
      either:q = b
    cells of three, four and five days, with those that are dead:
      both:q = a, lives on
      both:q = b, lives on
      both:q = c, dead: MAX_VERSIONS
"""
from datetime import datetime, timedelta, timezone

from cellar import Mutation, max_age, max_versions
from tools import connect, fresh, show

AGE, VERSIONS = max_age(timedelta(days=2)), max_versions(2)

with connect() as client:
    fresh(client, "limits", {"either": AGE | VERSIONS, "both": AGE & VERSIONS})
    for name in ("either", "both"):
        print(f"{name}: {client.describe_table('limits').family(name).rule}")

    now = datetime.now(timezone.utc).replace(microsecond=0)
    young, old = Mutation("young"), Mutation("old")
    for number, value in enumerate("abc", start=1):
        young.set("either", "q", value, timestamp=now - timedelta(hours=number))
        young.set("both", "q", value, timestamp=now - timedelta(hours=number))
        old.set("both", "q", value, timestamp=now - timedelta(days=number + 2))
    client.mutate_rows("limits", [young, old])
    print("cells of one, two and three hours:")
    show(client.read_row("limits", "young"))
    print("cells of three, four and five days, with those that are dead:")
    show(client.explain("limits", "old"))
