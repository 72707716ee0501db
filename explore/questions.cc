// SPDX-License-Identifier: Apache-2.0
//
// Loads that only answer a question (value_test.h): which stores stand for all of their answers.
#include <algorithm>

#include "explore/engine.h"
#include "explore/fault.h"

namespace ringside::explore {

bool Engine::answer(const Event& load, EventId store) {
  const Graph& here = graph();
  return here.question(load).test.holds(here.value_of(load.location, store, load.bytes));
}

/// Whether the load can read the store where it stands in the program: not if the store depends on what the thread did
/// between there and here, nor if that could not have been once this was learnt.
bool Engine::of_its_place(const Event& load, EventId id, EventId store) {
  if (load.question == 0 || store.initial()) return true;
  const Graph& here = graph();
  const std::size_t begin = here.question(load).view.events;
  if (here.at(store).causes[id.thread] > begin) return false;
  if (!acquires(load.order)) return true;
  const Clock learnt = here.released_by(load.location, store, load.bytes);
  for (std::size_t index = begin; index < id.index; ++index) {
    const EventId between{id.thread, static_cast<std::uint16_t>(index)};
    const Event& event = here.at(between);
    if (!accesses(event.kind)) continue;
    const std::size_t lowest = lowest_position(here, event.location, learnt, event.bytes);
    const std::size_t position = here.position_of(event, between);
    if (reads(event.kind) ? position < lowest : position <= lowest) return false;
  }
  return true;
}

bool Engine::any_is_of_its_place(EventId id, std::size_t lowest, std::size_t last) {
  const Graph& here = graph();
  const Event& load = here.at(id);
  for (std::size_t position = lowest; position <= last; ++position) {
    if (of_its_place(load, id, here.store_at(load.location, position))) return true;
  }
  return false;
}

/// All that the load might read now would have told the thread of something that it went past meanwhile; what it might
/// read later has still to be stored. An update that goes on with a release sequence that its thread knows nothing of
/// is such a store. So the search begins anew, with every load at its place.
void Engine::defer_no_more() {
  graph().cut_back(graph().last_stamp() - 1);
  begin_anew();
  defers_ = false;
  leave();
}

namespace {

bool within(Clock part, const Clock& whole) {
  part.join(whole);
  return part == whole;
}

/// Whether whoever reads the one store, instead of the other, learns nothing more and depends on nothing more.
bool teaches_no_more(const Graph& graph, const Event& load, EventId one, EventId other) {
  if (one.initial() || one == other || planted(Fault::answers_are_alike)) return true;
  if (other.initial() || !within(graph.at(one).causes, graph.at(other).causes)) return false;
  return within(graph.released_by(load.location, one, load.bytes), graph.released_by(load.location, other, load.bytes));
}

}  // namespace

/// Whether a store before that position stands for the one at it: it answers the same and teaches no more.
bool Engine::answered_before(EventId id, std::size_t lowest, std::size_t position) {
  const Graph& here = graph();
  const Event& load = here.at(id);
  if (load.question == 0 || !here.question(load).decides) return false;
  const EventId store = here.store_at(load.location, position);
  const bool asked = answer(load, store);
  for (std::size_t before = lowest; before < position; ++before) {
    const EventId other = here.store_at(load.location, before);
    if (answer(load, other) != asked || !of_its_place(load, id, other)) continue;
    if (teaches_no_more(here, load, other, store)) return true;
  }
  return false;
}

/// The positions that the load, which was just added, may read from: the one that stands for the last store comes last,
/// as the choice that is made first.
void Engine::find_answers(EventId id, std::size_t lowest, std::size_t last) {
  const Graph& here = graph();
  const Event& load = here.at(id);
  const auto store_at = [&](std::size_t position) { return here.store_at(load.location, position); };
  while (last > lowest && !of_its_place(load, id, store_at(last))) --last;
  for (std::size_t position = lowest; position <= last; ++position) {
    const EventId store = store_at(position);
    if (!of_its_place(load, id, store) || answered_before(id, lowest, position)) continue;
    graph().set_reads_from(id, store);
    if (may_read(id, position)) possible_.push_back(position);
  }
  if (!here.question(load).decides) return;
  const bool wanted = answer(load, store_at(last));
  const auto first = std::find_if(possible_.begin(), possible_.end(), [&](std::size_t position) {
    return answer(load, store_at(position)) == wanted &&
           teaches_no_more(here, load, store_at(position), store_at(last));
  });
  if (first != possible_.end()) std::rotate(first, first + 1, possible_.end());
}

/// added_first for such a load: it reads the first store that stands for the last one.
bool Engine::answers_first(EventId id, EventId store, const std::function<bool(EventId)>& previous) {
  const Graph& here = graph();
  const Event& load = here.at(id);
  const std::size_t lowest = lowest_position(here, load.location, view_of(load), load.bytes);
  const auto counts = [&](std::size_t position) {
    const EventId other = here.store_at(load.location, position);
    return other.initial() || (other != store && previous(other) && of_its_place(load, id, other));
  };
  const std::size_t read = here.position(load.location, load.reads_from);
  std::size_t last = here.location(load.location).stores.size();
  while (last > lowest && !counts(last)) --last;
  if (!here.question(load).decides) return last <= read;
  const EventId latest = here.store_at(load.location, last);
  const bool wanted = answer(load, latest);
  for (std::size_t position = lowest; position <= last; ++position) {
    const EventId other = here.store_at(load.location, position);
    if (!counts(position) || answer(load, other) != wanted) continue;
    if (teaches_no_more(here, load, other, latest)) return position == read;
  }
  return false;
}

}  // namespace ringside::explore
