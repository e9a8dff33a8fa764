#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "machine/json_form.hpp"
#include "peerlane/machine.hpp"

namespace peerlane {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

/// A machine file has its nodes grouped by kind; so does this copy of a machine.
Machine grouped(const Machine& machine) {
  const auto rank = [&](int node) {
    const auto is_kind = [&](const auto& list) { return list.value == machine.nodes[node].kind; };
    return std::find_if(machine::node_lists.begin(), machine::node_lists.end(), is_kind);
  };
  std::vector<int> order(machine.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
  Machine result = machine;
  std::vector<int> new_place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    result.nodes[i] = machine.nodes[order[i]];
    new_place[order[i]] = static_cast<int>(i);
  }
  for (Link& link : result.links) {
    link.a = new_place[link.a];
    link.b = new_place[link.b];
  }
  return result;
}

void expect_same(const Machine& machine, const Machine& back) {
  const Machine expected = grouped(machine);
  EXPECT_EQ(back.name, expected.name);
  EXPECT_EQ(back.driver, expected.driver);
  EXPECT_EQ(back.cuda_version, expected.cuda_version);
  EXPECT_TRUE(back.nodes == expected.nodes);
  EXPECT_TRUE(back.links == expected.links);
  EXPECT_TRUE(back.pairs == expected.pairs);
  EXPECT_TRUE(back.host == expected.host);
  EXPECT_EQ(back.notes, expected.notes);
}

TEST(MachineFile, BringsEveryPresetBack) {
  for (const std::string_view name : preset_names()) {
    SCOPED_TRACE(name);
    const Machine machine = preset(name).value();
    const std::string text = to_json(machine);
    const Machine back = machine_from_json(text, "box.json").value();
    expect_same(machine, back);
    EXPECT_EQ(to_json(back), text);
  }
}

rc::Gen<std::string> any_text() {
  return rc::gen::element<std::string>("", "a", "µ → é", "\"quoted\"\n\\", "0000:1b:00.0", std::string(300, 'x'));
}

Node any_node(NodeKind kind, int index) {
  Node node;
  node.kind = kind;
  node.index = index;
  node.name = *any_text();
  node.numa = kind == NodeKind::numa ? index : *rc::gen::inRange(-1, 9);
  if (kind != NodeKind::numa) node.pci = *any_text();
  if (kind == NodeKind::gpu || kind == NodeKind::numa) {
    node.memory = *rc::gen::inRange<Bytes>(1, 1'000'000'000'000'000);
    node.memory_bytes_per_s = *rc::gen::element(0.0, 1.0, 2.1e12, 123456789.123);
  }
  if (kind == NodeKind::gpu) {
    node.uuid = *any_text();
    node.compute_major = *rc::gen::inRange(0, 99);
    node.compute_minor = *rc::gen::inRange(0, 99);
    node.copy_engines = *rc::gen::inRange(0, 64);
  }
  return node;
}

Machine any_machine() {
  Machine machine;
  machine.name = "box " + *any_text();
  machine.driver = *any_text();
  machine.cuda_version = *rc::gen::inRange(0, 20000);
  for (const auto& [kind, key] : machine::node_lists) {
    const int count = *rc::gen::inRange(0, 5);
    for (int i = 0; i < count; ++i) machine.nodes.push_back(any_node(kind, i));
  }
  const auto nodes = static_cast<int>(machine.nodes.size());
  const int links = nodes < 2 ? 0 : *rc::gen::inRange(0, 20);
  for (int i = 0; i < links; ++i) {
    Link link;
    link.a = *rc::gen::inRange(0, nodes);
    link.b = (link.a + *rc::gen::inRange(1, nodes)) % nodes;
    link.kind = *rc::gen::map(rc::gen::inRange<std::size_t>(0, machine::link_words.size()),
                              [](std::size_t i) { return machine::link_words[i].value; });
    link.width = *rc::gen::inRange(0, 64);
    link.generation = *rc::gen::inRange(0, 9);
    link.bytes_per_s = *rc::gen::element(1.0, 3.96e11, 0.1 + 1e9, 1e15);
    link.latency_s = *rc::gen::element(0.0, 4.5e-7, 1.0);
    link.origin = *rc::gen::element(Origin::assumed, Origin::reported, Origin::measured);
    machine.links.push_back(link);
  }
  for (int from = 0; from < machine.gpu_count(); ++from) {
    for (int to = 0; to < machine.gpu_count(); ++to) {
      if (from == to || *rc::gen::arbitrary<bool>()) continue;
      const auto claim = rc::gen::element(Claim::unknown, Claim::no, Claim::yes);
      machine.pairs.push_back({from, to, *any_text(), *rc::gen::inRange(0, 18), *claim, *claim, *any_text()});
    }
  }
  machine.host = {*rc::gen::element(1.0, 1e10), *rc::gen::element(1.0, 4e9), 2e9, *rc::gen::inRange(1, 64),
                  Origin::measured};
  machine.notes = {*any_text(), *any_text()};
  return machine;
}

RC_GTEST_PROP(MachineFile, BringsAnyMachineBack, ()) {
  const Machine machine = any_machine();
  const auto back = machine_from_json(to_json(machine), "box.json");
  if (!back) RC_FAIL(back.error().message());
  expect_same(machine, *back);
  RC_ASSERT(!testing::Test::HasFailure());
}

TEST(MachineFile, IsNeverLiveAndKnowsItsSource) {
  Machine machine = preset("laptop-1gpu").value();
  machine.live = true;
  machine.name = "this machine";
  const Machine back = machine_from_json(to_json(machine), "box.json").value();
  EXPECT_FALSE(back.live);
  EXPECT_EQ(back.source, "box.json");
  EXPECT_EQ(back.name, "box.json");
}

TEST(MachineFile, HasTheKeysThatOthersRelyOn) {
  const json document = json::parse(to_json(preset("dgx-1-v100").value()));
  EXPECT_EQ(document["schema"], "peerlane.machine/1");
  EXPECT_EQ(document["live"], false);
  EXPECT_EQ(document["gpus"][3]["place"], "gpu:3");
  EXPECT_EQ(document["gpus"][3]["compute"], "7.0");
  EXPECT_EQ(document["nics"][0]["gpus"]["gpu:0"], "PIX");
  EXPECT_EQ(document["nics"][0]["gpus"]["gpu:2"], "PHB");
  EXPECT_EQ(document["nics"][0]["gpus"]["gpu:7"], "SYS");
  const json& closed = document["pairs"][4];
  EXPECT_EQ(closed["from"], "gpu:0");
  EXPECT_EQ(closed["to"], "gpu:5");
  EXPECT_EQ(closed["letters"], "SYS");
  EXPECT_EQ(closed["claimed"], false);
  EXPECT_TRUE(closed["verified"].is_null());
  EXPECT_TRUE(closed["measured_bytes_per_s"].is_null());
  EXPECT_TRUE(closed["why_not"].is_string());
  EXPECT_TRUE(document["links"][0].contains("shared"));
}

TEST(MachineFile, IsValidWhateverAProbePutIntoItsTexts) {
  Machine machine = preset("laptop-1gpu").value();
  machine.driver = "\xff\xfe";
  EXPECT_TRUE(json::accept(to_json(machine)));
}

/// The smallest useful file.
json small() {
  return json::parse(R"({
    "schema": "peerlane.machine/1",
    "name": "small",
    "gpus": [{"place": "gpu:0", "memory_bytes": 1000}, {"place": "gpu:1", "memory_bytes": 1000}],
    "numa": [{"id": "numa:0"}],
    "links": [{"a": "gpu:0", "b": "gpu:1", "kind": "nvlink", "generation": 4, "width": 18}],
    "pairs": [{"from": "gpu:0", "to": "gpu:1", "claimed": true}],
    "host": {"workers": 2}
  })");
}

TEST(MachineFile, MayLeaveOutWhatIsNotKnown) {
  const Machine machine = machine_from_json(small().dump(), "small.json").value();
  EXPECT_EQ(machine.links[0].bytes_per_s, 396e9);
  EXPECT_EQ(machine.links[0].origin, Origin::assumed);
  EXPECT_EQ(machine.pairs[0].access, Claim::yes);
  EXPECT_EQ(machine.pairs[0].atomics, Claim::unknown);
  EXPECT_EQ(machine.host.workers, 2);
  EXPECT_TRUE(machine_from_json(R"({"schema": "peerlane.machine/1"})", "empty.json"));
}

TEST(MachineFile, MayHoldKeysOfALaterTime) {
  json document = small();
  document["weather"] = {{"rain", true}};
  document["gpus"][0]["colour"] = "green";
  document["links"][0]["bytes_per_s"] = 1e11;
  const Machine machine = machine_from_json(document.dump(), "later.json").value();
  EXPECT_EQ(machine.links[0].origin, Origin::reported);
}

struct BadValue {
  std::string_view pointer;
  json value;
  std::string_view path;
  std::string_view why;
};

TEST(MachineFile, NamesTheFieldThatIsWrongAndWhatWasExpected) {
  const BadValue bad[] = {
      {"/schema", 1, "schema", "expected a text, got 1"},
      {"/schema", "other/1", "schema", "expected \"peerlane.machine/1\", got \"other/1\""},
      {"/schema", "peerlane.machine/2", "schema", "version"},
      {"/schema", nullptr, "schema", "expected a text, got null"},
      {"/name", json::array(), "name", "got a list"},
      {"/name", std::string("a\0b", 3), "name", "zero byte"},
      {"/cuda_version", -1, "cuda_version", "got -1"},
      {"/cuda_version", 13.5, "cuda_version", "got 13.5"},
      {"/gpus", "two", "gpus", "expected a list"},
      {"/gpus/1", 7, "gpus[1]", "expected an object, got 7"},
      {"/gpus/1/place", "gpu:0", "gpus[1].place", "second time"},
      {"/gpus/1/place", "gpu:2", "gpus[1].place", "from 0 to 1 without a gap"},
      {"/gpus/1/place", "gpu:-1", "gpus[1].place", "expected gpu:N"},
      {"/gpus/1/place", "gpu:01", "gpus[1].place", "expected gpu:N"},
      {"/gpus/1/place", "gpu:1 ", "gpus[1].place", "expected gpu:N"},
      {"/gpus/1/place", "numa:1", "gpus[1].place", "expected gpu:N"},
      {"/gpus/1/memory_bytes", 0, "gpus[1].memory_bytes", "positive whole number"},
      {"/gpus/1/memory_bytes", 1.5, "gpus[1].memory_bytes", "got 1.5"},
      {"/gpus/1/memory_bytes", 1e300, "gpus[1].memory_bytes", "got 1e+300"},
      {"/gpus/1/memory_bytes_per_s", -3, "gpus[1].memory_bytes_per_s", "positive number"},
      {"/gpus/1/compute", "nine", "gpus[1].compute", "like \"9.0\""},
      {"/gpus/1/compute", 9.0, "gpus[1].compute", "expected a text"},
      {"/gpus/1/numa", 1e10, "gpus[1].numa", "NUMA"},
      {"/gpus/1/copy_engines", "2", "gpus[1].copy_engines", "whole number"},
      {"/numa/0/id", "numa:70000", "numa[0].id", "expected numa:N"},
      {"/links/0/a", "gpu:9", "links[0].a", "no node \"gpu:9\""},
      {"/links/0/b", "gpu:0", "links[0]", "two different ends"},
      {"/links/0/kind", "rope", "links[0].kind", "nvlink, pcie, root, memory, socket, c2c or xgmi"},
      {"/links/0/width", -18, "links[0].width", "got -18"},
      {"/links/0/bytes_per_s", "fast", "links[0].bytes_per_s",
       "expected a positive number of bytes per second, got \"fast\""},
      {"/links/0/bytes_per_s", 0, "links[0].bytes_per_s", "got 0"},
      {"/links/0/bytes_per_s", -5e9, "links[0].bytes_per_s", "positive number"},
      {"/links/0/bytes_per_s", 1e16, "links[0].bytes_per_s", "positive number"},
      {"/links/0/generation", 99, "links[0].bytes_per_s", "got nothing"},
      {"/links/0/latency_s", 5, "links[0].latency_s", "from 0 to 1"},
      {"/links/0/origin", "heard", "links[0].origin", "assumed, reported or measured"},
      {"/pairs/0/to", "gpu:2", "pairs[0].to", "no gpu:2"},
      {"/pairs/0/to", "gpu:0", "pairs[0]", "two different GPUs"},
      {"/pairs/0/claimed", "yes", "pairs[0].claimed", "true, false or null"},
      {"/pairs/0/nvlinks", 1e9, "pairs[0].nvlinks", "whole number"},
      {"/pairs/1", {{"from", "gpu:0"}, {"to", "gpu:1"}}, "pairs[1]", "second time"},
      {"/host", json::array(), "host", "expected an object"},
      {"/host/workers", 0, "host.workers", "from 1"},
      {"/notes", {{"a", 1}}, "notes", "expected a list"},
      {"/notes", {1}, "notes[0]", "expected a text"},
  };
  for (const auto& [pointer, value, path, why] : bad) {
    json document = small();
    document[json::json_pointer(std::string(pointer))] = value;
    const auto machine = machine_from_json(document.dump(), "bad.json");
    ASSERT_FALSE(machine) << pointer << " = " << value;
    EXPECT_EQ(machine.error().kind, ErrorKind::invalid_argument);
    EXPECT_EQ(machine.error().where, "bad.json: " + std::string(path));
    EXPECT_THAT(machine.error().what, HasSubstr(std::string(why)));
  }
}

TEST(MachineFile, WantsAnObject) {
  for (const std::string_view text : {"[]", "7", "null", "\"machine\""}) {
    EXPECT_THAT(machine_from_json(text, "x").error().message(), HasSubstr("x: the document: expected an object"));
  }
}

std::string message_of(std::string_view text) {
  return machine_from_json(text, "cut.json").error().message();
}

TEST(MachineFile, CutAnywhereSaysLineAndColumn) {
  std::string text = to_json(preset("rtx3090-pair").value());
  text.pop_back();  // without its last newline it is still whole
  ASSERT_TRUE(machine_from_json(text, "cut.json"));
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto machine = machine_from_json(std::string_view(text).substr(0, length), "cut.json");
    ASSERT_FALSE(machine) << length;
    const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length), '\n') + 1;
    const std::string line = "cut.json: line " + std::to_string(lines) + ", column ";
    ASSERT_THAT(machine.error().message(), AllOf(HasSubstr(line), HasSubstr("ends in the middle"))) << length;
  }
}

TEST(MachineFile, WithOneByteChangedNeverFallsOver) {
  const std::string text = to_json(preset("laptop-1gpu").value());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char byte : {'\0', '\xff', '"', '}', '9', '-'}) {
      std::string changed = text;
      changed[at] = byte;
      const auto machine = machine_from_json(changed, "changed.json");
      if (machine) continue;
      ASSERT_THAT(machine.error().message(), HasSubstr("changed.json: "));
    }
  }
}

TEST(MachineFile, ThatIsNotJsonSaysLineAndColumn) {
  EXPECT_THAT(message_of("{\n  \"a\": 1,\n  b}"), HasSubstr("cut.json: line 3, column 3: not JSON: "));
  EXPECT_THAT(message_of("{\"µ\": x}"), HasSubstr("line 1, column 7: not JSON"));
  EXPECT_THAT(message_of("{\"a\": NaN}"), HasSubstr("line 1, column 7: not JSON"));
  EXPECT_THAT(message_of("{\"a\": 1e999}"), HasSubstr("line 1"));
  EXPECT_THAT(message_of("{\"a\": \"\xff\"}"), HasSubstr("line 1, column 8: not JSON"));
  EXPECT_THAT(message_of("{} {}"), HasSubstr("line 1, column 4: not JSON"));
  EXPECT_THAT(message_of(std::string_view("{}\0{}", 5)), HasSubstr("line 1, column 3: not JSON: a zero byte"));
}

TEST(MachineFile, ThatIsHugeInAnyWayIsRefused) {
  EXPECT_THAT(message_of(std::string(1'000'000, '[')), HasSubstr("deeper than 64"));
  std::string many = "[0";
  for (int i = 0; i < 4'000'000; ++i) many += ",0";
  EXPECT_THAT(message_of(many + "]"), HasSubstr("more than 4000000 values"));
  json document = small();
  document["drives"] = json::array();
  for (int i = 0; i < 65536; ++i) document["drives"].push_back({{"id", "drive:" + std::to_string(i)}});
  EXPECT_THAT(message_of(document.dump()), HasSubstr("drives: expected at most 65533 elements, got 65536"));
}

RC_GTEST_PROP(MachineFile, OfAnyTextNeverFallsOver, (const std::string& text)) {
  const auto machine = machine_from_json(text, "any");
  if (!machine) RC_ASSERT(!machine.error().message().empty());
}

}  // namespace
}  // namespace peerlane
