"""What breaks under way ends with its own exit code, names where, and leaves no file."""

import os

from command import FAILED, LOST, MISMATCH, TIMEOUT, USAGE, CommandTest

BROKEN_HOP = "gpu:0>gpu:1"


class Faults(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("in", os.urandom(1 << 20))

    def chain(self, fault, *words):
        return ("copy", "file:in", "gpu:0", "gpu:1", "file:out", "--machine", "dgx-h100", "--fault", fault, *words)

    def assert_no_target(self):
        self.assertEqual(self.files(), ["in"])

    def test_wrong_bytes_end_with_3_and_the_hop_s_name(self):
        for kind in ("corrupt", "drop", "misdirect", "mirror"):
            with self.subTest(kind=kind):
                run = self.run_to(MISMATCH, *self.chain(f"{kind}:{BROKEN_HOP}"))
                self.assertIn("gpu:0 → gpu:1", run.err)
                self.assertNotIn("equal", run.out)
                self.assert_no_target()

    def test_a_file_that_stood_there_stays_as_it_was(self):
        self.write("out", b"precious")
        self.run_to(MISMATCH, *self.chain(f"corrupt:{BROKEN_HOP}"))
        self.assertEqual(self.read("out"), b"precious")

    def test_the_other_direction_is_not_touched(self):
        self.run_ok(*self.chain("corrupt:gpu:1>gpu:0"))

    def test_the_nth_time_only(self):
        words = ("copy", "gpu:0", "gpu:1", "gpu:0", "gpu:1", "--size", "64KiB", "--machine", "dgx-h100", "--fault",
                 f"corrupt:{BROKEN_HOP}:2", "--json")
        document = self.run_to(MISMATCH, *words).document()
        self.assertEqual([hop["verified"] for hop in document["hops"]], [True, True, False])

    def test_the_document_of_a_failure_has_the_hops_until_then(self):
        run = self.run_to(MISMATCH, *self.chain(f"corrupt:{BROKEN_HOP}", "--json"))
        document = run.document()
        self.assertEqual(document["schema"], "peerlane.receipt/1")
        self.assertEqual([hop["verified"] for hop in document["hops"]], [True, False])
        error = document["error"]
        self.assertEqual(error["kind"], "data_mismatch")
        self.assertIn("gpu:0 → gpu:1", error["where"])
        self.assertTrue(error["message"])
        self.assertTrue(run.err.startswith("peerlane: "))

    def test_a_lost_gpu_ends_with_6(self):
        run = self.run_to(LOST, *self.chain("lost:gpu:1"))
        self.assertIn("gpu:1", run.err)
        self.assert_no_target()

    def test_the_other_gpus_go_on_without_the_lost_one(self):
        self.run_ok("copy", "file:in", "gpu:0", "gpu:2", "file:out", "--machine", "dgx-h100", "--fault", "lost:gpu:1")

    def test_a_stuck_engine_ends_with_5_soon_after_the_deadline(self):
        deadline, grace = 1.0, 0.25
        run = self.run_to(TIMEOUT, *self.chain(f"stuck:{BROKEN_HOP}", "--deadline", f"{deadline}s"))
        self.assertLessEqual(run.seconds, deadline + grace, run)
        self.assertIn("gpu:0 → gpu:1", run.err)
        self.assert_no_target()

    def test_a_call_that_fails_ends_with_a_sentence_that_names_it(self):
        for call in ("cuStreamCreate", "cuMemcpyDtoDAsync", "cuDevicePrimaryCtxRetain"):
            with self.subTest(call=call):
                run = self.run_to(FAILED, *self.chain(f"fail:{call}"))
                self.assertIn(call, run.err)
                self.assert_no_target()

    def test_memory_that_runs_out_is_said(self):
        self.refuse(FAILED, *self.chain("fail:cuMemAlloc"), says=["gpu:0", "1 MiB"])
        self.assert_no_target()

    def test_a_fault_that_makes_no_sense_is_refused(self):
        for fault in ("", "corrupt", "corrupt:", "melt:gpu:0", "corrupt:gpu:0>gpu:9", "fail:cuNoSuchCall",
                      f"corrupt:{BROKEN_HOP}:0", f"corrupt:{BROKEN_HOP}:x", "lost:gpu:99"):
            with self.subTest(fault=fault):
                self.refuse(USAGE, *self.chain(fault))
                self.assert_no_target()

    def test_faults_are_for_simulated_machines(self):
        self.refuse(USAGE, "copy", "mem", "mem", "--size", "1", "--fault", "lost:gpu:0",
                    says=["faults are for simulated machines", "--machine"])
