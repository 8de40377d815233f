// The reasons why dead data is still on disk, in words.
#pragma once

#include <string>
#include <string_view>

#include "net/client/api/operate.h"

namespace cellar::cli {

// "within_slack", for JSON; the number for an unknown reason.
std::string reason_name(client::ReclaimReason reason);
// For example "goes into the merge that runs since 3.2 s ago".
std::string reason_text(const client::ReclaimFile& file, int64_t now_us);
// For all files with one reason, for example "their tablets take no writes".
std::string reason_of_many(client::ReclaimReason reason);
// The file name in the node's directory: "00000004000000a2".
std::string blob_name(uint64_t blob);

}  // namespace cellar::cli
