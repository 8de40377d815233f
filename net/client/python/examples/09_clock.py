"""When the clock is wrong: cells die by trusted time, which a wall clock that jumps ahead does not move.

The held time is how far the wall clock is ahead of trusted time; it kills nothing until `cellar clock confirm`.

Prints:
    trusted time within a second of the wall clock: True
    held time: 0:00:00
    trusted time stands: False
"""
from datetime import timedelta

from cellar import to_datetime
from tools import connect

with connect() as client:
    info = client.server_info()
    difference = abs(to_datetime(info.wall_us) - to_datetime(info.now_us))
    print("trusted time within a second of the wall clock:", difference < timedelta(seconds=1))
    print("held time:", timedelta(seconds=info.held_us // 1_000_000))
    print("trusted time stands:", info.stands)
