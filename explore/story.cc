// SPDX-License-Identifier: Apache-2.0
//
// A failure as prose: which of its steps matter, what each thread made of what it saw, and where no order of the steps
// could have led to it, the circle that says so. A circle is built as in Shasha and Snir's "Efficient and correct
// execution of parallel programs that share memory" (1988): program order, who saw whose store, and who did not see it.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <utility>

#include "explore/report.h"

namespace ringside::explore {
namespace {

bool updates(const ReportedStep& step) { return step.kind == "update"; }
bool loads(const ReportedStep& step) { return step.kind == "load" || step.kind == "update_load" || updates(step); }
bool stores(const ReportedStep& step) { return step.kind == "store" || step.kind == "update_store" || updates(step); }
bool acquires(const std::string& order) { return order == "acquire" || order == "acq_rel" || order == "seq_cst"; }
bool releases(const std::string& order) { return order == "release" || order == "acq_rel" || order == "seq_cst"; }

/// Why one step stands before another.
enum class Before : std::uint8_t { program, seen, unseen };

struct Link {
  std::size_t from = 0;
  std::size_t to = 0;
  Before why = Before::program;
};

class Story {
 public:
  Story(const ProgramReport& report, const ReportedFailure& failure)
      : report_(report), failure_(failure), steps_(failure.steps) {}

  std::vector<std::string> tell() {
    std::vector<std::string> story{beginning()};
    if (steps_.empty()) return story;
    const bool of_bytes = of_ring_bytes(failure_);
    if (failure_.rival && !of_bytes) {
      add_race(story);
      return story;
    }
    const bool needs_no_more = of_bytes || failure_.defect == explore::name_of(FailureKind::busy_spin);
    const std::string told = needs_no_more && failure_.stale == 0 ? "" : what_happened();
    if (!told.empty()) story.push_back(told);
    if (of_bytes) {
      add_bytes(*failure_.span, story);
      return story;
    }
    story.push_back(end());
    if (failure_.span) story.push_back(unread(*failure_.span));
    if (const auto circle = shortest_circle(); !circle.empty()) add_circle(circle, story);
    return story;
  }

 private:
  const std::string& name(std::size_t step) const { return report_.threads[steps_[step].thread]; }

  std::string place(std::size_t step) const {
    const std::string& source = steps_[step].source;
    return source.empty() ? fmt::format("(step {})", step + 1) : fmt::format("(step {}, {})", step + 1, source);
  }

  static std::string number(std::size_t step) { return fmt::format("step {}", step + 1); }

  std::string doing(std::size_t index) const {
    const ReportedStep& step = steps_[index];
    const std::string value = step.value ? number_text(*step.value) : "";
    if (updates(step)) {
      return fmt::format("changes {} from {} to {}", step.memory, number_text(step.before.value_or(0)), value);
    }
    if (loads(step)) return fmt::format("looks at {} and sees {}", step.memory, value);
    if (stores(step)) return fmt::format("stores {} in {}", value, step.memory);
    if (step.kind == "plain_read") return fmt::format("reads {}", step.memory);
    if (step.kind == "plain_write") return fmt::format("writes {}", step.memory);
    if (step.kind == "choice") return fmt::format("takes choice {}", value);
    return fmt::format("passes a fence");
  }

  std::string beginning() const {
    std::string text = fmt::format("{}: {}.", failure_.defect, failure_.what);
    if (steps_.empty()) return text + " The execution has no steps that could be told.";
    std::set<std::size_t> threads;
    for (const ReportedStep& step : steps_) threads.insert(step.thread);
    std::vector<std::string> names;
    for (const std::size_t thread : threads) names.push_back(report_.threads[thread]);
    text += fmt::format(" It takes {} of {}", ring::counted(steps_.size(), "step"), fmt::join(names, " and "));
    if (names.size() > 1) {
      text += fmt::format(", {}", ring::counted(failure_.interruptions, "interruption"));
      text += failure_.stale == 0
                  ? " and no value that is out of date"
                  : fmt::format(" and {} out of date", failure_.stale == 1
                                                           ? std::string{"1 value that is"}
                                                           : fmt::format("{} values that are", failure_.stale));
    }
    return text + '.';
  }

  /// The newest of the stores that the load did not see.
  std::size_t newest(const std::vector<std::size_t>& unseen) const { return unseen.back(); }

  bool is_last_look(std::size_t index) const {
    for (std::size_t later = index + 1; later < steps_.size(); ++later) {
      const ReportedStep& step = steps_[later];
      if (step.thread == steps_[index].thread && loads(step) && step.memory == steps_[index].memory) return false;
    }
    return true;
  }

  bool matters(std::size_t index) const {
    const ReportedStep& step = steps_[index];
    if (step.asleep || !step.missed.empty()) return true;
    if (!loads(step) || step.too_early.empty() || !is_last_look(index)) return false;
    return std::any_of(step.too_early.begin(), step.too_early.end(),
                       [&](std::size_t store) { return steps_[store].thread != step.thread; });
  }

  std::string what_happened() const {
    std::string text;
    std::size_t last_thread = SIZE_MAX;
    for (std::size_t index = 0; index < steps_.size(); ++index) {
      if (!matters(index)) continue;
      const bool same = steps_[index].thread == last_thread;
      last_thread = steps_[index].thread;
      text += text.empty() ? "" : same ? " So " : " Then ";
      text += sentence(index, same);
    }
    return text;
  }

  std::string sentence(std::size_t index, bool same) const {
    const ReportedStep& step = steps_[index];
    const std::string who = same ? "it" : name(index);
    std::string text;
    if (step.asleep) {
      text = fmt::format("{} goes to sleep at {}, which is {} {}, until that changes{}", who, step.memory,
                         number_text(step.value.value_or(0)), place(index), step.timed ? " or its timeout comes" : "");
    } else {
      text = fmt::format("{} {} {}", who, doing(index), place(index));
    }
    const std::string no_more = !step.asleep && stores_nothing_after(index) ? ", and stores nothing more" : "";
    if (!step.missed.empty()) {
      const std::size_t store = newest(step.missed);
      text += fmt::format(", although {} had already stored {} there {}{}", name(store),
                          number_text(steps_[store].value.value_or(0)), place(store), no_more);
    } else if (!step.too_early.empty()) {
      const std::size_t store = step.too_early.front();
      text += fmt::format("{}; {} stores {} there only after that {}", no_more, name(store),
                          number_text(steps_[store].value.value_or(0)), place(store));
    }
    return text + '.';
  }

  bool stores_nothing_after(std::size_t index) const {
    for (std::size_t later = index + 1; later < steps_.size(); ++later) {
      const ReportedStep& step = steps_[later];
      if (step.thread == steps_[index].thread && (stores(step) || step.asleep)) return false;
    }
    return true;
  }

  std::string end() const {
    std::vector<std::string> asleep;
    std::vector<std::string> until_timeout;
    std::set<std::size_t> threads;
    std::set<std::size_t> going_round;
    for (std::size_t index = 0; index < steps_.size(); ++index) {
      const ReportedStep& step = steps_[index];
      threads.insert(step.thread);
      if (step.repeats) going_round.insert(step.thread);
      if (step.asleep) {
        (step.timed ? until_timeout : asleep).push_back(fmt::format("{} at {}", name(index), step.memory));
      }
    }
    std::vector<std::string> sentences;
    if (!asleep.empty()) {
      const bool all = asleep.size() == threads.size();
      sentences.push_back(
          fmt::format("So {} {} for ever: {}.", fmt::join(asleep, " and "), asleep.size() == 1 ? "sleeps" : "sleep",
                      all ? "each waits for what only another could store"
                          : "every other thread has come to its end, and nobody is left who would wake it"));
    }
    if (!until_timeout.empty()) {
      sentences.push_back(
          fmt::format("So {} {} until a timeout: nobody is left who would wake it before, however long that is.",
                      fmt::join(until_timeout, " and "), until_timeout.size() == 1 ? "sleeps" : "sleep"));
    }
    for (const std::size_t thread : going_round) sentences.push_back(round_of(thread));
    if (sentences.empty()) {
      const std::size_t last = steps_.size() - 1;
      sentences.push_back(fmt::format("In the end {}: the last step is {}'s, which {} {}.", failure_.what, name(last),
                                      doing(last), place(last)));
    }
    return fmt::format("{}", fmt::join(sentences, " "));
  }

  /// What a thread does again and again, each step that looks at memory once.
  std::string round_of(std::size_t thread) const {
    std::vector<std::string> looks;
    for (std::size_t index = 0; index < steps_.size(); ++index) {
      const ReportedStep& step = steps_[index];
      if (step.thread == thread && step.repeats && loads(step)) {
        looks.push_back(fmt::format("{} {}", doing(index), place(index)));
      }
    }
    return fmt::format(
        "From here on {} goes round for ever{}: in each round it {}. Nobody is left who would store anything else "
        "there, so that the next round is the same.",
        report_.threads[thread], failure_.defect == "busy_spin" ? ", awake" : "", fmt::join(looks, ", "));
  }

  /// What comes right after the step: by program order all that its thread does later.
  std::vector<Link> links_from(std::size_t index) const {
    std::vector<Link> links;
    for (std::size_t later = index + 1; later < steps_.size(); ++later) {
      const bool atomic = loads(steps_[later]) || stores(steps_[later]);
      if (steps_[later].thread == steps_[index].thread && atomic) links.push_back({index, later, Before::program});
    }
    for (const auto* const unseen : {&steps_[index].missed, &steps_[index].too_early}) {
      for (const std::size_t store : *unseen) {
        if (steps_[store].thread != steps_[index].thread) links.push_back({index, store, Before::unseen});
      }
    }
    for (std::size_t other = 0; other < steps_.size(); ++other) {
      if (steps_[other].reads_from == index && steps_[other].thread != steps_[index].thread) {
        links.push_back({index, other, Before::seen});
      }
    }
    return links;
  }

  /// From the step back to it, over links of which no two in a row are program order; the first one is `first`.
  std::vector<Link> circle_from(const Link& first) const {
    std::vector<std::optional<Link>> came_by(steps_.size());
    std::deque<std::size_t> next{first.to};
    came_by[first.to] = first;
    while (!next.empty()) {
      const std::size_t here = next.front();
      next.pop_front();
      for (const Link& link : links_from(here)) {
        if (link.why == Before::program && came_by[here]->why == Before::program) continue;
        if (came_by[link.to]) continue;
        came_by[link.to] = link;
        if (link.to == first.from) return way_back(came_by, first);
        next.push_back(link.to);
      }
    }
    return {};
  }

  static std::vector<Link> way_back(const std::vector<std::optional<Link>>& came_by, const Link& first) {
    std::vector<Link> circle;
    std::size_t at = first.from;
    do {
      circle.push_back(*came_by[at]);
      at = circle.back().from;
    } while (at != first.from);
    std::reverse(circle.begin(), circle.end());
    return circle;
  }

  std::vector<Link> shortest_circle() const {
    std::vector<Link> best;
    for (std::size_t index = 0; index < steps_.size(); ++index) {
      for (const std::size_t store : steps_[index].missed) {
        const std::vector<Link> circle = circle_from({index, store, Before::unseen});
        if (!circle.empty() && (best.empty() || circle.size() < best.size())) best = circle;
      }
    }
    return best;
  }

  void add_circle(const std::vector<Link>& circle, std::vector<std::string>& story) const {
    std::string because = "Why this is no matter of bad timing alone: if everybody saw every store at once, then";
    for (std::size_t i = 1; i < circle.size(); ++i) {
      const Link& link = circle[i];
      because += i == 1 ? " " : i + 1 == circle.size() ? ", and " : ", ";
      because += fmt::format("{} would come before {}, because {}", number(link.from), number(link.to), reason(link));
    }
    const Link& closing = circle.front();
    because += fmt::format(". However, {} comes before {}, because {}: a circle.", number(closing.from),
                           number(closing.to), reason(closing));
    story.push_back(std::move(because));
    std::string allowed;
    for (const Link& link : circle) {
      if (link.why == Before::program) allowed += weakness(link);
    }
    if (allowed.empty()) {
      allowed =
          " Each thread's own accesses are ordered; what orders them for all threads together is missing: "
          "seq_cst accesses or full fences on every side.";
    }
    story.push_back(fmt::format("The memory model ({}) allows it.{}", report_.memory, allowed));
  }

  std::string reason(const Link& link) const {
    switch (link.why) {
      case Before::program:
        return fmt::format("{} {} after it {}", name(link.from), doing(link.to), doing(link.from));
      case Before::seen:
        return fmt::format("{} saw what {} had stored there", name(link.to), name(link.from));
      case Before::unseen:
        return fmt::format("{} did not see the {} that {} stored in {}", name(link.from),
                           number_text(steps_[link.to].value.value_or(0)), name(link.to), steps_[link.to].memory);
    }
    return "";
  }

  /// Whether a fence that `orders` stands between two steps of a thread.
  template <class Orders>
  bool fenced(const Link& link, Orders orders) const {
    for (std::size_t between = link.from + 1; between < link.to; ++between) {
      const ReportedStep& step = steps_[between];
      if (step.thread == steps_[link.from].thread && step.kind == "fence" && orders(step.order)) return true;
    }
    return false;
  }

  /// What does not keep the two steps of a thread in order; nothing if something does.
  std::string weakness(const Link& link) const {
    const ReportedStep& first = steps_[link.from];
    const ReportedStep& second = steps_[link.to];
    const auto full = [](const std::string& order) { return order == "seq_cst"; };
    const std::string who = name(link.from);
    if (stores(first) && loads(second)) {
      if (fenced(link, full) || (full(first.order) && full(second.order))) return "";
      return fmt::format(
          " {} may look at {} {} before its own store to {} {} is seen by others: to keep the two in order "
          "takes a full fence (seq_cst) between them.",
          who, second.memory, place(link.to), first.memory, place(link.from));
    }
    if (loads(first) && loads(second)) {
      if (fenced(link, acquires) || acquires(first.order)) return "";
      return fmt::format(" {} may look at {} {} before it looks at {} {}, because the latter is {}: it must acquire.",
                         who, second.memory, place(link.to), first.memory, place(link.from), first.order);
    }
    if (stores(first) && stores(second)) {
      if (fenced(link, releases) || releases(second.order)) return "";
      return fmt::format(
          " {}'s store to {} {} may be seen before its store to {} {}, because the former is {}: it must "
          "release.",
          who, second.memory, place(link.to), first.memory, place(link.from), second.order);
    }
    return "";
  }

  static std::string positions(const RingSpan& span) {
    return fmt::format("positions {} to {} of {}", number_text(span.from), number_text(span.to), span.ring);
  }

  std::string unread(const RingSpan& span) const {
    return fmt::format("Unread lies what begins with {}: {}, committed and consumed by nobody.", failure_.span_memory,
                       positions(span));
  }

  void add_bytes(const RingSpan& span, std::vector<std::string>& story) const {
    if (failure_.defect == explore::name_of(FailureKind::uninitialised_read)) return add_unwritten(span, story);
    return span.under_way ? add_under_way(span, story) : add_handed_back(span, story);
  }

  /// Read when a store had handed them back.
  void add_handed_back(const RingSpan& span, std::vector<std::string>& story) const {
    const std::size_t late = steps_.size() - 1;
    const std::size_t store = failure_.rival.value_or(late);
    const bool same = steps_[store].thread == steps_[late].thread;
    story.push_back(fmt::format(
        "{} {} {}. That hands back {}: whatever producer sees it may write over them at once. Only after that "
        "{} {} {}.",
        name(store), doing(store), place(store), positions(span), same ? "it" : name(late), doing(late), place(late)));
    story.push_back(fmt::format(
        "If no producer came in between, that was luck: in a ring that is nearly full {} would be met with the next "
        "lap's "
        "bytes, or with some of both. {}",
        steps_[late].memory,
        same ? fmt::format("The store to {} must come after the last look at what it hands back.", steps_[store].memory)
             : fmt::format("Whoever stores {} must know by then that {} has looked its last.", steps_[store].memory,
                           name(late))));
  }

  /// Read before, but nothing holds the read there.
  void add_under_way(const RingSpan& span, std::vector<std::string>& story) const {
    const std::size_t store = steps_.size() - 1;
    const std::size_t early = failure_.rival.value_or(store);
    const bool same = steps_[store].thread == steps_[early].thread;
    story.push_back(fmt::format(
        "{} {} {}. Then {} {} {}, which hands back {}: whatever producer sees that may write over them at once.",
        name(early), doing(early), place(early), same ? "it" : name(store), doing(store), place(store),
        positions(span)));
    if (same) {
      story.push_back(fmt::format(
          "However, the store is {} and does not release what came before it: a producer may see it while {} has still "
          "to be read, and what is read is then the next lap's. It must be a release store, or stand behind a release "
          "fence.",
          steps_[store].order, steps_[early].memory));
      return;
    }
    const std::string handed = handing_over(early, store);
    story.push_back(fmt::format(
        "However, nothing orders the two: a producer may see the store while {} is still at it, and what that reads is "
        "then the next lap's.{}",
        name(early),
        handed.empty()
            ? fmt::format(" {} saw nothing that {} stored after {}.", name(store), name(early), number(early))
            : ' ' + handed));
  }

  void add_unwritten(const RingSpan& span, std::vector<std::string>& story) const {
    const std::size_t late = steps_.size() - 1;
    if (!failure_.rival) {
      story.push_back(fmt::format(
          "{} {} {}: position {} of {}. No producer that it knows of has come so far: what stands there is what an "
          "earlier lap left, or nothing yet.",
          name(late), doing(late), place(late), number_text(span.position), span.ring));
      return;
    }
    const std::size_t claim = *failure_.rival;
    story.push_back(fmt::format("{} {} {}, which claims {} for a record. Of these nobody has written {} when {} {} {}.",
                                name(claim), doing(claim), place(claim), positions(span), bytes_of(span), name(late),
                                doing(late), place(late)));
    story.push_back(
        "What stands there is what an earlier lap left, or nothing yet. The producer must fill what it submits, and "
        "who "
        "reads must read no further than the record's length says: what lies behind it, up to the next multiple of 8 "
        "bytes, is nobody's.");
  }

  static std::string bytes_of(const RingSpan& span) {
    const std::uint64_t first = span.position - span.from;
    if (span.size_bytes == 1) return fmt::format("byte {}", first);
    return fmt::format("bytes {} to {}", first, first + span.size_bytes - 1);
  }

  void add_race(std::vector<std::string>& story) const {
    const std::size_t early = *failure_.rival;
    const std::size_t late = steps_.size() - 1;
    story.push_back(
        fmt::format("{} {} {}. {} {} {}. Nothing orders the two: on another machine, or another time, they "
                    "happen at once.",
                    name(early), doing(early), place(early), name(late), doing(late), place(late)));
    const std::string handed = handing_over(early, late);
    const std::string back = handing_over(late, early);
    if (!handed.empty()) story.push_back(handed);
    if (!back.empty()) story.push_back(back);
    if (handed.empty() && back.empty()) {
      story.push_back(fmt::format("{} saw nothing that {} stored after {}, and {} nothing that {} stored after {}.",
                                  name(late), name(early), number(early), name(early), name(late), number(late)));
    }
  }

  /// How the thread of `other` came to know of the thread of `access`, and why that does not order the two.
  std::string handing_over(std::size_t access, std::size_t other) const {
    for (std::size_t look = steps_.size(); look-- > 0;) {
      const ReportedStep& load = steps_[look];
      if (load.thread != steps_[other].thread || look > other || !load.reads_from) continue;
      const std::size_t store = *load.reads_from;
      if (steps_[store].thread != steps_[access].thread) continue;
      if (store < access) {
        return fmt::format(
            "{} went on because it saw the {} that {} stored in {} {}; however, {} stored that before it "
            "{} {}, not after it.",
            name(other), number_text(*steps_[store].value), name(store), steps_[store].memory, place(store),
            name(store), doing(access), place(access));
      }
      return fmt::format(
          "{} went on because it saw the {} that {} stored in {} {} after it had made its access; however, "
          "{}.",
          name(other), number_text(*steps_[store].value), name(store), steps_[store].memory, place(store),
          weak_handing(store, look));
    }
    return "";
  }

  std::string weak_handing(std::size_t store, std::size_t look) const {
    std::string text;
    if (!releases(steps_[store].order)) {
      text = fmt::format("that store is {} and does not release what came before it", steps_[store].order);
    }
    if (!acquires(steps_[look].order)) {
      if (!text.empty()) text += ", and ";
      text += fmt::format("the load that saw it {} is {} and does not acquire it", place(look), steps_[look].order);
    }
    return text.empty() ? "it is not the store that orders the two" : text;
  }

  const ProgramReport& report_;
  const ReportedFailure& failure_;
  const std::vector<ReportedStep>& steps_;
};

}  // namespace

std::vector<std::string> story_of(const ProgramReport& report, const ReportedFailure& failure) {
  return Story(report, failure).tell();
}

}  // namespace ringside::explore
