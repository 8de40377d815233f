// ServerBed: a whole node in one thread, on simulated time, with a simulated network and a disk in
// memory; and Peer, a connection that sends arbitrary bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/node.h"
#include "engine/store/local/local_stores.h"
#include "io/loop/shard.h"
#include "io/sim/faulty_fs.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"
#include "io/sim/sim_transport.h"
#include "net/server/shard/shard_server.h"
#include "tests/net/wire/wire_bodies.h"

namespace cellar::server {

class ServerBed {
 public:
  static constexpr uint16_t kPort = 7420;
  static constexpr uint64_t kInstance = 0x1234567890;

  explicit ServerBed(uint32_t shards = 2, ServerOptions options = ServerOptions(),
                     uint64_t seed = 1, int64_t disk_latency_us = 100, std::string host = "node");
  virtual ~ServerBed();

  SimWorld& world() { return world_; }
  SimFabric& fabric() { return fabric_; }
  SimLoop& client_loop() { return *client_loop_; }
  ShardServer& shard(uint32_t i) { return *parts_[i].server; }
  engine::Node& node() { return *node_; }
  Loop& loop(uint32_t i) { return *parts_[i].loop; }
  uint32_t shards() const { return static_cast<uint32_t>(parts_.size()); }
  size_t blobs_on_disk();
  const std::string& host() const { return host_; }
  FileSystem& fs(uint32_t i) { return *parts_[i].fs; }
  MemDisk& disk() { return disk_; }
  FaultRules& faults() { return faults_; }  // of every shard's file system
  void stop();                              // an orderly stop, as by SIGTERM

 private:
  struct Part {
    SimLoop* loop = nullptr;
    std::unique_ptr<Shard> shard;
    std::optional<Runtime> runtime;
    std::unique_ptr<FaultyFs> fs;
    std::unique_ptr<engine::LogStore> logs;
    std::unique_ptr<engine::BlobStore> blobs;
    std::unique_ptr<SimNetwork> network;
    std::unique_ptr<ShardServer> server;
  };
  Async<Result<void>> open();

  ServerOptions options_;
  const std::string host_;
  NodeFacts facts_{"test", "memory", "a test", "test", kInstance};
  MemDisk disk_;
  FaultRules faults_;
  SimWorld world_;
  SimFabric fabric_;
  Mailboxes mailboxes_;
  SimLoop* client_loop_;
  std::vector<Part> parts_;
  std::unique_ptr<NodeShared> shared_;
  std::unique_ptr<engine::ManifestStore> manifest_;
  std::unique_ptr<engine::Node> node_;
  bool stopped_ = false;
};

struct Answer {
  wire::FrameHeader header;
  std::vector<uint64_t> aligned;
  std::string body;

  bool error() const { return (header.flags & wire::kFrameError) != 0; }
  template <class Root>
  const Root* root() {
    aligned.assign(body.size() / 8 + 1, 0);
    std::memcpy(aligned.data(), body.data(), body.size());
    return wire::verified<Root>({reinterpret_cast<const char*>(aligned.data()), body.size()});
  }
  Errc code();
  std::string message();
};

class Peer {
 public:
  // Connected, with the preface sent and the hello answered.
  explicit Peer(ServerBed& bed, bool greet = true, const std::string& hello = {});
  ~Peer();

  void send(std::string bytes);  // returns at once
  // The last frame of the answer to `id`; runs the world until it arrives. None: the connection was
  // closed, or ten minutes passed.
  std::optional<Answer> answer(uint64_t id);
  // send() and answer().
  std::optional<Answer> ask(wire::fb::Op op, std::string body);
  Errc code_of(wire::fb::Op op, std::string body);  // UNKNOWN if the connection was closed

  // Everything that arrived and was not returned by answer(): chunks, goaway, answers.
  std::vector<Answer> received;
  bool closed() const { return closed_; }
  bool closes();  // runs the world for a while
  void pause_reading() { paused_ = true; }
  void resume_reading();
  void hang_up();

 private:
  Async<void> read_loop();
  Async<void> write_one(std::string bytes);
  Async<Result<void>> connect();

  ServerBed& bed_;
  SimNetwork network_;
  std::unique_ptr<ByteStream> stream_;
  AsyncMutex writing_;
  Event resumed_;
  bool paused_ = false;
  bool closed_ = false;
  size_t coroutines_ = 0;
  uint64_t next_id_ = 1'000'000;
};

// A cell as text: "row f:q@5=v".
std::vector<std::string> cells_of(Answer& chunk);
// Reads a range through ReadRows, one credit a chunk; "!CODE" at the end for an error.
std::vector<std::string> read_all(Peer& peer, std::string_view table,
                                  wire::ReadRowsShape shape = {});

}  // namespace cellar::server
