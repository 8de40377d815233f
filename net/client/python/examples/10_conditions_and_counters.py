"""Conditional writes and counters; a token makes the repetition of a write harmless.

Prints:
    the name was free: True
    the name was free: False
    sold, because one was in stock: True
    sold, because one was in stock: False
    visits: 3
    the log: first,second,
    repeated with its token: True, visits: 4
"""
from cellar import Filter, Mutation, Token, append, increment
from tools import connect, fresh

with connect() as client:
    fresh(client, "shop", ["a"])

    for owner in ("ada", "bob"):  # only the first gets the name
        taken = client.check_and_mutate("shop", "name/page1", otherwise=Mutation("name/page1").set("a", "owner", owner))
        print("the name was free:", not taken.matched)

    client.mutate_row("shop", Mutation("item1").set("a", "stock", "1"))
    in_stock = Filter.chain(Filter.column("a", "stock"), Filter.cells_per_column(1), Filter.value_regex("[1-9][0-9]*"))
    for _ in range(2):
        sold = client.check_and_mutate(
            "shop", "item1", condition=in_stock, then=Mutation("item1").set("a", "stock", "0")
        )
        print("sold, because one was in stock:", sold.matched)

    for entry in ("first,", "second,"):
        client.read_modify_write("shop", "page1", [increment("a", "visits"), append("a", "log", entry)])
    row = client.read_modify_write("shop", "page1", [increment("a", "visits")])
    print("visits:", row.find("a", "visits").int64)
    print("the log:", client.read_row("shop", "page1", columns=[("a", "log")], versions=1).cells[0].text)

    token = Token.draw()
    issued = Token(token.token, client.ping().now_us)
    for _ in range(2):
        row = client.read_modify_write("shop", "page1", [increment("a", "visits")], token=issued)
    print(f"repeated with its token: {row.repeated}, visits: {row.find('a', 'visits').int64}")
