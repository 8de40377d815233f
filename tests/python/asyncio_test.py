#!/usr/bin/env python3
"""Every operation of the client for asyncio against a node, and what only it does: many requests at once, cancelled
calls."""
import asyncio
import unittest

from operations import Operations
from cellar import AsyncClient, Cancelled, CellarError, Mutation, increment


class AsyncioTest(Operations, unittest.IsolatedAsyncioTestCase):
    make = AsyncClient

    async def test_requests_are_pipelined_in_order(self):
        await self.create(["a"])
        writes = [
            self.client.mutate_row(self.table, Mutation("r").set("a", "q", f"{i}", timestamp=0)) for i in range(300)
        ]
        counts = [self.client.read_modify_write(self.table, "n", [increment("a", "n")]) for _ in range(300)]
        await asyncio.gather(*writes, *counts)
        self.assertEqual(await self.values("r"), ["299"])  # of one task group, in the order of the calls
        row = await self.client.read_row(self.table, "n", versions=1)
        self.assertEqual(row.cells[0].int64, 300)
        self.assertEqual(len(self.client._connections), 1)

    async def test_scans_run_beside_each_other(self):
        await self.create(["a"])
        await self.client.mutate_rows(self.table, [Mutation(f"{i:04}").set("a", "q", "v" * 1000) for i in range(1500)])

        async def count():
            return len([row async for row in self.client.read_rows(self.table)])

        self.assertEqual(await asyncio.gather(*(count() for _ in range(5))), [1500] * 5)

    async def test_a_cancelled_call_leaves_the_client_usable(self):
        await self.create(["a"])
        for _ in range(20):
            tasks = [asyncio.create_task(self.client.read_row(self.table, "r")) for _ in range(10)]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            self.assertTrue(all(e is None for e in ended[1::2]), ended)
        self.assertEqual(self.client._connections[self.node.address]._inboxes, {})
        await self.client.ping()

    async def test_close_ends_what_is_under_way(self):
        await self.create(["a"])
        calls = [asyncio.create_task(self.client.read_row(self.table, f"{i}")) for i in range(100)]
        await asyncio.sleep(0)
        await self.client.close()
        ended = await asyncio.gather(*calls, return_exceptions=True)
        self.assertTrue(all(e is None or isinstance(e, (CellarError, asyncio.CancelledError)) for e in ended), ended)
        with self.assertRaises(Cancelled):
            await self.client.ping()


if __name__ == "__main__":
    unittest.main()
