// SPDX-License-Identifier: Apache-2.0
//
// What the tests of conform on one kind of ring share: one lab for all of them, scripts from text, and a play on the
// kernel and on a model.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "conform/campaign.h"
#include "conform/play.h"
#include "conform/script.h"
#include "conform/side.h"
#include "real/kernel_test.h"

namespace ringside::conform::test {

/// Ends the test program when the text is no script.
inline Script must_parse(const std::string& text) {
  auto parsed = parse_script(text, "test");
  if (!parsed) {
    ADD_FAILURE() << parsed.error();
    std::abort();
  }
  return *parsed;
}

/// The model of the kernel that the tests run on, with this rule broken. Ends the test program when the kernel's
/// version cannot be read.
inline ModelOptions model_of_this_kernel(sim::Rule broken = sim::Rule::none) {
  const auto kernel = running_kernel();
  if (!kernel) {
    ADD_FAILURE() << kernel.error();
    std::abort();
  }
  return {.kernel = *kernel, .broken = broken};
}

template <ring::RingKind kind>
class LabTest : public real::test::KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (kind == ring::RingKind::perf) need_btf();
  }
  static void TearDownTestSuite() { lab_.reset(); }

  static Lab& lab() {
    if (lab_ == nullptr) {
      auto made = make_lab(kind, real::test::cpus().front());
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
    auto played = conform::play(script, sides_of(kind, lab(), model_of_this_kernel(broken)));
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
