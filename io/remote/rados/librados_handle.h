// LibradosHandle: a connection to a Ceph cluster through libcellar_cluster.so, for up to
// RadosPort::kMaxShardsOfHandle shards, each with a port of its own. The module is loaded when the
// first handle of a process is opened and stays loaded, because threads of librados run its code.
//
//   auto handle = co_await LibradosHandle::open(pool, config, 1);
//   std::unique_ptr<RadosPort> port = (*handle)->connect(loop);
//   ...
//   co_await port->close();
//   port.reset();
//   co_await (*handle)->close();
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/base/result.h"
#include "io/disk/blocking_pool.h"
#include "io/loop/async.h"
#include "io/loop/loop.h"
#include "io/remote/rados/module_api.h"
#include "io/remote/rados_port.h"

namespace cellar {

struct CephConfig {
  std::string config_file;              // ceph.conf; empty: not configured
  std::string keyring;                  // empty: as ceph.conf says
  std::string client = "client.admin";  // name in cephx
  std::string module;  // path of libcellar_cluster.so; empty: default_cluster_module()
  // Time that the monitors have to answer when a handle is opened and when a pool is looked up.
  int monitor_timeout_s = 30;
  // Time after which librados itself gives an operation up, a listing included, which has no other
  // limit. 0: operations wait until Ceph has healed.
  int operation_timeout_s = 0;
};

// The library beside the program or in ../lib/cellar of its directory, else the bare name, which
// the dynamic linker looks for.
std::string default_cluster_module();

// Loads the module. Blocks; callable from any thread. FAILED_PRECONDITION names the file and what
// is wrong: missing, not loadable (the linker's words), without the entry, of another version.
Result<const CellarClusterApi*> load_cluster_module(const std::string& path);

class LibradosHandle {
 public:
  // Connects, for `shards` ports (1..RadosPort::kMaxShardsOfHandle). `pool` must outlive the
  // handle. FAILED_PRECONDITION: no module, or no configuration; UNAVAILABLE and others: Ceph's
  // own.
  static Async<Result<std::unique_ptr<LibradosHandle>>> open(BlockingPool& pool, CephConfig config,
                                                             uint32_t shards);
  ~LibradosHandle();
  LibradosHandle(const LibradosHandle&) = delete;
  LibradosHandle& operator=(const LibradosHandle&) = delete;

  // The port of one shard; call it on that shard's loop, once for each of `shards`.
  std::unique_ptr<RadosPort> connect(Loop& loop);
  // REQUIRES: every port was closed and destroyed.
  Async<void> close();

  std::string_view library() const { return api_.library; }

 private:
  LibradosHandle(const CellarClusterApi& api, CellarHandle* handle, BlockingPool& pool,
                 uint32_t shards)
      : api_(api), handle_(handle), pool_(pool), shards_(shards) {}

  const CellarClusterApi& api_;
  CellarHandle* handle_;
  BlockingPool& pool_;
  const uint32_t shards_;
};

}  // namespace cellar
