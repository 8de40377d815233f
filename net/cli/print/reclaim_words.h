// Why something dead is still on disk, in words.
#pragma once

#include <string>
#include <string_view>

#include "net/client/calls/reclaim_client.h"

namespace cellar::cli {

// "within_slack", for programs; of a reason that this program does not know its number.
std::string reason_name(client::ReclaimReason reason);
// "goes into the merge that runs since 3.2 s ago".
std::string reason_text(const client::ReclaimFile& file, int64_t now_us);
// The same for all files with one reason: "their tablets take no writes".
std::string reason_of_many(client::ReclaimReason reason);
// As the file is called in the node's directory: "00000004000000a2".
std::string blob_name(uint64_t blob);

}  // namespace cellar::cli
