// SPDX-License-Identifier: Apache-2.0
//
// Many scripts, on every CPU: the model held to the kernel, and the proof that it would show if the model were wrong:
// the same scripts against models that break one rule each (sim/rule.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <vector>

#include "conform/play.h"
#include "ring/result.h"
#include "ring/ring_kind.h"
#include "sim/kernel_version.h"
#include "sim/rule.h"

namespace ringside::conform {

/// How far a campaign is. `what` is the ring or the rule that was taken up last.
struct CampaignProgress {
  std::uint64_t done = 0;  ///< scripts, or rules
  std::uint64_t total = 0;
  std::uint64_t operations = 0;  ///< played on both sides so far
  std::string_view what;
};

struct CampaignOptions {
  std::vector<ring::RingKind> kinds{ring::RingKind::ringbuf, ring::RingKind::user_ringbuf, ring::RingKind::perf};
  std::uint64_t scripts = 1000;  ///< for each kind of ring
  std::uint64_t seed = 1;
  std::uint32_t jobs = 0;  ///< threads, on the CPUs in turn; 0: one for each CPU
  /// The rules of the model. Nothing: those of the running kernel.
  std::optional<sim::KernelVersion> kernel = {};
  std::function<void(const CampaignProgress&)> progress = {};  ///< called now and then on the calling thread
  std::function<bool()> stop = {};                             ///< asked now and then: whether to end early
};

/// A script that the two sides carry out differently, cut down.
struct Finding {
  std::uint64_t index = 0;    ///< number of the script it was found with
  std::size_t found_ops = 0;  ///< operations of that script
  Shrunk shrunk;
};

/// What came out for one kind of ring.
struct KindResult {
  ring::RingKind kind = ring::RingKind::ringbuf;
  std::uint64_t scripts = 0;     ///< played
  std::uint64_t operations = 0;  ///< played on both sides and compared
  double seconds = 0;
  std::optional<Finding> finding;
};

struct CampaignResult {
  std::vector<KindResult> kinds;
  bool stopped = false;
};

/// Plays scripts until all are played; of a kind that deviates, until the lowest deviating script is known. Errors:
/// what keeps the kernel from being asked (EPERM), a script that could not be carried out.
ring::Result<CampaignResult> run_campaign(const CampaignOptions& options);

/// What became of a model that breaks one rule.
struct MutantResult {
  sim::Rule rule = sim::Rule::none;
  std::uint64_t scripts = 0;
  std::uint64_t operations = 0;
  double seconds = 0;               ///< until it was found and cut down
  bool not_on_this_kernel = false;  ///< the rule is about something that the running kernel does not have
  std::optional<Finding> finding;   ///< nothing: the mutant escaped
};
std::ostream& operator<<(std::ostream& out, const MutantResult& result);

/// Plays scripts against each of these rules broken, at most `options.scripts` for each; `options.kinds` is not looked
/// at. Errors as run_campaign.
ring::Result<std::vector<MutantResult>> run_mutants(const std::vector<sim::Rule>& rules,
                                                    const CampaignOptions& options);

/// Plays one script on the running kernel and the model of its release. Errors: as run_campaign, and what the kernel
/// refuses of the set-up.
ring::Result<Played> play_here(const Script& script);

/// The release of the running kernel.
ring::Result<sim::KernelVersion> running_kernel();

}  // namespace ringside::conform
