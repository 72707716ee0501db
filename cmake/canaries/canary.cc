// SPDX-License-Identifier: Apache-2.0
//
// Commits, on request, one fault that a sanitizer must report. Exit status 0: nobody objected.
#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>

namespace {

// volatile, so that no compiler sees through the faults and warns of them or removes them.
volatile int unguarded = 0;
volatile int* volatile heap = nullptr;

void race() {
  std::thread other([] { unguarded = 1; });
  unguarded = 2;
  other.join();
}

void overflow_heap() {
  heap = new int[4];
  heap[4] = 1;
  delete[] heap;
}

void overflow_integer() {
  unguarded = std::numeric_limits<int>::max();
  unguarded = unguarded + 1;
}

void leak() {
  heap = new int[4];
  heap = nullptr;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::string_view fault = argument_count == 2 ? arguments[1] : "";
  if (fault == "data_race") {
    race();
  } else if (fault == "heap_overflow") {
    overflow_heap();
  } else if (fault == "integer_overflow") {
    overflow_integer();
  } else if (fault == "leak") {
    leak();
  } else {
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
