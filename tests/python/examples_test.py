#!/usr/bin/env python3
"""The examples of the Python client do what their documentation says, twice on one node: the second run finds the data
of the first."""
import ast
import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
import textwrap
import unittest

from support import SOURCE, WHEEL, Node, cellar

EXAMPLES = SOURCE / "net/client/python/examples"
BOUND_S = 30
LEAST = 13


def promised(example):
    """The output that the documentation shows."""
    text = ast.get_docstring(ast.parse(example.read_text()))
    return textwrap.dedent(text.split("Prints:\n")[1]).strip() + "\n"


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = Node()
        sys.path.insert(0, str(EXAMPLES))

    @classmethod
    def tearDownClass(cls):
        cls.node.stop()

    def output_of(self, example):
        said = io.StringIO()
        arguments, sys.argv = sys.argv, [str(example), self.node.address]
        try:
            with contextlib.redirect_stdout(said):
                runpy.run_path(str(example), run_name="__main__")
        finally:
            sys.argv = arguments
        return said.getvalue()

    def run_program(self, *words):
        return subprocess.run(
            [sys.executable, "-B", *words],
            cwd=EXAMPLES,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
            env={**os.environ, "PYTHONPATH": str(WHEEL)},
        )

    def test_each_prints_what_it_says(self):
        examples = sorted(EXAMPLES.glob("[0-9]*.py"))
        self.assertGreaterEqual(len(examples), LEAST)
        for example in examples:
            for _ in range(2):
                with self.subTest(example.name):
                    self.assertEqual(self.output_of(example), promised(example))

    def test_the_programs_of_the_readmes_run(self):
        """With the address of this node."""
        for page in ("net/client/python/README.md", "README.md"):
            programs = re.findall(r"```python\n(.*?)```", (SOURCE / page).read_text(), re.S)
            self.assertTrue(programs, page)
            for program in programs:
                with self.subTest(page):
                    with cellar.Client(self.node.address) as client:
                        for table in client.list_tables():
                            client.drop_table(table.name)
                    ended = self.run_program("-c", program.replace("127.0.0.1:7420", self.node.address))
                    self.assertEqual((ended.stderr, ended.returncode), ("", 0))
                    self.assertTrue(ended.stdout)


if __name__ == "__main__":
    unittest.main()
