// SPDX-License-Identifier: Apache-2.0
//
// What our pages have in common. Each is one file that needs nothing else, no scripts either, and reads well in light,
// dark and on paper. All functions are pure.
#pragma once

#include <string>
#include <string_view>

namespace ringside::ring {

/// The text with the four characters replaced that mean something in HTML, attributes included.
std::string html_escaped(std::string_view text);

/// The page's beginning, up to and with its first heading; `style` is added to what all pages have: the colours
/// --ink, --paper, --faint, --line, --box, --bad, --good and --seen, tables, `code` and `pre`.
std::string html_begin(std::string_view title, std::string_view style);
inline constexpr std::string_view html_end = "</body>\n</html>\n";

}  // namespace ringside::ring
