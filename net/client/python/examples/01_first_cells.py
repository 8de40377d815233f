"""First cells: a table, a row, versions of a column, deletes.

Prints:
    written by the server's clock: True
    two versions of the title:
      page:body = <p>
      page:title = Example
      page:title = Draft
    the newest version: Example
    without the draft:
      page:body = <p>
      page:title = Example
    after the delete:
      no cells
"""
from datetime import datetime, timedelta, timezone

from cellar import Mutation
from tools import connect, fresh, show

with connect() as client:
    fresh(client, "web", ["page"])

    hour_ago = datetime.now(timezone.utc).replace(microsecond=0) - timedelta(hours=1)
    done = client.mutate_row(
        "web", Mutation("com.example/index").set("page", "title", "Example").set("page", "body", "<p>")
    )
    client.mutate_row("web", Mutation("com.example/index").set("page", "title", "Draft", timestamp=hour_ago))
    print("written by the server's clock:", done.timestamp_us == done.commit_stamp_ns // 1_000_000 * 1000)

    row = client.read_row("web", "com.example/index")
    print("two versions of the title:")
    show(row)
    print("the newest version:", row.find("page", "title").text)

    client.mutate_row(
        "web", Mutation("com.example/index").delete_column("page", "title", end=hour_ago + timedelta(seconds=1))
    )
    print("without the draft:")
    show(client.read_row("web", "com.example/index"))

    client.mutate_row("web", Mutation("com.example/index").delete_row())
    print("after the delete:")
    show(client.read_row("web", "com.example/index"))
