#include "net/wire/frame.h"

#include <algorithm>
#include <cstring>

#include "io/base/check.h"
#include "io/base/coding.h"

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

void store_header(char* to, const FrameHeader& header) {
  std::memcpy(to, &header, kHeaderBytes);  // little-endian machine, no padding: see coding.h
}

void append_header(std::string& out, const FrameHeader& header) {
  out.append(reinterpret_cast<const char*>(&header), kHeaderBytes);
}

Result<FrameHeader> parse_header(Bytes b, uint32_t max_body_bytes) {
  CHECK(b.size() >= kHeaderBytes);
  FrameHeader header;
  std::memcpy(&header, b.data(), kHeaderBytes);
  if (header.version != kProtocolVersion) {
    return fail(Errc::invalid_argument, "frame version {} is not {}", header.version,
                kProtocolVersion);
  }
  const auto kind = static_cast<uint8_t>(header.kind);
  if (kind < static_cast<uint8_t>(FrameKind::request) ||
      kind > static_cast<uint8_t>(FrameKind::goaway)) {
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

std::span<std::byte> FrameReader::space() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (capacity_ - end_ < kMinSpaceBytes) {
    // Move what is left to the front when that frees at least half; else double. Either way a byte
    // is moved a constant number of times.
    if (capacity_ != 0 && begin_ >= capacity_ / 2) {
      std::memmove(data(), data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    } else {
      size_t capacity = capacity_ * 2;
      const size_t enough = pad_to_8(begun_bytes_ + 2 * kMinSpaceBytes);
      if (begun_bytes_ != 0 && enough > capacity_) capacity = std::min(capacity, enough);
      grow_to(std::max(kInitialBytes, capacity));
    }
  }
  return {reinterpret_cast<std::byte*>(data()) + end_, capacity_ - end_};
}

void FrameReader::grow_to(size_t capacity) {
  auto bigger = std::make_unique_for_overwrite<uint64_t[]>(capacity / sizeof(uint64_t));
  if (end_ > begin_) std::memcpy(bigger.get(), data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  buffer_ = std::move(bigger);
  capacity_ = capacity;
}

void FrameReader::received(size_t n) {
  CHECK(n <= capacity_ - end_);
  end_ += n;
}

Result<const Frame*> FrameReader::next() {
  begun_bytes_ = 0;
  if (end_ - begin_ < kHeaderBytes) return nullptr;
  TRY(frame_.header, parse_header(unread(), max_body_bytes_));
  const size_t size = kHeaderBytes + frame_.header.body_bytes;
  if (end_ - begin_ < size) {
    begun_bytes_ = size;
    return nullptr;
  }
  frame_.body = {data() + begin_ + kHeaderBytes, frame_.header.body_bytes};
  begin_ += size;
  return &frame_;
}

void FrameReader::consume(size_t n) {
  CHECK(n % 8 == 0 && n <= end_ - begin_);
  begin_ += n;
}

void FrameReader::shrink() {
  if (begin_ != end_ || capacity_ <= kInitialBytes) return;
  buffer_.reset();
  capacity_ = begin_ = end_ = 0;
}

}  // namespace cellar::wire
