// SPDX-License-Identifier: Apache-2.0
#include "explore/places.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace ringside::explore {
namespace {

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? text.get() : name;
}

/// What nobody who reads a failure has written: the system, and what every access of an explored program goes through.
bool is_of_the_system(std::string_view file) {
  if (file.empty() || file.starts_with("/usr/")) return true;
  for (const char* const ours : {"/explore/runtime/", "/explore/program.h", "/explore/explored_memory.h"}) {
    if (file.find(ours) != std::string_view::npos) return true;
  }
  return false;
}

std::string shown(const std::string& file) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::current_path(error);
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  if (error || !path.is_absolute()) return path.string();
  const std::filesystem::path relative = path.lexically_relative(here);
  const bool below = !relative.empty() && *relative.begin() != "..";
  return below ? relative.string() : path.string();
}

/// `a::f<(b)1>(int)` is `a::f<(b)1>`, `(anonymous namespace)::g()::{lambda()#1}::operator()() const` is
/// `(anonymous namespace)::g`.
std::string without_parameters(std::string name) {
  int nested = 0;
  for (std::size_t at = 0; at < name.size(); ++at) {
    const std::string_view before(name.data(), at);
    if (name[at] == '<' || name[at] == '{') ++nested;
    if (name[at] == '>' || name[at] == '}') --nested;
    if (name[at] != '(' || nested > 0 || before.ends_with("operator")) continue;
    if (std::string_view(name).substr(at).starts_with("(anonymous namespace)")) continue;
    name.resize(at);
    break;
  }
  return name;
}

int number_of(Dwarf_Die* die, unsigned attribute) {
  Dwarf_Attribute place;
  Dwarf_Word value = 0;
  if (dwarf_attr(die, attribute, &place) == nullptr || dwarf_formudata(&place, &value) != 0) return 0;
  return static_cast<int>(value);
}

/// Where the first segment of the object lies whose segments hold the address; 0: none does.
Dwarf_Addr first_segment_around(Dwarf_Addr address) {
  struct Search {
    Dwarf_Addr address;
    Dwarf_Addr found = 0;
  } search{.address = address};
  const auto look = [](dl_phdr_info* object, std::size_t, void* data) {
    auto& wanted = *static_cast<Search*>(data);
    Dwarf_Addr first = 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const auto& segment = object->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD) continue;
      const Dwarf_Addr begin = object->dlpi_addr + segment.p_vaddr;
      if (first == 0) first = begin;
      if (wanted.address - begin < segment.p_memsz) wanted.found = first;
    }
    return wanted.found != 0 ? 1 : 0;
  };
  dl_iterate_phdr(look, &search);
  return search.found;
}

/// libdwfl knows of what is mapped from files: the zeros behind a file's end are none of it.
Dwfl_Module* module_around(Dwfl* dwfl, Dwarf_Addr address) {
  if (Dwfl_Module* const module = dwfl_addrmodule(dwfl, address)) return module;
  const Dwarf_Addr first = first_segment_around(address);
  return first == 0 ? nullptr : dwfl_addrmodule(dwfl, first);
}

/// The compilation unit of the code at the address. Finding it at once takes a table that clang leaves out.
Dwarf_Die* unit_around(Dwfl_Module* module, Dwarf_Addr address, Dwarf_Addr* bias) {
  if (Dwarf_Die* const unit = dwfl_module_addrdie(module, address, bias)) return unit;
  Dwarf_Die* unit = nullptr;
  while ((unit = dwfl_module_nextcu(module, unit, bias)) != nullptr) {
    if (dwarf_haspc(unit, address - *bias) == 1) return unit;
  }
  return nullptr;
}

/// The scopes around the address, innermost first, as they were put into one another. dwarf_getscopes alone goes on
/// with those around an inlined function's definition.
int scopes_of(Dwarf_Die* unit, Dwarf_Addr address, Dwarf_Die** scopes) {
  Dwarf_Die* around = nullptr;
  if (dwarf_getscopes(unit, address, &around) <= 0) return 0;
  const int count = dwarf_getscopes_die(&around[0], scopes);
  std::free(around);
  return count;
}

std::string name_of(Dwarf_Die* die) {
  Dwarf_Attribute place;
  for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_name}) {
    if (dwarf_attr_integrate(die, attribute, &place) == nullptr) continue;
    if (const char* const name = dwarf_formstring(&place)) return without_parameters(demangled(name));
  }
  return "";
}

}  // namespace

struct Places::Session {
  Dwfl* dwfl = nullptr;
  Dwfl_Callbacks callbacks{};
  char* no_path = nullptr;
};

Places::Places() : session_(new Session) {
  session_->callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                         .find_debuginfo = dwfl_standard_find_debuginfo,
                         .section_address = nullptr,
                         .debuginfo_path = &session_->no_path};
  session_->dwfl = dwfl_begin(&session_->callbacks);
  if (session_->dwfl == nullptr) return;
  dwfl_linux_proc_report(session_->dwfl, getpid());
  dwfl_report_end(session_->dwfl, nullptr, nullptr);
}

Places::~Places() {
  if (session_->dwfl != nullptr) dwfl_end(session_->dwfl);
  delete session_;
}

SourcePlace Places::of_call(const void* return_address) const {
  if (session_->dwfl == nullptr || return_address == nullptr) return {};
  const Dwarf_Addr address = reinterpret_cast<Dwarf_Addr>(return_address) - 1;
  Dwfl_Module* const module = dwfl_addrmodule(session_->dwfl, address);
  if (module == nullptr) return {};
  SourcePlace place;
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = unit_around(module, address, &bias);
  Dwarf_Line* const line = unit == nullptr ? nullptr : dwarf_getsrc_die(unit, address - bias);
  if (line != nullptr && dwarf_lineno(line, &place.line) == 0) {
    const char* const file = dwarf_linesrc(line, nullptr, nullptr);
    place.file = file == nullptr ? "" : file;
  }
  Dwarf_Die* scopes = nullptr;
  const int count = unit == nullptr ? 0 : scopes_of(unit, address - bias, &scopes);
  for (int i = 0; i < count; ++i) {
    const int tag = dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
    place.function = name_of(&scopes[i]);
    if (!is_of_the_system(place.file) || tag == DW_TAG_subprogram) break;
    Dwarf_Files* files = nullptr;
    std::size_t file_count = 0;
    if (dwarf_getsrcfiles(unit, &files, &file_count) != 0) break;
    const auto file = static_cast<std::size_t>(number_of(&scopes[i], DW_AT_call_file));
    const char* const name = file < file_count ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr;
    if (name == nullptr) break;
    place.file = name;
    place.line = number_of(&scopes[i], DW_AT_call_line);
  }
  std::free(scopes);
  place.inner = is_of_the_system(place.file);
  place.file = shown(place.file);
  return place;
}

std::optional<Symbol> Places::variable(std::uintptr_t address) const {
  if (session_->dwfl == nullptr) return std::nullopt;
  Dwfl_Module* const module = module_around(session_->dwfl, address);
  if (module == nullptr) return std::nullopt;
  GElf_Off offset = 0;
  GElf_Sym symbol{};
  const char* const name = dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
  if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || offset >= symbol.st_size) return std::nullopt;
  return Symbol{.name = demangled(name), .offset = offset, .size_bytes = symbol.st_size};
}

std::string Places::build_id() const {
  if (session_->dwfl == nullptr) return "";
  Dwfl_Module* const module = dwfl_addrmodule(session_->dwfl, reinterpret_cast<Dwarf_Addr>(&demangled));
  const unsigned char* bits = nullptr;
  GElf_Addr address = 0;
  Dwarf_Addr bias = 0;
  // It is looked for only in a file that was opened.
  if (module != nullptr) dwfl_module_getelf(module, &bias);
  const int size = module == nullptr ? 0 : dwfl_module_build_id(module, &bits, &address);
  std::string text;
  for (int i = 0; i < size; ++i) text += fmt::format("{:02x}", bits[i]);
  return text;
}

}  // namespace ringside::explore
