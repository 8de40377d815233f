// ConditionalOp: one CheckAndMutateRow, ReadModifyWriteRow or MutateRow with a token in progress.
// Pooled; no coroutine. It keeps the body, because the engine may have to wait for the row. If the
// tablet is on another shard, the op travels there and back as a message.
//
// Order and deadline: see write_op.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/catalog/table_map.h"
#include "engine/engine.h"
#include "engine/filter/compiled_filter.h"
#include "io/loop/timers.h"
#include "net/server/shard/handed_over.h"
#include "net/server/shard/kept_body.h"
#include "net/wire/frame.h"
#include "net/wire/write_codec.h"

namespace cellar::server {

class Session;
class ShardServer;

class ConditionalOp final : private HandedOver {
 public:
  void begin(ShardServer& shard, Session& session, const wire::FrameHeader& header);
  // Copies the body, to be decoded into decoded().
  Bytes keep_body(Bytes body) { return body_.keep(*home_, body); }
  wire::DecodedConditional& decoded() { return decoded_; }
  // The filter of a CheckAndMutateRow, if any.
  void set_filter(engine::FilterPlan plan) { filter_ = std::move(plan); }
  // Marks the op as a MutateRow.
  void set_plain() { write_.plain = true; }
  // The content that the token of decoded(), if any, is bound to.
  void set_content(const ContentHash& content) { write_.token.content = content; }
  // Of the table.
  void set_granularity(Granularity granularity) { granularity_ = granularity; }
  // Returns the op to the pool as if it had not begun.
  void forget();
  // Submits the op. May answer the request before returning.
  void start(const engine::TabletDescriptor& tablet);

 private:
  void submit();
  static void engine_done(engine::ConditionalWrite& write);
  void come_home();
  void on_deadline();
  void finish();
  CommitStamp stamp() const;
  int64_t timestamp_us() const;
  void answer();
  void answer_cells();
  void answer_plain();

  ShardServer* home_ = nullptr;
  Session* session_ = nullptr;
  wire::FrameHeader header_;
  KeptBody body_;
  wire::DecodedConditional decoded_;
  std::string token_scope_;  // of the session, at the time of the request
  std::optional<engine::FilterPlan> filter_;
  engine::ConditionalWrite write_;
  Granularity granularity_ = Granularity::millis;
  int64_t deadline_us_ = 0;  // 0: none
  std::optional<Timer> alarm_;
  bool answered_ = false;  // by the alarm
};

}  // namespace cellar::server
