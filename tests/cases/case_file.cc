#include "tests/cases/case_file.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include <boost/json/parse.hpp>

#include "tests/cases/step_form.h"

namespace cellar::cases {
namespace {

constexpr std::array<std::string_view, 21> kVerbs = {"create_table",
                                                     "alter_table",
                                                     "drop_table",
                                                     "restore_table",
                                                     "create_index",
                                                     "alter_index",
                                                     "drop_index",
                                                     "read_index",
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

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

Result<Step> parse_step(const json::value& value) {
  if (!value.is_object()) return fail(Errc::invalid_argument, "a step is an object");
  Step step;
  step.object = value.as_object();
  std::string unknown;
  for (const auto& [key, inner] : step.object) {
    if (key == "expect" || key == "expect_splits") continue;
    if (key == "error") {
      if (!inner.is_string()) return fail(Errc::invalid_argument, "error is not a status name");
      step.error = inner.as_string();
    } else if (!contains(kVerbs, std::string_view(key))) {
      unknown = key;
    } else if (!step.verb.empty()) {
      return fail(Errc::invalid_argument, "two verbs in one step: '{}' and '{}'", step.verb,
                  std::string_view(key));
    } else {
      step.verb = key;
      step.value = inner;
    }
  }
  if (step.verb.empty() && unknown.empty())
    return fail(Errc::invalid_argument, "a step without a verb");
  if (step.verb.empty()) {
    step.verb = unknown;
    step.unknown = true;
    return step;
  }
  if (!unknown.empty())
    return fail(Errc::invalid_argument, "unknown key '{}' beside '{}'", unknown, step.verb);
  if (step.error == "OK") return fail(Errc::invalid_argument, "OK is no error");
  TRY_VOID(check_form(step));
  return step;
}

Result<Mode> parse_mode(std::string_view name) {
  for (Mode mode : kAllModes) {
    if (mode_name(mode) == name) return mode;
  }
  return fail(Errc::invalid_argument, "unknown mode '{}'", name);
}

Result<void> parse_steps(const json::array& steps, Case& c) {
  for (const auto& inner : steps) {
    auto step = parse_step(inner);
    if (!step)
      return fail(Errc::invalid_argument, "step {}: {}", c.steps.size() + 1, step.error().message);
    if (step->unknown && c.unknown_verb.empty()) c.unknown_verb = step->verb;
    c.steps.push_back(std::move(*step));
  }
  if (c.steps.empty()) return fail(Errc::invalid_argument, "a case without steps");
  return {};
}

Result<void> parse_member(std::string_view key, const json::value& value, Case& c) {
  if (key == "name") {
    c.name = value.as_string();
  } else if (key == "now") {
    TRY(c.now_us, parse_time_us(value));
  } else if (key == "modes") {
    c.modes.clear();
    for (const auto& mode : value.as_array()) {
      TRY(const Mode parsed, parse_mode(std::string_view(mode.as_string())));
      c.modes.push_back(parsed);
    }
    if (c.modes.empty()) return fail(Errc::invalid_argument, "modes names none");
  } else if (key == "steps") {
    return parse_steps(value.as_array(), c);
  } else if (key != "source") {
    return fail(Errc::invalid_argument, "unknown key '{}' in a case", key);
  }
  return {};
}

Result<void> parse_case(const json::object& object, Case& c) {
  c.modes.assign(std::begin(kAllModes), std::end(kAllModes));
  for (const std::string_view key : {"name", "now", "steps"}) {
    if (!object.contains(key)) return fail(Errc::invalid_argument, "a case without '{}'", key);
  }
  for (const auto& [key, value] : object) TRY_VOID(parse_member(key, value, c));
  for (Step& step : c.steps) {
    step.expect = step.object.if_contains(step.verb == "sample_keys" ? "expect_splits" : "expect");
  }
  return {};
}

// The case; if its form is wrong, including a value of the wrong type, with its fault.
Case case_of(const json::value& value) {
  Case c;
  try {
    if (auto parsed = parse_case(value.as_object(), c); !parsed) c.fault = parsed.error().message;
  } catch (const std::exception& error) {
    c.fault = error.what();
  }
  return c;
}

// The names of members in the text, and those in what was parsed: a parser keeps only the last of
// two members of the same name.
size_t members_in(std::string_view text) {
  size_t members = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && text[i] == ':') {
      ++members;
    }
  }
  return members;
}

size_t members_in(const json::value& value) {
  size_t members = 0;
  if (const json::object* object = value.if_object()) {
    for (const auto& [key, inner] : *object) members += 1 + members_in(inner);
  } else if (const json::array* array = value.if_array()) {
    for (const auto& inner : *array) members += members_in(inner);
  }
  return members;
}

Result<json::array> cases_of(const std::string& path, const json::value& root) {
  const json::object* object = root.if_object();
  const json::value* cases = object == nullptr ? nullptr : object->if_contains("cases");
  if (cases == nullptr || !cases->is_array())
    return fail(Errc::invalid_argument, "{}: no list of cases", path);
  if (object->size() != 1) return fail(Errc::invalid_argument, "{}: keys beside 'cases'", path);
  if (cases->as_array().empty()) return fail(Errc::invalid_argument, "{}: no cases", path);
  return cases->as_array();
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
      deep;  // a filter at the contract's depth is nested deeper than the parser's default
  deep.max_depth = 1024;
  const json::value root = json::parse(text.str(), ec, {}, deep);
  if (ec) return fail(Errc::invalid_argument, "{}: not JSON: {}", path, ec.message());
  if (members_in(text.view()) != members_in(root))
    return fail(Errc::invalid_argument, "{}: a key stands twice in one object", path);
  TRY(const json::array list, cases_of(path, root));
  std::vector<Case> cases;
  for (const auto& value : list) {
    Case& c = cases.emplace_back(case_of(value));
    if (c.name.empty()) c.name = fmt::format("case {} of {}", cases.size(), path);
  }
  return cases;
}

}  // namespace cellar::cases
