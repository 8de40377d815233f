// Output of a session: queued answers and their transmission.
#include <algorithm>
#include <array>

#include "io/base/time_text.h"
#include "net/server/limits/admission.h"
#include "net/server/shard/session.h"
#include "net/server/shard/shard_server.h"
#include "net/wire/chunk_builder.h"

namespace cellar::server {

using wire::FrameHeader;
using wire::FrameKind;
static_assert(kFlushBytes <= wire::ChunkBuilder::kDefaultChunkBytes, "chunks are sent at once");

void Session::append(const FrameHeader& request, FrameKind kind, uint16_t flags,
                     const wire::BodyParts& body) {
  if (broken_) return;
  FrameHeader header;
  header.body_bytes = static_cast<uint32_t>(wire::pad_to_8(body.size()));
  header.kind = kind;
  header.op = request.op;
  header.flags = flags;
  header.request_id = request.request_id;
  constexpr char kZeros[8] = {};
  const Bytes zeros(kZeros, header.body_bytes - body.size());
  if (request.flags & wire::kFrameChecked)
    wire::add_checksum(header, {body.head, body.tail, zeros});
  wire::append_header(out_, header);
  out_.append(body.head);
  const bool is_large = body.size() >= kFlushBytes && !body.tail.empty() && zeros.empty();
  if (is_large && !writer_active_) return send_with(body.tail);
  out_.append(body.tail);
  out_.append(zeros);
  after_append();
}

// Sends what is queued and then `tail`, from where it lies. What the peer does not accept is
// queued.
void Session::send_with(Bytes tail) {
  const std::array<Bytes, 2> parts{Bytes(out_).substr(out_begin_), tail};
  const Result<size_t> n = stream_->try_write(parts);
  if (!n) return close();
  const size_t of_queue = std::min(*n, parts[0].size());
  out_begin_ += of_queue;
  if (out_begin_ == out_.size()) {
    out_.clear();
    out_begin_ = 0;
  }
  out_.append(tail.substr(*n - of_queue));
  sent(*n);
}

// Answers that leave with this turn's write are not counted in the node's memory, which all shards
// share.
void Session::after_append() {
  if (pending_bytes() >= counted_bytes_ + kUncountedBytes) count_pending();
  if (!flush_queued) shard_.queue_flush(*this);
  if (out_.size() - out_begin_ >= kFlushBytes) flush();
}

Session::AnswerSpace Session::begin_answer() {
  const size_t at = out_.size();
  out_.append(wire::kHeaderBytes, '\0');
  return {out_, at};
}

void Session::finish_answer(const FrameHeader& request, const AnswerSpace& space) {
  FrameHeader header;
  header.body_bytes = static_cast<uint32_t>(out_.size() - space.at - wire::kHeaderBytes);
  header.kind = FrameKind::reply;
  header.op = request.op;
  header.request_id = request.request_id;
  wire::store_header(out_.data() + space.at, header);
  if (request.flags & wire::kFrameChecked) wire::add_checksum(out_, space.at);
  after_append();
  finish_request(request, Errc::ok);
}

void Session::finish_request(const FrameHeader& request, Errc code) {
  if (!logged_.empty()) record_outcome(request.request_id, errc_name(code));
  Times times;
  if (current_.open && current_.request_id == request.request_id) {
    times = current_.times;
    current_.open = false;
  } else {
    const auto found = times_.find(request.request_id);
    CHECK(found != times_.end(), "a request of {} was answered twice", peer_);
    times = found->second;
    times_.erase(found);
  }
  shard_.meter().answered({this, request.request_id, request.table_id, times.received_us,
                           times.began_us, shard_.timers().now_us(), request.op, code});
  --in_flight_;
  changed_.notify_all();
}

void Session::reply(const FrameHeader& request, const wire::BodyParts& body, FrameKind kind) {
  append(request, kind, 0, body);
  finish_request(request, Errc::ok);
}

void Session::reply_error(const FrameHeader& request, const Error& error,
                          const wire::TabletHint* hint) {
  append(request, FrameKind::reply, wire::kFrameError,
         wire::build_status(shard_.builder(), error, hint));
  finish_request(request, error.code);
}

void Session::record_outcome(uint32_t request_id, std::string_view outcome) {
  const auto found = logged_.find(request_id);
  if (found == logged_.end()) return;
  found->second.outcome = outcome;
  shard_.security().audit(std::move(found->second));
  logged_.erase(found);
}

void Session::chunk(const FrameHeader& request, const wire::BodyParts& body) {
  append(request, FrameKind::chunk, 0, body);
}

size_t Session::tell_stale(TabletPlaces& current) {
  std::vector<HandleTable::Stale> stale;
  handles_.take_stale(current, stale);
  for (const HandleTable::Stale& one : stale) {
    if (broken_) break;
    auto& builder = shard_.builder();
    builder.Clear();
    const Bytes body =
        wire::finish_body(builder, wire::fb::CreateStale(builder, one.now.epoch, one.now.shard));
    FrameHeader header;
    header.kind = FrameKind::stale;
    header.handle = one.handle;
    header.body_bytes = static_cast<uint32_t>(body.size());
    wire::append_header(out_, header);
    out_.append(body);
    after_append();
  }
  return handles_.size();
}

void Session::reply_malformed(const FrameHeader& request, const Error& error) {
  reply_error(request, error);
  count_malformed(error);
}

void Session::count_malformed(const Error& error) {
  if (++malformed_ < kMaxMalformedBodies) return;
  flush();
  garbage(error);
  broken_ = true;
}

void Session::flush() {
  if (writer_active_ || broken_ || out_.size() == out_begin_) return;
  const Bytes part = Bytes(out_).substr(out_begin_);
  const Result<size_t> n = stream_->try_write({&part, 1});
  if (!n) return close();
  out_begin_ += *n;
  sent(*n);
}

// After bytes were sent; the rest of the answers is queued.
void Session::sent(size_t bytes) {
  shard_.count_sent(bytes);
  if (out_begin_ == out_.size()) {
    out_.clear();
    out_begin_ = 0;
    if (out_.capacity() > kKeepOutputBytes) out_.shrink_to_fit();
  } else {
    writer_active_ = true;
    written_us_ = shard_.timers().now_us();
    spawn(shard_.executor(), write_rest());
  }
  count_pending();
  changed_.notify_all();
}

// Sends the rest piece by piece, so that progress is visible.
Async<void> Session::write_rest() {
  while (!broken_ && out_.size() > out_begin_) {
    const size_t n = std::min(out_.size() - out_begin_, kFlushBytes);
    writing_.assign(out_, out_begin_, n);
    out_begin_ += n;
    if (out_begin_ == out_.size()) {
      out_.clear();
      out_begin_ = 0;
      if (out_.capacity() > kKeepOutputBytes) out_.shrink_to_fit();
    } else if (out_begin_ >= kMaxPendingReplyBytes && out_begin_ >= out_.size() / 2) {
      // Moves at most as many bytes as were written since the last move.
      out_.erase(0, out_begin_);
      out_begin_ = 0;
    }
    const Bytes part = writing_;
    const Result<void> written = co_await stream_->write({&part, 1});
    shard_.count_sent(part.size());
    writing_.clear();
    if (!written) close();
    written_us_ = shard_.timers().now_us();
    count_pending();
    resume_reads();
    changed_.notify_all();
  }
  writer_active_ = false;
  changed_.notify_all();
}

void Session::count_pending() {
  const size_t now = pending_bytes();
  const auto change = static_cast<ptrdiff_t>(now) - static_cast<ptrdiff_t>(counted_bytes_);
  if (change == 0) return;
  shard_.admission().pending_reply_bytes(change);
  shard_.count_answers(change);
  counted_bytes_ = now;
}

}  // namespace cellar::server
