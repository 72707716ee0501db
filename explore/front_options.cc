// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "explore/front.h"
#include "explore/memory_model.h"

namespace ringside::explore {
namespace {

std::optional<MemoryModel> model_named(std::string_view name) {
  for (const MemoryModel model : {MemoryModel::sc, MemoryModel::tso, MemoryModel::c11}) {
    if (name == name_of(model)) return model;
  }
  return std::nullopt;
}

tl::unexpected<ring::Error> wrong(const std::string& what, std::string reason, std::string remedy) {
  return ring::error("read " + what, std::move(reason), std::move(remedy));
}

ring::Result<std::uint64_t> count_from(const std::string& option, const std::string& text) {
  std::uint64_t count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (fault != std::errc{} || end != text.data() + text.size() || count == 0) {
    return wrong(option, fmt::format("\"{}\" is no count", text), "write digits: 1 or more");
  }
  return count;
}

/// `2/4`: the second of four parts.
ring::Result<void> take_shard(const std::string& text, SearchOptions& search) {
  const std::size_t slash = text.find('/');
  const auto part = count_from("--shard", text.substr(0, slash));
  const auto parts = count_from("--shard", slash == std::string::npos ? "" : text.substr(slash + 1));
  if (!part || !parts || *part > *parts) {
    return wrong("--shard", fmt::format("\"{}\" is no part of a whole", text), "write I/N, I from 1 to N");
  }
  search.shard = static_cast<std::size_t>(*part - 1);
  search.shards = static_cast<std::size_t>(*parts);
  return {};
}

ring::Result<void> take_way(const std::string& name, FrontOptions& options) {
  for (const auto& [known, way] : {std::pair{"dpor", FrontSearch::dpor}, std::pair{"random", FrontSearch::random},
                                   std::pair{"pct", FrontSearch::pct}}) {
    if (name != known) continue;
    options.way = way;
    return {};
  }
  return wrong("--search", fmt::format("there is no search \"{}\"", name), "dpor, random or pct");
}

/// Options with a number; preemptions and seeds may be 0.
ring::Result<void> take_number(const std::string& option, const std::string& value, FrontOptions& options) {
  const bool zero = value == "0" && (option == "--preemptions" || option == "--seed");
  const auto count = zero ? ring::Result<std::uint64_t>{0} : count_from(option, value);
  if (!count) return tl::unexpected(count.error());
  if (option == "--executions") options.search.most_executions = *count;
  if (option == "--events") options.search.most_events = static_cast<std::size_t>(*count);
  if (option == "--seed") options.seed = *count;
  if (option == "--preemptions") {
    options.way = FrontSearch::bounded;
    options.preemptions = static_cast<std::size_t>(*count);
  }
  return {};
}

ring::Result<void> take_value(const std::string& option, const std::string& value, FrontOptions& options) {
  if (option == "--memory") {
    const auto model = model_named(value);
    if (!model) return wrong(option, fmt::format("there is no memory model \"{}\"", value), "sc, tso or c11");
    options.search.model = *model;
  } else if (option == "--format") {
    if (value != "table" && value != "json" && value != "html") {
      return wrong(option, fmt::format("there is no format \"{}\"", value), "table, json or html");
    }
    options.format = value == "table" ? FrontFormat::table : value == "json" ? FrontFormat::json : FrontFormat::html;
  } else if (option == "--output") {
    options.output = value;
  } else if (option == "--replay") {
    options.replay = value;
  } else if (option == "--search") {
    return take_way(value, options);
  } else if (option == "--shard") {
    return take_shard(value, options.search);
  } else {
    return take_number(option, value, options);
  }
  return {};
}

bool takes_value(const std::string& option) {
  for (const char* const known : {"--memory", "--search", "--preemptions", "--executions", "--events", "--seed",
                                  "--shard", "--format", "--output", "--replay"}) {
    if (option == known) return true;
  }
  return false;
}

}  // namespace

ring::Result<FrontOptions> front_options(const std::vector<std::string>& arguments) {
  FrontOptions options;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& argument = arguments[at];
    const std::size_t equals = argument.find('=');
    const std::string option = argument.substr(0, equals);
    if (argument == "--list") {
      options.list = true;
    } else if (argument == "--quiet") {
      options.quiet = true;
    } else if (argument == "--help") {
      options.help = true;
    } else if (takes_value(option)) {
      const bool attached = equals != std::string::npos;
      if (!attached && at + 1 == arguments.size())
        return wrong(option, "it has no value", "write " + option + " VALUE");
      const std::string value = attached ? argument.substr(equals + 1) : arguments[++at];
      if (const auto taken = take_value(option, value, options); !taken) return tl::unexpected(taken.error());
    } else if (argument.starts_with("-")) {
      return wrong(argument, "there is no such option", "--help names them");
    } else {
      options.names.push_back(argument);
    }
  }
  if (options.search.shards > 1 && options.way != FrontSearch::dpor) {
    return wrong("--shard", "only the exhaustive search has parts", "leave --search and --preemptions out");
  }
  if (!options.replay.empty() && !options.names.empty()) {
    return wrong(options.names.front(), "a token names its program itself", "write --replay TOKEN alone");
  }
  return options;
}

std::string to_text(const Token& token) {
  return fmt::format("{}/{}/{}/{}", token.name, name_of(token.model), token.build, token.schedule);
}

ring::Result<Token> token_from(std::string_view text) {
  const std::string attempt = fmt::format("the token \"{}\"", text);
  std::vector<std::string> parts(3);
  std::string_view rest = text;
  for (std::size_t part = 3; part-- > 0;) {
    const std::size_t slash = rest.rfind('/');
    if (slash == std::string_view::npos) {
      return wrong(attempt, "it is not NAME/MODEL/BUILD/SCHEDULE", "copy the whole of what the failure said");
    }
    parts[part] = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
  }
  const auto model = model_named(parts[0]);
  if (!model) return wrong(attempt, fmt::format("there is no memory model \"{}\"", parts[0]), "sc, tso or c11");
  return Token{.name = std::string{rest}, .model = *model, .build = parts[1], .schedule = parts[2]};
}

}  // namespace ringside::explore
