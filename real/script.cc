// SPDX-License-Identifier: Apache-2.0
//
// Operations in order. Neighbours on the same CPU go to the kernel together, in one run of the script program; holds
// and settles, which belong to threads of their own, stand between runs.
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <sstream>

#include "real/nested.h"
#include "real/pinned.h"
#include "real/producers.h"
#include "real/program.h"
#include "ring/layout.h"

namespace ringside::real {

namespace {

using ring::Action;
using ring::Operation;

constexpr std::uint32_t max_reserve_bytes = 0xffffff;  // bpf_ringbuf_reserve_dynptr takes no more [1.7]

bool is_settle(Action action) { return action == Action::settle_submit || action == Action::settle_discard; }
bool is_scripted(Action action) { return action != Action::hold && !is_settle(action); }

tl::unexpected<ring::Error> refuse(const Operation& operation, std::string reason) {
  std::ostringstream text;
  text << operation;
  return ring::error("run operation " + text.str(), std::move(reason));
}

/// Whether the operation can be run at all on that kind of ring.
ring::Result<void> check(const Program& program, const Operation& operation) {
  if (operation.source > max_sources || (operation.nested != 0 && operation.nested_source > max_sources)) {
    return refuse(operation, fmt::format("sources are below {}", max_sources));
  }
  if (program.kind() == ring::RingKind::perf && operation.action != Action::output) {
    return refuse(operation, "a perf ring knows output only");
  }
  if (operation.nested != 0 && !is_scripted(operation.action)) {
    return refuse(operation, "no records are nested in a hold or a settle");
  }
  if (operation.nested != 0 && operation.nested_source == operation.source) {
    return refuse(operation, "the nested records need a source of their own");
  }
  const std::uint32_t most = program.max_record_bytes();
  if (operation.size > most || operation.nested_size > most) {
    return refuse(operation,
                  fmt::format("records are at most {} bytes here (ProducersOptions::max_record_bytes)", most));
  }
  if (operation.action != Action::output && !is_settle(operation.action) && operation.size > max_reserve_bytes) {
    return refuse(operation, "the kernel reserves at most 2^24-1 bytes of a size that varies");
  }
  return {};
}

ringside_op to_shared(const Operation& operation) {
  return ringside_op{.action = static_cast<std::uint32_t>(operation.action),
                     .flags = operation.flags,
                     .source = operation.source,
                     .size = operation.size,
                     .nested = operation.nested,
                     .nested_source = operation.nested_source,
                     .nested_size = operation.nested_size,
                     .result = 0};
}

}  // namespace

struct ScriptProducer::State {
  explicit State(std::shared_ptr<Program> loaded) : program(std::move(loaded)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  std::shared_ptr<Program> program;
  std::map<std::uint32_t, std::unique_ptr<PinnedWorker>> workers;  // by CPU
  std::map<std::uint32_t, NestedEvent> nested_events;              // by CPU
  std::map<std::uint32_t, Hold> holds;                             // by source
  std::set<std::uint32_t> failed_holds;                            // sources whose settle is still to come

  ring::Result<void> prepare(std::span<const Operation> operations);
  ring::Result<void> check_holds(std::span<const Operation> operations) const;
  ring::Result<void> run_scripted(std::span<const Operation> operations, std::vector<int>& results);
  ring::Result<void> run_hold(const Operation& operation, std::vector<int>& results);
  ring::Result<void> run_settle(const Operation& operation, std::vector<int>& results);
};

/// A source that holds a record does nothing else: its numbers would not be in the ring's order.
ring::Result<void> ScriptProducer::State::check_holds(std::span<const Operation> operations) const {
  std::vector<bool> held(max_sources + 1);
  for (const auto& [source, hold] : holds) held[source] = true;
  for (const std::uint32_t source : failed_holds) held[source] = true;
  for (const Operation& operation : operations) {
    const bool holding = held[operation.source];
    if (is_settle(operation.action) != holding) {
      return refuse(operation, holding ? "the source holds a record" : "the source holds no record");
    }
    // A hold whose reservation fails holds nothing; its settle says so when it comes to that, in this run or a later.
    held[operation.source] = operation.action == Action::hold;
    if (operation.nested != 0 && held[operation.nested_source]) {
      return refuse(operation, "the nested source holds a record");
    }
  }
  return {};
}

/// Checks every operation and makes the threads and events that they need, before the first one is run.
ring::Result<void> ScriptProducer::State::prepare(std::span<const Operation> operations) {
  for (const Operation& operation : operations) {
    if (auto good = check(*program, operation); !good) return good;
    if (!is_settle(operation.action) && !workers.contains(operation.cpu)) {
      auto worker = PinnedWorker::start(operation.cpu);
      if (!worker) return tl::unexpected(worker.error());
      workers.emplace(operation.cpu, std::move(*worker));
    }
    if (operation.nested != 0 && !nested_events.contains(operation.cpu)) {
      auto event = NestedEvent::attach(program->nested(), program, operation.cpu);
      if (!event) return tl::unexpected(event.error());
      nested_events.emplace(operation.cpu, std::move(*event));
    }
  }
  return check_holds(operations);
}

/// One run of the script program. All operations are of one CPU and no more than it takes.
ring::Result<void> ScriptProducer::State::run_scripted(std::span<const Operation> operations,
                                                       std::vector<int>& results) {
  assert(!operations.empty() && operations.size() <= RINGSIDE_SCRIPT_OPS);
  ringside_shared& shared = program->shared();
  std::transform(operations.begin(), operations.end(), shared.ops, to_shared);
  const std::uint32_t cpu = operations.front().cpu;
  const bool nests =
      std::any_of(operations.begin(), operations.end(), [](const Operation& o) { return o.nested != 0; });
  NestedEvent* const event = nests ? &nested_events.at(cpu) : nullptr;
  shared.nested.wanted = nests ? 1 : 0;
  const auto run = [&]() -> ring::Result<void> {
    ring::Result<std::int32_t> returned;
    workers.at(cpu)->run([&] { returned = run_once(program->descriptors().script, operations.size(), cpu); });
    if (!returned) return tl::unexpected(returned.error());
    if (*returned != 0) return ring::errno_error("run script program", -*returned);
    return {};
  };
  if (auto ran = event != nullptr ? event->while_ticking(run) : run(); !ran) return ran;
  for (std::size_t at = 0; at < operations.size(); ++at) results.push_back(shared.ops[at].result);
  return program->wakeups().pass(cpu);
}

ring::Result<void> ScriptProducer::State::run_hold(const Operation& operation, std::vector<int>& results) {
  auto hold = Hold::start(
      Producers(program),
      HoldOptions{.source = operation.source, .cpu = operation.cpu, .size = operation.size, .flags = operation.flags});
  if (!hold && hold.error().code != ENOSPC) return tl::unexpected(hold.error());
  results.push_back(hold ? 0 : -ENOSPC);
  if (hold) {
    holds.insert_or_assign(operation.source, std::move(*hold));
  } else {
    failed_holds.insert(operation.source);
  }
  return {};
}

ring::Result<void> ScriptProducer::State::run_settle(const Operation& operation, std::vector<int>& results) {
  const auto hold = holds.find(operation.source);
  if (hold == holds.end()) {
    failed_holds.erase(operation.source);
    results.push_back(-ENOENT);
    return {};
  }
  auto settled = hold->second.settle(operation.action);
  holds.erase(hold);
  if (settled) results.push_back(0);
  return settled;
}

ScriptProducer::ScriptProducer(std::unique_ptr<State> state) : state_(std::move(state)) {}
ScriptProducer::~ScriptProducer() = default;
ScriptProducer::ScriptProducer(ScriptProducer&&) noexcept = default;
ScriptProducer& ScriptProducer::operator=(ScriptProducer&&) noexcept = default;

ring::Result<ScriptProducer> ScriptProducer::create(const Producers& producers) {
  return ScriptProducer(std::make_unique<State>(producers.program()));
}

bool ScriptProducer::holds(std::uint32_t source) const { return state_->holds.contains(source); }

ring::Result<std::vector<int>> ScriptProducer::run(std::span<const Operation> operations) {
  if (auto prepared = state_->prepare(operations); !prepared) return tl::unexpected(prepared.error());
  const std::lock_guard only_one(state_->program->script_mutex());
  std::vector<int> results;
  results.reserve(operations.size());
  while (results.size() < operations.size()) {
    const auto rest = operations.subspan(results.size());
    const Operation& first = rest.front();
    const auto run_end = std::find_if(rest.begin(), rest.end(), [&first](const Operation& operation) {
      return !is_scripted(operation.action) || operation.cpu != first.cpu;
    });
    const auto neighbours =
        std::min<std::size_t>(static_cast<std::size_t>(run_end - rest.begin()), RINGSIDE_SCRIPT_OPS);
    auto ran = neighbours != 0                ? state_->run_scripted(rest.first(neighbours), results)
               : first.action == Action::hold ? state_->run_hold(first, results)
                                              : state_->run_settle(first, results);
    if (!ran) return tl::unexpected(ran.error());
  }
  return results;
}

}  // namespace ringside::real
