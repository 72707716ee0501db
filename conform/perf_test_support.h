// SPDX-License-Identifier: Apache-2.0
//
// What the tests of conform on perf rings share: one lab for all of them, scripts in a few lines, and a duel that is
// played operation by operation, so that a test can say what it expects in between.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "conform/lab_test.h"

namespace ringside::conform::test {

/// The set-up of a script, in the words of its verb.
struct PerfWords {
  std::string pages = "1";
  std::string readonly = "no";
  std::string backward = "no";
  std::string watermark = "no";
  std::string wakeup = "0";
  std::string fields = "raw";
  std::string id_all = "no";
  std::string b_backward = "no";
  std::string b_watermark = "no";
  std::string b_wakeup = "0";
  std::string b_fields = "raw";
  std::string b_id_all = "no";
  std::string look = "asked";
};

/// Ends the test program when the lines are no script.
inline Script perf_script(const PerfWords& words, const std::string& lines) {
  std::ostringstream text;
  text << "ringside-script 1\nperf pages=" << words.pages << " readonly=" << words.readonly
       << " backward=" << words.backward << " watermark=" << words.watermark << " wakeup=" << words.wakeup
       << " fields=" << words.fields << " id_all=" << words.id_all << " b_backward=" << words.b_backward
       << " b_watermark=" << words.b_watermark << " b_wakeup=" << words.b_wakeup << " b_fields=" << words.b_fields
       << " b_id_all=" << words.b_id_all << " look=" << words.look << "\n"
       << lines << "end\n";
  return must_parse(text.str());
}

using PerfConform = LabTest<ring::RingKind::perf>;

/// Both sides of one script, which must agree after every operation.
class Duel {
 public:
  Duel(Lab& lab, const PerfWords& words) : words_(words) {
    const Script script = perf_script(words, "");
    auto kernel = lab.side(script);
    EXPECT_TRUE(kernel) << kernel.error();
    kernel_ = std::move(*kernel);
    auto model = make_perf_model(script, model_of_this_kernel(), kernel_->facts());
    EXPECT_TRUE(model) << model.error();
    model_ = std::move(*model);
    compare_views("set-up");
  }

  /// One operation, as a line of a script. Returns what the kernel told.
  Outcome operator()(const std::string& line) { return apply(line, ++ordinal_); }
  Outcome apply(const std::string& line, std::uint64_t ordinal) {
    const Op op = perf_script(words_, line + "\n").ops.at(0);
    const auto kernel = kernel_->apply(op, ordinal);
    const auto model = model_->apply(op, ordinal);
    EXPECT_TRUE(kernel && model) << line;
    EXPECT_EQ(kernel->result, model->result) << line;
    EXPECT_EQ(kernel->details, model->details) << line;
    compare_views(line);
    return *kernel;
  }
  /// The bits that poll(2) of that event tells.
  std::uint64_t poll(const std::string& event) { return (*this)("poll event=" + event).details.at(0); }
  /// An output of so many bytes; true when poll(2) says afterwards that the ring is readable.
  bool wakes(const std::string& event, int size) {
    EXPECT_EQ((*this)("output slot=" + event + " size=" + std::to_string(size) + " flags=0").result, 0);
    return poll(event) == 0x41;
  }

  std::uint64_t number(std::string_view name) const {
    for (const NamedNumber& each : view_.numbers) {
      if (each.name == name) return each.value;
    }
    ADD_FAILURE() << "no number " << name;
    return 0;
  }
  /// A piece of the data of that event's mapping.
  template <class T>
  T at(const std::string& event, std::size_t offset) const {
    T value{};
    for (const NamedBytes& each : view_.areas) {
      if (each.name == event + ".data") std::memcpy(&value, each.bytes.data() + offset, sizeof(value));
    }
    return value;
  }
  const Facts& facts() const { return kernel_->facts(); }

 private:
  void compare_views(const std::string& line) {
    View model;
    view_.clear();
    ASSERT_TRUE(kernel_->show(view_));
    ASSERT_TRUE(model_->show(model));
    for (std::size_t i = 0; i < view_.numbers.size(); ++i) {
      EXPECT_EQ(view_.numbers[i].value, model.numbers[i].value) << view_.numbers[i].name << " after " << line;
    }
    for (std::size_t i = 0; i < view_.areas.size(); ++i) {
      ASSERT_EQ(view_.areas[i].bytes.size(), model.areas[i].bytes.size()) << line;
      if (view_.areas[i].bytes.empty()) continue;
      EXPECT_EQ(std::memcmp(view_.areas[i].bytes.data(), model.areas[i].bytes.data(), view_.areas[i].bytes.size()), 0)
          << view_.areas[i].name << " after " << line;
    }
  }

  PerfWords words_;
  std::unique_ptr<Side> kernel_;
  std::unique_ptr<Side> model_;
  View view_;
  std::uint64_t ordinal_ = 0;
};

}  // namespace ringside::conform::test
