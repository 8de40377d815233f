#include "engine/store/file/full_write.h"

namespace cellar::engine {

void FullWrite::start(File& file, uint64_t offset, std::span<const std::byte> from,
                      IoClass io_class, bool dsync) {
  file_ = &file;
  offset_ = offset;
  left_ = from;
  error.reset();
  op_ = IoOp();
  op_.kind = IoOp::Kind::write;
  op_.io_class = io_class;
  op_.dsync = dsync;
  op_.done = &FullWrite::on_io;
  op_.context = this;
  submit();
}

void FullWrite::submit() {
  op_.offset = offset_;
  op_.data = const_cast<std::byte*>(left_.data());  // a write does not modify it
  op_.size = left_.size();
  op_.result = 0;
  file_->submit(op_);
}

void FullWrite::on_io(IoOp& op) {
  auto& self = *static_cast<FullWrite*>(op.context);
  if (op.result < 0) {
    self.error = os_error(static_cast<int>(-op.result),
                          fmt::format("write of {} at {}", self.file_->path(), self.offset_));
    return self.done(self);
  }
  auto moved = static_cast<size_t>(op.result);
  if (moved >= self.left_.size()) return self.done(self);
  moved = align_down(moved);  // a direct file continues at a block boundary
  if (moved == 0) {
    self.error = Error(Errc::unavailable,
                       fmt::format("write of {} at {}: {} of {} bytes were taken, no progress",
                                   self.file_->path(), self.offset_, op.result, op.size));
    return self.done(self);
  }
  self.offset_ += moved;
  self.left_ = self.left_.subspan(moved);
  self.submit();
}

}  // namespace cellar::engine
