// SPDX-License-Identifier: Apache-2.0
//
// What the tests of conform on user ring buffers share: one lab for all of them, and scripts in a few lines.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "conform/play.h"
#include "conform/script.h"
#include "conform/side.h"
#include "real/kernel_test.h"

namespace ringside::conform::test {

class UserConform : public real::test::KernelTest {
 protected:
  static void TearDownTestSuite() { lab_.reset(); }

  /// A script on a user ring buffer of so many pages. Ends the test program when the lines are no script.
  static Script script(const std::string& pages, const std::string& look, const std::string& lines) {
    const std::string text =
        "ringside-script 1\nuser_ringbuf pages=" + pages + " look=" + look + "\n" + lines + "end\n";
    auto parsed = parse_script(text, "test");
    if (!parsed) {
      ADD_FAILURE() << parsed.error();
      std::abort();
    }
    return *parsed;
  }

  static Lab& lab() {
    if (lab_ == nullptr) {
      auto made = make_user_ringbuf_lab(real::test::cpus().front());
      if (!made) {
        ADD_FAILURE() << made.error();
        std::abort();
      }
      lab_ = std::move(*made);
    }
    return *lab_;
  }

  /// Plays it on the kernel and on a model that breaks this rule.
  static Played play(const Script& script, sim::Rule broken = sim::Rule::none) {
    const ModelOptions options{.kernel = sim::default_kernel_version, .broken = broken};
    const Sides sides{.kernel = [](const Script& each) { return lab().side(each); },
                      .model = [options](const Script& each,
                                         const Facts& facts) { return make_user_ringbuf_model(each, options, facts); }};
    auto played = conform::play(script, sides);
    if (!played) {
      ADD_FAILURE() << played.error();
      return {};
    }
    return *played;
  }

 private:
  static inline std::unique_ptr<Lab> lab_;
};

}  // namespace ringside::conform::test
