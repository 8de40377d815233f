// Conditional writes: what happens between the reading of a row and the commit that follows from
// it.
//
//   begin: checked; the row is read as of the tablet's last stamp, in one plain call
//     everything in memory -> the commit, in the same call
//     blocks missing       -> the row is open (row_lock_table.h); load, read on; then the commit;
//                             the row is closed
//
// Why it is atomic. Every write to the row since the reading began waits behind the open row, so
// that nothing has changed it but time. Since time may pass, and the schema may change, while
// blocks are loaded, the row is read again from its beginning, in one call, before the commit; with
// the blocks at hand that rarely waits again. Where it does (a cache too small, a row too long for
// one call), the reading of the last round counts only if neither time nor the schema has changed
// what it saw by the commit's stamp: no cell that it gave is dead by then. Else the write is
// ABORTED, and may be repeated.
//
// A token (token_memory.h) is the first thing that a reading looks for, unless it is known to be
// new. Where it is there, its record is the answer and the row is not read; where it is not, it
// goes with the commit. No other write to the row can bring it meanwhile, for they wait.
//
// What was read need not be durable yet: all levels enter one log in order, so the commit becomes
// durable after what it builds on. An answer that comes without a commit waits for that by itself.
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

// As submit() of Engine says: form, then existence.
Result<void> validate(const ConditionalWrite& write, const TableSchema& schema,
                      const MutationLimits& limits);

class FirstDeath;

// One reading of the row, and of what is remembered there of the write's token.
class RowReading {
 public:
  // `may_wait`: it may be settled though it had to wait, so it keeps what still_holds() needs.
  RowReading(Tablet& tablet, ConditionalWrite& write, bool may_wait = false);
  // A token is looked for first, whatever the schema says of the write: what it was valid for when
  // it came for the first time may be gone. Otherwise as validate() and check_issue() say.
  Result<void> open();
  // done: what it was read for is known. blocked, yielded, failed as of ScanCursor.
  ScanStep run();
  Async<void> load() { return token_ ? token_->load() : cursor_->load(); }
  const Error& error() const { return token_ ? token_->error() : cursor_->error(); }
  // REQUIRES: done. The first answer; null: the write is no repetition.
  const TokenLookup* known() const { return token_ ? &*token_ : nullptr; }
  bool matched() const { return exists_.found; }
  // The write is valid, by the schema of now. REQUIRES: done, not known.
  Result<void> check_schema() const;
  // What was read is what a reading at `stamp` would give, as far as time and the schema go.
  // REQUIRES: done; made with `may_wait` where it has waited.
  bool still_holds(CommitStamp stamp) const;
  RowModify* modify() { return modify_ ? &*modify_ : nullptr; }

 private:
  // Content with one cell.
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
  std::optional<TokenLookup> token_;  // while it is looked for, and when it is found
  AsOf as_of_;
  Exists exists_;
  std::optional<RowModify> modify_;
  NamedColumns columns_;                // that modify_ is about, unless they are many
  std::unique_ptr<ScanCursor> cursor_;  // null: nothing of the row is asked for
  const bool may_wait_;
  const FirstDeath* first_death_ = nullptr;  // the cursor's; null: nothing is noted
  uint64_t schema_version_ = 0;              // that the cursor and valid_ go by
  Result<void> valid_;                       // not: only the token is looked for
};

// True: the write is through (committed, refused or answered). False: it goes on by itself, with
// the row open, and closes it. REQUIRES: the row is not open for another; its key is valid.
bool begin_conditional(Tablet& tablet, ConditionalWrite& write);

}  // namespace cellar::engine
