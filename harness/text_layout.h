// SPDX-License-Identifier: Apache-2.0
//
// Plain text on a terminal: that of ring/text.h, and grids of short cells. All functions are pure.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "ring/text.h"

namespace ringside::harness {

using ring::counted;
using ring::display_width;
using ring::joined;
using ring::one_line;
using ring::paint;
using ring::TextStyle;
using ring::Tone;
using ring::with_thousands;
using ring::wrapped;

struct GridCell {
  std::string text;
  Tone tone = Tone::plain;
};

/// Rows of short cells under one header row; the first column labels the rows.
struct Grid {
  std::vector<std::string> header;  ///< header[0] labels the labels; may be empty
  std::vector<std::vector<GridCell>> rows;
  bool prose = false;  ///< the last column holds sentences: it is broken into lines instead of moved
  /// Titles above the header, each with the column where it begins; such a column stands a little apart.
  std::vector<std::pair<std::size_t, std::string>> spans = {};
};

/// Columns that the grid needs in one piece.
std::size_t width_of(const Grid& grid);

/// The grid as text, indented by two. Columns that do not fit go into a further block below, with the labels again.
std::string to_text(const Grid& grid, const TextStyle& style);

}  // namespace ringside::harness
