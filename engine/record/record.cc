#include "engine/record/record.h"

#include <algorithm>
#include <cstring>

#include "io/base/check.h"
#include "io/base/coding.h"
#include "io/base/crc32c.h"

namespace cellar::engine {
namespace {

constexpr size_t kLengthAt = 4;
constexpr size_t kTypeAt = 8;
constexpr size_t kFlagsAt = 9;
constexpr size_t kVersionAt = 10;
constexpr size_t kMarkAt = 12;

bool all_zero(Bytes b) {
  return std::all_of(b.begin(), b.end(), [](char c) { return c == 0; });
}

bool known_type(uint8_t type) {
  return type >= static_cast<uint8_t>(RecordType::data) &&
         type <= static_cast<uint8_t>(RecordType::trim);
}

}  // namespace

uint64_t record_owner(RecordFileKind kind, uint64_t id) {
  CHECK(id < 1ull << 56, "id {} of a record file does not fit", id);
  return static_cast<uint64_t>(kind) << 56 | id;
}

bool may_be_record(Bytes bytes, uint64_t position) {
  const char* p = bytes.data();
  return load_le<uint32_t>(p + kLengthAt) <= kMaxRecordPayloadBytes &&
         known_type(static_cast<uint8_t>(p[kTypeAt])) &&
         load_le<uint16_t>(p + kVersionAt) == kRecordFormatVersion &&
         load_le<uint64_t>(p + kMarkAt) <= position;
}

RecordStatus parse_record(Bytes bytes, uint64_t owner, uint64_t position, RecordView* record,
                          size_t* need) {
  *need = kRecordHeaderBytes;
  if (bytes.size() < kRecordHeaderBytes) return RecordStatus::need_more;
  if (all_zero(bytes.substr(0, kRecordHeaderBytes))) return RecordStatus::zeros;
  if (!may_be_record(bytes, position)) return RecordStatus::bad;
  const char* p = bytes.data();
  const size_t length = load_le<uint32_t>(p + kLengthAt);
  *need = kRecordHeaderBytes + length;
  if (bytes.size() < *need) return RecordStatus::need_more;
  const Bytes checked = bytes.substr(kLengthAt, kRecordHeaderBytes - kLengthAt + length);
  if (crc32c(checked, crc_seed(owner, position)) != load_le<uint32_t>(p)) return RecordStatus::bad;
  record->type = static_cast<RecordType>(p[kTypeAt]);
  record->flags = static_cast<uint8_t>(p[kFlagsAt]);
  record->durable_mark = load_le<uint64_t>(p + kMarkAt);
  record->payload = bytes.substr(kRecordHeaderBytes, length);
  return RecordStatus::whole;
}

BatchBuilder::BatchBuilder(AlignedBuffer buffer, size_t capacity, uint64_t owner, uint64_t position)
    : buffer_(std::move(buffer)), capacity_(capacity), owner_(owner), position_(position) {
  CHECK(capacity <= buffer_.size() && capacity % kIoAlignment == 0 && position % kIoAlignment == 0,
        "batch of {} bytes at {} in a buffer of {}", capacity, position, buffer_.size());
}

size_t BatchBuilder::room() const {
  const size_t left = capacity_ - used_;
  // This record's header and one byte of payload, followed by nothing or by a filler record.
  if (left < 2 * kRecordHeaderBytes + 1) return 0;
  return std::min(left - 2 * kRecordHeaderBytes, kMaxRecordPayloadBytes);
}

void BatchBuilder::frame(RecordType type, uint8_t flags, uint64_t durable_mark, size_t length) {
  char* p = buffer_.chars() + used_;
  store_le(p + kLengthAt, static_cast<uint32_t>(length));
  p[kTypeAt] = static_cast<char>(type);
  p[kFlagsAt] = static_cast<char>(flags);
  store_le(p + kVersionAt, kRecordFormatVersion);
  store_le(p + kMarkAt, durable_mark);
  const Bytes checked(p + kLengthAt, kRecordHeaderBytes - kLengthAt + length);
  store_le(p, crc32c(checked, crc_seed(owner_, position_ + used_)));
  used_ += kRecordHeaderBytes + length;
}

size_t BatchBuilder::add(RecordType type, uint8_t flags, uint64_t durable_mark, Bytes head,
                         Bytes body) {
  const size_t room_now = room();
  const size_t wanted = head.size() + body.size();
  CHECK(room_now > 0, "batch at {} is full", position_);
  const size_t taken = std::min(wanted, room_now);
  char* payload = buffer_.chars() + used_ + kRecordHeaderBytes;
  const size_t of_head = std::min(taken, head.size());
  std::copy_n(head.data(), of_head, payload);
  std::copy_n(body.data(), taken - of_head, payload + of_head);
  const auto last = static_cast<uint8_t>(taken == wanted ? kLastFragment : 0);
  frame(type, static_cast<uint8_t>((flags & ~kLastFragment) | last), durable_mark, taken);
  return taken;
}

void BatchBuilder::close(uint64_t durable_mark) {
  size_t fill = align_up(used_) - used_;
  if (fill > 0) {
    if (fill < kRecordHeaderBytes) fill += kIoAlignment;
    CHECK(used_ + fill <= capacity_, "no room for the filler of the batch at {}", position_);
    std::memset(buffer_.chars() + used_ + kRecordHeaderBytes, 0, fill - kRecordHeaderBytes);
    frame(RecordType::filler, kWhole, durable_mark, fill - kRecordHeaderBytes);
  }
  capacity_ = used_;
}

}  // namespace cellar::engine
