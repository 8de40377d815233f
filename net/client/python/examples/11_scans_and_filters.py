"""Scans and filters: rows by prefix, range and key, in both orders; cells by column, value and time.

Prints:
    by prefix: user1 user2 user3
    backwards, two: user3 user2
    a range and a key: item1 user1 user2
    clicks of pages under /a: user1 user3
    the newest click of each user: /a/2 /b/1 /a/3
    keys alone: item1 user1 user2 user3
    after the range was dropped: item1
"""
from cellar import Filter, Mutation
from tools import connect, fresh


def keys(rows):
    return " ".join(row.key.decode() for row in rows)


with connect() as client:
    fresh(client, "visits", ["click", "info"], splits=["user2"])
    clicks = {"user1": ["/a/1", "/a/2"], "user2": ["/b/1"], "user3": ["/b/2", "/a/3"]}
    rows = [Mutation("item1").set("info", "name", "lamp")]
    for user, pages in clicks.items():
        row = Mutation(user)
        for second, page in enumerate(pages):
            row.set("click", "page", page, timestamp=1_000_000 * (second + 1))
        rows.append(row)
    client.mutate_rows("visits", rows)

    print("by prefix:", keys(client.read_rows("visits", prefix="user")))
    print("backwards, two:", keys(client.read_rows("visits", prefix="user", reversed=True, limit=2)))
    print("a range and a key:", keys(client.read_rows("visits", start="user1", end="user3", keys=["item1"])))
    under_a = Filter.chain(Filter.column("click", "page"), Filter.value_regex("/a/.*"))
    print("clicks of pages under /a:", keys(client.read_rows("visits", filter=under_a)))
    newest = client.read_rows("visits", columns=[("click", "page")], versions=1)
    print("the newest click of each user:", " ".join(row.cells[0].text for row in newest))
    print(
        "keys alone:",
        keys(client.read_rows("visits", filter=Filter.chain(Filter.cells_per_row(1), Filter.strip_value()))),
    )

    client.drop_row_range("visits", prefix="user", draw_tokens=True)
    print("after the range was dropped:", keys(client.read_rows("visits")))
