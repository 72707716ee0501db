// SPDX-License-Identifier: Apache-2.0
#include "conform/play.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "conform/generate.h"

namespace ringside::conform {

namespace {

std::string number_text(std::uint64_t value) {
  // Positions near 2^64 and negative results are easier to read with their sign.
  const auto with_sign = static_cast<std::int64_t>(value);
  if (with_sign < 0) return fmt::format("{} ({:#x})", with_sign, value);
  return fmt::format("{}", value);
}

std::string details_text(const std::vector<std::uint64_t>& details) {
  std::string text = "[";
  for (const std::uint64_t detail : details) text += fmt::format("{}{:#x}", text.size() > 1 ? ", " : "", detail);
  return text + "]";
}

/// What differs, without the operation.
using Difference = std::optional<Deviation>;

Difference differ(std::string what, std::string kernel, std::string model) {
  return Deviation{
      .op = 0, .operation = {}, .what = std::move(what), .kernel = std::move(kernel), .model = std::move(model)};
}

Difference compare(const Outcome& kernel, const Outcome& model, std::string_view of) {
  const std::string prefix = of.empty() ? std::string() : std::string(of) + " ";
  if (kernel.result != model.result) {
    return differ(prefix + "result", fmt::format("{}", kernel.result), fmt::format("{}", model.result));
  }
  if (kernel.details != model.details) {
    return differ(prefix + "details", details_text(kernel.details), details_text(model.details));
  }
  return std::nullopt;
}

Difference compare(const NamedBytes& kernel, const NamedBytes& model) {
  if (kernel.bytes.size() != model.bytes.size()) {
    return differ(fmt::format("{} bytes", kernel.name), fmt::format("{}", kernel.bytes.size()),
                  fmt::format("{}", model.bytes.size()));
  }
  if (kernel.bytes.empty() || std::memcmp(kernel.bytes.data(), model.bytes.data(), kernel.bytes.size()) == 0) return {};
  const auto at = std::ranges::mismatch(kernel.bytes, model.bytes).in1 - kernel.bytes.begin();
  const auto byte = [at](const NamedBytes& of) {
    return fmt::format("{:#04x}", static_cast<unsigned>(of.bytes[static_cast<std::size_t>(at)]));
  };
  return differ(fmt::format("{} byte {}", kernel.name, at), byte(kernel), byte(model));
}

Difference compare(const View& kernel, const View& model) {
  assert(kernel.numbers.size() == model.numbers.size() && kernel.areas.size() == model.areas.size());
  for (std::size_t at = 0; at < kernel.numbers.size(); ++at) {
    const NamedNumber& number = kernel.numbers[at];
    assert(number.name == model.numbers[at].name);
    if (number.value != model.numbers[at].value) {
      return differ(std::string(number.name), number_text(number.value), number_text(model.numbers[at].value));
    }
  }
  for (std::size_t at = 0; at < kernel.areas.size(); ++at) {
    assert(kernel.areas[at].name == model.areas[at].name);
    if (auto different = compare(kernel.areas[at], model.areas[at])) return different;
  }
  return std::nullopt;
}

/// One script on its two sides.
class Play {
 public:
  Play(const Script& script, std::unique_ptr<Side> kernel, std::unique_ptr<Side> model)
      : script_(script),
        kernel_(std::move(kernel)),
        model_(std::move(model)),
        looks_always_(value_of(script.kind, script.setup, Arg::look) != 0) {}

  ring::Result<Played> run() {
    Played played;
    auto different = compare_views();
    for (std::size_t at = 0; different && !*different && at < script_.ops.size(); ++at) {
      different = apply(script_.ops[at], at);
      if (different) ++played.operations;
    }
    if (!different) return tl::unexpected(different.error());
    if (!*different) return played;
    played.deviation = std::move(*different);
    const bool set_up = played.operations == 0;
    played.deviation->op = set_up ? script_.ops.size() : played.operations - 1;
    played.deviation->operation = set_up ? "set-up" : to_text(script_.kind, script_.ops[played.operations - 1]);
    return played;
  }

 private:
  using Step = ring::Result<Difference>;

  // The kernel goes first: the model is told what only the kernel knows.
  Step apply(const Op& op, std::size_t at) {
    const auto kernel = kernel_->apply(op, at + 1);
    if (!kernel) return tl::unexpected(kernel.error());
    const auto model = model_->apply(op, at + 1);
    if (!model) return tl::unexpected(model.error());
    if (auto different = compare(*kernel, *model, "")) return different;
    if (looks_always_) {
      if (auto looked = look(); !looked || *looked) return looked;
    }
    return compare_views();
  }

  Step look() {
    const auto kernel = kernel_->look();
    if (!kernel) return tl::unexpected(kernel.error());
    const auto model = model_->look();
    if (!model) return tl::unexpected(model.error());
    return compare(*kernel, *model, "readiness");
  }

  Step compare_views() {
    kernel_view_.clear();
    model_view_.clear();
    if (auto shown = kernel_->show(kernel_view_); !shown) return tl::unexpected(shown.error());
    if (auto shown = model_->show(model_view_); !shown) return tl::unexpected(shown.error());
    return compare(kernel_view_, model_view_);
  }

  const Script& script_;
  std::unique_ptr<Side> kernel_;
  std::unique_ptr<Side> model_;
  View kernel_view_;
  View model_view_;
  bool looks_always_;
};

/// Without what comes after the deviation.
void cut_after(Script& script, const Deviation& deviation) {
  if (deviation.op < script.ops.size()) script.ops.resize(deviation.op + 1);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Deviation& deviation) {
  return out << "after " << deviation.operation << ": " << deviation.what << " is " << deviation.kernel
             << " on the kernel, " << deviation.model << " in the model";
}

ring::Result<Played> play(const Script& script, const Sides& sides) {
  auto kernel = sides.kernel(script);
  if (!kernel) return tl::unexpected(kernel.error());
  auto model = sides.model(script, (*kernel)->facts());
  if (!model) return tl::unexpected(model.error());
  // In this order: the model's side points to the kernel's facts.
  return Play(script, std::move(*kernel), std::move(*model)).run();
}

ring::Result<Shrunk> shrink(const Script& script, const Deviation& deviation, const Sides& sides,
                            std::size_t most_tried) {
  Shrunk best{.script = script, .deviation = deviation, .tried = 0};
  cut_after(best.script, best.deviation);
  for (bool simpler_found = true; simpler_found;) {
    simpler_found = false;
    Simpler simpler(best.script);
    for (auto candidate = simpler.next(); candidate && best.tried < most_tried; candidate = simpler.next()) {
      ++best.tried;
      auto played = play(*candidate, sides);
      if (!played) return tl::unexpected(played.error());
      if (!played->deviation) continue;
      best.script = std::move(*candidate);
      best.deviation = std::move(*played->deviation);
      cut_after(best.script, best.deviation);
      simpler_found = true;
      break;
    }
  }
  return best;
}

}  // namespace ringside::conform
