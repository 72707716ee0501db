// SPDX-License-Identifier: Apache-2.0
#include "harness/run_result_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "harness/report_example.h"

namespace ringside::harness {
namespace {

rc::Gen<std::string> any_text() {
  // Every code point below the surrogates that UTF-8 can carry matters to JSON: quotes, controls, two-byte letters.
  return rc::gen::apply(
      [](const std::vector<std::string>& parts) {
        std::string text;
        for (const std::string& part : parts) text += part;
        return text;
      },
      rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
          "a", "B", "\"", "\\", "\n", "\x01", "/", "é", "–", "✓", " ", "{", "}", ":", std::string(1, '\0'))));
}

rc::Gen<ring::Defect> any_defect() {
  return rc::gen::build<ring::Defect>(
      rc::gen::set(&ring::Defect::kind,
                   rc::gen::map(rc::gen::inRange<int>(0, static_cast<int>(ring::defect_kind_count)),
                                [](int kind) { return static_cast<ring::DefectKind>(kind); })),
      rc::gen::set(&ring::Defect::ring), rc::gen::set(&ring::Defect::source), rc::gen::set(&ring::Defect::sequence),
      rc::gen::set(&ring::Defect::count), rc::gen::set(&ring::Defect::detail, any_text()),
      rc::gen::set(&ring::Defect::records));
}

RunResult any_result() {
  RunResult result;
  result.spec.consumer = *any_text();
  result.spec.scenario = *any_text();
  result.spec.world = *rc::gen::element(WorldKind::model, WorldKind::kernel, WorldKind::explored);
  result.spec.ring = *rc::gen::element(ring::RingKind::ringbuf, ring::RingKind::perf);
  result.spec.seed = *rc::gen::arbitrary<std::uint64_t>();
  result.spec.records = *rc::gen::arbitrary<std::uint64_t>();
  result.outcome = *rc::gen::element(Outcome::clean, Outcome::defects, Outcome::skipped, Outcome::fault);
  result.reason = *any_text();
  result.verdict.defects = *rc::gen::container<std::vector<ring::Defect>>(any_defect());
  result.verdict.not_observable = *rc::gen::container<std::vector<std::string>>(any_text());
  result.verdict.notes = *rc::gen::container<std::vector<std::string>>(any_text());
  ring::Accounting& accounting = result.verdict.accounting;
  for (std::uint64_t* field :
       {&accounting.attempts, &accounting.committed, &accounting.delivered, &accounting.discarded, &accounting.failed,
        &accounting.malformed, &accounting.left, &accounting.overwritten, &accounting.missing, &accounting.extra,
        &accounting.reported_lost, &accounting.delivered_bytes}) {
    *field = *rc::gen::element<std::uint64_t>(0, 1, *rc::gen::arbitrary<std::uint64_t>(), UINT64_MAX);
  }
  result.wall_seconds = static_cast<double>(*rc::gen::inRange(0, 1'000'000)) / 997.0;
  result.repeat = *any_text();
  return result;
}

RC_GTEST_PROP(RunResultJson, ReadsBackWhateverWasWritten, ()) {
  const RunResult result = any_result();
  const std::string line = to_json_line(result);
  const ring::Result<RunResult> back = run_result_from_json(line);
  RC_LOG() << line;
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == result);
}

RC_GTEST_PROP(RunResultJson, IsOneLine, ()) { RC_ASSERT(to_json_line(any_result()).find('\n') == std::string::npos); }

RC_GTEST_PROP(RunResultJson, RefusesATextThatWasCutAnywhere, ()) {
  const std::string line = to_json_line(any_result());
  const auto length = *rc::gen::inRange<std::size_t>(0, line.size());
  RC_ASSERT(!run_result_from_json(std::string_view{line}.substr(0, length)).has_value());
}

/// The text of a lawful run with one key changed by `change`, and what reading it says.
template <class Change>
std::string complaint_after(Change change) {
  auto json = to_json(example::bad_run("copy", "steady", {ring::DefectKind::torn}));
  change(json);
  const ring::Result<RunResult> result = run_result_from_json(dump(json, -1));
  return result ? "it was read" : result.error().reason;
}

TEST(RunResultJson, NamesTheKeyThatIsMissing) {
  EXPECT_EQ(complaint_after([](auto& json) { json.erase("repeat"); }), "repeat must be there");
}

TEST(RunResultJson, NamesThePathOfAValueOfTheWrongType) {
  EXPECT_EQ(complaint_after([](auto& json) { json["verdict"]["accounting"]["left"] = -1; }),
            "verdict.accounting.left must be a number from 0 to 18446744073709551615");
}

TEST(RunResultJson, NamesADefectThatNobodyKnows) {
  EXPECT_EQ(complaint_after([](auto& json) { json["verdict"]["defects"][0]["kind"] = "mangled"; }),
            "verdict.defects[].kind must be the name of a defect");
}

TEST(RunResultJson, RefusesANumberThatDoesNotFitItsField) {
  EXPECT_EQ(complaint_after([](auto& json) { json["verdict"]["defects"][0]["ring"] = 1ull << 32; }),
            "verdict.defects[].ring must be a number from 0 to 4294967295");
}

TEST(RunResultJson, RefusesFurtherKeys) {
  EXPECT_EQ(complaint_after([](auto& json) { json["surprise"] = 1; }), "the object must be without further keys");
}

TEST(RunResultJson, RefusesASeedThatIsNoHexadecimalNumber) {
  EXPECT_EQ(complaint_after([](auto& json) { json["seed"] = "0xfg"; }),
            "seed must be 0x and up to 16 hexadecimal digits");
}

TEST(RunResultJson, SaysAtWhichByteATextIsNoJson) {
  const ring::Result<RunResult> result = run_result_from_json("{\"a\" 1}");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().reason, "byte 6 is not JSON");
}

TEST(RunResultJson, ReplacesBytesThatAreNoUtf8) {
  RunResult run = example::clean_run("copy", "steady");
  run.reason = "broken \xff byte";
  const ring::Result<RunResult> back = run_result_from_json(to_json_line(run));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->reason, "broken \xef\xbf\xbd byte");
}

TEST(RunResultJson, WritesAFullSeedAsText) {
  RunResult run = example::clean_run("copy", "steady");
  run.spec.seed = UINT64_MAX;
  EXPECT_EQ(to_json(run)["seed"], "0xffffffffffffffff");
}

}  // namespace
}  // namespace ringside::harness
