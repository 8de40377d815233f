"""What the examples share: the client, a table that is new, rows as text without times."""
import sys
from datetime import timedelta

import cellar


def connect():
    """A client of the node in the first argument; without one: on this machine."""
    return cellar.Client(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7420")


def fresh(client, name, families, **options):
    """Creates a table. One of this name that an earlier run left is dropped."""
    if any(table.name == name for table in client.list_tables(name)):
        client.drop_table(name)
    client.create_table(name, families, **options)


def show(row):
    """Prints the cells of a row: column, value, and with an explanation what becomes of the cell."""
    if row is None:
        print("  no cells")
        return
    for cell in row:
        print(f"  {cell.family}:{cell.qualifier.decode()} = {cell.text}{fate(cell)}")


def fate(cell):
    why = cell.explanation
    if why is None:
        return ""
    if why.dead:
        return f", dead: {why.cause.name}"
    if why.dies_at_us == cellar.NEVER_US:
        return ", lives on"
    return f", dies {timedelta(microseconds=why.dies_at_us - cell.timestamp_us)} after its timestamp: {why.cause.name}"
