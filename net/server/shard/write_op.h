// Writes in progress. SingleWrite is the short path: one row whose tablet is on this shard.
// BatchWrite is everything else: rows of several tablets, a tablet of another shard, or a range
// delete over many tablets. Both are pooled; neither is a coroutine.
//
// A row whose tablet is held for a reshape (engine/catalog/table_map.h) is not submitted: the whole
// request returns to its session before any of it took effect (Session::hold). Parts sent to
// another shard before their tablet was held arrive there before it is sealed, so no part of a
// batch or range delete meets a tablet that is gone.
//
// Order: rows are submitted, or sent to other shards, inside the call that handles the frame and in
// frame order. A row's tablet is on one shard and a mailbox keeps the order of a pair, so the
// writes of a connection to one row apply in the order sent.
//
// Deadline: a part that reaches another shard too late is not applied there. A write accepted by
// the engine is not withdrawn; if it is not durable in time, the answer is "maybe applied".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/catalog/table_map.h"
#include "engine/engine.h"
#include "io/loop/timers.h"
#include "net/server/shard/handed_over.h"
#include "net/server/shard/kept_body.h"
#include "net/wire/frame.h"
#include "net/wire/write_codec.h"

namespace cellar::server {

class Session;
class ShardServer;

struct SingleWrite {
  // The form of the answer: a MutateRowReply, or a PutReply.
  enum class Layout : uint8_t { flatbuffer, fixed };

  ShardServer* shard = nullptr;
  Session* session = nullptr;
  wire::FrameHeader header;
  engine::Write write;
  std::optional<Timer> alarm;  // at the deadline, if there is one
  bool answered = false;       // by the alarm, while the engine still has the write
  Layout layout = Layout::flatbuffer;
  Granularity granularity = Granularity::millis;  // of the table
};

// The timestamp of the cells that the server stamped in a commit.
int64_t server_timestamp_us(CommitStamp stamp, Granularity granularity);

// DEADLINE_EXCEEDED for a write.
Error overdue_error(const wire::FrameHeader& header, Applied applied);

// Submits decoded row 0 to the tablet, which is on this shard, and answers the request.
void start_single_write(ShardServer& shard, Session& session, const wire::FrameHeader& header,
                        const wire::DecodedWrites& decoded, const engine::TabletDescriptor& tablet,
                        Granularity granularity, SingleWrite::Layout layout);

class BatchWrite {
 public:
  enum class Answer : uint8_t { one_row, put, many_rows, drop };

  // For the answer to a request on one row: that of its table.
  void set_granularity(Granularity granularity) { granularity_ = granularity; }
  // Starts without parts: add() them in order, then call start().
  void begin(ShardServer& shard, Session& session, const wire::FrameHeader& header, Answer answer,
             size_t parts);
  // Copies the body for shards that need it later (kept_body.h).
  Bytes keep_body(Bytes body) { return body_.keep(*home_, body); }
  // The bounds of a range delete; the views are valid until the answer.
  RangeDelete keep_range(std::string start, std::string end);
  // The token of that range, valid until the answer. `dropped_before`: how many tablets committed
  // it in a first step (drop_step.h), the latest as `first_stamp`; empty: there was no such step.
  const WriteToken* keep_range_token(Bytes token, int64_t issued_us,
                                     std::optional<uint32_t> dropped_before,
                                     CommitStamp first_stamp);
  wire::DecodedWrites& decoded() { return decoded_; }
  // Adds part `index` for `tablet`. The caller fills in the result before start().
  engine::Write& add(size_t index, const engine::TabletDescriptor& tablet);
  // Adds decoded row `index`, which has a token, as part `index`.
  void add_with_token(size_t index, const engine::TabletDescriptor& tablet);
  // Part `index` failed before submission.
  void refuse(size_t index, Error error);
  // Instead of start(): returns the batch to the pool as if it had not begun.
  void forget();
  // Submits all parts. Answers the request when the last one is done, possibly before returning.
  void start();

 private:
  // The parts for one shard, and the message that carries them there and back.
  struct SubBatch : HandedOver {
    BatchWrite* batch = nullptr;
    std::vector<uint32_t> parts;
    size_t left = 0;
  };

  SubBatch& sub_batch_on(ShardId shard);
  static void submit(SubBatch& sub);
  static void part_done(engine::Write& write);
  static void token_part_done(engine::ConditionalWrite& write);
  void submit_part(ShardServer& server, uint32_t part);
  static void sub_batch_done(SubBatch& sub);
  static constexpr size_t kKeepParts = 128;

  void refuse_overdue(SubBatch& sub);
  void trim(bool was_large);
  void on_deadline();
  void finish_sub_batch();
  void answer();
  void answer_drop();
  void answer_many();

  ShardServer* home_ = nullptr;
  Session* session_ = nullptr;
  wire::FrameHeader header_;
  Answer answer_ = Answer::one_row;
  Granularity granularity_ = Granularity::millis;
  KeptBody body_;
  std::string range_start_;
  std::string range_end_;
  std::string range_token_text_;
  WriteToken range_token_;
  std::optional<uint32_t> dropped_before_;  // tablets committed by a first step (drop_step.h)
  CommitStamp first_stamp_;                 // of that step
  wire::DecodedWrites decoded_;
  std::unique_ptr<engine::Write[]> writes_;
  size_t writes_capacity_ = 0;
  // Used instead of writes_ for parts with a token; the engine answers through the part.
  // empty: no part has a token
  std::vector<std::unique_ptr<engine::ConditionalWrite>> token_writes_;
  std::string token_scope_;  // of those, or of the range's token
  size_t parts_ = 0;
  std::vector<std::unique_ptr<SubBatch>> sub_batches_;
  size_t sub_batches_used_ = 0;
  size_t sub_batches_left_ = 0;
  int64_t deadline_us_ = 0;  // valid on every shard's loop; 0: none
  std::optional<Timer> alarm_;
  bool answered_ = false;  // by the alarm
};

}  // namespace cellar::server
