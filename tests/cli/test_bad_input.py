"""Words, files and machines that make no sense: a sentence, the right exit code, nothing left behind."""

import json
import os
import subprocess

import command
from command import FAILED, USAGE, CommandTest

ON_DGX = ("--machine", "dgx-h100")


class Words(CommandTest):
    def test_an_unknown_verb_gets_the_list_and_the_nearest(self):
        self.refuse(USAGE, "coppy", says=["coppy", "did you mean copy?", "map", "plan", "record", "sim"])
        self.refuse(USAGE, "frobnicate", says=["frobnicate", "map", "--help"])

    def test_no_verb_at_all_gets_the_list(self):
        self.refuse(USAGE, says=["map", "plan", "copy", "record", "sim", "--help"])

    def test_an_unknown_option_gets_the_list_and_the_nearest(self):
        self.refuse(USAGE, "copy", "gpu:0", "gpu:1", "--siez", "1", says=["--siez", "did you mean --size?", "--deadline"])

    def test_an_option_before_the_verb_is_told_its_place(self):
        self.refuse(USAGE, "--json=no", "map", says=["options follow the verb"])

    def test_an_option_without_its_value_or_given_twice(self):
        self.refuse(USAGE, "copy", "gpu:0", "gpu:1", "--size", says=["--size"])
        self.refuse(USAGE, "copy", "gpu:0", "gpu:1", "--size", "1", "--size", "2", says=["--size"])

    def test_a_word_too_many(self):
        self.refuse(USAGE, "map", "gpu:0", says=["gpu:0", "too many"])

    def test_a_place_that_no_machine_has(self):
        for place in ("", "gpu", "gpu:", "gpu:x", "gpu:-1", "gpu:0x1", "gpu:99999999999", "host:x", "mem:1", "file:",
                      "tape:0", "GPU:0"):
            with self.subTest(place=place):
                self.refuse(USAGE, "copy", "gpu:0", place, "--size", "1", *ON_DGX, says=["gpu:N", "file:PATH"])

    def test_a_place_that_this_machine_has_not_gets_the_list_of_those_it_has(self):
        for verb in ("plan", "copy"):
            for place in ("gpu:8", "host:2"):
                with self.subTest(verb=verb, place=place):
                    self.refuse(FAILED, verb, "gpu:0", place, "--size", "1", *ON_DGX,
                                says=[place, "gpu:7", "host:1", "mem", "file:PATH"])

    def test_too_few_places(self):
        self.refuse(USAGE, "copy", *ON_DGX, says=["at least two places"])
        self.refuse(USAGE, "copy", "gpu:0", *ON_DGX, says=["at least two places"])
        self.refuse(USAGE, "plan", "gpu:0", "--size", "1", says=["two places"])
        self.refuse(USAGE, "plan", "gpu:0", "gpu:1", "gpu:2", "--size", "1", says=["two places"])

    def test_a_size_that_is_missing(self):
        for verb in ("plan", "copy"):
            self.refuse(USAGE, verb, "gpu:0", "gpu:1", *ON_DGX, says=["--size"])

    def test_a_size_that_overflows_or_makes_no_sense(self):
        for size in ("", "-1", "1.5", "0.3KiB", "16EiB", "99999999999999999999", "1e9", "64MiBs", "MiB", "0x10", "1 2"):
            with self.subTest(size=size):
                self.refuse(USAGE, "copy", "gpu:0", "gpu:1", "--size", size, *ON_DGX, says=["--size", "64MiB"])

    def test_a_size_that_no_place_can_hold_is_refused_before_anything_is_taken(self):
        for size, code in (("8EiB", USAGE), ("1TiB", FAILED)):
            for source, target in (("gpu:0", "gpu:1"), ("host", "gpu:0"), ("mem", "gpu:0")):
                with self.subTest(size=size, source=source):
                    run = self.refuse(code, "copy", source, target, "--size", size, *ON_DGX)
                    self.assertLess(run.seconds, 10)

    def test_a_deadline_or_a_seed_that_makes_no_sense(self):
        for deadline in ("", "0s", "-1s", "2", "1e9999s", "2 parsecs", "99999999999999h"):
            with self.subTest(deadline=deadline):
                self.refuse(USAGE, "copy", "gpu:0", "gpu:1", "--size", "1", "--deadline", deadline, *ON_DGX,
                            says=["--deadline"])
        for seed in ("", "-1", "1.5", "18446744073709551616", "x"):
            with self.subTest(seed=seed):
                self.refuse(USAGE, "copy", "gpu:0", "gpu:1", "--size", "1", "--seed", seed, *ON_DGX, says=["--seed"])

    def test_under_json_a_failure_is_a_document_too(self):
        for verb, schema in (("copy", "peerlane.receipt/1"), ("plan", "peerlane.error/1")):
            with self.subTest(verb=verb):
                run = self.run_to(USAGE, verb, "gpu:0", "gpu:1", "--size", "much", *ON_DGX, "--json")
                document = run.document()
                self.assertEqual(document["schema"], schema)
                self.assertEqual(document["error"]["kind"], "invalid_argument")
                self.assertEqual(document.get("hops", []), [])


class Files(CommandTest):
    def copy(self, source, target="file:out"):
        return ("copy", source, "gpu:0", target, *ON_DGX)

    def test_a_missing_file(self):
        self.refuse(FAILED, *self.copy("file:nowhere"), says=["nowhere", "No such file"])
        self.refuse(FAILED, "plan", "file:nowhere", "gpu:0", *ON_DGX, says=["nowhere"])
        self.assertEqual(self.files(), [])

    def test_an_unreadable_file(self):
        self.write("secret", b"bytes")
        os.chmod(os.path.join(self.folder, "secret"), 0)
        os.chmod(self.folder, 0o755)
        # The superuser may read any file, so the command runs as nobody then.
        other = {"user": 65534} if os.geteuid() == 0 else {}
        try:
            run = self.run_to(FAILED, *self.copy("file:secret"), **other)
        except PermissionError as error:
            self.skipTest(f"nobody may not run the command: {error}")
        self.assertIn("secret", run.err)
        self.assertIn("Permission denied", run.err)

    def test_what_is_no_regular_file(self):
        os.mkdir(os.path.join(self.folder, "folder"))
        os.mkfifo(os.path.join(self.folder, "fifo"))
        self.write("in", b"bytes")
        for name in ("folder", "fifo"):
            with self.subTest(name=name):
                self.assertNotEqual(command.Run(*self.copy(f"file:{name}"), cwd=self.folder).code, 0)
                self.assertNotEqual(command.Run(*self.copy("file:in", f"file:{name}"), cwd=self.folder).code, 0)
        self.assertEqual(self.files(), ["fifo", "folder", "in"])

    def test_a_target_in_a_folder_that_does_not_exist(self):
        self.write("in", b"bytes")
        self.refuse(FAILED, *self.copy("file:in", "file:no/such/folder/out"), says=["no/such/folder"])

    def test_no_room_for_the_target(self):
        self.write("in", bytes(1 << 20))
        script = 'ulimit -f 8 && exec "$0" copy file:in gpu:0 file:out --machine dgx-h100'
        done = subprocess.run(["sh", "-c", script, command.path], cwd=self.folder, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, FAILED, done)
        self.assertIn("no room for 1 MiB", done.stderr.decode())
        self.assertEqual(self.files(), ["in"])

    def test_more_bytes_than_the_file_has(self):
        self.write("in", b"bytes")
        self.refuse(USAGE, *self.copy("file:in"), "--size", "6", says=["file:in", "6 B", "5 B"])
        self.assertEqual(self.files(), ["in"])

    def test_a_destination_that_is_the_source_by_any_name(self):
        self.write("in", b"bytes")
        os.symlink("in", os.path.join(self.folder, "symbolic"))
        os.link(os.path.join(self.folder, "in"), os.path.join(self.folder, "hard"))
        for name in ("in", "./in", "symbolic", "hard"):
            with self.subTest(name=name):
                self.refuse(USAGE, *self.copy("file:in", f"file:{name}"), says=["the same file"])
                self.refuse(USAGE, "copy", "file:in", f"file:{name}", *ON_DGX, says=["the same file"])
        self.assertEqual(self.read("in"), b"bytes")

    def test_a_target_named_twice_before_it_exists(self):
        self.refuse(USAGE, "copy", "gpu:0", "file:new", "gpu:1", "file:./new", "--size", "1", *ON_DGX,
                    says=["the same file"])
        self.assertEqual(self.files(), [])


class Machines(CommandTest):
    def setUp(self):
        super().setUp()
        self.text = self.run_ok("record", *ON_DGX).out

    def refuse_machine(self, text, *says):
        self.write("box.json", text.encode())
        run = self.run_to(USAGE, "map", "--machine", "box.json")
        self.assertEqual(run.out, "", run)
        for word in ("box.json", *says):
            self.assertIn(word, run.err, run)

    def refuse_changed(self, change, *says):
        document = json.loads(self.text)
        change(document)
        self.refuse_machine(json.dumps(document), *says)

    def test_a_name_that_is_no_machine_gets_the_presets(self):
        run = command.Run("map", "--machine", "dgx-h1000", cwd=self.folder)
        self.assertNotEqual(run.code, 0)
        for word in ("dgx-h1000", "dgx-h100", "laptop-1gpu"):
            self.assertIn(word, run.err)
        self.refuse(USAGE, "map", "--machine", "", says=["--machine"])

    def test_a_file_cut_in_the_middle(self):
        for cut in (0, 1, len(self.text) // 2, len(self.text) - 3):
            with self.subTest(cut=cut):
                self.refuse_machine(self.text[:cut])

    def test_wrong_types(self):
        def rename_link(document):
            document["links"][3]["bytes_per_s"] = "fast"

        def name_is_a_number(document):
            document["name"] = 7

        def links_is_an_object(document):
            document["links"] = {}

        self.refuse_changed(rename_link, "links[3].bytes_per_s")
        self.refuse_changed(name_is_a_number, "name")
        self.refuse_changed(links_is_an_object, "links")
        self.refuse_machine("[]")
        self.refuse_machine("null")

    def test_an_unknown_version(self):
        def from_the_future(document):
            document["schema"] = "peerlane.machine/999"

        self.refuse_changed(from_the_future, "schema", "peerlane.machine/999", "peerlane.machine/1")

    def test_a_link_to_nowhere(self):
        def cut_loose(document):
            link = document["links"][0]
            end = next(key for key, value in link.items() if value in ("gpu:0", 0) or str(value).startswith("gpu:"))
            link[end] = "gpu:77"

        self.refuse_changed(cut_loose, "links[0]", "gpu:77")

    def test_a_machine_that_cannot_be_read(self):
        os.mkdir(os.path.join(self.folder, "folder.json"))
        run = command.Run("map", "--machine", "folder.json", cwd=self.folder)
        self.assertNotEqual(run.code, 0, run)
        self.assertIn("folder.json", run.err)
