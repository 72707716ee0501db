// SPDX-License-Identifier: Apache-2.0
#include "explore/brute_force.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <optional>
#include <ostream>
#include <string>

namespace ringside::explore {
namespace {

/// A relation over at most 32 things; row i has a bit for each j that i is related to.
struct Relation {
  std::array<std::uint32_t, 32> rows{};

  bool has(std::size_t a, std::size_t b) const { return (rows[a] >> b & 1u) != 0; }
  void add(std::size_t a, std::size_t b) { rows[a] |= 1u << b; }

  friend Relation operator|(Relation a, const Relation& b) {
    for (std::size_t i = 0; i < 32; ++i) a.rows[i] |= b.rows[i];
    return a;
  }
  /// First a, then b.
  friend Relation operator*(const Relation& a, const Relation& b) {
    Relation both;
    for (std::size_t i = 0; i < 32; ++i) {
      for (std::size_t j = 0; j < 32; ++j) {
        if (a.has(i, j)) both.rows[i] |= b.rows[j];
      }
    }
    return both;
  }
  Relation closure() const {
    Relation all = *this;
    for (std::size_t through = 0; through < 32; ++through) {
      for (std::size_t i = 0; i < 32; ++i) {
        if (all.has(i, through)) all.rows[i] |= all.rows[through];
      }
    }
    return all;
  }
  bool irreflexive() const {
    for (std::size_t i = 0; i < 32; ++i) {
      if (has(i, i)) return false;
    }
    return true;
  }
  bool acyclic() const { return closure().irreflexive(); }
  template <class Keep>
  Relation where(Keep keep) const {
    Relation kept;
    for (std::size_t i = 0; i < 32; ++i) {
      for (std::size_t j = 0; j < 32; ++j) {
        if (has(i, j) && keep(i, j)) kept.add(i, j);
      }
    }
    return kept;
  }
};

struct Node {
  EventKind kind = EventKind::load;
  Order order = Order::relaxed;
  std::size_t thread = 0;
  std::size_t index = 0;
  int location = -1;
  const TinyOperation* operation = nullptr;
  unsigned bytes = 3;
  bool link = false;
  bool initial = false;
  std::uint64_t value = 0;
};

constexpr std::size_t none = 99;

class Enumeration {
 public:
  Enumeration(const TinyProgram& program, MemoryModel model, bool answers)
      : program_(program), model_(model), answers_(answers) {}

  std::set<TinyShape> run() {
    std::size_t exchanges = 0;
    for (const auto& thread : program_.threads) {
      for (const TinyOperation& operation : thread) {
        if (has_two_ways(operation)) ++exchanges;
      }
    }
    for (std::uint32_t succeed = 0; succeed < 1u << exchanges; ++succeed) {
      lay_out(succeed);
      choose_readings(0);
    }
    return std::move(shapes_);
  }

 private:
  static bool has_two_ways(const TinyOperation& operation) {
    using Kind = TinyOperation::Kind;
    return operation.kind == Kind::compare_exchange || operation.kind == Kind::store_either;
  }

  Order order_of(EventKind kind, Order asked) const {
    // Written out again: what x86 and sequentially consistent memory give to every access.
    if (model_ == MemoryModel::c11 || asked == Order::seq_cst || kind == EventKind::fence) return asked;
    switch (kind) {
      case EventKind::load:
        return Order::acquire;
      case EventKind::store:
        return Order::release;
      default:
        return Order::acq_rel;
    }
  }

  /// Whether the program accesses the location both as a whole and in parts.
  bool is_mixed(int location) const {
    bool whole = false;
    bool part = false;
    for (const auto& thread : program_.threads) {
      for (const TinyOperation& operation : thread) {
        if (operation.kind == TinyOperation::Kind::fence || operation.location != location) continue;
        (operation.bytes == 3 ? whole : part) = true;
      }
    }
    return whole && part;
  }

  /// Numbers in the order of addresses: bytes that are never accessed together are locations of their own.
  int location_of(const TinyOperation& operation) const {
    const int second = operation.bytes == 2 && !is_mixed(operation.location) ? 1 : 0;
    return 2 * operation.location + second;
  }

  void add_node(std::size_t thread, EventKind kind, Order order, const TinyOperation& operation) {
    std::size_t index = 0;
    for (const Node& node : nodes_) index += !node.initial && node.thread == thread ? 1 : 0;
    nodes_.push_back({.kind = kind,
                      .order = order_of(kind, order),
                      .thread = thread,
                      .index = index,
                      .location = accesses(kind) ? location_of(operation) : -1,
                      .operation = &operation,
                      .bytes = operation.bytes});
  }

  void add_store(std::size_t thread, const TinyOperation& operation) {
    if (operation.bytes == 3 || !is_mixed(operation.location)) {
      return add_node(thread, EventKind::store, operation.order, operation);
    }
    add_node(thread, EventKind::exclusive_load, Order::relaxed, operation);
    nodes_.back().order = Order::relaxed;
    nodes_.back().link = true;
    add_node(thread, EventKind::store, operation.order, operation);
    nodes_.back().kind = EventKind::exclusive_store;
    nodes_.back().link = true;
  }

  /// The events, given which compare-exchanges succeed and what was chosen.
  void lay_out(std::uint32_t succeed) {
    nodes_.clear();
    std::size_t exchange = 0;
    for (std::size_t thread = 0; thread < program_.threads.size(); ++thread) {
      const auto& operations = program_.threads[thread];
      for (const TinyOperation& operation : operations) {
        using Kind = TinyOperation::Kind;
        for (const TinyOperation* asked = &operation; asked < operations.data() + operations.size(); ++asked) {
          if (asked->kind == Kind::ask && asked - asked->back == &operation) {
            add_node(thread, EventKind::load, asked->order, *asked);
          }
        }
        if (operation.kind == Kind::load) add_node(thread, EventKind::load, operation.order, operation);
        if (operation.kind == Kind::store) add_store(thread, operation);
        if (operation.kind == Kind::fence) add_node(thread, EventKind::fence, operation.order, operation);
        if (operation.kind == Kind::store_either) {
          add_node(thread, EventKind::choice, Order::relaxed, operation);
          nodes_.back().value = succeed >> exchange++ & 1u;
          add_store(thread, operation);
        }
        bool update = operation.kind == Kind::add;
        if (operation.kind == Kind::compare_exchange) {
          update = (succeed >> exchange++ & 1u) != 0;
          if (!update) add_node(thread, EventKind::load, operation.failure, operation);
        }
        if (!update) continue;
        add_node(thread, EventKind::exclusive_load, operation.order, operation);
        add_node(thread, EventKind::exclusive_store, operation.order, operation);
      }
    }
    locations_.clear();
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      if (nodes_[number].location >= 0) locations_[nodes_[number].location];
    }
    for (auto& [location, stores] : locations_) {
      nodes_.push_back({.kind = EventKind::store, .location = location, .initial = true});
      stores.push_back(nodes_.size() - 1);
    }
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      const Node& node = nodes_[number];
      if (writes(node.kind) && !node.initial) locations_[node.location].push_back(number);
    }
    assert(nodes_.size() <= 32);
    reads_from_.assign(nodes_.size(), none);
  }

  void choose_readings(std::size_t number) {
    while (number < nodes_.size() && !reads(nodes_[number].kind)) ++number;
    if (number == nodes_.size()) {
      if (values_fit()) choose_orders(locations_.begin());
      return;
    }
    for (const std::size_t store : locations_[nodes_[number].location]) {
      const bool any = nodes_[store].initial || nodes_[number].kind == EventKind::exclusive_load;
      if (!any && (nodes_[store].bytes & nodes_[number].bytes) == 0) continue;
      reads_from_[number] = store;
      choose_readings(number + 1);
    }
    reads_from_[number] = none;
  }

  Relation program_order() const {
    Relation order;
    for (std::size_t a = 0; a < nodes_.size(); ++a) {
      for (std::size_t b = 0; b < nodes_.size(); ++b) {
        const bool same = nodes_[a].thread == nodes_[b].thread && !nodes_[a].initial && !nodes_[b].initial;
        if ((same && nodes_[a].index < nodes_[b].index) || (nodes_[a].initial && !nodes_[b].initial)) order.add(a, b);
      }
    }
    return order;
  }

  Relation reading() const {
    Relation relation;
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      if (reads_from_[number] != none) relation.add(reads_from_[number], number);
    }
    return relation;
  }

  /// No load depends on itself, and each compare-exchange does what was assumed.
  bool values_fit() {
    if (!(program_order() | reading()).acyclic()) return false;
    for (std::size_t round = 0; round < nodes_.size(); ++round) {
      for (std::size_t number = 0; number < nodes_.size(); ++number) {
        Node& node = nodes_[number];
        if (node.initial) node.value = 0;
        if (reads(node.kind)) node.value = value_read(number);
        if (writes(node.kind) && !node.initial) node.value = value_written(number);
      }
    }
    return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
      if (node.operation == nullptr || node.operation->kind != TinyOperation::Kind::compare_exchange) return true;
      if (!reads(node.kind)) return true;
      return (node.kind == EventKind::exclusive_load) == (node.value == node.operation->expected);
    });
  }

  /// Of one byte: the store that a load of that store gets it from.
  std::size_t source(std::size_t store, unsigned byte) const {
    while (!nodes_[store].initial && (nodes_[store].bytes & byte) == 0) store = reads_from_[store - 1];
    return store;
  }

  std::uint64_t value_read(std::size_t load) const {
    std::uint64_t word = 0;
    for (const unsigned byte : {1u, 2u}) {
      if ((nodes_[load].bytes & byte) == 0) continue;
      const Node& from = nodes_[source(reads_from_[load], byte)];
      const std::uint64_t whole = from.bytes == 2 ? from.value << 8 : from.value;
      word |= whole & (byte == 1 ? 0xffu : 0xff00u);
    }
    return nodes_[load].bytes == 2 ? word >> 8 : word;
  }

  std::uint64_t value_written(std::size_t store) const {
    const Node& node = nodes_[store];
    const bool link = node.link;
    std::uint64_t value = node.operation->operand;
    using Kind = TinyOperation::Kind;
    if (node.operation->kind == Kind::add) value += nodes_[store - 1].value;
    if (node.operation->kind == Kind::store_either) value += nodes_[store - (link ? 2 : 1)].value;
    return value & (node.bytes == 3 ? 0xffffu : 0xffu);
  }

  void choose_orders(std::map<int, std::vector<std::size_t>>::iterator location) {
    if (location == locations_.end()) {
      if (is_execution()) shapes_.insert(shape());
      return;
    }
    std::vector<std::size_t>& stores = location->second;  // the initial one stays first
    std::sort(stores.begin() + 1, stores.end());
    do {
      choose_orders(std::next(location));
    } while (std::next_permutation(stores.begin() + 1, stores.end()));
  }

  bool overlap(std::size_t a, std::size_t b) const {
    return nodes_[a].location >= 0 && nodes_[a].location == nodes_[b].location &&
           (nodes_[a].bytes & nodes_[b].bytes) != 0;
  }

  /// From the stores that a load gets its bytes from.
  Relation sources(unsigned byte) const {
    Relation relation;
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      if (reads_from_[number] == none || nodes_[number].link || (nodes_[number].bytes & byte) == 0) continue;
      relation.add(source(reads_from_[number], byte), number);
    }
    return relation;
  }

  /// An update stores right after what it read, and so does a store of a part of a word.
  bool updates_are_whole(const Relation& mo) const {
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      if (nodes_[number].kind != EventKind::exclusive_store) continue;
      const std::size_t read = reads_from_[number - 1];
      if (!mo.has(read, number)) return false;
      for (std::size_t other = 0; other < nodes_.size(); ++other) {
        if (mo.has(read, other) && mo.has(other, number)) return false;
      }
    }
    return true;
  }

  /// Reads-from, modification order and from-read, of one byte or of all together.
  struct Coherence {
    Relation rf, mo, fr;
  };

  bool is_execution() const {
    Relation mo;
    for (const auto& [location, stores] : locations_) {
      for (std::size_t i = 0; i < stores.size(); ++i) {
        for (std::size_t j = i + 1; j < stores.size(); ++j) mo.add(stores[i], stores[j]);
      }
    }
    if (!updates_are_whole(mo)) return false;
    const Relation po = program_order();
    Coherence all;
    Relation eco;
    for (const unsigned byte : {1u, 2u}) {
      Coherence one;
      one.rf = sources(byte);
      one.mo = mo.where([&](std::size_t a, std::size_t b) { return (nodes_[a].bytes & nodes_[b].bytes & byte) != 0; });
      for (std::size_t load = 0; load < nodes_.size(); ++load) {
        for (std::size_t store = 0; store < nodes_.size(); ++store) {
          if (one.rf.has(store, load)) one.fr.rows[load] |= one.mo.rows[store];
        }
      }
      eco = eco | (one.rf | one.mo | one.fr).closure();
      all = {.rf = all.rf | one.rf, .mo = all.mo | one.mo, .fr = all.fr | one.fr};
    }
    const Relation own = po.where([this](std::size_t a, std::size_t b) { return overlap(a, b); });
    if (model_ == MemoryModel::sc) return (po | all.rf | mo | all.fr).acyclic();
    if (model_ == MemoryModel::tso) return (own | eco).acyclic() && is_tso(po, all.rf, mo, all.fr);
    return is_rc11(po, all, eco);
  }

  bool is_tso(const Relation& po, const Relation& rf, const Relation& mo, const Relation& fr) const {
    const auto locked = [this](std::size_t a) {
      const EventKind kind = nodes_[a].kind;
      return (exclusive(kind) && !nodes_[a].link) || (kind == EventKind::fence && nodes_[a].order == Order::seq_cst) ||
             (writes(kind) && nodes_[a].order == Order::seq_cst && !nodes_[a].initial);
    };
    const auto plain_store = [&](std::size_t a) { return writes(nodes_[a].kind) && !locked(a); };
    // A store may be overtaken by what is behind it, up to the next store or locked instruction.
    const Relation kept = po.where([&](std::size_t a, std::size_t b) {
      if (!plain_store(a) || nodes_[a].initial || writes(nodes_[b].kind) || locked(b)) return true;
      for (std::size_t c = 0; c < nodes_.size(); ++c) {
        if (po.has(a, c) && po.has(c, b) && locked(c)) return true;
      }
      return false;
    });
    const Relation external = rf.where(
        [this](std::size_t a, std::size_t b) { return nodes_[a].initial || nodes_[a].thread != nodes_[b].thread; });
    return (kept | external | mo | fr).acyclic();
  }

  bool is_rc11(const Relation& po, const Coherence& all, const Relation& eco) const {
    const auto same_location = [this](std::size_t a, std::size_t b) { return overlap(a, b); };
    const auto fence = [this](std::size_t a) { return nodes_[a].kind == EventKind::fence; };
    const auto sequential = [this](std::size_t a) { return nodes_[a].order == Order::seq_cst && !nodes_[a].initial; };
    const Relation hb = (po | synchronizes(po, all.rf)).closure();
    if (!hb.irreflexive() || !(hb * eco).irreflexive() || !eco.irreflexive()) return false;
    // Neither choices nor links are events to C++.
    const auto chosen = [this](std::size_t a) {
      return nodes_[a].kind == EventKind::choice || (nodes_[a].link && reads(nodes_[a].kind));
    };
    const Relation elsewhere =
        po.where([&](std::size_t a, std::size_t b) { return !same_location(a, b) && !chosen(a) && !chosen(b); });
    const Relation scb = po | elsewhere * hb * elsewhere | hb.where(same_location) | all.mo | all.fr;
    Relation self;
    for (std::size_t number = 0; number < nodes_.size(); ++number) self.add(number, number);
    const auto from_fence = [&](std::size_t a, std::size_t) { return fence(a) && sequential(a); };
    const auto to_fence = [&](std::size_t, std::size_t b) { return fence(b) && sequential(b); };
    const Relation left = self.where([&](std::size_t a, std::size_t) { return sequential(a); }) | hb.where(from_fence);
    const Relation right = self.where([&](std::size_t a, std::size_t) { return sequential(a); }) | hb.where(to_fence);
    const Relation base = left * scb * right;
    const Relation fences = (hb | hb * eco * hb).where([&](std::size_t a, std::size_t b) {
      return fence(a) && sequential(a) && fence(b) && sequential(b);
    });
    return (base | fences).acyclic();
  }

  /// Release, perhaps by a fence before the store; then the store and the updates that follow it; then acquire, perhaps
  /// by a fence after the load.
  Relation synchronizes(const Relation& po, const Relation& rf) const {
    Relation update;
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      if (nodes_[number].kind == EventKind::exclusive_store && !nodes_[number].link) update.add(number - 1, number);
    }
    Relation heads;  // from what releases to the store that carries it
    Relation tails;  // from the load to what acquires
    for (std::size_t a = 0; a < nodes_.size(); ++a) {
      if (nodes_[a].initial) continue;
      if (writes(nodes_[a].kind) && releases(nodes_[a].order)) heads.add(a, a);
      if (nodes_[a].link && reads(nodes_[a].kind)) continue;
      if (reads(nodes_[a].kind) && acquires(nodes_[a].order)) tails.add(a, a);
      for (std::size_t b = 0; b < nodes_.size(); ++b) {
        if (!po.has(a, b)) continue;
        if (nodes_[a].kind == EventKind::fence && releases(nodes_[a].order) && writes(nodes_[b].kind)) heads.add(a, b);
        if (nodes_[b].kind == EventKind::fence && acquires(nodes_[b].order) && reads(nodes_[a].kind)) tails.add(a, b);
      }
    }
    const Relation carried = heads | heads * (rf * update).closure();
    return carried * rf * tails;
  }

  /// By operations: what its loads read, or what they answer; then the orders of stores.
  TinyShape answers() const {
    const auto name = [this](std::size_t number) {
      const Node& node = nodes_[number];
      if (node.initial) return std::uint64_t{EventId::nobody} << 16;
      const auto place = node.operation - program_.threads[node.thread].data();
      return std::uint64_t{node.thread} << 16 | static_cast<std::uint64_t>(place);
    };
    std::map<std::uint64_t, std::vector<std::uint64_t>> seen;
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      const Node& node = nodes_[number];
      if (!reads(node.kind)) continue;
      const bool asks = node.operation->kind == TinyOperation::Kind::ask;
      const std::uint64_t answer = node.value == node.operation->expected ? 1 : 0;
      seen[name(number)] = {static_cast<std::uint64_t>(node.kind), asks ? answer : name(reads_from_[number])};
    }
    TinyShape shape;
    for (const auto& [load, what] : seen) {
      shape.push_back(load);
      shape.insert(shape.end(), what.begin(), what.end());
    }
    for (const auto& [location, stores] : locations_) {
      for (std::size_t i = 1; i < stores.size(); ++i) shape.push_back(name(stores[i]));
    }
    return shape;
  }

  TinyShape shape() const {
    if (answers_) return answers();
    const auto name = [this](std::size_t number) {
      const Node& node = nodes_[number];
      if (node.initial) return std::uint64_t{EventId::nobody} << 16;
      return std::uint64_t{node.thread} << 16 | node.index;
    };
    TinyShape shape;
    for (std::size_t thread = 0; thread < most_threads; ++thread) {
      const auto of_thread = [&](const Node& node) { return !node.initial && node.thread == thread; };
      shape.push_back(static_cast<std::uint64_t>(std::count_if(nodes_.begin(), nodes_.end(), of_thread)));
      for (std::size_t number = 0; number < nodes_.size(); ++number) {
        if (!of_thread(nodes_[number])) continue;
        shape.push_back(static_cast<std::uint64_t>(nodes_[number].kind));
        if (reads(nodes_[number].kind)) shape.push_back(name(reads_from_[number]));
        if (nodes_[number].kind == EventKind::choice) shape.push_back(nodes_[number].value);
      }
    }
    for (const auto& [location, stores] : locations_) {
      for (std::size_t i = 1; i < stores.size(); ++i) shape.push_back(name(stores[i]));
    }
    return shape;
  }

  const TinyProgram& program_;
  MemoryModel model_;
  bool answers_;  ///< shapes are by operations
  std::vector<Node> nodes_;
  std::map<int, std::vector<std::size_t>> locations_;  ///< their stores in modification order, the initial one first
  std::vector<std::size_t> reads_from_;
  std::set<TinyShape> shapes_;
};

const char* word(Order order) {
  switch (order) {
    case Order::relaxed:
      return "rlx";
    case Order::acquire:
      return "acq";
    case Order::release:
      return "rel";
    case Order::acq_rel:
      return "acq_rel";
    case Order::seq_cst:
      return "sc";
  }
  return "?";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const TinyProgram& program) {
  for (std::size_t thread = 0; thread < program.threads.size(); ++thread) {
    out << "thread " << thread << ':';
    for (const TinyOperation& op : program.threads[thread]) {
      std::string name(1, static_cast<char>('x' + op.location));
      if (op.bytes != 3) name += op.bytes == 1 ? "[0]" : "[1]";
      switch (op.kind) {
        case TinyOperation::Kind::load:
          out << "  " << name << ".load(" << word(op.order);
          break;
        case TinyOperation::Kind::store:
          out << "  " << name << ".store(" << int{op.operand} << ", " << word(op.order);
          break;
        case TinyOperation::Kind::add:
          out << "  " << name << ".add(" << int{op.operand} << ", " << word(op.order);
          break;
        case TinyOperation::Kind::compare_exchange:
          out << "  " << name << ".cas(" << int{op.expected} << ", " << int{op.operand} << ", " << word(op.order)
              << ", " << word(op.failure);
          break;
        case TinyOperation::Kind::ask:
          out << "  " << name << ".ask(" << int{op.expected} << ", " << int{op.back} << " back, " << word(op.order);
          break;
        case TinyOperation::Kind::store_either:
          out << "  " << name << ".store(" << int{op.operand} << " or " << op.operand + 1 << ", " << word(op.order);
          break;
        case TinyOperation::Kind::fence:
          out << "  fence(" << word(op.order);
          break;
      }
      out << ')';
    }
    out << '\n';
  }
  return out;
}

std::set<TinyShape> brute_force(const TinyProgram& program, MemoryModel model) {
  return Enumeration(program, model, false).run();
}

std::set<TinyShape> brute_force_answers(const TinyProgram& program, MemoryModel model) {
  return Enumeration(program, model, true).run();
}

}  // namespace ringside::explore
