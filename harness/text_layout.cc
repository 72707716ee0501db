// SPDX-License-Identifier: Apache-2.0
#include "harness/text_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ringside::harness {
namespace {

constexpr std::size_t grid_indent = 2;
constexpr std::size_t grid_gap = 2;

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::strong:
      return "\x1b[1m";
    case Tone::faint:
      return "\x1b[2m";
    case Tone::good:
      return "\x1b[32m";
    case Tone::bad:
      return "\x1b[1;31m";
    case Tone::warning:
      return "\x1b[33m";
  }
  return "";
}

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

std::string paint(const TextStyle& style, Tone tone, std::string_view text) {
  const std::string_view escape = escape_of(tone);
  if (!style.colour || escape.empty() || text.empty()) return std::string{text};
  return fmt::format("{}{}\x1b[0m", escape, text);
}

std::size_t display_width(std::string_view text) {
  // Every byte but the continuation bytes (10xxxxxx) starts a character.
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

std::string with_thousands(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t place = digits.size(); place > 3; place -= 3) digits.insert(place - 3, 1, ',');
  return digits;
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", with_thousands(number), noun, number == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns) {
  std::string out;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) append_line(out, std::string(indent, ' ') + line);
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (word.empty()) continue;
    if (!line.empty() && indent + display_width(line) + 1 + display_width(word) > columns) flush();
    if (!line.empty()) line += ' ';
    line += word;
  }
  flush();
  return out;
}

std::string one_line(std::string_view text) {
  std::string line{text};
  std::replace_if(
      line.begin(), line.end(), [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }, ' ');
  return line;
}

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
