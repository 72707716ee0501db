// SPDX-License-Identifier: Apache-2.0
#include "explore/programs/kernel_calls.h"

#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "explore/engine.h"

namespace ringside::explore::programs {

void give(void* to, const void* from, std::size_t size) {
  if (Engine::current != nullptr && Engine::current->inside()) plain_write(to, size);
  std::memcpy(to, from, size);
}

long address_of(const void* place) { return reinterpret_cast<long>(place); }

std::optional<MmapCall> as_mmap(const Call& call, int descriptor) {
  const auto [address, size, protection, flags, mapped, offset] = call.arguments;
  if (call.name != "mmap" || static_cast<int>(mapped) != descriptor || (flags & MAP_SHARED) == 0) return std::nullopt;
  return MmapCall{.size = static_cast<std::uint64_t>(size),
                  .writes = (protection & PROT_WRITE) != 0,
                  .offset = static_cast<std::uint64_t>(offset)};
}

std::optional<BpfCall> as_bpf(const Call& call) {
  if (call.name != "syscall" || call.arguments[0] != SYS_bpf) return std::nullopt;
  return BpfCall{.command = static_cast<int>(call.arguments[1]), .attr = reinterpret_cast<void*>(call.arguments[2])};
}

std::optional<void*> as_map_info(const Call& call, int map) {
  const auto bpf = as_bpf(call);
  if (!bpf || bpf->command != BPF_OBJ_GET_INFO_BY_FD) return std::nullopt;
  const auto* const attr = static_cast<const bpf_attr*>(bpf->attr);
  if (static_cast<int>(attr->info.bpf_fd) != map) return std::nullopt;
  return bpf->attr;
}

long tell_map_info(void* attr, const MapInfo& info) {
  if (info.max_entries > UINT32_MAX) return -E2BIG;
  auto& asked = static_cast<bpf_attr*>(attr)->info;
  bpf_map_info told{};
  told.type = info.type;
  told.max_entries = static_cast<std::uint32_t>(info.max_entries);
  const std::uint32_t size = std::min<std::uint32_t>(asked.info_len, sizeof told);
  give(reinterpret_cast<void*>(asked.info), &told, size);
  give(&asked.info_len, &size, sizeof size);
  return 0;
}

}  // namespace ringside::explore::programs
