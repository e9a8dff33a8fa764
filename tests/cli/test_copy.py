"""Chains of places: bytes, rates, receipts."""

import json
import os
import subprocess

import command
from command import FAILED, OK, UNAVAILABLE, CommandTest

MIB = 1 << 20
GIB = 1 << 30

RECEIPT_KEYS = {"schema", "simulated", "machine", "hops", "digest"}
HOP_KEYS = {"from", "to", "bytes", "seconds", "bytes_per_s", "expected_seconds", "routes", "fallback", "verified"}


class Bytes(CommandTest):
    def test_any_size_goes_through_a_chain_and_comes_out_equal(self):
        for size in (0, 1, 7, 4095, 4096, 4097, 3 * MIB + 5):
            for machine in ("dgx-h100", "rtx4090-4", "dgx-1-v100"):
                with self.subTest(size=size, machine=machine):
                    data = os.urandom(size)
                    self.write("in", data)
                    self.run_ok("copy", "file:in", "gpu:0", "gpu:1", "file:out", "--machine", machine)
                    self.assertEqual(self.read("out"), data)
                    self.assertEqual(self.files(), ["in", "out"])

    def test_every_kind_of_place_takes_part(self):
        data = os.urandom(MIB + 3)
        self.write("in", data)
        self.run_ok("copy", "file:in", "mem", "host", "gpu:1", "host:0", "gpu:0", "mem", "file:out", "--machine",
                    "dgx-h100")
        self.assertEqual(self.read("out"), data)

    def test_a_file_in_the_middle_is_written_and_read_back(self):
        data = os.urandom(100_001)
        self.write("in", data)
        run = self.run_ok("copy", "file:in", "gpu:0", "file:middle", "gpu:1", "file:out", "--machine", "dgx-h100")
        self.assertEqual(self.read("middle"), data)
        self.assertEqual(self.read("out"), data)
        self.assertIn("equal at all 5 places", run.out)

    def test_a_size_smaller_than_the_file_copies_its_beginning(self):
        data = os.urandom(10_000)
        self.write("in", data)
        self.run_ok("copy", "file:in", "gpu:0", "file:out", "--size", "1001", "--machine", "dgx-h100")
        self.assertEqual(self.read("out"), data[:1001])

    def test_the_pattern_is_the_seed_s_alone(self):
        pattern = {}
        for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
            self.run_ok("copy", "gpu:0", f"file:{name}", "--size", "65537", "--seed", seed, "--machine", "dgx-h100")
            pattern[name] = self.read(name)
        self.assertEqual(len(pattern["a"]), 65537)
        self.assertEqual(pattern["a"], pattern["b"])
        self.assertNotEqual(pattern["a"], pattern["c"])

    def test_a_gpu_to_itself_is_a_loopback_between_two_buffers(self):
        run = self.run_ok("copy", "gpu:0", "gpu:0", "--size", "1MiB", "--machine", "dgx-h100")
        self.assertIn("equal at both places", run.out)

    def test_a_target_that_exists_is_replaced_whole(self):
        self.write("out", b"old and much longer than what comes" * 100)
        self.write("in", b"new")
        self.run_ok("copy", "file:in", "gpu:0", "file:out", "--machine", "dgx-h100", "--durable")
        self.assertEqual(self.read("out"), b"new")


class Roads(CommandTest):
    def peer_hop(self, machine, source, target, size="256MiB"):
        document = self.run_ok("copy", source, target, "--size", size, "--machine", machine, "--json").document()
        (hop,) = document["hops"]
        return hop

    def test_a_gigabyte_between_two_files_crosses_nvlink_at_the_rate_of_nvlink(self):
        with open(os.path.join(self.folder, "in"), "wb") as file:
            for _ in range(64):
                file.write(os.urandom(GIB // 64))
        words = ("copy", "file:in", "gpu:0", "gpu:7", "file:out", "--machine", "dgx-h100", "--json")
        code, out, shown, seconds = command.run_on_terminal(*words, cwd=self.folder)
        self.assertEqual(code, OK, shown)
        self.assert_progress(shown, seconds)
        peer = json.loads(out)["hops"][1]
        self.assertEqual(peer["bytes"], GIB)
        self.assertEqual(peer["routes"][0]["places"], ["gpu:0", "gpu:7"])
        self.assertIsNone(peer["fallback"])
        self.assertTrue(360e9 <= peer["bytes_per_s"] <= 400e9, peer)
        self.assert_same_file("in", "out")

    def assert_progress(self, shown, seconds):
        """Nothing in the first second, then a line that is rewritten ten times a second at most and wiped at the end."""
        painted = shown.count(" s") if seconds > 1 else 0
        self.assertLessEqual(painted, max(0, seconds - 1) * 10 + 1, shown)
        self.assertEqual(shown == "", painted == 0, shown)
        if seconds > 1.5:
            self.assertIn("hop ", shown)
        if shown:
            self.assertTrue(shown.endswith("\r\x1b[K"), shown)

    def assert_same_file(self, one, other):
        with open(os.path.join(self.folder, one), "rb") as a, open(os.path.join(self.folder, other), "rb") as b:
            while True:
                left, right = a.read(16 * MIB), b.read(16 * MIB)
                self.assertTrue(left == right)
                if not left:
                    return

    def test_without_a_peer_road_the_host_stages_and_the_receipt_says_why(self):
        hop = self.peer_hop("rtx4090-4", "gpu:0", "gpu:1")
        (route,) = hop["routes"]
        self.assertEqual(route["places"][0::2], ["gpu:0", "gpu:1"])
        self.assertTrue(route["places"][1].startswith("host"), hop)
        self.assertIn("gpu:0", hop["fallback"])
        slower = min(self.peer_hop("rtx4090-4", "gpu:0", "host:0")["bytes_per_s"],
                     self.peer_hop("rtx4090-4", "host:0", "gpu:1")["bytes_per_s"])
        self.assertAlmostEqual(slower / 26.3e9, 1, delta=0.05)
        self.assertGreaterEqual(hop["bytes_per_s"], 0.9 * slower)

    def test_without_a_link_of_its_own_a_pair_goes_through_a_gpu_that_has_links_to_both(self):
        pairs = self.run_ok("record", "--machine", "dgx-1-v100").document()["pairs"]
        linked = {(pair["from"], pair["to"]) for pair in pairs if pair["nvlinks"] > 0}
        hop = self.peer_hop("dgx-1-v100", "gpu:0", "gpu:5")
        for route in hop["routes"]:
            _, relay, _ = route["places"]
            self.assertIn(("gpu:0", relay), linked)
            self.assertIn((relay, "gpu:5"), linked)
        self.assertTrue(hop["fallback"])

    def test_strict_takes_no_fallback(self):
        for verb in ("plan", "copy"):
            for machine, target in (("dgx-1-v100", "gpu:5"), ("rtx4090-4", "gpu:1")):
                with self.subTest(verb=verb, machine=machine):
                    self.refuse(UNAVAILABLE, verb, "gpu:0", target, "--size", "1MiB", "--machine", machine, "--strict",
                                says=["gpu:0", target])
        self.run_ok("copy", "gpu:0", "gpu:1", "--size", "1MiB", "--machine", "dgx-h100", "--strict")

    def test_strict_leaves_no_file(self):
        self.write("in", b"bytes")
        self.run_to(UNAVAILABLE, "copy", "file:in", "gpu:0", "gpu:1", "file:out", "--machine", "rtx4090-4", "--strict")
        self.assertEqual(self.files(), ["in"])


class Receipts(CommandTest):
    def test_the_document_has_the_keys_that_others_rely_on(self):
        self.write("in", os.urandom(5000))
        run = self.run_ok("copy", "file:in", "gpu:0", "gpu:1", "--machine", "rtx4090-4", "--json")
        document = run.document()
        self.assertEqual(run.err, "")
        self.assertTrue(RECEIPT_KEYS <= document.keys(), document)
        self.assertEqual(document["schema"], "peerlane.receipt/1")
        self.assertIs(document["simulated"], True)
        self.assertEqual(document["machine"], "rtx4090-4")
        self.assertRegex(document["digest"], "^[0-9a-f]{16}$")
        self.assertEqual([(hop["from"], hop["to"]) for hop in document["hops"]],
                         [("file:in", "gpu:0"), ("gpu:0", "gpu:1")])
        for hop in document["hops"]:
            self.assertTrue(HOP_KEYS <= hop.keys(), hop)
            self.assertEqual(hop["bytes"], 5000)
            self.assertIs(hop["verified"], True)
            self.assertGreater(hop["seconds"], 0)
            self.assertGreater(hop["expected_seconds"], 0)
            self.assertAlmostEqual(hop["bytes_per_s"], hop["bytes"] / hop["seconds"], delta=1)
            self.assertEqual(sum(route["bytes"] for route in hop["routes"]), 5000)
            for route in hop["routes"]:
                self.assertEqual((route["places"][0], route["places"][-1]), (hop["from"], hop["to"]))
                self.assertEqual(len(route["lanes"]), len(route["places"]) - 1)

    def test_the_text_has_a_row_a_hop_and_says_that_it_is_simulated(self):
        run = self.run_ok("copy", "gpu:0", "gpu:1", "host", "--size", "1MiB", "--machine", "dgx-h100")
        head, first, second, last = run.out.splitlines()
        self.assertEqual(head, "dgx-h100 · simulated")
        self.assertIn("gpu:0 → gpu:1 ", first)
        self.assertIn("1 MiB", first)
        self.assertIn("NVLink", first)
        self.assertIn("gpu:1 → host ", second)
        self.assertRegex(last, r"^  digest [0-9a-f]{16}, equal at all 3 places$")
        self.assertEqual(run.err, "")

    def test_the_same_seed_gives_the_same_receipt(self):
        words = ("copy", "gpu:0", "gpu:5", "--size", "64MiB", "--machine", "dgx-1-v100", "--seed", "7", "--json")
        self.assertEqual(self.run_ok(*words).out, self.run_ok(*words).out)

    def test_a_name_that_is_no_utf_8_still_gives_a_document(self):
        name = os.fsdecode(b"in\xff\x1b[31m")
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(b"bytes")
        document = self.run_ok("copy", "file:" + name, "gpu:0", "--machine", "dgx-h100", "--json").document()
        self.assertEqual(len(document["hops"]), 1)
        text = self.run_ok("copy", "file:" + name, "gpu:0", "--machine", "dgx-h100").out
        self.assertNotIn("\x1b", text)


class FailedOutput(CommandTest):
    def test_an_answer_that_cannot_be_written_is_a_failure(self):
        for words in (("map", "--machine", "dgx-h100"), ("record", "--machine", "dgx-h100"), ("--help",), ("sim",),
                      ("plan", "gpu:0", "gpu:1", "--size", "1", "--machine", "dgx-h100"),
                      ("copy", "gpu:0", "gpu:1", "--size", "1", "--machine", "dgx-h100", "--json")):
            with self.subTest(words=words), open("/dev/full", "wb") as full:
                run = self.run_to(FAILED, *words, stdout=full)
                self.assertIn("standard output", run.err)

    def test_a_reader_that_went_away_is_a_failure_and_no_crash(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        with open(write_end, "wb") as pipe:
            run = self.run_to(FAILED, "map", "--machine", "dgx-h100", stdout=pipe)
        self.assertIn("standard output", run.err)

    def test_a_closed_stdout_does_not_end_up_in_the_target_file(self):
        self.write("in", b"bytes")
        script = 'exec "$0" copy file:in gpu:0 file:out --machine dgx-h100 >&-'
        done = subprocess.run(["sh", "-c", script, command.path], cwd=self.folder, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, FAILED, done.stderr)
        self.assertIn(self.files(), (["in"], ["in", "out"]))
        if "out" in self.files():
            self.assertEqual(self.read("out"), b"bytes")
