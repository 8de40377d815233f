#!/usr/bin/env python3
"""Every operation of the blocking client against a node."""
import threading
import unittest

import support
from operations import Operations
from cellar import Client, Mutation


class NodeTest(Operations, unittest.IsolatedAsyncioTestCase):
    make = support.Blocking

    async def test_threads_share_a_client(self):
        with Client(self.node.address) as client:
            client.create_table(self.table, ["a"])
            failures = []

            def work(number):
                try:
                    for i in range(50):
                        row = f"{number}-{i}"
                        client.mutate_row(self.table, Mutation(row).set("a", "q", row))
                        assert client.read_row(self.table, row).cells[0].text == row
                except Exception as error:
                    failures.append(error)

            threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            self.assertEqual(len(list(client.read_rows(self.table))), 200)


if __name__ == "__main__":
    unittest.main()
