// SPDX-License-Identifier: Apache-2.0
#include "ring/html.h"

#include <fmt/format.h>

namespace ringside::ring {

namespace {

constexpr std::string_view common_style = R"(
:root { color-scheme: light dark; --ink: #1c1e21; --paper: #ffffff; --faint: #6b7280; --line: #d1d5db; --box: #f3f4f6;
  --bad: #b91c1c; --good: #15803d; --seen: #2563eb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e7eb; --paper: #111418; --faint: #9ca3af; --line: #374151;
  --box: #1f2630; --bad: #f87171; --good: #4ade80; --seen: #60a5fa; } }
body { margin: 2rem auto; max-width: 70rem; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
code, pre, svg text, td.what { font-family: ui-monospace, monospace; font-size: 13px; }
pre { background: var(--box); padding: .6rem .8rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .2rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
.bad { color: var(--bad); } .good { color: var(--good); } .faint { color: var(--faint); }
@media print { body { max-width: none; margin: 0; } svg { max-width: 100%; height: auto; }
  section { break-before: page; } section:first-of-type { break-before: auto; } tr { break-inside: avoid; } }
)";

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += letter;
    }
  }
  return safe;
}

std::string html_begin(std::string_view title, std::string_view style) {
  const std::string shown = html_escaped(title);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>{0}</title><style>{1}{2}</style></head><body>\n<h1>{0}</h1>\n",
      shown, common_style, style);
}

}  // namespace ringside::ring
