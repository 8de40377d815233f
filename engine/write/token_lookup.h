// TokenLookup: reads the record of a token from the memtables, including commits that are not
// visible yet, or from tables that may hold unexpired tokens.
#pragma once

#include <string>

#include "engine/iter/merging_iterator.h"
#include "engine/model/token.h"
#include "engine/sstable/wanted_entries.h"
#include "engine/version/version.h"
#include "io/loop/async.h"

namespace cellar::engine {

class TokenLookup {
 public:
  // `prefix`: the token's key without its stamp. Pins the version.
  TokenLookup(Ref<const Version> version, std::string prefix, int64_t now_us);

  // ready: found. end: not found. blocked: load(), then run again. failed: error().
  Step run();
  Async<void> load();
  const Error& error() const { return *error_; }

  // REQUIRES: run() was ready. The commit that carried the token, and its record, which views this.
  CommitStamp stamp() const { return stamp_; }
  const TokenRecord& record() const { return record_; }

 private:
  Ref<const Version> version_;
  std::string prefix_;
  int64_t now_us_;
  RowProbe probe_;  // for the token
  MergingIterator merge_;
  bool begun_ = false;
  CommitStamp stamp_;
  TokenRecord record_;
  std::optional<Error> error_;
};

}  // namespace cellar::engine
