// TokenLookup: what is remembered of a token, wherever it lies: in the memtables, commits that are
// not visible yet included, or in tables that may hold tokens that count.
#pragma once

#include <string>

#include "engine/iter/merging_iterator.h"
#include "engine/model/token.h"
#include "engine/sstable/row_probe.h"
#include "engine/version/version.h"
#include "io/loop/async.h"

namespace cellar::engine {

class TokenLookup {
 public:
  // `prefix`: the token's key without its stamp. Pins the version.
  TokenLookup(Ref<const Version> version, std::string prefix, int64_t now_us);

  // ready: it is there. end: it is not. blocked: load(), then once more. failed: error().
  Step run();
  Async<void> load();
  const Error& error() const { return *error_; }

  // REQUIRES: run() was ready. The commit that the token came with, and its record, which views
  // this.
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
