"""map, plan, record, sim, and the help of all."""

import json
import os

from command import CommandTest

VERBS = ("map", "plan", "copy", "record", "sim")
PRESETS = ("dgx-1-v100", "dgx-2", "dgx-a100", "dgx-h100", "hgx-h200", "pcie-2socket-4gpu", "rtx3090-pair", "rtx4090-4",
           "laptop-1gpu")
MACHINE_KEYS = {"schema", "name", "live", "gpus", "nics", "links", "pairs", "notes"}
PAIR_KEYS = {"from", "to", "letters", "nvlinks", "claimed", "verified", "measured_bytes_per_s"}
PLAN_KEYS = {"schema", "simulated", "from", "to", "bytes", "expected_seconds", "routes", "refused"}


class Help(CommandTest):
    def test_help_lists_the_verbs_and_hides_the_faults(self):
        text = self.run_ok("--help").out
        for verb in VERBS:
            self.assertIn(f"  {verb} ", text)
        self.assertNotIn("--fault", text)

    def test_every_verb_has_help_with_an_example(self):
        for verb in VERBS:
            with self.subTest(verb=verb):
                text = self.run_ok(verb, "--help").out
                self.assertIn(f"Example: peerlane {verb}", text)
                self.assertNotIn("--fault", text)

    def test_the_version(self):
        self.assertRegex(self.run_ok("--version").out, r"^peerlane \d+\.\d+\.\d+\n$")


class Sim(CommandTest):
    def test_it_explains_faults_presets_and_call_sites(self):
        text = self.run_ok("sim").out
        kinds = ("corrupt", "drop", "misdirect", "mirror", "stale", "stuck", "lost", "fail")
        for word in ("--fault KIND:WHERE[:N]", "--seed", "cuMemcpyPeerAsync", *PRESETS, *kinds):
            self.assertIn(word, text)

    def test_its_document_lists_them_too(self):
        document = self.run_ok("sim", "--json").document()
        self.assertEqual(document["schema"], "peerlane.sim/1")
        self.assertEqual(sorted(document["presets"]), sorted(PRESETS))
        self.assertIn("cuMemAlloc", document["driver_calls"])
        self.assertEqual(len(document["faults"]), 8)


class Map(CommandTest):
    def test_every_preset_has_a_map_that_says_simulated_and_fits_a_terminal(self):
        for preset in PRESETS:
            with self.subTest(preset=preset):
                lines = self.run_ok("map", "--machine", preset).out.splitlines()
                self.assertIn("· simulated ·", lines[0])
                table = [line for line in lines if line.startswith(("  gpu", "  host", "   "))]
                self.assertTrue(any("·" in line for line in table), table)
                self.assertLessEqual(max(map(len, table)), 125)

    def test_the_matrix_has_letters_rates_and_marks(self):
        text = self.run_ok("map", "--machine", "pcie-2socket-4gpu").out
        row = next(line for line in text.splitlines() if line.startswith("  gpu:0 "))
        self.assertRegex(row, r"^  gpu:0 +· +PIX +\d+ \? +SYS +\d+ ✗ +SYS +\d+ ✗ +PCIe4 +\d+ \?")
        self.assertRegex(text, r"closed +gpu:0 → gpu:2 and 7 more pairs: ")

    def test_pairs_that_are_alike_stand_in_one_row_with_three_columns_of_truth(self):
        text = self.run_ok("map", "--machine", "dgx-1-v100").out
        self.assertRegex(text, r"pairs +letters +claimed +verified +measured +expected +best road")
        self.assertRegex(text, r"gpu:0 → gpu:3 and 15 more +NV2 +open +– +– +48 GB/s +copy engine, NVLink 2 ×2")
        self.assertRegex(text, r"and 23 more +SYS +closed +– +– +[\d–]+ GB/s +relayed over a GPU with links to both")

    def test_the_nearest_nics_of_each_gpu_are_named(self):
        self.assertRegex(self.run_ok("map", "--machine", "dgx-1-v100").out, r"gpu:7 +PIX +mlx5_3")

    def test_links_that_copies_fight_for_are_named_and_wide_ones_are_not(self):
        text = self.run_ok("map", "--machine", "pcie-2socket-4gpu").out
        self.assertRegex(text, r"socket:0 → socket:1 +16 GB/s +4 pairs, from gpu:0–1 to gpu:2–3")
        self.assertNotIn("200 GB/s", text)

    def test_the_document_is_the_machine(self):
        document = self.run_ok("map", "--machine", "dgx-1-v100", "--json").document()
        self.assertTrue(MACHINE_KEYS <= document.keys(), document.keys())
        self.assertEqual(document["schema"], "peerlane.machine/1")
        self.assertIs(document["live"], False)
        self.assertEqual(len(document["gpus"]), 8)
        self.assertEqual(len(document["pairs"]), 8 * 7)
        for pair in document["pairs"]:
            self.assertTrue(PAIR_KEYS <= pair.keys(), pair)

    def test_this_machine_has_a_map_with_or_without_a_gpu(self):
        self.assertIn("this machine", self.run_ok("map").out.splitlines()[0])


class Record(CommandTest):
    def test_what_is_recorded_can_be_simulated_and_is_not_this_machine(self):
        recorded = self.run_ok("record").out
        self.write("box.json", recorded.encode())
        self.assertIs(json.loads(recorded)["live"], True)
        again = self.run_ok("record", "--machine", "box.json").document()
        self.assertIs(again["live"], False)
        self.assertIn("simulated", self.run_ok("map", "--machine", "box.json").out)

    def test_a_recorded_preset_plans_as_the_preset_does(self):
        self.write("box.json", self.run_ok("record", "--machine", "dgx-1-v100").out.encode())
        words = ("plan", "gpu:0", "gpu:5", "--size", "64MiB", "--json", "--machine")
        self.assertEqual(self.run_ok(*words, "box.json").document()["routes"],
                         self.run_ok(*words, "dgx-1-v100").document()["routes"])


class Plan(CommandTest):
    def plan(self, *words):
        return self.run_ok("plan", *words, "--machine", "pcie-2socket-4gpu")

    def test_peers_under_one_switch_and_across_sockets_take_different_roads(self):
        near = self.plan("gpu:0", "gpu:1", "--size", "1GiB", "--json").document()
        far = self.plan("gpu:0", "gpu:2", "--size", "1GiB", "--json").document()
        self.assertEqual(near["routes"][0]["places"], ["gpu:0", "gpu:1"])
        self.assertEqual(len(far["routes"][0]["places"]), 3)
        self.assertTrue(far["refused"])
        for refusal in far["refused"]:
            self.assertGreater(len(refusal["reason"].split()), 3, refusal)

    def test_the_document_has_the_keys_that_others_rely_on(self):
        document = self.plan("gpu:0", "gpu:1", "--size", "1GiB", "--json").document()
        self.assertTrue(PLAN_KEYS <= document.keys(), document)
        self.assertEqual(document["schema"], "peerlane.plan/1")
        self.assertIs(document["simulated"], True)
        self.assertEqual((document["from"], document["to"], document["bytes"]), ("gpu:0", "gpu:1", 1 << 30))
        for route in document["routes"]:
            self.assertTrue({"places", "lanes", "share", "expected_bytes_per_s"} <= route.keys(), route)

    def test_the_text_names_the_ends_the_size_and_that_it_is_simulated(self):
        text = self.plan("gpu:0", "gpu:2", "--size", "1GiB").out
        self.assertIn("gpu:0 → gpu:2", text)
        self.assertIn("1 GiB", text)
        self.assertIn("simulated", text)
        self.assertIn("closed", text)

    def test_a_file_gives_the_size(self):
        self.write("in", os.urandom(12345))
        document = self.plan("file:in", "gpu:0", "--json").document()
        self.assertEqual((document["from"], document["bytes"]), ("file:in", 12345))
        document = self.plan("file:in", "gpu:0", "--size", "1MiB", "--json").document()
        self.assertEqual(document["bytes"], 1 << 20)
