// SPDX-License-Identifier: Apache-2.0
//
// What the tests of conform on BPF ring buffers share: one lab for all of them, scripts in a few lines, and a ring of
// each side on which one line at a time is played.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "conform/lab_test.h"
#include "conform/play.h"
#include "conform/script.h"
#include "conform/side.h"
#include "real/kernel_test.h"

namespace ringside::conform::test {

inline constexpr const char* one_page = "ringbuf pages=1 overwrite=no look=always";

/// A script on a BPF ring buffer. Ends the test program when the lines are no script.
inline Script ringbuf_script(const std::string& setup, const std::string& lines) {
  auto parsed = parse_script("ringside-script 1\n" + setup + "\n" + lines + "end\n", "test");
  if (!parsed) {
    ADD_FAILURE() << parsed.error() << "\n" << lines;
    std::abort();
  }
  return *parsed;
}

/// One ring on the kernel and one in the model. Each line is played on both and must come to the same; what it came to
/// is the kernel's.
class BothRings {
 public:
  BothRings(Lab& lab, const std::string& setup) : setup_(setup) {
    const Script script = ringbuf_script(setup, "");
    auto kernel = lab.side(script);
    if (!kernel) {
      ADD_FAILURE() << kernel.error();
      std::abort();
    }
    kernel_ = std::move(*kernel);
    auto model = make_ringbuf_model(script, model_of_this_kernel(), kernel_->facts());
    if (!model) {
      ADD_FAILURE() << model.error();
      std::abort();
    }
    model_ = std::move(*model);
  }

  /// The outcome of one line.
  Outcome operator()(const std::string& line) {
    const Script script = ringbuf_script(setup_, line + "\n");
    ++ordinal_;
    const auto kernel = kernel_->apply(script.ops.front(), ordinal_);
    const auto model = model_->apply(script.ops.front(), ordinal_);
    if (!kernel || !model) {
      ADD_FAILURE() << line << ": " << (kernel ? model.error() : kernel.error());
      return {};
    }
    EXPECT_EQ(*kernel, *model) << line;
    compare_views(line);
    return *kernel;
  }

  /// A number that both show, such as `pending_pos`.
  std::uint64_t number(std::string_view name) const {
    for (const NamedNumber& number : kernel_view_.numbers) {
      if (number.name == name) return number.value;
    }
    ADD_FAILURE() << "nothing is named " << name;
    return 0;
  }

  /// A value in the data area, as both show it.
  template <class T>
  T data(std::size_t offset) const {
    T value{};
    std::memcpy(&value, kernel_view_.areas.front().bytes.data() + offset, sizeof(value));
    return value;
  }

 private:
  void compare_views(const std::string& line) {
    View model_view;
    ASSERT_TRUE(kernel_->show(kernel_view_).has_value());
    ASSERT_TRUE(model_->show(model_view).has_value());
    ASSERT_EQ(kernel_view_.numbers.size(), model_view.numbers.size());
    ASSERT_EQ(kernel_view_.areas.size(), model_view.areas.size());
    for (std::size_t i = 0; i < model_view.numbers.size(); ++i) {
      EXPECT_EQ(kernel_view_.numbers[i].name, model_view.numbers[i].name);
      EXPECT_EQ(kernel_view_.numbers[i].value, model_view.numbers[i].value)
          << line << ": " << model_view.numbers[i].name;
    }
    for (std::size_t i = 0; i < model_view.areas.size(); ++i) {
      EXPECT_TRUE(std::ranges::equal(kernel_view_.areas[i].bytes, model_view.areas[i].bytes))
          << line << ": " << model_view.areas[i].name;
    }
  }

  std::string setup_;
  std::unique_ptr<Side> kernel_;
  std::unique_ptr<Side> model_;
  View kernel_view_;
  std::uint64_t ordinal_ = 0;
};

/// Skips where kernel rings cannot run.
class RingbufConform : public real::test::KernelTest {
 protected:
  static void TearDownTestSuite() { lab_.reset(); }

  static Lab& lab() {
    if (lab_ == nullptr) {
      auto made = make_lab(ring::RingKind::ringbuf, real::test::cpus().front());
      if (!made) {
        ADD_FAILURE() << made.error();
        std::abort();
      }
      lab_ = std::move(*made);
    }
    return *lab_;
  }

  static Sides sides(const ModelOptions& options) {
    return {.kernel = [](const Script& script) { return lab().side(script); },
            .model = [options](const Script& script,
                               const Facts& facts) { return make_ringbuf_model(script, options, facts); }};
  }

  /// Plays a script on the kernel and on a model that breaks this rule.
  static Played played(const Script& script, sim::Rule broken = sim::Rule::none) {
    auto result = conform::play(script, sides(model_of_this_kernel(broken)));
    if (!result) {
      ADD_FAILURE() << result.error();
      return {};
    }
    return *result;
  }

 private:
  static inline std::unique_ptr<Lab> lab_;
};

}  // namespace ringside::conform::test
