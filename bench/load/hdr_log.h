// The log format of the HdrHistogram project (https://github.com/HdrHistogram).
#pragma once

#include <string>

#include "io/base/histogram.h"

namespace cellar::bench {

// The histogram as a field of a log: V2 encoding, deflated, in base64.
std::string encode_hdr(const Histogram& histogram);

}  // namespace cellar::bench
