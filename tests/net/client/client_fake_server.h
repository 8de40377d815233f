// A server in memory that speaks frames and keeps no data: each test supplies its answers.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/base/check.h"
#include "io/sim/sim_transport.h"
#include "net/wire/body.h"
#include "net/wire/chunk_builder.h"
#include "net/wire/frame.h"
#include "net/wire/point_codec.h"
#include "net/wire/status.h"

namespace cellar::client {

namespace fb = wire::fb;

struct Received {
  wire::FrameHeader header;  // with the target of its handle, but for the table's id
  std::string body;
  std::string table;      // that the handle stands for
  size_t connection = 0;  // counted from 1
};

class FakeServer {
 public:
  // What to send for a request; empty: nothing.
  using Script = std::function<std::string(const Received&)>;

  FakeServer(SimFabric& fabric, SimLoop& loop);

  void listen(uint16_t port);
  void stop_listening();
  // Cuts every connection.
  void cut();
  // Sends to the newest connection, or to one by its number.
  void send(std::string bytes);
  void send_on(size_t connection, std::string bytes);

  Script script;  // requests after the hello
  bool answer_hello = true;
  bool swallow = false;  // accepts bytes without parsing them
  uint32_t in_flight_limit = 256;
  uint32_t shards = 1;                 // connection n is served by shard (n - 1) % shards
  std::optional<uint32_t> says_shard;  // instead
  int64_t now_us = 0;
  std::vector<std::string> features;  // with shard_choice, a hello that names a shard is obeyed
  std::vector<Received> requests;     // without hellos and binds; with cancel and credit frames
  size_t connections = 0;
  std::map<size_t, uint32_t> shard_of;  // by connection, as its hello was answered

 private:
  static Async<void> accept_loop(FakeServer& self);
  static Async<void> serve(FakeServer& self, std::shared_ptr<ByteStream> stream, size_t number);
  uint32_t chosen_shard(const Received& hello) const;
  std::string answer(const Received& received);

  SimLoop& loop_;
  SimNetwork network_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::weak_ptr<ByteStream>> streams_;
};

// The body of a request, checked; a copy, because frames are not aligned.
template <class T>
class BodyOf {
 public:
  explicit BodyOf(const Received& received) : words_(received.body.size() / sizeof(uint64_t)) {
    std::memcpy(words_.data(), received.body.data(), words_.size() * sizeof(uint64_t));
    body_ = wire::verified<T>(
        Bytes(reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(uint64_t)));
    CHECK(body_ != nullptr, "a body of {} bytes is not what it should be", received.body.size());
  }
  const T* operator->() const { return body_; }

 private:
  std::vector<uint64_t> words_;
  const T* body_ = nullptr;
};

// The row of a Put or a MutateRow.
std::string written_row(const Received& received);

// Frames as a server sends them. In answers to Get and Put a ReadChunk and an empty body become
// what they are in the fixed layout.
std::string frame(wire::FrameKind kind, const wire::FrameHeader& request, Bytes body,
                  uint16_t flags = 0);
std::string error_frame(const wire::FrameHeader& request, Errc code, std::string message);
// One row with one cell of that value; the key is `row`.
std::string chunk_body(Bytes row, Bytes value, bool continued = false, bool complete = true);
std::string mutate_reply(const Received& received);

}  // namespace cellar::client
