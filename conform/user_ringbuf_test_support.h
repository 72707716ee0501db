// SPDX-License-Identifier: Apache-2.0
//
// What the tests of conform on user ring buffers share: scripts in a few lines, beside what lab_test.h gives.
#pragma once

#include <string>

#include "conform/lab_test.h"

namespace ringside::conform::test {

class UserConform : public LabTest<ring::RingKind::user_ringbuf> {
 protected:
  /// A script on a user ring buffer of so many pages. Ends the test program when the lines are no script.
  static Script script(const std::string& pages, const std::string& look, const std::string& lines) {
    return must_parse("ringside-script 1\nuser_ringbuf pages=" + pages + " look=" + look + "\n" + lines + "end\n");
  }
};

}  // namespace ringside::conform::test
