#include "engine/store/rados/rados_blob.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "engine/store/rados/rados_blob_names.h"
#include "engine/store/rados/rados_blob_store.h"
#include "io/base/check.h"

namespace cellar::engine {

Async<Result<RadosHead>> read_head(RadosObjects& objects, BlobId id) {
  CO_TRY(auto xattrs, co_await objects.xattrs(head_name(id)));
  RadosHead head;
  head.attempt = xattrs[std::string(kAttemptXattr)];
  const std::string& state = xattrs[std::string(kStateXattr)];
  head.sealed = state == kSealed;
  const std::string& size = xattrs[std::string(kSizeXattr)];
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), head.size);
  const bool whole = error == std::errc() && end == size.data() + size.size();
  if (head.attempt.empty() || (!head.sealed && state != kOpen) || (head.sealed && !whole)) {
    co_return fail(Errc::data_loss, "RADOS object '{}' is no head of a blob", head_name(id));
  }
  co_return head;
}

Async<Result<bool>> remove_head(RadosObjects& objects, BlobId id, std::string attempt) {
  RadosWrite write;
  write.require_exists().require_xattr(std::string(kAttemptXattr), attempt).remove();
  CO_TRY(const auto made, co_await objects.write(head_name(id), std::move(write)));
  if (made == RadosObjects::Made::yes) co_return true;
  const auto now = co_await objects.xattrs(head_name(id));
  if (now) co_return false;
  // Removed, perhaps by an earlier copy.
  if (now.error().code == Errc::not_found) co_return true;
  co_return std::unexpected(now.error());
}

Async<Result<void>> remove_pieces(RadosObjects& objects, BlobId id, std::string attempt,
                                  uint64_t pieces) {
  for (uint64_t number = 1; number < pieces; ++number) {
    CO_TRY_VOID(co_await objects.remove(piece_name(id, attempt, number)));
  }
  co_return Result<void>();
}

std::string RadosBlob::name_of(uint64_t number) const {
  return number == 0 ? head_name(id_) : piece_name(id_, attempt_, number);
}

void RadosBlob::submit(BlobRead& read) {
  spawn(objects_.runtime().executor, carry_out(*this, read));
}

Async<void> RadosBlob::carry_out(RadosBlob& self, BlobRead& read) {
  co_await yield_now();  // done() never runs inside submit()
  const uint64_t size = self.size_;
  if (read.offset > size || read.size > size - read.offset) {
    read.error =
        Error(Errc::data_loss, fmt::format("blob {:x} has {} bytes, and {} at {} were asked for",
                                           self.id_.value(), size, read.size, read.offset));
    read.done(read);
    co_return;
  }
  read.buffer = AlignedBuffer(read.size);
  for (size_t got = 0; got < read.size;) {
    const uint64_t number = (read.offset + got) / kRadosPieceBytes;
    const uint64_t within = (read.offset + got) % kRadosPieceBytes;
    const size_t wanted = std::min<uint64_t>(read.size - got, kRadosPieceBytes - within);
    const auto bytes = co_await self.objects_.read(self.name_of(number), within, wanted, true);
    if (bytes && bytes->data.size() == wanted) {
      std::memcpy(read.buffer.chars() + got, bytes->data.data(), wanted);
      got += wanted;
      continue;
    }
    // An absent or short piece of a sealed blob is damage.
    if (!bytes && bytes.error().code != Errc::not_found) {
      read.error = bytes.error();
    } else {
      read.error = Error(Errc::data_loss, fmt::format("RADOS object '{}' is missing or short",
                                                      self.name_of(number)));
    }
    break;
  }
  if (!read.error) read.data = read.buffer.bytes(0, read.size);
  read.done(read);
}

RadosBlobWriter::~RadosBlobWriter() {
  CHECK(in_flight_ == 0, "a writer of blob {:x} goes with {} pieces in flight", id_.value(),
        in_flight_);
}

Async<Result<void>> RadosBlobWriter::append(Bytes part) {
  CHECK(!over_, "an append to a blob that is sealed or abandoned");
  while (!part.empty() && !error_) {
    std::string& piece = pieces_ == 0 ? head_ : filling_;
    const size_t taken = std::min(part.size(), kRadosPieceBytes - piece.size());
    piece.append(part.substr(0, taken));
    part.remove_prefix(taken);
    size_ += taken;
    if (piece.size() == kRadosPieceBytes) co_await hand_over();
  }
  if (error_) co_return std::unexpected(*error_);
  co_return Result<void>();
}

Async<void> RadosBlobWriter::hand_over() {
  const uint64_t number = pieces_++;
  if (number == 0) co_return;
  while (in_flight_ == RadosBlobStore::kPiecesInFlight) co_await landed_.wait();
  std::string content = std::exchange(filling_, std::string());
  ++in_flight_;
  spawn(objects_.runtime().executor, [this, number, content = std::move(content)]() mutable {
    return write_piece(*this, number, std::move(content));
  });
}

Async<void> RadosBlobWriter::write_piece(RadosBlobWriter& self, uint64_t number,
                                         std::string content) {
  auto made =
      co_await self.objects_.put(piece_name(self.id_, self.attempt_, number), std::move(content));
  if (!made && !self.error_) self.error_ = std::move(made).error();
  --self.in_flight_;
  self.landed_.notify_all();
}

Async<void> RadosBlobWriter::wait_for_all() {
  while (in_flight_ > 0) co_await landed_.wait();
}

Async<Result<void>> RadosBlobWriter::seal() {
  CHECK(!over_, "a blob is sealed or abandoned twice");
  if (!filling_.empty()) co_await hand_over();
  co_await wait_for_all();
  if (error_) co_return std::unexpected(*error_);
  auto sealed = co_await write_seal();
  if (sealed) over_ = true;
  co_return sealed;
}

Async<Result<void>> RadosBlobWriter::write_seal() {
  RadosWrite write;
  write.require_exists()
      .require_xattr(std::string(kAttemptXattr), attempt_)
      .require_xattr(std::string(kStateXattr), std::string(kOpen))
      .write_full(std::move(head_))
      .set_xattr(std::string(kSizeXattr), std::to_string(size_))
      .set_xattr(std::string(kStateXattr), std::string(kSealed));
  CO_TRY(const auto made, co_await objects_.write(head_name(id_), std::move(write)));
  if (made == RadosObjects::Made::yes) co_return Result<void>();
  // Perhaps by an earlier copy of the seal.
  CO_TRY(const RadosHead head, co_await read_head(objects_, id_));
  if (head.sealed && head.attempt == attempt_) co_return Result<void>();
  co_return fail(Errc::aborted, "blob {:x} was removed while it was written", id_.value());
}

Async<Result<void>> RadosBlobWriter::abandon() {
  over_ = true;
  co_await wait_for_all();
  // If another attempt has the head, the pieces of this one go all the same.
  CO_TRY_VOID(co_await remove_head(objects_, id_, attempt_));
  co_return co_await remove_pieces(objects_, id_, attempt_, pieces_);
}

}  // namespace cellar::engine
