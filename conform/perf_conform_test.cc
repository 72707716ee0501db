// SPDX-License-Identifier: Apache-2.0
//
// Perf rings: hand-written scripts for every verb, on which the running kernel and the model agree, and for every rule
// of the model one that shows when it is broken.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "conform/generate.h"
#include "conform/perf_test_support.h"
#include "sim/rule.h"

namespace ringside::conform {
namespace {

using test::PerfConform;
using test::PerfWords;

constexpr ring::RingKind kind = ring::RingKind::perf;
constexpr const char* all_fields = "raw+tid+time+id+stream_id+cpu+identifier+addr+period";

// Scripts on which both sides must agree, by name. Together they use every verb.
struct Agreed {
  const char* name;
  PerfWords words;
  std::string lines;
};

/// The deviation as text, for a message.
std::string told(const Played& played) {
  std::ostringstream text;
  if (played.deviation) text << *played.deviation;
  return text.str();
}

std::string repeat(int times, const std::string& lines) {
  std::string all;
  for (int i = 0; i < times; ++i) all += lines;
  return all;
}

const std::vector<Agreed>& agreed() {
  static const std::vector<Agreed> scripts = {
      {"checks_of_the_helper",
       {},
       "output slot=a size=8 flags=1\noutput slot=a size=8 flags=2\noutput slot=other size=8 flags=0\n"
       "output slot=empty size=8 flags=0\noutput slot=outside size=8 flags=0\noutput slot=outside size=8 flags=3\n"
       "enable event=a on=no\noutput slot=a size=8 flags=0\noutput slot=b size=8 flags=0\n"
       "enable event=a on=yes\noutput slot=a size=8 flags=0\nreset event=a\n"},
      {"sizes_about_the_largest",
       {},
       "output slot=a size=4076 flags=0\nconsume event=a count=1\noutput slot=a size=4077 flags=0\n"
       "consume event=a count=1\noutput slot=a size=0 flags=0\nconsume event=a count=2\n"
       "output slot=a size=4052 flags=0\n"},
      {"oversize",
       {.pages = "2", .fields = all_fields, .id_all = "yes"},
       "output slot=a size=100 flags=0\noutput slot=a size=65440 flags=0\noutput slot=a size=65470 flags=0\n"
       "consume event=a count=9\noutput slot=a size=70000 flags=0\noutput slot=a size=131072 flags=0\n"},
      {"losses_with_trailers",
       {.fields = all_fields, .id_all = "yes", .b_fields = all_fields, .b_id_all = "yes"},
       "redirect event=b to=a\noutput slot=a size=3800 flags=0\noutput slot=b size=200 flags=0\ncomm letters=3\n"
       "consume event=a count=1\noutput slot=b size=5 flags=0\ncomm letters=0\ncomm letters=7\ncomm letters=15\n"},
      {"backward",
       {.backward = "yes", .wakeup = "2", .fields = "raw+time", .id_all = "yes", .b_backward = "yes"},
       repeat(5, "output slot=a size=900 flags=0\ncomm letters=4\npoll event=a\n") +
           "consume event=a count=1\noutput slot=a size=900 flags=0\nredirect event=b to=a\n"
           "output slot=b size=30 flags=0\n"},
      {"overwrite",
       {.readonly = "yes", .fields = "raw+time+cpu"},
       repeat(9,
              "output slot=a size=700 flags=0\ntail event=a base=producer offset=0\nhead event=a value=7\n"
              "consume event=a count=1\n")},
      {"lying_tails",
       {.wakeup = "3"},
       "tail event=a base=zero offset=1\noutput slot=a size=4 flags=0\ntail event=a base=producer offset=8\n"
       "output slot=a size=4 flags=0\ntail event=a base=producer offset=17\noutput slot=a size=4 flags=0\n"
       "tail event=a base=producer offset=-4096\noutput slot=a size=4 flags=0\nhead event=a value=99\n"
       "consume event=a count=3\noutput slot=a size=4 flags=0\ntail event=b base=zero offset=0\n"},
      {"no_data_pages",
       {.pages = "0"},
       "output slot=a size=4 flags=0\npoll event=a\npause event=a on=yes\npause event=a on=no\nredirect event=b to=a\n"
       "output slot=b size=4 flags=0\nnested event=a size=4 inner=4 at=reserved\nunmap event=a\npoll event=a\n"},
      {"pause",
       {},
       "pause event=b on=yes\nredirect event=b to=a\npause event=b on=yes\noutput slot=a size=4 flags=0\n"
       "output slot=b size=4 flags=0\npause event=a on=no\noutput slot=a size=4 flags=0\n"},
      {"mappings",
       {},
       "map event=a pages=2 readonly=no\nmap event=a pages=1 readonly=yes\nmap event=a pages=1 readonly=no\n"
       "output slot=a size=4 flags=0\nunmap event=a\noutput slot=a size=4 flags=0\npause event=a on=yes\n"
       "output slot=a size=4 flags=0\nunmap event=a\nunmap event=a\noutput slot=a size=4 flags=0\npoll event=a\n"
       "map event=a pages=4 readonly=yes\noutput slot=a size=4 flags=0\npoll event=a\nmap event=b pages=0 "
       "readonly=no\n"},
      {"redirection",
       {.look = "always"},
       "redirect event=a to=a\nredirect event=a to=b\nredirect event=b to=a\nredirect event=b to=a\n"
       "map event=b pages=1 readonly=no\nmap event=b pages=2 readonly=no\noutput slot=b size=4 flags=0\ndetach "
       "event=a\n"
       "epoll_add set=0 trigger=level event=a\nepoll_add set=0 trigger=edge event=b\ndetach event=b\n"
       "redirect event=b to=a\nunmap event=a\noutput slot=b size=4 flags=0\nmap event=b pages=1 readonly=no\n"
       "redirect event=a to=b\noutput slot=a size=4 flags=0\n"},
      {"directions_do_not_mix", {.b_backward = "yes"}, "redirect event=b to=a\noutput slot=b size=4 flags=0\n"},
      {"nested_everywhere",
       {.wakeup = "2", .fields = all_fields, .id_all = "yes"},
       "nested event=a size=20 inner=3 at=entered\nnested event=a size=20 inner=3 at=reserved\n"
       "nested event=a size=20 inner=3 at=published\nnested event=a size=20 inner=3 at=left\npoll event=a\n"
       "enable event=a on=no\nnested event=a size=4 inner=4 at=left\nnested event=b size=4 inner=4 at=left\n"},
      {"nested_with_losses",
       {.fields = "raw+time", .id_all = "yes"},
       repeat(4,
              "pause event=a on=yes\noutput slot=a size=4 flags=0\nnested event=a size=4 inner=0 at=entered\n"
              "pause event=a on=no\n") +
           "nested event=a size=20 inner=3 at=entered\npause event=a on=yes\noutput slot=a size=4 flags=0\n"
           "pause event=a on=no\nnested event=a size=20 inner=3 at=reserved\noutput slot=a size=3600 flags=0\n"
           "nested event=a size=700 inner=9 at=entered\nnested event=a size=700 inner=900 at=left\n"
           "nested event=a size=700 inner=20 at=published\nnested event=a size=700 inner=20 at=reserved\n"},
      {"epoll",
       {.wakeup = "1", .look = "asked"},
       "epoll_add set=0 trigger=level event=a\nepoll_add set=1 trigger=edge event=a\nepoll_wait set=0\n"
       "output slot=a size=4 flags=0\nepoll_wait set=1\nepoll_wait set=0\noutput slot=a size=4 flags=0\n"
       "epoll_modify set=0 trigger=edge event=a\nepoll_wait set=0\nepoll_remove set=1 event=a\n"
       "epoll_modify set=1 trigger=edge event=a\nepoll_add set=0 trigger=edge event=a\nunmap event=a\nepoll_wait "
       "set=0\n"
       "epoll_wait set=0\n"},
  };
  return scripts;
}

TEST_F(PerfConform, KernelAndModelAgreeOnEveryVerb) {
  std::set<Verb> used;
  for (const Agreed& each : agreed()) {
    const Script script = test::perf_script(each.words, each.lines);
    for (const Op& op : script.ops) used.insert(op.verb);
    const Played played = play(script);
    EXPECT_FALSE(played.deviation) << each.name << ": " << told(played);
    EXPECT_EQ(played.operations, script.ops.size()) << each.name;
  }
  for (const VerbSpec& verb : verbs_of(kind).subspan(1)) EXPECT_TRUE(used.contains(verb.verb)) << verb.name;
}

TEST_F(PerfConform, KernelAndModelAgreeOnDrawnScripts) {
  for (std::uint64_t index = 0; index < 40; ++index) {
    const Script script = generate(kind, 3, index, {});
    const Played played = play(script);
    EXPECT_FALSE(played.deviation) << told(played) << "\n" << script;
  }
}

// For each rule a script that shows when it is broken.
struct Broken {
  sim::Rule rule;
  PerfWords words;
  std::string lines;
};

const std::string one = "output slot=a size=4 flags=0\n";  // 16 bytes
const std::string lose = "pause event=a on=yes\n" + one + "pause event=a on=no\n";

const std::vector<Broken>& broken() {
  static const std::vector<Broken> scripts = {
      // 4076 makes 4088, after which 7 of 4096 bytes are left, and a whole record of 8 would end where it began.
      {sim::Rule::perf_space,
       {.b_fields = "none"},
       "redirect event=b to=a\noutput slot=a size=4076 flags=0\noutput slot=b size=0 flags=0\n"},
      // Full at 4080, one lost; with 32 bytes free (31 to be used) 16 fit, and 24 for LOST do not.
      {sim::Rule::perf_lost_space, {}, repeat(255, one) + one + "consume event=a count=1\n" + one},
      {sim::Rule::perf_lost_id, {}, "redirect event=b to=a\n" + lose + "output slot=b size=4 flags=0\n"},
      {sim::Rule::perf_lost_reset, {}, lose + one},
      {sim::Rule::perf_lost_trailer, {.fields = "raw+id", .id_all = "yes"}, lose + one},
      {sim::Rule::perf_lost_order, {}, lose + one},
      {sim::Rule::perf_stale_padding,
       {},
       "output slot=a size=4068 flags=0\nconsume event=a count=1\n" + one + "output slot=a size=1 flags=0\n"},
      {sim::Rule::perf_raw_size, {}, "output slot=a size=1 flags=0\n"},
      {sim::Rule::perf_oversize, {}, "output slot=a size=65517 flags=0\n"},
      {sim::Rule::perf_watermark_compare, {.watermark = "yes", .wakeup = "16"}, one},
      {sim::Rule::perf_watermark_once, {.watermark = "yes", .wakeup = "16"}, "output slot=a size=996 flags=0\n"},
      {sim::Rule::perf_half_buffer, {.wakeup = "9"}, "output slot=a size=3000 flags=0\n"},
      {sim::Rule::perf_wakeup_events_zero, {}, one},
      {sim::Rule::perf_wakeup_events_compare, {.wakeup = "2147483648"}, one},
      {sim::Rule::perf_events_shared,
       {.wakeup = "4", .b_wakeup = "2"},
       "redirect event=b to=a\n" + repeat(3, one) + "output slot=b size=4 flags=0\n"},
      {sim::Rule::perf_samples_count, {.wakeup = "1"}, "comm letters=0\n"},
      {sim::Rule::perf_paused_counts, {}, lose},
      {sim::Rule::perf_lost_samples, {}, lose + one},
      {sim::Rule::perf_poll_one_shot, {.wakeup = "1"}, one + "poll event=a\npoll event=a\n"},
      {sim::Rule::perf_backward_watermark, {.backward = "yes"}, one},
      {sim::Rule::perf_redirect_watermark,
       {.b_watermark = "yes", .b_wakeup = "8"},
       "redirect event=b to=a\noutput slot=b size=4 flags=0\n"},
  };
  return scripts;
}

TEST_F(PerfConform, EveryBrokenRuleShows) {
  for (const Broken& each : broken()) {
    const std::string_view name = sim::face_of(each.rule).name;
    const Script script = test::perf_script(each.words, each.lines);
    const Played as_it_is = play(script);
    EXPECT_FALSE(as_it_is.deviation) << name << " holds, yet " << told(as_it_is);
    EXPECT_TRUE(play(script, each.rule).deviation) << name << " is broken, and nothing shows it";
  }
}

TEST_F(PerfConform, EveryPerfRuleHasItsScript) {
  for (const sim::RuleFace& face : sim::rules()) {
    if (face.kind != kind) continue;
    EXPECT_TRUE(std::ranges::any_of(broken(), [&](const Broken& each) { return each.rule == face.rule; })) << face.name;
  }
}

TEST_F(PerfConform, AScriptLeavesNothingBehind) {
  play(test::perf_script({}, one));  // whatever is made once is made now
  const auto before = real::test::holdings();
  for (const Agreed& each : agreed()) play(test::perf_script(each.words, each.lines));
  EXPECT_EQ(real::test::holdings(), before);
}

}  // namespace
}  // namespace ringside::conform
