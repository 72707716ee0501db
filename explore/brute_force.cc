// SPDX-License-Identifier: Apache-2.0
#include "explore/brute_force.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <optional>
#include <ostream>

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
  bool initial = false;
  std::uint64_t value = 0;
};

constexpr std::size_t none = 99;

class Enumeration {
 public:
  Enumeration(const TinyProgram& program, MemoryModel model) : program_(program), model_(model) {}

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

  void add_node(std::size_t thread, EventKind kind, Order order, const TinyOperation& operation) {
    std::size_t index = 0;
    for (const Node& node : nodes_) index += !node.initial && node.thread == thread ? 1 : 0;
    nodes_.push_back({.kind = kind,
                      .order = order_of(kind, order),
                      .thread = thread,
                      .index = index,
                      .location = accesses(kind) ? operation.location : -1,
                      .operation = &operation});
  }

  /// The events, given which compare-exchanges succeed and what was chosen.
  void lay_out(std::uint32_t succeed) {
    nodes_.clear();
    std::size_t exchange = 0;
    for (std::size_t thread = 0; thread < program_.threads.size(); ++thread) {
      for (const TinyOperation& operation : program_.threads[thread]) {
        using Kind = TinyOperation::Kind;
        if (operation.kind == Kind::load) add_node(thread, EventKind::load, operation.order, operation);
        if (operation.kind == Kind::store) add_node(thread, EventKind::store, operation.order, operation);
        if (operation.kind == Kind::fence) add_node(thread, EventKind::fence, operation.order, operation);
        if (operation.kind == Kind::store_either) {
          add_node(thread, EventKind::choice, Order::relaxed, operation);
          nodes_.back().value = succeed >> exchange++ & 1u;
          add_node(thread, EventKind::store, operation.order, operation);
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
        if (reads(node.kind)) node.value = nodes_[reads_from_[number]].value;
        if (node.kind == EventKind::store && !node.initial) {
          const bool either = node.operation->kind == TinyOperation::Kind::store_either;
          node.value = node.operation->operand + (either ? nodes_[number - 1].value : 0);
        }
        if (node.kind == EventKind::exclusive_store) {
          const bool add = node.operation->kind == TinyOperation::Kind::add;
          node.value = node.operation->operand + (add ? nodes_[number - 1].value : 0);
        }
      }
    }
    return std::all_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
      if (node.operation == nullptr || node.operation->kind != TinyOperation::Kind::compare_exchange) return true;
      if (!reads(node.kind)) return true;
      return (node.kind == EventKind::exclusive_load) == (node.value == node.operation->expected);
    });
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

  bool is_execution() const {
    Relation mo;
    for (const auto& [location, stores] : locations_) {
      for (std::size_t i = 0; i < stores.size(); ++i) {
        for (std::size_t j = i + 1; j < stores.size(); ++j) mo.add(stores[i], stores[j]);
      }
    }
    const Relation po = program_order();
    const Relation rf = reading();
    Relation fr;
    for (std::size_t number = 0; number < nodes_.size(); ++number) {
      if (reads_from_[number] != none) fr.rows[number] = mo.rows[reads_from_[number]];
      // An update stores right after what it read.
      if (nodes_[number].kind == EventKind::exclusive_store) {
        const std::size_t read = reads_from_[number - 1];
        if (!mo.has(read, number)) return false;
        for (std::size_t other = 0; other < nodes_.size(); ++other) {
          if (mo.has(read, other) && mo.has(other, number)) return false;
        }
      }
    }
    const auto same_location = [this](std::size_t a, std::size_t b) {
      return nodes_[a].location >= 0 && nodes_[a].location == nodes_[b].location;
    };
    if (model_ == MemoryModel::sc) return (po | rf | mo | fr).acyclic();
    if (model_ == MemoryModel::tso) {
      return (po.where(same_location) | rf | mo | fr).acyclic() && is_tso(po, rf, mo, fr);
    }
    return is_rc11(po, rf, mo, fr);
  }

  bool is_tso(const Relation& po, const Relation& rf, const Relation& mo, const Relation& fr) const {
    const auto locked = [this](std::size_t a) {
      const EventKind kind = nodes_[a].kind;
      return kind == EventKind::exclusive_load || kind == EventKind::exclusive_store ||
             (kind == EventKind::fence && nodes_[a].order == Order::seq_cst) ||
             (kind == EventKind::store && nodes_[a].order == Order::seq_cst && !nodes_[a].initial);
    };
    const auto plain_store = [&](std::size_t a) { return nodes_[a].kind == EventKind::store && !locked(a); };
    // A store may be overtaken by what is behind it, up to the next store or locked instruction.
    const Relation kept = po.where([&](std::size_t a, std::size_t b) {
      if (!plain_store(a) || nodes_[a].initial || nodes_[b].kind == EventKind::store || locked(b)) return true;
      for (std::size_t c = 0; c < nodes_.size(); ++c) {
        if (po.has(a, c) && po.has(c, b) && locked(c)) return true;
      }
      return false;
    });
    const Relation external = rf.where(
        [this](std::size_t a, std::size_t b) { return nodes_[a].initial || nodes_[a].thread != nodes_[b].thread; });
    return (kept | external | mo | fr).acyclic();
  }

  bool is_rc11(const Relation& po, const Relation& rf, const Relation& mo, const Relation& fr) const {
    const auto same_location = [this](std::size_t a, std::size_t b) {
      return nodes_[a].location >= 0 && nodes_[a].location == nodes_[b].location;
    };
    const auto fence = [this](std::size_t a) { return nodes_[a].kind == EventKind::fence; };
    const auto sequential = [this](std::size_t a) { return nodes_[a].order == Order::seq_cst && !nodes_[a].initial; };
    const Relation hb = (po | synchronizes(po, rf)).closure();
    const Relation eco = (rf | mo | fr).closure();
    if (!hb.irreflexive() || !(hb * eco).irreflexive() || !eco.irreflexive()) return false;
    const auto chosen = [this](std::size_t a) { return nodes_[a].kind == EventKind::choice; };  // no event to C++
    const Relation elsewhere =
        po.where([&](std::size_t a, std::size_t b) { return !same_location(a, b) && !chosen(a) && !chosen(b); });
    const Relation scb = po | elsewhere * hb * elsewhere | hb.where(same_location) | mo | fr;
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
      if (nodes_[number].kind == EventKind::exclusive_store) update.add(number - 1, number);
    }
    Relation heads;  // from what releases to the store that carries it
    Relation tails;  // from the load to what acquires
    for (std::size_t a = 0; a < nodes_.size(); ++a) {
      if (nodes_[a].initial) continue;
      if (writes(nodes_[a].kind) && releases(nodes_[a].order)) heads.add(a, a);
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

  TinyShape shape() const {
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
      const char name = static_cast<char>('x' + op.location);
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
  return Enumeration(program, model).run();
}

}  // namespace ringside::explore
