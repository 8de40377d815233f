"""Sequence numbers as timestamps: the application numbers the versions, and the newest three stay.

Prints:
    5 delivered
    4 sent
    3 packed
    a limit of age is refused: INVALID_ARGUMENT
"""
from datetime import timedelta

import cellar
from cellar import Family, Granularity, Mutation, TimestampMeaning, max_age, max_versions
from tools import connect, fresh

with connect() as client:
    numbered = Family("o", max_versions(3), timestamps=TimestampMeaning.SEQUENCE)
    fresh(client, "orders", [numbered], granularity=Granularity.MICROS)

    for number, state in enumerate(("new", "paid", "packed", "sent", "delivered"), start=1):
        client.mutate_row("orders", Mutation("4711").set("o", "state", state, timestamp=number))
    for cell in client.read_row("orders", "4711"):
        print(cell.timestamp_us, cell.text)

    try:
        client.set_rule("orders", "o", max_age(timedelta(days=1)))
    except cellar.InvalidArgument as error:
        print("a limit of age is refused:", error.code.name)
