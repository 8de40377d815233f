#!/usr/bin/env python3
"""Both clients and a node with TLS and principals: who is let in, and what they may do."""
import hashlib
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import unittest

from support import BOTH, Node, all_of, cellar
from cellar import Applied, Mutation

PRINCIPALS = """[[principal]]
name = "app"
tokens = ["sha256:{app}"]
[[principal.grant]]
prefix = ""
roles = ["read", "write", "schema", "retention", "admin"]
[[principal]]
name = "reader"
tokens = ["sha256:{reader}"]
[[principal.grant]]
prefix = "open."
roles = ["read"]
"""


def openssl(directory, *words):
    subprocess.run(["openssl", *words], cwd=directory, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def authority(directory, name):
    openssl(
        directory,
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-subj",
        f"/CN={name}",
        "-keyout",
        f"{name}.key",
        "-out",
        f"{name}.pem",
    )


@unittest.skipUnless(shutil.which("openssl"), "no openssl")
class SecureTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        d = cls.directory.name
        for name in ("authority", "stranger"):
            authority(d, name)
        openssl(
            d,
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            "/CN=node",
            "-keyout",
            "node.key",
            "-out",
            "node.csr",
        )
        pathlib.Path(d, "node.ext").write_text("subjectAltName=DNS:node.example,IP:127.0.0.1\n")
        openssl(
            d,
            "x509",
            "-req",
            "-in",
            "node.csr",
            "-CA",
            "authority.pem",
            "-CAkey",
            "authority.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "node.ext",
            "-out",
            "node.pem",
        )
        os.chmod(f"{d}/node.key", 0o600)
        hashes = {who: hashlib.sha256(f"token of {who}".encode()).hexdigest() for who in ("app", "reader")}
        pathlib.Path(d, "principals.toml").write_text(PRINCIPALS.format(**hashes))
        cls.node = Node(
            "--security-certificate",
            f"{d}/node.pem",
            "--security-key",
            f"{d}/node.key",
            "--security-principals",
            f"{d}/principals.toml",
        )
        cls.trusting = ssl.create_default_context(cafile=f"{d}/authority.pem")

    @classmethod
    def tearDownClass(cls):
        cls.node.stop()
        cls.directory.cleanup()

    async def failure(self, kind, make, call=lambda client: client.list_tables(), **options):
        async with make(self.node.address, **options) as client:
            with self.assertRaises(kind) as failed:
                await call(client)
            return failed.exception

    async def test_a_principal_does_what_it_may(self):
        path = pathlib.Path(self.directory.name, "app.token")
        path.write_text("token of app\n")
        for make in BOTH:
            table = f"open.{make.__name__}"
            async with make(self.node.address, tls=self.trusting, token_file=str(path)) as client:
                await client.create_table(table, ["a"])
                await client.mutate_rows(table, [Mutation(f"{i:04}").set("a", "q", "v" * 1000) for i in range(1000)])
                self.assertEqual(len(await all_of(client.read_rows(table))), 1000)
                done = await client.mutate_row(table, Mutation("r").set("a", "q", "v"), draw_tokens=True)
                self.assertGreater(done.commit_stamp_ns, 0)
            async with make(self.node.address, tls=self.trusting, token="token of reader") as client:
                self.assertEqual(len(await client.read_row(table, "r")), 1)
                for call in (
                    client.mutate_row(table, Mutation("r").delete_row()),
                    client.drop_table(table),
                    client.read_row("closed", "r"),
                ):
                    with self.assertRaises(cellar.PermissionDenied) as denied:
                        await call
                    self.assertIs(denied.exception.applied, Applied.NOT_APPLIED)
                self.assertEqual(len(await client.read_row(table, "r")), 1)

    async def test_who_has_no_valid_proof_is_not_let_in(self):
        for make in BOTH:
            error = await self.failure(cellar.Unauthenticated, make, tls=self.trusting, token="another")
            self.assertIs(error.applied, Applied.NOT_APPLIED)
        await self.failure(cellar.Unauthenticated, make, tls=self.trusting)

    async def test_a_node_that_is_not_trusted_gets_no_token(self):
        stranger = ssl.create_default_context(cafile=f"{self.directory.name}/stranger.pem")
        for make in BOTH:
            error = await self.failure(cellar.Unauthenticated, make, tls=stranger, token="token of app")
            self.assertIn("is not trusted", error.message)
            error = await self.failure(
                cellar.Unauthenticated, make, tls=self.trusting, token="token of app", server_name="other.example"
            )
            self.assertIn("is not trusted", error.message)
            async with make(
                self.node.address, tls=self.trusting, token="token of app", server_name="node.example"
            ) as client:
                await client.ping()

    async def test_plain_text_is_refused_with_the_reason(self):
        for make in BOTH:
            error = await self.failure(cellar.FailedPrecondition, make, token="token of app")
            self.assertIn("TLS", error.message)


if __name__ == "__main__":
    unittest.main()
