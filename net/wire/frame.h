// Frames: the units of the protocol between a client and a node. schema/PROTOCOL.md describes the
// bytes.
//
// A connection starts with a preface of 16 bytes from the client; then both sides send frames: a
// header of 24 bytes and a body whose size is a multiple of 8. In an aligned receive buffer every
// header and body is therefore 8-byte aligned and read in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "io/base/bytes.h"
#include "io/base/large_memory.h"
#include "io/base/result.h"

namespace cellar::engine {
struct TableEntry;
}

namespace cellar::wire {

inline constexpr uint16_t kProtocolVersion = 2;
inline constexpr uint16_t kDefaultPort = 7420;

// ---- bounds ----
// a body, before the hello sets another bound
inline constexpr uint32_t kDefaultFrameBytes = 33u << 20;
// the largest value that a configuration allows
inline constexpr uint32_t kLargestFrameBytes = 128u << 20;
inline constexpr uint32_t kHandshakeFrameBytes = 4096;  // a request body before the hello
inline constexpr uint32_t kDefaultChunkCredits = 8;
inline constexpr uint32_t kMaxChunkCredits = 64;
inline constexpr size_t kMaxInFlight = 4096;  // requests per connection
inline constexpr uint32_t kDefaultInFlight = 1024;
inline constexpr uint32_t kMaxHandles = 1024;  // of a connection; a handle is 1 to kMaxHandles

// ---- the preface: 8 bytes for proxies, chosen by the client; 6 of magic; u16 protocol version
// ----
inline constexpr size_t kPrefaceBytes = 16;
inline constexpr Bytes kMagic = "CELLAR";
struct Preface {
  uint64_t routing_hint = 0;
  uint16_t version = kProtocolVersion;
};
void append_preface(std::string& out, const Preface& preface);
// Parses the preface from `b`, which may be incomplete. INVALID_ARGUMENT if it cannot start a
// preface of kProtocolVersion. Fills `out` when all kPrefaceBytes are present.
Result<void> parse_preface(Bytes b, Preface& out);

// ---- the header ----
enum class FrameKind : uint8_t {
  request = 1,
  reply = 2,   // the last frame of a reply
  chunk = 3,   // part of a read's reply; more follow
  end = 4,     // the last frame of a chunked reply
  cancel = 5,  // client: the reply to request_id is not needed; the server still ends it
  credit = 6,  // client: more chunks may be sent
  // server: accepts no new requests on this connection; pending ones are answered. With
  // kFrameError: the peer violated the protocol; nothing more is answered and the connection ends.
  goaway = 7,
  bind = 8,  // client: from here on `handle` stands for the table of the body (fb::Bind)
  // server: the tablet that `handle` names has moved to where the body (fb::Stale) says, or is no
  // more. Only to clients that understand it.
  stale = 9,
};

enum FrameFlags : uint16_t {
  kFrameError = 1u << 0,    // reply, goaway: the body is a Status
  kFrameChecked = 1u << 1,  // `checksum` is that of the body; a request with it asks for it
};
inline constexpr uint16_t kKnownFrameFlags = kFrameError | kFrameChecked;

struct FrameHeader {
  uint32_t body_bytes = 0;  // a multiple of 8
  FrameKind kind = FrameKind::request;
  uint16_t op = 0;           // fb::Op; a reply repeats that of its request. At most 255
  uint16_t flags = 0;        // FrameFlags
  uint32_t request_id = 0;   // chosen by the client; not used by another pending request
  uint32_t handle = 0;       // request, bind: the table; 0: named in the body
  uint32_t deadline_ms = 0;  // request: counted from its arrival; 0: none
  uint32_t checksum = 0;     // with kFrameChecked: CRC32C of the body; otherwise 0

  // Not sent. The node fills them in from the handle (net/server/shard/handle_table.h).
  uint64_t table_id = 0;   // 0: named in the body, or by table_name
  uint64_t tablet_id = 0;  // 0: the node finds it
  uint64_t epoch = 0;      // 0: any
  Bytes table_name;        // valid while the request is handled
  // The entry of that table in version `map_version` of the shard's map; null: not looked up.
  const engine::TableEntry* table = nullptr;
  uint64_t map_version = 0;
};
inline constexpr size_t kHeaderBytes = 24;
// Where the fields of a stored header lie, for code that changes one in a prepared frame.
inline constexpr size_t kRequestIdAt = 8;

// `to` has room for kHeaderBytes.
void store_header(char* to, const FrameHeader& header);
void append_header(std::string& out, const FrameHeader& header);
// INVALID_ARGUMENT for an unknown kind or flag, an invalid size, a handle out of range, or the
// error flag on a kind without errors.
Result<FrameHeader> parse_header(Bytes b, uint32_t max_body_bytes);
// Sets the checksum of the frame that begins at `at` in `out` and ends with it.
void add_checksum(std::string& out, size_t at);
// Sets the checksum of a frame with that body.
void add_checksum(FrameHeader& header, std::initializer_list<Bytes> body);

constexpr size_t pad_to_8(size_t n) { return (n + 7) & ~size_t{7}; }

// A frame in a receive buffer. `body` is 8-byte aligned.
struct Frame {
  FrameHeader header;
  Bytes body;
};

// Splits received bytes into frames. The buffer has its base size. As the bytes of a large frame
// arrive it doubles, up to the size of that frame, so a declared length alone reserves nothing.
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

  // Where the next bytes go; never empty. Invalidates all frames returned so far.
  std::span<std::byte> space();
  // The value of buffer_bytes() after space(), for a caller that accounts for it first.
  size_t next_buffer_bytes() const;
  // The final buffer size for the incomplete frame. REQUIRES: begun_bytes() != 0.
  size_t whole_buffer_bytes() const;
  void received(size_t n);

  // Returns the next complete frame, null if more bytes are needed, or INVALID_ARGUMENT if the
  // stream cannot be parsed any further or a body differs from its checksum. The frame is valid
  // until the next space().
  Result<const Frame*> next();
  // The whole frames that have been received, in order and unchecked: at most as many as fit.
  // next() may refuse them, and skips those that take_ahead() has consumed. Returns their number.
  size_t peek(std::span<Frame> frames) const;
  // The size of the incomplete frame found by next(); 0 if not yet known.
  size_t begun_bytes() const { return begun_bytes_; }
  // Its header. REQUIRES: begun_bytes() != 0.
  const FrameHeader& begun_header() const { return frame_.header; }
  // Discards the received part of the incomplete frame; next() skips the rest. REQUIRES:
  // begun_bytes() != 0.
  void skip_frame();
  // Whether a frame is being skipped.
  bool skips() const { return skip_bytes_ != 0; }
  // ---- look-ahead past a frame that must wait ----
  // The last frame from next() stays available as front() until take_front(), even if the buffer
  // moves.
  void put_back();
  Frame front() const;
  void take_front();
  // Like next(), returns the first frame not yet looked at since put_back(), but does not consume
  // it.
  Result<const Frame*> look_ahead();
  // Consumes the last frame from look_ahead(); next() skips it.
  void take_ahead();

  // Received bytes of an incomplete or skipped frame.
  size_t partial_bytes() const { return skips() ? skipped_bytes_ : end_ - begin_; }
  // Bytes received and not yet consumed.
  Bytes unread() const { return {data() + begin_, end_ - begin_}; }
  // Consumes a preface. REQUIRES: unread().size() >= n and n a multiple of 8.
  void consume(size_t n);

  void set_max_body_bytes(uint32_t n) { max_body_bytes_ = n; }
  // At least kSmallBytes. Applies to the next buffer.
  void set_base_bytes(size_t n) { base_bytes_ = n; }
  size_t base_bytes() const { return base_bytes_; }
  size_t buffer_bytes() const { return capacity_; }
  // Frees memory beyond the base size if the unread bytes fit. Invalidates all frames returned so
  // far.
  void shrink();

 private:
  char* data() const { return buffer_.get(); }
  void rebuffer(size_t capacity);  // moves the unread bytes to a buffer of that size
  void pass_over();
  void pass(size_t bytes);
  void drop_taken();

  uint32_t max_body_bytes_;
  size_t base_bytes_;
  // Aligned to 8 bytes. A large one goes back to the machine with its frame (large_memory.h).
  std::unique_ptr<char, FreeLarge> buffer_;
  size_t capacity_ = 0;
  size_t begin_ = 0;  // a multiple of 8
  size_t end_ = 0;
  size_t begun_bytes_ = 0;
  size_t skip_bytes_ = 0;     // still to be skipped
  size_t skipped_bytes_ = 0;  // of the same frame, so far
  size_t front_bytes_ = 0;    // size of the frame that was put back; 0: none
  size_t looked_bytes_ = 0;   // whole frames from begin_ on, where the look ahead continues
  size_t seen_bytes_ = 0;     // whole frames from begin_ on that were looked at in any hold
  size_t ahead_at_ = 0;       // offset from begin_ of the last frame from look_ahead()
  Frame frame_;
  Frame ahead_;
};

}  // namespace cellar::wire
