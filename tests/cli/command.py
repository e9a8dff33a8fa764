"""Runs the built command and keeps what it said."""

import json
import os
import pty
import subprocess
import tempfile
import time
import unittest

path = None  # of the command; set by the program that runs the tests

OK, FAILED, USAGE, MISMATCH, TIMEOUT, LOST, UNAVAILABLE = 0, 1, 2, 3, 5, 6, 7


class Run:
    """One run: its exit code, what it wrote on either stream, and how long it took."""

    def __init__(self, *words, cwd=None, **streams):
        begin = time.monotonic()
        streams.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run([path, *words], cwd=cwd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120,
                              **streams)
        self.seconds = time.monotonic() - begin
        self.words = words
        self.code = done.returncode
        self.out = (done.stdout or b"").decode()
        self.err = done.stderr.decode()

    def document(self):
        return json.loads(self.out)

    def __str__(self):
        return f"peerlane {' '.join(self.words)}\nexit code {self.code}\nstdout: {self.out}\nstderr: {self.err}"


def run_on_terminal(*words, cwd):
    """Runs with stderr on a terminal: exit code, stdout, what the terminal got, seconds."""
    begin = time.monotonic()
    ours, theirs = pty.openpty()
    with subprocess.Popen([path, *words], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while piece := read_terminal(ours):
            shown += piece
        os.close(ours)
        out = process.stdout.read()
    return process.returncode, out.decode(), shown.decode(), time.monotonic() - begin


def read_terminal(end):
    try:
        return os.read(end, 4096)
    except OSError:  # EIO: nobody holds the other end any more
        return b""


class CommandTest(unittest.TestCase):
    """Every test has a folder of its own, in which the command runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="peerlane-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_ok(self, *words):
        return self.run_to(OK, *words)

    def run_to(self, code, *words, **streams):
        run = Run(*words, cwd=self.folder, **streams)
        self.assertEqual(run.code, code, run)
        return run

    def refuse(self, code, *words, says=()):
        """It ends with this code and a sentence on stderr that has all of these words; stdout stays empty."""
        run = self.run_to(code, *words)
        self.assertEqual(run.out, "", run)
        self.assertTrue(run.err.startswith("peerlane: "), run)
        self.assertEqual(run.err.count("\n"), 1, run)
        for word in says:
            self.assertIn(word, run.err, run)
        return run

    def write(self, name, data):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(data)

    def read(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def files(self):
        return sorted(os.listdir(self.folder))
