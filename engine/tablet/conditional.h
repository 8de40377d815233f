// Conditional writes: from the reading of a row to the commit that depends on it.
//
//   begin: validated; the row is read at the tablet's last stamp, in one synchronous call
//     everything in memory -> the commit, in the same call
//     blocks missing       -> the row is opened (row_lock_table.h); blocks are loaded and reading
//                             continues; then the commit; the row is closed
//
// Atomicity. Every write to the row that arrives after the reading began waits for the open row, so
// only time and the schema can change what was read. Both may change while blocks are loaded;
// therefore the row is read again from its beginning, in one call, before the commit. With the
// blocks in the cache that rarely waits again. If it does (a cache too small, a row too long for
// one call), the last reading counts only if neither time nor the schema has changed its result at
// the commit's stamp: no returned cell is dead by then. Otherwise the write is ABORTED and may be
// repeated.
//
// A reading first looks up the write's token (token_memory.h), unless the token is known to be new.
// If it is found, its record is the answer and the row is not read; otherwise it is committed with
// the mutation. No other write to the row can commit it meanwhile, because they wait.
//
// What was read need not be durable yet: all levels share one log in order, so the commit becomes
// durable after the commits it read. An answer without a commit waits until they are durable.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/read/scan.h"
#include "engine/write/row_modify.h"
#include "engine/write/token_lookup.h"
#include "io/loop/async.h"
#include "io/loop/gate.h"

namespace cellar::engine {

class Tablet;

// Validates as Engine::submit() documents: form, then existence.
Result<void> validate(const ConditionalWrite& write, const TableSchema& schema,
                      const MutationLimits& limits);

class FirstDeath;

// One reading of the row and of its record for the write's token.
class RowReading {
 public:
  // `may_wait`: the result may be used although the reading waited, so it keeps what still_holds()
  // needs.
  RowReading(Tablet& tablet, ConditionalWrite& write, bool may_wait = false);
  // The token is looked up first, regardless of the schema: a family that existed at the first
  // attempt may have been dropped. Otherwise as validate() and check_issue().
  Result<void> open();
  // done: the result is known. blocked, yielded, failed as in ScanCursor.
  ScanStep run();
  Async<void> load() { return token_ ? token_->load() : cursor_->load(); }
  const Error& error() const { return token_ ? token_->error() : cursor_->error(); }
  // REQUIRES: done. The first answer; null: the write is not a repetition.
  const TokenLookup* known() const { return token_ ? &*token_ : nullptr; }
  bool matched() const { return exists_.found; }
  // Validates the write by the present schema. REQUIRES: done, not known.
  Result<void> check_schema() const;
  // A reading at `stamp` would give the same result, as far as time and the schema are concerned.
  // REQUIRES: done; made with `may_wait` if it has waited.
  bool still_holds(CommitStamp stamp) const;
  RowModify* modify() { return modify_ ? &*modify_ : nullptr; }

 private:
  struct Exists final : CellSink {
    bool found = false;
    Flow cell(const CellView&) override {
      found = true;
      return Flow::pause;
    }
    Flow end_row(Bytes) override { return Flow::pause; }
  };
  struct AsOf final : VisibleStamp {
    CommitStamp stamp;
    CommitStamp visible_stamp() const override { return stamp; }
  };

  Result<void> open_token();

  Tablet& tablet_;
  ConditionalWrite& write_;
  std::optional<TokenLookup> token_;  // during the lookup, and after it if found
  AsOf as_of_;
  Exists exists_;
  std::optional<RowModify> modify_;
  NamedColumns columns_;                // of modify_, unless they are too many
  std::unique_ptr<ScanCursor> cursor_;  // null: the row is not read
  const bool may_wait_;
  const FirstDeath* first_death_ = nullptr;  // the cursor's; null: deaths are not recorded
  uint64_t schema_version_ = 0;              // of the cursor and of valid_
  Result<void> valid_;                       // an error: only the token is looked up
};

// True: the write is finished (committed, refused or answered). False: it continues in the
// background with the row open, and closes it. REQUIRES: the row is not open for another write; its
// key is valid.
bool begin_conditional(Tablet& tablet, ConditionalWrite& write);

}  // namespace cellar::engine
