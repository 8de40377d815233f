// ConditionalOp: one CheckAndMutateRow, ReadModifyWriteRow or MutateRow with a token on its way.
// Pooled; no coroutine. It
// keeps the body, since the engine may have to wait for the row; where the tablet lives on another
// shard, it goes there as a message and comes back as one.
//
// Order and deadline are as of write_op.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/catalog/table_map.h"
#include "engine/engine.h"
#include "engine/filter/compiled_filter.h"
#include "io/loop/mailbox.h"
#include "io/loop/timers.h"
#include "net/server/shard/kept_body.h"
#include "net/wire/frame.h"
#include "net/wire/write_codec.h"

namespace cellar::server {

class Session;
class ShardServer;

class ConditionalOp final : private MailboxMessage {
 public:
  void begin(ShardServer& shard, Session& session, const wire::FrameHeader& header);
  // A copy of the body, to be decoded into decoded().
  Bytes keep_body(Bytes body) { return body_.keep(*home_, body); }
  wire::DecodedConditional& decoded() { return decoded_; }
  // Of a CheckAndMutateRow, where it has one.
  void set_filter(engine::FilterPlan plan) { filter_ = std::move(plan); }
  // It is a MutateRow.
  void set_plain() { write_.plain = true; }
  // The token of decoded(), where it has one, stands for this content.
  void set_content(const ContentHash& content) { write_.token.content = content; }
  // As though it had not begun.
  void forget();
  // Submits it. Answers the request, perhaps inside.
  void start(const engine::TabletDescriptor& tablet);

 private:
  void submit();
  static void engine_done(engine::ConditionalWrite& write);
  void come_home();
  void ring();
  void finish();
  void answer();
  void answer_cells();
  void answer_plain();

  ShardServer* home_ = nullptr;
  ShardServer* server_ = nullptr;  // of the shard that has the tablet
  Session* session_ = nullptr;
  wire::FrameHeader header_;
  KeptBody body_;
  wire::DecodedConditional decoded_;
  std::string token_scope_;  // the session's at the request
  std::optional<engine::FilterPlan> filter_;
  engine::ConditionalWrite write_;
  int64_t deadline_us_ = 0;  // 0: none
  std::optional<Timer> alarm_;
  bool answered_ = false;  // by the alarm
};

}  // namespace cellar::server
