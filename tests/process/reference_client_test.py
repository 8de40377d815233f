#!/usr/bin/env python3
"""The client of schema/reference_client.py against a node: what PROTOCOL.md describes is enough to write a client.

    reference_client_test.py SOURCE_DIR BIN_DIR
"""
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE, BIN = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "schema"))
import reference_client as cellar  # noqa: E402

START_S = 30


class Node:
    def __init__(self):
        self.directory = tempfile.TemporaryDirectory()
        out = pathlib.Path(self.directory.name) / "out"
        with open(out, "wb") as stream:
            self.process = subprocess.Popen(
                [BIN / "cellard", "--data-dir", f"{self.directory.name}/data", "--listen", "127.0.0.1:0", "--http-listen", "",
                 "--shards", "2"], stdout=stream, stderr=subprocess.DEVNULL)
        until = time.monotonic() + START_S
        while "ready on" not in (text := out.read_text()):
            assert self.process.poll() is None and time.monotonic() < until, "the node did not start"
            time.sleep(0.05)
        self.address = text.split("ready on ")[1].strip()

    def cellar(self, *words):
        subprocess.run([BIN / "cellar", "--addr", self.address, *words], check=True, stdout=subprocess.DEVNULL)

    def stop(self):
        self.process.terminate()
        self.process.wait(START_S)
        self.directory.cleanup()


class ReferenceClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = Node()
        cls.node.cellar("createtable", "events", "families=click,size", "splits=user5")
        host, port = cls.node.address.split(":")
        cls.client = cellar.Client(host, int(port))

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.node.stop()

    def test_what_was_put_is_got(self):
        for row in (b"user1", b"user9"):  # in different tablets
            done = self.client.put("events", row, [("click", b"page", b"/home"), ("click", b"page", b"/old", {"timestamp_us": 5000}),
                                                   ("size", b"", b"\0\xff", {"timestamp_us": 7000, "ttl_us": 3_600_000_000})])
            self.assertEqual(done.timestamp_us, done.commit_stamp_ns // 1000 // 1000 * 1000)
            now = cellar.Cell("click", b"page", done.timestamp_us, b"/home")
            old = cellar.Cell("click", b"page", 5000, b"/old")
            size = cellar.Cell("size", b"", 7000, b"\0\xff")
            self.assertEqual(self.client.get("events", row), [now, old, size])
            self.assertEqual(self.client.get("events", row, versions=1), [now, size])
            self.assertEqual(self.client.get("events", row, columns=[("size", b"")]), [size])
        self.assertEqual(self.client.get("events", b"nobody"), [])

    def test_requests_go_to_the_shard_that_has_the_row(self):
        host, port = self.node.address.split(":")
        client = cellar.ShardedClient(host, int(port))
        self.addCleanup(client.close)
        self.assertEqual(sorted(client.clients), [0, 1])
        self.assertTrue(all(one.shard == shard for shard, one in client.clients.items()))
        tablets = client.first.tablets("events")
        self.assertEqual([start for start, _ in tablets], [b"", b"user5"])
        for row, (_, shard) in zip((b"user1z", b"user9z"), tablets):
            self.assertEqual(client.of_row("events", row).shard, shard)
            done = client.put("events", row, [("click", b"page", b"/sharded")])
            cell = cellar.Cell("click", b"page", done.timestamp_us, b"/sharded")
            self.assertEqual(client.get("events", row), [cell])
            self.assertEqual(self.client.get("events", row), [cell])
        self.assertEqual(client.of_row("events", b"user5").shard, tablets[1][1])
        # An old map costs a hop, not an error.
        client.maps["events"] = time.monotonic(), [b""], [tablets[0][1]]
        self.assertEqual(len(client.get("events", b"user9z")), 1)

    def test_a_large_row_comes_in_pieces(self):
        value = b"v" * 100_000
        self.client.put("events", b"large", [("click", b"q", value, {"timestamp_us": 1000 * i}) for i in range(1, 11)])
        cells = self.client.get("events", b"large")
        self.assertEqual([c.timestamp_us for c in cells], [1000 * i for i in range(10, 0, -1)])
        self.assertTrue(all(c.value == value for c in cells))

    def test_scans_forwards_backwards_and_limited(self):
        rows = [b"scan%03d" % i for i in range(300)]
        for row in rows:
            self.client.put("events", row, [("click", b"q", row * 200, {"timestamp_us": 1000})])
        found = list(self.client.scan("events", start=b"scan", end=b"scao"))
        self.assertEqual([key for key, _ in found], rows)
        self.assertTrue(all(cells == [cellar.Cell("click", b"q", 1000, key * 200)] for key, cells in found))
        back = [key for key, _ in self.client.scan("events", start=b"scan", end=b"scao", limit=5, reversed_order=True)]
        self.assertEqual(back, rows[:-6:-1])

    def test_a_refusal_tells_code_reason_and_outcome(self):
        with self.assertRaises(cellar.Refused) as refused:
            self.client.put("events", b"r", [("nothing", b"q", b"v")])
        self.assertEqual((refused.exception.code, refused.exception.applied), (5, 0))
        self.assertIn("nothing", str(refused.exception))
        with self.assertRaises(cellar.Refused) as absent:
            self.client.get("no-such-table", b"r")
        self.assertEqual(absent.exception.code, 5)
        self.assertIn("no-such-table", str(absent.exception))

    def test_the_hello_tells_the_node(self):
        self.assertEqual(self.client.shards, 2)
        self.assertNotEqual(self.client.instance, 0)
        self.assertLess(abs(self.client.now_us / 1e6 - time.time()), 60)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
