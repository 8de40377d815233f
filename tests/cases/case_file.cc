#include "tests/cases/case_file.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include <boost/json/parse.hpp>

namespace cellar::cases {
namespace {

constexpr std::array<std::string_view, 17> kVerbs = {"create_table",
                                                     "alter_table",
                                                     "drop_table",
                                                     "restore_table",
                                                     "mutate",
                                                     "mutate_rows",
                                                     "check_and_mutate",
                                                     "read_modify_write",
                                                     "drop_rows",
                                                     "read",
                                                     "sample_keys",
                                                     "preview",
                                                     "clock",
                                                     "wall_clock",
                                                     "flush",
                                                     "compact",
                                                     "restart"};

Result<Step> parse_step(const json::value& value) {
  if (!value.is_object()) return fail(Errc::invalid_argument, "a step is an object");
  Step step;
  step.object = value.as_object();
  for (const auto& [key, inner] : step.object) {
    if (key == "expect" || key == "expect_splits") continue;
    if (key == "error") {
      step.error = inner.as_string();
    } else if (std::find(kVerbs.begin(), kVerbs.end(), std::string_view(key)) == kVerbs.end()) {
      return fail(Errc::invalid_argument, "unknown key '{}' in a step", std::string_view(key));
    } else if (!step.verb.empty()) {
      return fail(Errc::invalid_argument, "two verbs in one step: '{}' and '{}'", step.verb,
                  std::string_view(key));
    } else {
      step.verb = key;
      step.value = inner;
    }
  }
  if (step.verb.empty()) return fail(Errc::invalid_argument, "a step without a verb");
  return step;
}

Result<Mode> parse_mode(std::string_view name) {
  for (Mode mode : kAllModes) {
    if (mode_name(mode) == name) return mode;
  }
  return fail(Errc::invalid_argument, "unknown mode '{}'", name);
}

Result<Case> parse_case(const json::object& object) {
  Case c;
  c.modes.assign(std::begin(kAllModes), std::end(kAllModes));
  for (const auto& [key, value] : object) {
    if (key == "name") {
      c.name = value.as_string();
    } else if (key == "now") {
      TRY(c.now_us, parse_time_us(value));
    } else if (key == "modes") {
      c.modes.clear();
      for (const auto& mode : value.as_array()) {
        TRY(const Mode parsed, parse_mode(mode.as_string()));
        c.modes.push_back(parsed);
      }
    } else if (key == "steps") {
      for (const auto& inner : value.as_array()) {
        TRY(Step step, parse_step(inner));
        c.steps.push_back(std::move(step));
      }
    } else if (key != "source") {
      return fail(Errc::invalid_argument, "unknown key '{}' in a case", std::string_view(key));
    }
  }
  for (Step& step : c.steps) {
    step.expect = step.object.if_contains(step.verb == "sample_keys" ? "expect_splits" : "expect");
  }
  return c;
}

}  // namespace

std::string_view mode_name(Mode mode) {
  switch (mode) {
    case Mode::plain:
      return "plain";
    case Mode::flush:
      return "flush";
    case Mode::compact:
      return "compact";
    case Mode::restart:
      return "restart";
  }
  return "?";
}

Result<std::vector<Case>> read_case_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(Errc::not_found, "cannot read case file '{}'", path);
  std::ostringstream text;
  text << in.rdbuf();
  boost::system::error_code ec;
  json::parse_options
      deep;  // a filter at the contract's depth nests deeper than the parser's default
  deep.max_depth = 1024;
  const json::value root = json::parse(text.str(), ec, {}, deep);
  if (ec) return fail(Errc::invalid_argument, "{}: not JSON: {}", path, ec.message());
  std::vector<Case> cases;
  for (const auto& value : root.as_object().at("cases").as_array()) {
    auto parsed = parse_case(value.as_object());
    if (!parsed)
      return fail(parsed.error().code, "{}: case '{}': {}", path, cases.size(),
                  parsed.error().message);
    cases.push_back(std::move(*parsed));
  }
  return cases;
}

}  // namespace cellar::cases
