# SPDX-License-Identifier: Apache-2.0
#
# Script: cmake -DOUTPUT=file.cc -DROOT=dir -P EmbedScenarios.cmake
# Writes the texts of ROOT/scenarios/*.toml into a source file that defines shipped_scenario_texts().
file(GLOB paths RELATIVE ${ROOT} ${ROOT}/scenarios/*.toml)
list(SORT paths)
set(entries "")
foreach(path ${paths})
  file(READ ${ROOT}/${path} text)
  string(APPEND entries "    {\"${path}\", R\"toml(${text})toml\"},\n")
endforeach()
file(WRITE ${OUTPUT}
"#include \"harness/shipped_scenarios.h\"

namespace ringside::harness {
namespace {
constexpr std::pair<std::string_view, std::string_view> texts[] = {
${entries}};
}  // namespace
std::span<const std::pair<std::string_view, std::string_view>> shipped_scenario_texts() { return texts; }
}  // namespace ringside::harness
")
