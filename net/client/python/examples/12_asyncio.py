"""With asyncio: many requests at once over one connection, a scan in the background, a timeout.

Prints:
    100 rows written
    100 rows read one by one, 4950 in all
    100 rows scanned
    a timeout that is too short: DEADLINE_EXCEEDED
"""
import asyncio
import sys

import cellar
from cellar import AsyncClient, Mutation, increment


async def main(address):
    async with AsyncClient(address) as client:
        if any(table.name == "numbers" for table in await client.list_tables("numbers")):
            await client.drop_table("numbers")
        await client.create_table("numbers", ["n"])

        writes = (client.read_modify_write("numbers", f"{i:03}", [increment("n", "value", i)]) for i in range(100))
        print(len(await asyncio.gather(*writes)), "rows written")

        rows = await asyncio.gather(*(client.read_row("numbers", f"{i:03}") for i in range(100)))
        print(len(rows), "rows read one by one,", sum(row.find("n", "value").int64 for row in rows), "in all")

        count = 0
        async for _ in client.read_rows("numbers"):
            count += 1
        print(count, "rows scanned")

        try:
            await client.mutate_row("numbers", Mutation("000").delete_row(), timeout=0)
        except cellar.DeadlineExceeded as error:
            print("a timeout that is too short:", error.code.name)


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7420"))
