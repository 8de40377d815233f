// What a write of one row has done, for people and programs.
#pragma once

#include "net/cli/session/session.h"
#include "net/client/api/mutation.h"
#include "net/client/codec/requests.h"

namespace cellar::cli {

// The commit of a write: from MutateReply or CheckAndMutateReply.
struct Committed {
  uint64_t stamp_ns = 0;     // 0: not known, because the answer is a repetition
  int64_t timestamp_us = 0;  // of the cells that the server stamped
  bool repeated = false;     // an earlier write with the same token was committed
};

// "committed at 2026-11-26 06:25:00.123456Z\n"; empty if that is not known.
std::string commit_line(const Committed& committed);

// Prints the row, a line for each operation, and when they were committed. Long values are cut.
void print_write(const Session& session, Bytes row, const client::Mutation& mutation,
                 const Committed& committed);

// `,"row":"r","operations":2,"commit_stamp":"17...","timestamp":17...`: members of a JSON object. A
// stamp is a string, because it has more digits than a double.
std::string write_json(const Session& session, Bytes row, const client::Mutation& mutation,
                       const Committed& committed);

}  // namespace cellar::cli
