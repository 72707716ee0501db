// SPDX-License-Identifier: Apache-2.0
#include "harness/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "harness/plugin_probe.h"
#include "harness/text_layout.h"

namespace ringside::harness {
namespace {

constexpr const char* entry_name = "ringside_consumer_entry";
constexpr std::size_t longest_name = 64;  ///< characters; a column of the table must hold it

/// What is wrong with one part of a table, and what would be right.
struct Complaint {
  std::string reason;
  std::string remedy;
};
using Check = std::optional<Complaint>;

/// The prefix that all versions of the contract share: nothing beyond it is read before it has been checked.
Check check_version(const ringside_consumer& consumer) {
  if (consumer.abi_version != RINGSIDE_CONSUMER_ABI) {
    return Complaint{fmt::format("abi_version is {}", consumer.abi_version),
                     fmt::format("this ringside speaks version {}: build the plugin against its ring/consumer.h",
                                 RINGSIDE_CONSUMER_ABI)};
  }
  if (consumer.struct_size != sizeof(ringside_consumer)) {
    return Complaint{fmt::format("struct_size is {} bytes", consumer.struct_size),
                     fmt::format("set it to sizeof(struct ringside_consumer), {} bytes", sizeof(ringside_consumer))};
  }
  return std::nullopt;
}

Check check_name(const ringside_consumer& consumer) {
  if (consumer.name == nullptr) return Complaint{"name is NULL", "give it a name of [a-z0-9_]"};
  const std::string_view name = consumer.name;
  const bool lawful = std::all_of(name.begin(), name.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
  });
  if (name.empty() || !lawful || name.size() > longest_name) {
    return Complaint{fmt::format("name is \"{}\"", one_line(name.substr(0, longest_name))),
                     fmt::format("a name is 1 to {} characters of [a-z0-9_]", longest_name)};
  }
  return std::nullopt;
}

Check check_summary(const ringside_consumer& consumer) {
  if (consumer.summary == nullptr) return Complaint{"summary is NULL", "describe the consumer in one line"};
  const std::string_view summary = consumer.summary;
  if (summary.empty() || one_line(summary) != summary) {
    return Complaint{"summary is empty or has control characters", "describe the consumer in one line"};
  }
  return std::nullopt;
}

Check check_functions(const ringside_consumer& consumer) {
  const std::pair<const char*, bool> functions[] = {
      {"open", consumer.open != nullptr},
      {"drain", consumer.drain != nullptr},
      {"wait", consumer.wait != nullptr},
      {"close", consumer.close != nullptr},
  };
  for (const auto& [name, there] : functions) {
    if (!there) return Complaint{fmt::format("{} is NULL", name), "only release may be NULL"};
  }
  return std::nullopt;
}

Check check_bits(const char* name, std::uint32_t value, std::uint32_t known) {
  if ((value & ~known) == 0) return std::nullopt;
  return Complaint{fmt::format("{} is {:#x}", name, value), fmt::format("the known bits are {:#x}", known)};
}

Check check_flags(const ringside_consumer& consumer) {
  if (consumer.ring_kinds == 0) {
    return Complaint{"ring_kinds is 0", "name what it reads: RINGSIDE_RINGBUF, RINGSIDE_PERF or both"};
  }
  if (Check wrong = check_bits("ring_kinds", consumer.ring_kinds, RINGSIDE_RINGBUF | RINGSIDE_PERF)) return wrong;
  constexpr std::uint32_t known_needs = RINGSIDE_NEEDS_FD | RINGSIDE_OWNS_RINGS | RINGSIDE_NEEDS_ONE_RING;
  if (Check wrong = check_bits("needs", consumer.needs, known_needs)) return wrong;
  constexpr std::uint32_t known_claims = RINGSIDE_CLAIM_SLEEPS_ON_BUSY | RINGSIDE_CLAIM_REPORTS_LOSS |
                                         RINGSIDE_CLAIM_READS_OVERWRITE | RINGSIDE_CLAIM_BUSY_POLLS |
                                         RINGSIDE_CLAIM_READS_SIDES | RINGSIDE_CLAIM_TIME_ORDER |
                                         RINGSIDE_CLAIM_READS_BACKWARD;
  if (Check wrong = check_bits("claims", consumer.claims, known_claims)) return wrong;
  if (consumer.trigger != RINGSIDE_LEVEL && consumer.trigger != RINGSIDE_EDGE) {
    return Complaint{fmt::format("trigger is {}", consumer.trigger), "it is RINGSIDE_LEVEL (0) or RINGSIDE_EDGE (1)"};
  }
  if ((consumer.needs & RINGSIDE_OWNS_RINGS) != 0 && consumer.ring_kinds != RINGSIDE_PERF) {
    return Complaint{"needs has RINGSIDE_OWNS_RINGS but ring_kinds is not RINGSIDE_PERF alone",
                     "only perf rings are opened by their consumer"};
  }
  return std::nullopt;
}

/// dlopen's own words repeat the path; what stands after it is the reason.
std::string loader_reason(const std::string& path) {
  const char* const told = dlerror();
  std::string reason = told != nullptr ? told : "the loader does not say why";
  const std::string prefix = path + ": ";
  if (reason.starts_with(prefix)) reason.erase(0, prefix.size());
  return one_line(reason);
}

ring::Result<void> require_file(const std::string& attempt, const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    return ring::errno_error(attempt, errno, "give the path of a shared object");
  }
  if (!S_ISREG(status.st_mode))
    return ring::error(attempt, "it is no regular file", "give the path of a shared object");
  return {};
}

}  // namespace

ring::Result<void> validate_consumer(const ringside_consumer* consumer, const std::string& origin) {
  const std::string attempt = fmt::format("load consumer of \"{}\"", origin);
  if (consumer == nullptr) {
    return ring::error(attempt, fmt::format("{} returned NULL", entry_name), "return a struct ringside_consumer");
  }
  for (const auto check : {check_version, check_name, check_summary, check_functions, check_flags}) {
    if (const Check wrong = check(*consumer)) return ring::error(attempt, wrong->reason, wrong->remedy);
  }
  return {};
}

void Plugin::Close::operator()(void* library) const { dlclose(library); }

ring::Result<Plugin> Plugin::load_here(const std::string& path, const std::function<void(const char* step)>& tell) {
  const std::string attempt = fmt::format("load plugin \"{}\"", path);
  // An absolute path keeps dlopen from searching for a bare name.
  std::error_code failure;
  const std::string absolute = std::filesystem::absolute(path, failure).string();
  if (failure) return ring::errno_error(attempt, failure.value());
  tell("loading it");
  // RTLD_NOW: an undefined symbol shows here, not in the middle of a run.
  Library library(dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library) {
    return ring::error(attempt, loader_reason(absolute), "build it for this machine and link all that it uses");
  }
  void* const symbol = dlsym(library.get(), entry_name);
  if (symbol == nullptr) {
    return ring::error(attempt, fmt::format("it does not export {}", entry_name),
                       "define it with C linkage and default visibility (ring/consumer.h)");
  }
  tell("its entry");
  // POSIX promises that an object pointer from dlsym carries a function.
  const auto entry = reinterpret_cast<ringside_consumer_entry_fn>(symbol);
  const ringside_consumer* const consumer = entry();
  tell("reading its table");
  if (const ring::Result<void> valid = validate_consumer(consumer, path); !valid) return tl::unexpected(valid.error());
  return Plugin(std::move(library), consumer);
}

ring::Result<Plugin> Plugin::load(const std::string& path, std::uint64_t probe_timeout_ms) {
  const std::string attempt = fmt::format("load plugin \"{}\"", path);
  if (const ring::Result<void> file = require_file(attempt, path); !file) return tl::unexpected(file.error());
  const ring::Result<void> probed =
      probe_in_child(attempt, probe_timeout_ms, [&path](const StepTeller& tell) -> ring::Result<void> {
        const ring::Result<Plugin> plugin = load_here(path, tell);
        if (!plugin) return tl::unexpected(plugin.error());
        tell("unloading it");
        return {};
      });
  if (!probed) return tl::unexpected(probed.error());
  return load_here(path, [](const char*) {});
}

}  // namespace ringside::harness
