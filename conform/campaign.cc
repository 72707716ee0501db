// SPDX-License-Identifier: Apache-2.0
#include "conform/campaign.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "conform/generate.h"
#include "real/perf_rings.h"

namespace ringside::conform {

namespace {

using ring::Result;
using ring::RingKind;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Each lab keeps a few hundred rings open; the limit that programs start with is often 1024. Where it cannot be
/// raised, the lab that runs out of descriptors says so.
void allow_many_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// The labs of one thread, made when they are first needed.
class Bench {
 public:
  explicit Bench(std::uint32_t cpu) : cpu_(cpu) {}

  Result<Sides> sides(RingKind kind, const ModelOptions& options) {
    auto& lab = labs_[kind];
    if (!lab) {
      auto made = make_lab(kind, cpu_);
      if (!made) return tl::unexpected(made.error());
      lab = std::move(*made);
    }
    return sides_of(kind, *lab, options);
  }

 private:
  std::uint32_t cpu_;
  std::map<RingKind, std::unique_ptr<Lab>> labs_;
};

/// Threads, each on one CPU with a bench of its own, and what they share: whether to end, and why.
class Crew {
 public:
  explicit Crew(const CampaignOptions& options) : options_(options) {}

  /// Runs `work(bench)` on every thread and returns when all have ended. The first error of any.
  template <class Work>
  Result<void> run(Work work) {
    const auto cpus = real::online_cpus();
    if (!cpus) return tl::unexpected(cpus.error());
    allow_many_open_files();
    const std::size_t jobs = options_.jobs == 0 ? cpus->size() : options_.jobs;
    std::vector<std::thread> threads;
    running_ = jobs;
    for (std::size_t job = 0; job < jobs; ++job) {
      threads.emplace_back([this, &work, cpu = (*cpus)[job % cpus->size()]] {
        Bench bench(cpu);
        if (auto done = work(bench); !done) fail(done.error());
        const std::lock_guard guard(mutex_);
        --running_;
        ended_.notify_all();
      });
    }
    watch();
    for (std::thread& thread : threads) thread.join();
    if (error_) return tl::unexpected(*error_);
    return {};
  }

  /// Whether a thread is to take up nothing more.
  bool ending() const { return ending_.load(std::memory_order_relaxed); }  // relaxed: nothing hangs on when it is seen
  bool stopped() const { return stopped_; }

  void begin(std::uint64_t total) {
    total_ = total;
    done_.store(0, std::memory_order_relaxed);
  }
  // Relaxed: figures for the eye.
  void count_done(std::uint64_t count) { done_.fetch_add(count, std::memory_order_relaxed); }
  void count_operations(std::uint64_t count) { operations_.fetch_add(count, std::memory_order_relaxed); }
  void name(std::string_view what) {
    const std::lock_guard guard(mutex_);
    what_ = what;
  }

 private:
  void fail(const ring::Error& error) {
    const std::lock_guard guard(mutex_);
    if (!error_) error_ = error;
    ending_.store(true, std::memory_order_relaxed);
  }

  /// Tells how far they are until they have ended.
  void watch() {
    constexpr auto tick = std::chrono::milliseconds(100);
    std::unique_lock guard(mutex_);
    while (!ended_.wait_for(guard, tick, [this] { return running_ == 0; })) {
      const CampaignProgress progress{done_.load(std::memory_order_relaxed), total_,
                                      operations_.load(std::memory_order_relaxed), what_};
      guard.unlock();
      if (options_.progress) options_.progress(progress);
      if (options_.stop && options_.stop()) {
        stopped_ = true;
        ending_.store(true, std::memory_order_relaxed);
      }
      guard.lock();
    }
  }

  const CampaignOptions& options_;
  std::mutex mutex_;  ///< guards running_, error_ and what_
  std::condition_variable ended_;
  std::size_t running_ = 0;
  std::optional<ring::Error> error_;
  std::string_view what_;
  std::atomic<bool> ending_{false};
  bool stopped_ = false;  ///< of the calling thread
  std::uint64_t total_ = 0;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> operations_{0};
};

Result<ModelOptions> model_options(const CampaignOptions& options) {
  if (options.kernel) return ModelOptions{.kernel = *options.kernel};
  const auto running = running_kernel();
  if (!running) return tl::unexpected(running.error());
  return ModelOptions{.kernel = *running};
}

GenerateOptions generate_options(const ModelOptions& model) {
  GenerateOptions options;
  options.overwrite = sim::ringbuf_rules(model.kernel).has_overwrite;
  return options;
}

/// Cuts a deviating script down; when that does not get far, the next ones that deviate may: the shortest counts.
Result<Finding> cut_down(std::uint64_t index, const Script& script, const Deviation& deviation, const Sides& sides,
                         std::uint64_t seed, const GenerateOptions& options) {
  constexpr std::size_t short_enough = 6;
  constexpr std::uint64_t scripts_more = 1000;
  constexpr int findings_more = 4;
  auto shrunk = shrink(script, deviation, sides);
  if (!shrunk) return tl::unexpected(shrunk.error());
  Finding best{.index = index, .found_ops = script.ops.size(), .shrunk = std::move(*shrunk)};
  int findings = 0;
  for (std::uint64_t next = index + 1; next <= index + scripts_more; ++next) {
    if (best.shrunk.script.ops.size() <= short_enough || findings == findings_more) break;
    const Script other = generate(script.kind, seed, next, options);
    const auto played = play(other, sides);
    if (!played) return tl::unexpected(played.error());
    if (!played->deviation) continue;
    ++findings;
    shrunk = shrink(other, *played->deviation, sides);
    if (!shrunk) return tl::unexpected(shrunk.error());
    if (shrunk->script.ops.size() >= best.shrunk.script.ops.size()) continue;
    best = Finding{.index = next, .found_ops = other.ops.size(), .shrunk = std::move(*shrunk)};
  }
  return best;
}

/// The scripts of one kind, handed out to the threads one by one.
class ScriptQueue {
 public:
  ScriptQueue(RingKind kind, const CampaignOptions& options, const ModelOptions& model)
      : kind_(kind), options_(options), model_(model), end_(options.scripts) {}

  /// Plays scripts until none is left. Several threads may do so at once.
  Result<void> work(Bench& bench, Crew& crew, KindResult& result) {
    const auto sides = bench.sides(kind_, model_);
    if (!sides) return tl::unexpected(sides.error());
    while (!crew.ending()) {
      // Relaxed: a number each, no more.
      const std::uint64_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= end_.load(std::memory_order_relaxed)) return {};
      const Script script = generate(kind_, options_.seed, index, generate_options(model_));
      const auto played = play(script, *sides);
      if (!played) return tl::unexpected(played.error());
      crew.count_operations(played->operations);
      crew.count_done(1);
      if (auto counted = count(*played, script, index, *sides, result); !counted) return counted;
    }
    return {};
  }

 private:
  Result<void> count(const Played& played, const Script& script, std::uint64_t index, const Sides& sides,
                     KindResult& result) {
    std::optional<Finding> finding;
    if (played.deviation) {
      // Later scripts are not worth playing any more, earlier ones are.
      std::uint64_t end = end_.load(std::memory_order_relaxed);
      while (index < end && !end_.compare_exchange_weak(end, index, std::memory_order_relaxed)) {
      }
      auto cut = cut_down(index, script, *played.deviation, sides, options_.seed, generate_options(model_));
      if (!cut) return tl::unexpected(cut.error());
      finding = std::move(*cut);
    }
    const std::lock_guard guard(mutex_);
    ++result.scripts;
    result.operations += played.operations;
    if (finding && index < lowest_) {
      lowest_ = index;
      result.finding = std::move(finding);
    }
    return {};
  }

  RingKind kind_;
  const CampaignOptions& options_;
  ModelOptions model_;
  std::mutex mutex_;                   ///< guards the result and lowest_
  std::uint64_t lowest_ = UINT64_MAX;  ///< number of the script that the finding came from
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> end_;
};

/// Plays scripts against one broken rule until one deviates.
Result<MutantResult> try_mutant(sim::Rule rule, Bench& bench, Crew& crew, const CampaignOptions& options,
                                ModelOptions model) {
  const auto begin = Clock::now();
  const RingKind kind = sim::face_of(rule).kind;
  MutantResult result{.rule = rule, .finding = {}};
  model.broken = rule;
  const auto sides = bench.sides(kind, model);
  if (!sides) return tl::unexpected(sides.error());
  for (std::uint64_t index = 0; index < options.scripts && !result.finding && !crew.ending(); ++index) {
    const Script script = generate(kind, options.seed, index, generate_options(model));
    const auto played = play(script, *sides);
    if (!played) return tl::unexpected(played.error());
    ++result.scripts;
    result.operations += played->operations;
    crew.count_operations(played->operations);
    if (!played->deviation) continue;
    auto cut = cut_down(index, script, *played->deviation, *sides, options.seed, generate_options(model));
    if (!cut) return tl::unexpected(cut.error());
    result.finding = std::move(*cut);
  }
  result.seconds = seconds_since(begin);
  return result;
}

}  // namespace

Result<sim::KernelVersion> running_kernel() {
  utsname names{};
  if (::uname(&names) != 0) return ring::errno_error("ask for the release of the kernel", errno);
  return sim::running_kernel_version(names.release, names.version);
}

Result<Played> play_here(const Script& script) {
  const auto kernel = running_kernel();
  if (!kernel) return tl::unexpected(kernel.error());
  const auto cpus = real::online_cpus();
  if (!cpus) return tl::unexpected(cpus.error());
  const auto lab = make_lab(script.kind, cpus->front());
  if (!lab) return tl::unexpected(lab.error());
  return play(script, sides_of(script.kind, **lab, {.kernel = *kernel}));
}

Result<CampaignResult> run_campaign(const CampaignOptions& options) {
  const auto model = model_options(options);
  if (!model) return tl::unexpected(model.error());
  CampaignResult campaign;
  for (const RingKind kind : options.kinds) {
    const auto begin = Clock::now();
    KindResult& result = campaign.kinds.emplace_back();
    result.kind = kind;
    ScriptQueue queue(kind, options, *model);
    Crew crew(options);
    crew.begin(options.scripts);
    crew.name(ring::name_of(kind));
    if (auto done = crew.run([&](Bench& bench) { return queue.work(bench, crew, result); }); !done) {
      return tl::unexpected(done.error());
    }
    result.seconds = seconds_since(begin);
    campaign.stopped = crew.stopped();
    if (campaign.stopped) break;
  }
  return campaign;
}

Result<std::vector<MutantResult>> run_mutants(const std::vector<sim::Rule>& rules, const CampaignOptions& options) {
  const auto model = model_options(options);
  if (!model) return tl::unexpected(model.error());
  std::vector<MutantResult> results(rules.size());
  std::atomic<std::size_t> next{0};
  Crew crew(options);
  crew.begin(rules.size());
  const auto work = [&](Bench& bench) -> Result<void> {
    while (!crew.ending()) {
      const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);  // relaxed: a number each
      if (index >= rules.size()) break;
      const sim::RuleFace& face = sim::face_of(rules[index]);
      crew.name(face.name);
      if (face.needs_overwrite && !generate_options(*model).overwrite) {
        results[index] = MutantResult{.rule = face.rule, .not_on_this_kernel = true, .finding = {}};
      } else {
        auto result = try_mutant(face.rule, bench, crew, options, *model);
        if (!result) return tl::unexpected(result.error());
        results[index] = std::move(*result);
      }
      crew.count_done(1);
    }
    return {};
  };
  if (auto done = crew.run(work); !done) return tl::unexpected(done.error());
  std::erase_if(results, [](const MutantResult& result) { return result.rule == sim::Rule::none; });
  return results;
}

std::ostream& operator<<(std::ostream& out, const MutantResult& result) {
  out << sim::face_of(result.rule).name << ": ";
  if (result.not_on_this_kernel) return out << "not on this kernel";
  if (!result.finding) return out << "escaped " << result.scripts << " scripts";
  return out << "caught by " << result.finding->shrunk.script.ops.size() << " operations, "
             << result.finding->shrunk.deviation;
}

}  // namespace ringside::conform
