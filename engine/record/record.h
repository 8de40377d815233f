// Records: the framing of log and manifest.
//
// A record file is a file header (file_header.h) in its first 4 KiB block, then records back to
// back in batches. A batch is the content of one write; it starts and ends on a 4 KiB boundary and
// is padded by a filler record, so no two writes share a block. The rest of the file is zeros, with
// which it was filled before its first use.
//
//   offset  size
//        0     4  crc32c over bytes 4 .. 20+length, seeded with crc_seed(owner, position)
//        4     4  length of the payload
//        8     1  type
//        9     1  flags: 1 first fragment, 2 last fragment (3: whole)
//       10     2  format version
//       12     8  durable mark
//       20     -  payload
//
// Owner and position (record_owner, and the place in the log or file) are not stored but seed the
// checksum: bytes of another file, of another place, or of an earlier use never validate.
//
// The durable mark D of a record says: when this record was written, everything before position D
// was on disk. It distinguishes damage from a torn tail. A write cut by a crash was not on disk, so
// no mark lies beyond it; invalid bytes below a valid mark were once complete, and are damage.
#pragma once

#include <cstdint>

#include "io/base/aligned_buffer.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::engine {

inline constexpr uint16_t kRecordFormatVersion = 1;
inline constexpr size_t kRecordHeaderBytes = 20;
// Longest payload of one record; longer entries are split into fragments.
inline constexpr size_t kMaxRecordPayloadBytes = 1u << 20;

// Numbers are on disk.
enum class RecordType : uint8_t {
  data = 1,
  filler = 2,  // pads a batch to the next 4 KiB boundary; its payload is zeros
  mark = 3,    // has only a durable mark
  seal = 4,    // the last record of a log closed in order
  trim = 5,    // payload: u64, positions below it are no longer needed
};
inline constexpr uint8_t kFirstFragment = 1;
inline constexpr uint8_t kLastFragment = 2;
inline constexpr uint8_t kWhole = kFirstFragment | kLastFragment;

// Numbers are on disk (as part of checksum seeds).
enum class RecordFileKind : uint8_t { log = 1, manifest = 2 };

// Seeds the checksums of a file: ids of different kinds are distinct. REQUIRES: id < 2^56.
uint64_t record_owner(RecordFileKind kind, uint64_t id);

struct RecordView {
  RecordType type = RecordType::data;
  uint8_t flags = kWhole;
  uint64_t durable_mark = 0;
  Bytes payload;  // not owned
  size_t size() const { return kRecordHeaderBytes + payload.size(); }
};

enum class RecordStatus : uint8_t {
  whole,      // a record, in RecordView
  need_more,  // more bytes are needed to decide
  zeros,      // a header of zeros: the clean end
  bad,        // anything else
};

// Parses the record at `bytes`, at `position` of `owner`. For need_more, *need is the number of
// bytes required.
RecordStatus parse_record(Bytes bytes, uint64_t owner, uint64_t position, RecordView* record,
                          size_t* need);

// Cheap test whether a batch could start at `bytes` (at least kRecordHeaderBytes), before its
// checksum is computed.
bool may_be_record(Bytes bytes, uint64_t position);

// Builds one batch in memory, to be written at `position` of `owner`.
//
// Invariant: the remaining room is 0 or enough for a filler record, so close() can end on a block
// boundary; add() takes a few bytes less if necessary.
class BatchBuilder {
 public:
  BatchBuilder() = default;
  // The batch may grow to `capacity` bytes. REQUIRES: capacity <= buffer.size(); capacity and
  // position are multiples of kIoAlignment.
  BatchBuilder(AlignedBuffer buffer, size_t capacity, uint64_t owner, uint64_t position);

  // The largest payload that the next add() takes completely; 0: nothing fits.
  size_t room() const;
  // Adds one record whose payload is a prefix of head + body, as long as the room and
  // kMaxRecordPayloadBytes allow, and returns its length. Keeps `flags` except kLastFragment, which
  // is set if and only if everything was taken. REQUIRES: room() > 0.
  size_t add(RecordType type, uint8_t flags, uint64_t durable_mark, Bytes head, Bytes body);
  // Pads to the next block boundary, so that contents() can be written; nothing may be added
  // afterwards.
  void close(uint64_t durable_mark);

  // Everything added so far.
  std::span<const std::byte> contents() const { return buffer_.span(0, used_); }
  bool empty() const { return used_ == 0; }
  uint64_t position() const { return position_; }
  uint64_t end() const { return position_ + used_; }  // of the last record added
  size_t used() const { return used_; }
  AlignedBuffer take_buffer() && { return std::move(buffer_); }

 private:
  void frame(RecordType type, uint8_t flags, uint64_t durable_mark, size_t length);

  AlignedBuffer buffer_;
  size_t capacity_ = 0;
  size_t used_ = 0;
  uint64_t owner_ = 0;
  uint64_t position_ = 0;
};

}  // namespace cellar::engine
