// The form of a step with a known verb, checked before anything is played.
#pragma once

#include "tests/cases/case_file.h"

namespace cellar::cases {

// INVALID_ARGUMENT: an unknown key, a value of the wrong type, or an expectation
// that is missing where the format demands one or stands where it would not be compared.
Result<void> check_form(const Step& step);

}  // namespace cellar::cases
