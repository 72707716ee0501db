// SPDX-License-Identifier: Apache-2.0
//
// What stands behind a descriptor that people may read, and the clock by which they wait.
#pragma once

#include <cstddef>

namespace ringside::ring {

/// A terminal on which something can be drawn over: none that says it is dumb.
bool is_drawn_on(int descriptor);

/// Colours on such a terminal only, and not where https://no-color.org asks for none.
bool shows_colour(int descriptor);

/// Columns of the terminal; `elsewhere` where there is none, or it does not tell.
std::size_t columns_of(int descriptor, std::size_t elsewhere);

/// Seconds of a monotonic clock.
double steady_seconds();

}  // namespace ringside::ring
