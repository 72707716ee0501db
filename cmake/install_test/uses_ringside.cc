// SPDX-License-Identifier: Apache-2.0
//
// Uses the installed library as another tree would: loads a consumer plugin, lets it drain a ring laid out by hand and
// has the judge account for what it delivered. Exit status 0: every record was.
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <span>
#include <vector>

#include "ring/consumer.h"
#include "ring/judge.h"
#include "ring/layout.h"
#include "ring/record.h"

namespace {

namespace ring = ringside::ring;

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t record_count = 10;
constexpr std::uint32_t record_bytes = 24;

/// A one-page BPF ring with committed records in it; nothing wraps, so the second mapping stays empty.
struct RingByHand {
  alignas(8) std::array<std::byte, page_bytes> consumer_page{};
  alignas(8) std::array<std::byte, page_bytes> producer_page{};
  alignas(8) std::array<std::byte, 2 * page_bytes> data{};

  RingByHand() {
    std::uint64_t position = 0;
    for (std::uint64_t sequence = 0; sequence < record_count; ++sequence) {
      std::memcpy(data.data() + position, &record_bytes, sizeof(record_bytes));
      ring::write_record(std::span(data).subspan(position + ring::ringbuf::header_bytes, record_bytes),
                         {.source = 0, .length = record_bytes, .sequence = sequence});
      position += ring::ringbuf::span_of(record_bytes);
    }
    std::memcpy(producer_page.data() + ring::ringbuf::producer_pos_offset, &position, sizeof(position));
  }
};

int deliver(void* context, const ringside_record* record) {
  static_cast<ring::Judge*>(context)->deliver(record->ring,
                                              std::span(static_cast<const std::byte*>(record->data), record->size));
  return 0;
}

const ringside_consumer* load_consumer(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return nullptr;
  const auto entry = reinterpret_cast<ringside_consumer_entry_fn>(dlsym(library, "ringside_consumer_entry"));
  return entry == nullptr ? nullptr : entry();
}

/// What the judge says when the consumer has drained the ring.
ring::Verdict judge(const ringside_consumer& consumer) {
  RingByHand memory;
  const ringside_ring the_ring{.kind = RINGSIDE_RINGBUF,
                               .cpu = -1,
                               .fd = -1,
                               .page_size = page_bytes,
                               .data_size = page_bytes,
                               .consumer_page = memory.consumer_page.data(),
                               .producer_page = memory.producer_page.data(),
                               .data = memory.data.data()};
  const ringside_ring_set rings{.kind = RINGSIDE_RINGBUF,
                                .ring_count = 1,
                                .rings = &the_ring,
                                .map_fd = -1,
                                .data_pages = 1,
                                .wakeup_events = 0,
                                .watermark_bytes = 0,
                                .swap = nullptr,
                                .sample_type = 0,
                                .backward = 0,
                                .stamp_bytes = 0};
  ring::Judge judge({});
  ringside_host host{};
  host.abi_version = RINGSIDE_CONSUMER_ABI;
  host.struct_size = sizeof(host);
  host.context = &judge;
  host.deliver = deliver;

  void* state = nullptr;
  if (consumer.open(&rings, &host, &state) != 0) return {};
  consumer.drain(state, 2 * record_count);
  consumer.close(state);

  ring::ProducerLedger ledger;
  ledger.sources.resize(1);
  ledger.sources[0].attempts = record_count;
  ledger.sources[0].committed = record_count;
  return judge.finish(ledger);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const ringside_consumer* consumer = argument_count == 2 ? load_consumer(arguments[1]) : nullptr;
  if (consumer == nullptr || consumer->abi_version != RINGSIDE_CONSUMER_ABI) {
    std::cerr << "uses_ringside PLUGIN.so: no consumer of this contract there\n";
    return 2;
  }
  const ring::Verdict verdict = judge(*consumer);
  std::cout << consumer->name << ": " << verdict << '\n';
  return verdict.clean() && verdict.accounting.delivered == record_count ? 0 : 1;
}
