// SPDX-License-Identifier: Apache-2.0
#include "harness/text_layout.h"

#include <algorithm>
#include <iterator>

namespace ringside::harness {
namespace {

constexpr std::size_t grid_indent = 2;
constexpr std::size_t grid_gap = 2;

std::string padded(const TextStyle& style, const GridCell& cell, std::size_t width) {
  const std::size_t taken = display_width(cell.text);
  return paint(style, cell.tone, cell.text) + std::string(width > taken ? width - taken : 0, ' ');
}

std::vector<std::size_t> widths_of(const Grid& grid) {
  std::vector<std::size_t> widths;
  for (const std::string& title : grid.header) widths.push_back(display_width(title));
  for (const auto& row : grid.rows) {
    for (std::size_t column = 0; column < std::min(row.size(), widths.size()); ++column) {
      widths[column] = std::max(widths[column], display_width(row[column].text));
    }
  }
  return widths;
}

/// The blanks before a column.
std::size_t gap_before(const Grid& grid, std::size_t column) {
  const bool apart = std::any_of(grid.spans.begin(), grid.spans.end(),
                                 [column](const auto& span) { return span.first == column && column > 1; });
  return apart ? 2 * grid_gap : grid_gap;
}

/// Where the block of columns that begins at `first` ends: as many as fit beside the labels, at least one.
std::size_t end_of_block(const Grid& grid, const std::vector<std::size_t>& widths, std::size_t first,
                         std::size_t columns) {
  std::size_t used = grid_indent + widths[0];
  std::size_t last = first;
  while (last < widths.size()) {
    used += gap_before(grid, last) + widths[last];
    if (used > columns && last > first) break;
    ++last;
  }
  return last;
}

/// No blanks at the end of a line: they show when a report is pasted.
void append_line(std::string& text, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  text += line;
  text += '\n';
}

/// A row of the block [first, last).
void append_row(std::string& text, const Grid& grid, const std::vector<GridCell>& row,
                const std::vector<std::size_t>& widths, std::pair<std::size_t, std::size_t> block,
                const TextStyle& style) {
  std::string line(grid_indent, ' ');
  line += padded(style, row[0], widths[0]);
  for (std::size_t column = block.first; column < block.second; ++column) {
    line.append(gap_before(grid, column), ' ');
    if (column < row.size()) line += padded(style, row[column], widths[column]);
  }
  append_line(text, std::move(line));
}

/// The titles of the spans that begin in the block.
void append_spans(std::string& text, const Grid& grid, const std::vector<std::size_t>& widths,
                  std::pair<std::size_t, std::size_t> block, const TextStyle& style) {
  if (grid.spans.empty()) return;
  std::string line;
  std::size_t width = 0;
  std::size_t at = grid_indent + widths[0];
  for (std::size_t column = block.first; column < block.second; ++column) {
    at += gap_before(grid, column);
    for (const auto& [begin, title] : grid.spans) {
      if (begin != column) continue;
      line.append(at > width ? at - width : 1, ' ');
      line += paint(style, Tone::strong, title);
      width = std::max(at, width + 1) + display_width(title);
    }
    at += widths[column];
  }
  append_line(text, line);
}

/// One row whose last cell is prose: its lines hang under where it starts, or under the row where that is too narrow.
void append_prose_row(std::string& text, const std::vector<GridCell>& row, const std::vector<std::size_t>& widths,
                      const TextStyle& style) {
  constexpr std::size_t narrowest_prose = 40;
  constexpr std::size_t indent_below = 2 * grid_indent;
  std::string front(grid_indent, ' ');
  std::size_t indent = grid_indent;
  for (std::size_t column = 0; column + 1 < row.size(); ++column) {
    front += padded(style, row[column], widths[column]) + std::string(grid_gap, ' ');
    indent += widths[column] + grid_gap;
  }
  if (row.back().text.empty() || indent + narrowest_prose > style.columns) {
    append_line(text, front);
    indent = indent_below;
    front.assign(indent, ' ');
  }
  const std::string lines = wrapped(row.back().text, indent, style.columns);
  for (std::string_view rest = lines; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    append_line(text, front + paint(style, row.back().tone, rest.substr(indent, end - indent)));
    front.assign(indent, ' ');
    rest.remove_prefix(end + 1);
  }
}

std::string prose_text(const Grid& grid, const std::vector<GridCell>& header, const std::vector<std::size_t>& widths,
                       const TextStyle& style) {
  std::string text;
  const bool titled =
      std::any_of(header.begin(), header.end(), [](const GridCell& cell) { return !cell.text.empty(); });
  if (titled) append_prose_row(text, header, widths, style);
  for (const auto& row : grid.rows) append_prose_row(text, row, widths, style);
  return text;
}

}  // namespace

std::size_t width_of(const Grid& grid) {
  const std::vector<std::size_t> widths = widths_of(grid);
  std::size_t width = grid_indent;
  for (std::size_t column = 0; column < widths.size(); ++column) {
    width += widths[column] + (column == 0 ? 0 : gap_before(grid, column));
  }
  return width;
}

std::string to_text(const Grid& grid, const TextStyle& style) {
  std::string text;
  if (grid.header.empty()) return text;
  const std::vector<std::size_t> widths = widths_of(grid);
  std::vector<GridCell> header;
  for (const std::string& title : grid.header) header.push_back({title, Tone::faint});
  if (grid.prose) return prose_text(grid, header, widths, style);
  std::size_t first = 1;
  do {
    const std::size_t last = end_of_block(grid, widths, first, style.columns);
    if (first > 1) text += '\n';
    append_spans(text, grid, widths, {first, last}, style);
    append_row(text, grid, header, widths, {first, last}, style);
    for (const auto& row : grid.rows) append_row(text, grid, row, widths, {first, last}, style);
    first = last;
  } while (first < widths.size());
  return text;
}

}  // namespace ringside::harness
