// Frames: what travels between a client and a node. schema/PROTOCOL.md describes the bytes.
//
// A connection opens with a preface of 16 bytes from the client; then both sides send frames: a
// header of 48 bytes and a body of a multiple of 8 bytes. So every header and every body of a
// stream that is received into an aligned buffer lies 8-byte aligned, and is read in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::wire {

inline constexpr uint16_t kProtocolVersion = 1;
inline constexpr uint16_t kDefaultPort = 7420;

// ---- bounds ----
inline constexpr uint32_t kDefaultFrameBytes = 33u << 20;   // a body, before a hello says otherwise
inline constexpr uint32_t kLargestFrameBytes = 128u << 20;  // what any configuration may allow
inline constexpr uint32_t kHandshakeFrameBytes = 4096;      // a request body before the hello
inline constexpr uint32_t kDefaultChunkCredits = 8;
inline constexpr uint32_t kMaxChunkCredits = 64;
inline constexpr size_t kMaxInFlight = 256;  // requests of one connection

// ---- the preface: 8 bytes for proxies, chosen by the client; 6 of magic; u16 protocol version
// ----
inline constexpr size_t kPrefaceBytes = 16;
inline constexpr Bytes kMagic = "CELLAR";
struct Preface {
  uint64_t routing_hint = 0;
  uint16_t version = kProtocolVersion;
};
void append_preface(std::string& out, const Preface& preface);
// INVALID_ARGUMENT when `b`, of which the first bytes may be all there is yet, cannot begin a
// preface of kProtocolVersion. Fills `out` once all kPrefaceBytes are there.
Result<void> parse_preface(Bytes b, Preface& out);

// ---- the header ----
enum class FrameKind : uint8_t {
  request = 1,
  reply = 2,   // the last frame of an answer
  chunk = 3,   // a part of a read's answer; more follows
  end = 4,     // the last frame of an answer in chunks
  cancel = 5,  // client: the answer to request_id is not wanted any more; it still ends
  credit = 6,  // client: more chunks may come
  // server: no new requests on this connection; what was sent will be answered. With kFrameError:
  // the peer broke the protocol, nothing more is answered, and the connection ends.
  goaway = 7,
};

enum FrameFlags : uint32_t {
  kFrameError = 1u << 0,  // reply, goaway: the body is a Status
};
inline constexpr uint32_t kKnownFrameFlags = kFrameError;

struct FrameHeader {
  uint32_t body_bytes = 0;  // a multiple of 8
  uint8_t version = kProtocolVersion;
  FrameKind kind = FrameKind::request;
  uint16_t op = 0;           // fb::Op; in answers the request's
  uint32_t flags = 0;        // FrameFlags
  uint32_t deadline_ms = 0;  // request: from its arrival; 0: none
  uint64_t request_id = 0;   // chosen by the client; not in use by an unanswered request
  uint64_t table_id = 0;     // 0: named in the body
  uint64_t tablet_id = 0;    // 0: the server finds it
  uint64_t epoch = 0;        // 0: any
};
inline constexpr size_t kHeaderBytes = 48;
static_assert(sizeof(FrameHeader) == kHeaderBytes);

// `to` has kHeaderBytes bytes.
void store_header(char* to, const FrameHeader& header);
void append_header(std::string& out, const FrameHeader& header);
// INVALID_ARGUMENT: a version, kind, flag or size that does not exist, or the error flag on a kind
// that tells no errors.
Result<FrameHeader> parse_header(Bytes b, uint32_t max_body_bytes);

constexpr size_t pad_to_8(size_t n) { return (n + 7) & ~size_t{7}; }

// A frame in a receive buffer. `body` is 8-byte aligned.
struct Frame {
  FrameHeader header;
  Bytes body;
};

// Turns received bytes into frames. The buffer has its base size, and grows to hold a frame only as
// that frame's bytes arrive (it doubles, and ends with the frame), so a declared length costs
// nothing.
//
//   span = reader.space();  n = read into span;  reader.received(n);
//   while (auto frame = reader.next(); frame && *frame) use(**frame);   // error: close
class FrameReader {
 public:
  static constexpr size_t kSmallBytes = 8 * 1024;  // enough for a handshake
  static constexpr size_t kInitialBytes = 64 * 1024;
  static constexpr size_t kMinSpaceBytes = 4096;

  explicit FrameReader(uint32_t max_body_bytes, size_t base_bytes = kInitialBytes)
      : max_body_bytes_(max_body_bytes), base_bytes_(base_bytes) {}

  // Where the next bytes go; never empty. Invalidates every frame handed out.
  std::span<std::byte> space();
  // What space() will make of buffer_bytes(), for a caller that accounts for it first.
  size_t next_buffer_bytes() const;
  // What the buffer is in the end for the frame that has begun. REQUIRES: begun_bytes() != 0.
  size_t whole_buffer_bytes() const;
  void received(size_t n);

  // The next complete frame, a null pointer when more bytes are needed, or INVALID_ARGUMENT when
  // the stream cannot be understood from here on. The frame is viewed until the next space().
  Result<const Frame*> next();
  // The size of the frame that has begun and is not complete; 0: not known yet. As next() found.
  size_t begun_bytes() const { return begun_bytes_; }
  // Of that frame. REQUIRES: begun_bytes() != 0.
  const FrameHeader& begun_header() const { return frame_.header; }
  // What has come of it is forgotten, and what comes is passed over by next().
  // REQUIRES: begun_bytes() != 0.
  void skip_frame();
  // A frame is being passed over.
  bool skips() const { return skip_bytes_ != 0; }
  // ---- a frame that has to wait, while what follows it is looked at
  // The frame that next() gave last is front() until take_front(), wherever the buffer lies.
  void put_back();
  Frame front() const;
  void take_front();
  // The frame behind all that were looked at since put_back(), as next(); it stays where it is.
  Result<const Frame*> look_ahead();
  // The frame that look_ahead() gave last is never given by next().
  void take_ahead();

  // Bytes that have come of a frame that is not complete, or is passed over.
  size_t partial_bytes() const { return skips() ? skipped_bytes_ : end_ - begin_; }
  // The bytes that were received and not yet consumed.
  Bytes unread() const { return {data() + begin_, end_ - begin_}; }
  // Consumes a preface. REQUIRES: unread().size() >= n and n a multiple of 8.
  void consume(size_t n);

  void set_max_body_bytes(uint32_t n) { max_body_bytes_ = n; }
  // At least kSmallBytes. The next buffer has this size.
  void set_base_bytes(size_t n) { base_bytes_ = n; }
  size_t base_bytes() const { return base_bytes_; }
  size_t buffer_bytes() const { return capacity_; }
  // Gives memory beyond the base size back when what is unread does not need it. Invalidates every
  // frame handed out.
  void shrink();

 private:
  char* data() const { return reinterpret_cast<char*>(buffer_.get()); }
  void rebuffer(size_t capacity);  // moves what is unread to a buffer of that size
  void pass_over();
  void drop_taken();

  uint32_t max_body_bytes_;
  size_t base_bytes_;
  std::unique_ptr<uint64_t[]> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;  // a multiple of 8
  size_t end_ = 0;
  size_t begun_bytes_ = 0;
  size_t skip_bytes_ = 0;     // still to be passed over
  size_t skipped_bytes_ = 0;  // of the same frame, so far
  size_t front_bytes_ = 0;    // of the frame that was put back; 0: none was
  size_t looked_bytes_ = 0;   // from begin_ on, whole frames
  size_t ahead_at_ = 0;       // of the frame that look_ahead() gave last, from begin_ on
  Frame frame_;
  Frame ahead_;
};

}  // namespace cellar::wire
