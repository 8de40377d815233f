"""Changing a rule and undoing the change: preview first; what a tighter rule hides comes back within the undo window.

Prints:
    maxversions=3 keeps:
      d:text = v5
      d:text = v4
      d:text = v3
    maxversions=1 would kill 2 cells in 1 row: readme
    it can be undone for 1 day, 0:00:00
    with it, dead cells too:
      d:text = v5, lives on
      d:text = v4, dead: HIDDEN
      d:text = v3, dead: HIDDEN
      d:text = v2, dead: MAX_VERSIONS
      d:text = v1, dead: MAX_VERSIONS
    the rules so far: maxversions=1, maxversions=3
    undone, the rule is maxversions=3:
      d:text = v5
      d:text = v4
      d:text = v3
"""
from datetime import timedelta

from cellar import Granularity, Mutation, TableOptions, max_versions
from tools import connect, fresh, show

with connect() as client:
    keep_dead = TableOptions(reclaim_within=timedelta(days=7))  # so that dead cells can be shown
    fresh(client, "docs", {"d": max_versions(3)}, granularity=Granularity.MICROS, options=keep_dead)
    text = Mutation("readme")
    for number in range(1, 6):
        text.set("d", "text", f"v{number}", timestamp=number)
    client.mutate_row("docs", text)
    print("maxversions=3 keeps:")
    show(client.read_row("docs", "readme"))

    preview = client.preview_rule("docs", "d", max_versions(1))
    print(f"maxversions=1 would kill {preview.cells} cells in {preview.rows} row: {preview.samples[0].decode()}")
    print("it can be undone for", timedelta(microseconds=preview.undo_window_us))
    client.set_rule("docs", "d", max_versions(1))
    print("with it, dead cells too:")
    show(client.explain("docs", "readme"))

    history = client.rule_history("docs", "d")
    print("the rules so far:", ", ".join(str(era.rule) for era in history.eras))
    undone = client.undo_rule("docs", "d", expected_version=history.version)
    print(f"undone, the rule is {undone.family('d').rule}:")
    show(client.read_row("docs", "readme"))
