// Names of the causes of death, for JSON of the command line and of HTTP.
#pragma once

#include <string_view>

#include "engine/model/read_spec.h"

namespace cellar {

constexpr std::string_view name_of(DeathCause cause) {
  switch (cause) {
    case DeathCause::none:
      return "none";
    case DeathCause::max_age:
      return "max_age";
    case DeathCause::max_versions:
      return "max_versions";
    case DeathCause::expiry:
      return "expiry";
    case DeathCause::deleted:
      return "deleted";
    case DeathCause::hidden:
      return "hidden";
    case DeathCause::own_age:
      return "own_age";
    case DeathCause::not_newest:
      return "not_newest";
    case DeathCause::replaced:
      return "replaced";
  }
  return "none";
}

}  // namespace cellar
