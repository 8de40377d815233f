"""An index with an age of its own: found by value as long as it is young, in the table for longer.

Prints:
    open: order17, order18
    paid: order17
    open: order18
    found by the index: nothing
    in the table: order17, order18
    an age over the table's: INVALID_ARGUMENT
    found again: order18 chair, order17 lamp
"""
import time
from datetime import timedelta

import cellar
from cellar import Index, IndexPart, Mutation, TighterBase, max_age
from tools import connect, fresh


def wait_until_ready(client, table):
    while not all(index.ready for index in client.describe_indexes(table)):
        time.sleep(0.01)


def found(client, **conditions):
    rows = client.read_index("orders", "by_state", **conditions)
    return ", ".join(row.key.decode() for row in rows) or "nothing"


with connect() as client:
    fresh(client, "orders", {"o": max_age(timedelta(days=2))})
    by_state = Index(
        "by_state", "o", "state", (IndexPart.VALUE, IndexPart.TIME), covered=(("o", "item"),),
        max_age=timedelta(days=1), tighter_base=TighterBase.REFUSE,
    )  # fmt: skip
    client.create_index("orders", by_state)
    wait_until_ready(client, "orders")
    for order, item in (("order17", "lamp"), ("order18", "chair")):
        client.mutate_row("orders", Mutation(order).set("o", "state", "open").set("o", "item", item))
    print("open:", ", ".join(sorted(found(client, value="open").split(", "))))
    client.mutate_row("orders", Mutation("order17").set("o", "state", "paid"))
    print("paid:", found(client, value="paid"))
    print("open:", found(client, value="open"))

    client.alter_index("orders", "by_state", max_age=timedelta(milliseconds=1))
    time.sleep(0.01)
    print("found by the index:", found(client))
    print("in the table:", ", ".join(row.key.decode() for row in client.read_rows("orders")))

    try:
        client.alter_index("orders", "by_state", max_age=timedelta(days=3))
    except cellar.InvalidArgument as error:
        print("an age over the table's:", error.code.name)
    client.alter_index("orders", "by_state", max_age=None)
    wait_until_ready(client, "orders")
    again = client.read_index("orders", "by_state")
    print("found again:", ", ".join(f"{row.key.decode()} {row.find('o', 'item').text}" for row in again))
