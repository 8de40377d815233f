#include "net/wire/frame.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "io/base/check.h"
#include "io/base/coding.h"
#include "io/base/crc32c.h"

namespace cellar::wire {

void append_preface(std::string& out, const Preface& preface) {
  put_u64(out, preface.routing_hint);
  out.append(kMagic);
  put_u16(out, preface.version);
}

Result<void> parse_preface(Bytes b, Preface& out) {
  constexpr size_t kHintBytes = 8;
  if (b.size() > kHintBytes) {
    const Bytes magic = b.substr(kHintBytes, kMagic.size());
    if (magic != kMagic.substr(0, magic.size())) {
      return fail(Errc::invalid_argument, "this is not the Cellar protocol: {} where '{}' belongs",
                  escape_bytes(magic), kMagic);
    }
  }
  if (b.size() < kPrefaceBytes) return {};
  out.routing_hint = load_le<uint64_t>(b.data());
  out.version = load_le<uint16_t>(b.data() + kHintBytes + kMagic.size());
  if (out.version != kProtocolVersion) {
    return fail(Errc::invalid_argument, "protocol version {} is not {}", out.version,
                kProtocolVersion);
  }
  return {};
}

namespace {

// A header as it is sent. Little-endian machine, no padding: see coding.h.
struct StoredHeader {
  uint32_t body_bytes;
  uint8_t kind;
  uint8_t op;
  uint16_t flags;
  uint32_t request_id;
  uint32_t handle;
  uint32_t deadline_ms;
  uint32_t checksum;
};
static_assert(sizeof(StoredHeader) == kHeaderBytes);
static_assert(offsetof(StoredHeader, request_id) == kRequestIdAt);

FrameHeader load_header(const char* from) {
  StoredHeader stored;
  std::memcpy(&stored, from, sizeof stored);
  FrameHeader header;
  header.body_bytes = stored.body_bytes;
  header.kind = static_cast<FrameKind>(stored.kind);
  header.op = stored.op;
  header.flags = stored.flags;
  header.request_id = stored.request_id;
  header.handle = stored.handle;
  header.deadline_ms = stored.deadline_ms;
  header.checksum = stored.checksum;
  return header;
}

// A body is checked once, when it is complete.
Result<void> check_body(const Frame& frame) {
  if ((frame.header.flags & kFrameChecked) == 0) return {};
  const uint32_t found = crc32c(frame.body);
  if (found == frame.header.checksum) return {};
  return fail(Errc::invalid_argument, "the body of request {} has checksum {:#x} instead of {:#x}",
              frame.header.request_id, found, frame.header.checksum);
}

}  // namespace

void store_header(char* to, const FrameHeader& header) {
  const StoredHeader stored{header.body_bytes,
                            static_cast<uint8_t>(header.kind),
                            static_cast<uint8_t>(header.op),
                            header.flags,
                            header.request_id,
                            header.handle,
                            header.deadline_ms,
                            header.checksum};
  std::memcpy(to, &stored, sizeof stored);
}

void append_header(std::string& out, const FrameHeader& header) {
  char stored[kHeaderBytes];
  store_header(stored, header);
  out.append(stored, sizeof stored);
}

void add_checksum(std::string& out, size_t at) {
  FrameHeader header = load_header(out.data() + at);
  add_checksum(header, {Bytes(out).substr(at + kHeaderBytes)});
  store_header(out.data() + at, header);
}

void add_checksum(FrameHeader& header, std::initializer_list<Bytes> body) {
  header.flags |= kFrameChecked;
  header.checksum = 0;
  for (const Bytes part : body) header.checksum = crc32c(part, header.checksum);
}

Result<FrameHeader> parse_header(Bytes b, uint32_t max_body_bytes) {
  CHECK(b.size() >= kHeaderBytes);
  const FrameHeader header = load_header(b.data());
  const auto kind = static_cast<uint8_t>(header.kind);
  if (kind < static_cast<uint8_t>(FrameKind::request) ||
      kind > static_cast<uint8_t>(FrameKind::stale)) {
    return fail(Errc::invalid_argument, "frame kind {} does not exist", kind);
  }
  if ((header.flags & ~kKnownFrameFlags) != 0) {
    return fail(Errc::invalid_argument, "frame flags {:#x} are not known",
                header.flags & ~kKnownFrameFlags);
  }
  const bool tells_errors = header.kind == FrameKind::reply || header.kind == FrameKind::goaway;
  if ((header.flags & kFrameError) != 0 && !tells_errors) {
    return fail(Errc::invalid_argument, "the error flag on a frame of kind {}", kind);
  }
  if (header.handle > kMaxHandles) {
    return fail(Errc::invalid_argument, "handle {} is over the limit of {}", header.handle,
                kMaxHandles);
  }
  if (header.body_bytes % 8 != 0) {
    return fail(Errc::invalid_argument, "a body of {} bytes is not a multiple of 8",
                header.body_bytes);
  }
  if (header.body_bytes > max_body_bytes) {
    return fail(Errc::invalid_argument, "a body of {} bytes is over the limit of {}",
                header.body_bytes, max_body_bytes);
  }
  return header;
}

size_t FrameReader::next_buffer_bytes() const {
  const size_t capacity = std::max(capacity_, base_bytes_);
  const size_t unread = end_ - begin_;
  if (capacity - unread >= kMinSpaceBytes) return capacity;
  if (begun_bytes_ <= unread) return capacity * 2;  // next() was not called
  return begun_bytes_ <= capacity ? capacity : std::min(capacity * 2, whole_buffer_bytes());
}

size_t FrameReader::whole_buffer_bytes() const { return pad_to_8(begun_bytes_ + kMinSpaceBytes); }

std::span<std::byte> FrameReader::space() {
  if (begin_ == end_) begin_ = end_ = 0;
  const size_t capacity = next_buffer_bytes();
  if (capacity != capacity_) {
    rebuffer(capacity);
  } else if (begin_ > 0) {
    // A frame is moved to the front at most once: then it fits or the buffer grows.
    const bool fits = begin_ + begun_bytes_ <= capacity_;
    if (!fits || capacity_ - end_ < kMinSpaceBytes) {
      std::memmove(data(), data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
  }
  // The frame after a skipped frame must be aligned, wherever the buffer was cut.
  if (begin_ == end_) begin_ = end_ = pad_to_8(skip_bytes_) - skip_bytes_;
  return {reinterpret_cast<std::byte*>(data()) + end_, capacity_ - end_};
}

void FrameReader::rebuffer(size_t capacity) {
  void* const memory = allocate_large(capacity, sizeof(uint64_t));
  if (memory == nullptr) throw std::bad_alloc();
  std::unique_ptr<char, FreeLarge> other(static_cast<char*>(memory), FreeLarge{capacity});
  if (end_ > begin_) std::memcpy(other.get(), data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  buffer_ = std::move(other);
  capacity_ = capacity;
}

void FrameReader::received(size_t n) {
  CHECK(n <= capacity_ - end_);
  end_ += n;
  if (skips()) pass_over();
}

Result<const Frame*> FrameReader::next() {
  begun_bytes_ = 0;
  drop_taken();
  if (skips() || end_ - begin_ < kHeaderBytes) return nullptr;
  TRY(frame_.header, parse_header(unread(), max_body_bytes_));
  const size_t size = kHeaderBytes + frame_.header.body_bytes;
  if (end_ - begin_ < size) {
    begun_bytes_ = size;
    return nullptr;
  }
  frame_.body = {data() + begin_ + kHeaderBytes, frame_.header.body_bytes};
  TRY_VOID(check_body(frame_));
  pass(size);
  return &frame_;
}

size_t FrameReader::peek(std::span<Frame> frames) const {
  Bytes rest = skips() ? Bytes() : unread();
  size_t count = 0;
  while (count < frames.size() && rest.size() >= kHeaderBytes) {
    Frame& frame = frames[count];
    frame.header = load_header(rest.data());
    const size_t size = kHeaderBytes + size_t{frame.header.body_bytes};
    if (rest.size() < size) break;
    frame.body = rest.substr(kHeaderBytes, frame.header.body_bytes);
    rest.remove_prefix(size);
    ++count;
  }
  return count;
}

// Marks a frame that take_ahead() consumed while an earlier frame waits. No peer can send this
// kind: parse_header() refuses it, and only parsed frames are tested for it.
constexpr auto kTaken = static_cast<FrameKind>(0);

void FrameReader::drop_taken() {
  while (seen_bytes_ > 0) {
    const FrameHeader header = load_header(data() + begin_);
    if (header.kind != kTaken) return;
    pass(kHeaderBytes + header.body_bytes);
  }
}

// Consumes whole frames.
void FrameReader::pass(size_t bytes) {
  begin_ += bytes;
  looked_bytes_ -= std::min(looked_bytes_, bytes);
  seen_bytes_ -= std::min(seen_bytes_, bytes);
}

// What an earlier hold has looked at is looked at again: a request that a credit or a cancel is for
// may have begun since.
void FrameReader::put_back() {
  front_bytes_ = kHeaderBytes + frame_.header.body_bytes;
  looked_bytes_ = front_bytes_;
  seen_bytes_ += front_bytes_;
  begin_ -= front_bytes_;
}

Frame FrameReader::front() const {
  CHECK(front_bytes_ != 0, "no frame was put back");
  Frame frame;
  frame.header = load_header(data() + begin_);
  frame.body = {data() + begin_ + kHeaderBytes, frame.header.body_bytes};
  return frame;
}

void FrameReader::take_front() {
  pass(front_bytes_);
  front_bytes_ = 0;
}

Result<const Frame*> FrameReader::look_ahead() {
  while (looked_bytes_ < seen_bytes_) {
    const FrameHeader header = load_header(data() + begin_ + looked_bytes_);
    if (header.kind != kTaken) break;
    looked_bytes_ += kHeaderBytes + header.body_bytes;
  }
  const Bytes rest = unread().substr(looked_bytes_);
  begun_bytes_ = looked_bytes_ + kHeaderBytes;
  if (rest.size() < kHeaderBytes) return nullptr;
  TRY(ahead_.header, parse_header(rest, max_body_bytes_));
  const size_t size = kHeaderBytes + ahead_.header.body_bytes;
  begun_bytes_ = looked_bytes_ + size;
  if (rest.size() < size) return nullptr;
  ahead_.body = rest.substr(kHeaderBytes, ahead_.header.body_bytes);
  TRY_VOID(check_body(ahead_));
  ahead_at_ = looked_bytes_;
  looked_bytes_ += size;
  seen_bytes_ = std::max(seen_bytes_, looked_bytes_);
  return &ahead_;
}

void FrameReader::take_ahead() {
  char* const header = data() + begin_ + ahead_at_;
  header[offsetof(StoredHeader, kind)] = static_cast<char>(kTaken);
}

void FrameReader::skip_frame() {
  CHECK(begun_bytes_ != 0, "no frame has begun");
  skip_bytes_ = std::exchange(begun_bytes_, 0);
  skipped_bytes_ = 0;
  pass_over();
}

void FrameReader::pass_over() {
  const size_t n = std::min(skip_bytes_, end_ - begin_);
  begin_ += n;
  skip_bytes_ -= n;
  skipped_bytes_ += n;
}

void FrameReader::consume(size_t n) {
  CHECK(n % 8 == 0 && n <= end_ - begin_);
  begin_ += n;
}

void FrameReader::shrink() {
  if (capacity_ <= base_bytes_) return;
  const size_t unread = end_ - begin_;
  if (unread == 0) {
    buffer_.reset();
    capacity_ = begin_ = end_ = 0;
  } else if (unread <= base_bytes_ / 2) {
    rebuffer(base_bytes_);
  }
}

}  // namespace cellar::wire
