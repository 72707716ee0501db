// SPDX-License-Identifier: Apache-2.0
//
// Text for people, on a terminal: tones, widths, wrapping, numbers with their nouns. All functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ringside::ring {

/// What a piece of text means; how that looks is the painter's matter.
enum class Tone : std::uint8_t { plain, strong, faint, good, bad, warning };

/// How a report for people looks.
struct TextStyle {
  bool colour = false;        ///< ANSI colours; otherwise the words alone carry the meaning
  std::size_t columns = 100;  ///< lines are broken to fit, except lines to paste
};

/// The text in that tone, or the text alone when the style has no colours.
std::string paint(const TextStyle& style, Tone tone, std::string_view text);

/// Columns that UTF-8 text takes, for text without wide or combining characters (all of ours).
std::size_t display_width(std::string_view text);

/// `1234567` as `1,234,567`.
std::string with_thousands(std::uint64_t number);

/// `1 cell`, `3 cells`. `noun` takes a plain s.
std::string counted(std::uint64_t number, std::string_view noun);

/// The texts with ", " between them.
std::string joined(const std::vector<std::string>& texts);

/// Breaks `text` at spaces so that no line is wider than `columns`, unless one word is. Every line starts with `indent`
/// spaces and ends with a line feed; empty text gives nothing.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns);

/// One line with the control characters (an escape sequence, a line feed) replaced by spaces: text from outside, such
/// as a plugin's name or a crash message, must not steer a terminal.
std::string one_line(std::string_view text);

}  // namespace ringside::ring
