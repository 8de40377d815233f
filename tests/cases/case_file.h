// A parsed case file, checked for form. An unknown key is an error, because a case played without
// the part that the key states could pass for the wrong reason. A step with an unknown verb makes
// its case a skipped one.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "io/base/result.h"
#include "tests/cases/values.h"

namespace cellar::cases {

enum class Mode { plain, flush, compact, restart };
inline constexpr Mode kAllModes[] = {Mode::plain, Mode::flush, Mode::compact, Mode::restart};
std::string_view mode_name(Mode mode);

struct Step {
  std::string verb;                     // "mutate", "read", ...
  bool unknown = false;                 // the runner does not know the verb
  json::value value;                    // the value of the verb's key
  const json::value* expect = nullptr;  // borrowed from `object`
  std::string error;                    // canonical status name, or empty
  json::object object;
};

struct Case {
  std::string name;
  std::string fault;         // a fault in the form: the case fails without being played
  std::string unknown_verb;  // the case is skipped
  int64_t now_us = 0;
  std::vector<Mode> modes;
  std::vector<Step> steps;
};

// At least one case. INVALID_ARGUMENT: the file as a whole is not a case file; the fault of a
// single case is kept in the case.
Result<std::vector<Case>> read_case_file(const std::string& path);

}  // namespace cellar::cases
