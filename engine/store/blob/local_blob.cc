#include "engine/store/blob/local_blob.h"

#include <cerrno>

#include "io/base/check.h"

namespace cellar::engine {

LocalBlob::~LocalBlob() {
  CHECK(in_flight_ == 0, "blob {:x} destroyed with {} reads in flight", id_.value(), in_flight_);
}

void LocalBlob::submit(BlobRead& read) {
  std::unique_ptr<Reading> reading;
  if (free_.empty()) {
    reading = std::make_unique<Reading>();
  } else {
    reading = std::move(free_.back());
    free_.pop_back();
  }
  reading->owner = this;
  reading->read = &read;
  reading->have = 0;
  reading->retries_left = kReadRetries;
  ++in_flight_;
  read.error.reset();
  read.data = Bytes();
  start(*reading.release());  // finish() takes ownership back
}

void LocalBlob::start(Reading& reading) {
  BlobRead& read = *reading.read;
  const uint64_t first = align_down(read.offset, unit_);
  const bool past_end = read.offset > size_ || read.size > size_ - read.offset;
  // A range past the end is handled by a read of its first block: done must run later from the
  // loop, and the fault is too rare for a separate path.
  const uint64_t bytes = past_end ? unit_ : align_up(read.offset + read.size, unit_) - first;
  if (past_end) {
    read.error = Error(Errc::data_loss, fmt::format("blob {:x} has {} bytes, {} at {} were asked",
                                                    id_.value(), size_, read.size, read.offset));
  }
  if (read.buffer.size() < bytes) read.buffer = AlignedBuffer(align_up(bytes));
  reading.op = IoOp();
  reading.op.io_class = read.io_class;
  reading.op.context = &reading;
  reading.op.done = &LocalBlob::on_io;
  reading.op.offset = past_end ? 0 : first;
  reading.op.size = bytes;
  issue(reading);
}

void LocalBlob::issue(Reading& reading) {
  reading.op.data = reading.read->buffer.data() + reading.have;
  reading.op.result = 0;
  file_->submit(reading.op);
}

void LocalBlob::on_io(IoOp& op) {
  auto& reading = *static_cast<Reading*>(op.context);
  reading.owner->arrived(reading);
}

void LocalBlob::arrived(Reading& reading) {
  BlobRead& read = *reading.read;
  IoOp& op = reading.op;
  if (read.error) return finish(reading);
  if (op.result == -EIO && reading.retries_left > 0) {
    --reading.retries_left;
    return issue(reading);
  }
  if (op.result < 0) {
    read.error = os_error(static_cast<int>(-op.result),
                          fmt::format("read of blob {:x} at {}", id_.value(), op.offset));
    return finish(reading);
  }
  const auto moved = static_cast<size_t>(op.result);
  const auto skip = static_cast<size_t>(read.offset % unit_);
  if (reading.have + moved >= skip + read.size) {
    read.data = read.buffer.bytes(skip, read.size);
    return finish(reading);
  }
  const size_t whole = align_down(moved, unit_);  // a direct read continues at a block boundary
  if (whole == 0) {
    read.error = Error(Errc::data_loss, fmt::format("blob {:x} ends at {} instead of {}",
                                                    id_.value(), op.offset + moved, size_));
    return finish(reading);
  }
  reading.have += whole;
  op.offset += whole;
  op.size -= whole;
  issue(reading);
}

void LocalBlob::finish(Reading& reading) {
  BlobRead& read = *reading.read;
  free_.emplace_back(&reading);
  --in_flight_;
  read.done(read);  // may destroy the read and this blob
}

}  // namespace cellar::engine
