// HttpReader: finds one answer in the bytes of a connection. The only user of Beast here; does no
// I/O. What it refuses ends the connection.
//
// Bounds. The header takes at most kMaxHeaderBytes, as do the head of a chunk and the trailer; a
// whole body takes at most what its caller permits. The body of a stream has no end: its caller
// takes the bytes away as they come and bounds what it keeps.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace cellar::etcd {

class HttpReader {
 public:
  static constexpr size_t kMaxHeaderBytes = 16 * 1024;

  // `max_body`: bytes of a whole body; 0: a stream, which is chunked.
  explicit HttpReader(size_t max_body);
  ~HttpReader();

  enum class Step : uint8_t {
    more,     // needs more bytes
    done,     // the answer is complete
    refused,  // see refusal()
  };
  Step feed(std::span<const std::byte> bytes);
  // The peer has ended its side. done: the answer was one that ends with the connection.
  Step feed_end();

  bool has_status() const;
  int status() const;  // REQUIRES: has_status()
  // The connection can carry another request: it stays open, and nothing came behind the answer.
  bool keeps_alive() const;
  // The body so far, which is removed here.
  std::string take_body();
  const std::string& refusal() const { return refusal_; }
  bool too_large() const { return too_large_; }  // refused because the body is
  bool begun() const { return begun_; }          // any byte came

 private:
  struct State;
  Step refuse(std::string why);
  Step parse();

  std::unique_ptr<State> state_;
  std::string unread_;
  std::string refusal_;
  const size_t max_body_;
  size_t fed_bytes_ = 0;  // of the body, with the heads of chunks
  size_t header_bytes_ = 0;
  bool header_checked_ = false;
  bool begun_ = false;
  bool too_large_ = false;
};

}  // namespace cellar::etcd
