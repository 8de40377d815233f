#include "io/remote/rados/librados_handle.h"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <utility>

#include "io/base/check.h"
#include "io/remote/rados/librados_port.h"

namespace cellar {
namespace {

constexpr std::string_view kModuleName = "libcellar_cluster.so";

// The directory of the running program; empty if the kernel does not tell.
std::string program_directory() {
  std::array<char, PATH_MAX> path;
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return {};
  const std::string_view all(path.data(), static_cast<size_t>(size));
  return std::string(all.substr(0, all.rfind('/')));
}

bool readable(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

struct Opened {
  const CellarClusterApi* api = nullptr;
  CellarHandle* handle = nullptr;
};

Error ceph_error(int result, std::string message) {
  Error error = os_error(-result, "Ceph");
  error.message = std::move(message);
  return error;
}

// Blocks.
Result<Opened> open_blocking(const CephConfig& config) {
  const std::string path = config.module.empty() ? default_cluster_module() : config.module;
  TRY(const CellarClusterApi* api, load_cluster_module(path));
  if (config.config_file.empty()) {
    return fail(Errc::failed_precondition,
                "no Ceph cluster is configured: the setting ceph.config names a ceph.conf");
  }
  if (!readable(config.config_file)) {
    return fail(Errc::failed_precondition, "ceph.config '{}' cannot be read", config.config_file);
  }
  const std::string timeout = std::to_string(config.monitor_timeout_s);
  const std::string operation_timeout = std::to_string(config.operation_timeout_s);
  // The port's time limits answer the caller before librados gives up. It writes no log of its own,
  // and not to the program's standard error.
  std::vector<CellarSetting> settings = {{"rados_osd_op_timeout", operation_timeout.c_str()},
                                         {"rados_mon_op_timeout", timeout.c_str()},
                                         {"client_mount_timeout", timeout.c_str()},
                                         {"objecter_inflight_ops", "1024"},
                                         {"objecter_inflight_op_bytes", "104857600"},
                                         {"log_to_stderr", "false"},
                                         {"err_to_stderr", "false"},
                                         {"log_file", ""}};
  if (!config.keyring.empty()) settings.push_back({"keyring", config.keyring.c_str()});
  Opened opened{api, nullptr};
  std::array<char, 256> words{};
  const int result = api->open(config.client.c_str(), config.config_file.c_str(), settings.data(),
                               settings.size(), &opened.handle, words.data(), words.size());
  if (result == 0) return opened;
  return std::unexpected(ceph_error(
      result, fmt::format("{} ({}, as {})", words.data(), config.config_file, config.client)));
}

}  // namespace

std::string default_cluster_module() {
  const std::string directory = program_directory();
  for (const char* below : {"/", "/../lib/", "/../lib/cellar/"}) {
    const std::string path = fmt::format("{}{}{}", directory, below, kModuleName);
    if (!directory.empty() && readable(path)) return path;
  }
  return std::string(kModuleName);
}

Result<const CellarClusterApi*> load_cluster_module(const std::string& path) {
  // Never closed: threads of librados may run its code until the process ends.
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return fail(Errc::failed_precondition,
                "the cluster module '{}' cannot be loaded: {}; it is in the package "
                "cellar-cluster and needs librados2",
                path, why != nullptr ? why : "no reason given");
  }
  const auto entry = reinterpret_cast<CellarClusterEntry>(::dlsym(library, CELLAR_CLUSTER_ENTRY));
  if (entry == nullptr) {
    return fail(Errc::failed_precondition, "'{}' is no cluster module: it has no {}", path,
                CELLAR_CLUSTER_ENTRY);
  }
  const CellarClusterApi* const api = entry();
  if (api->abi != CELLAR_CLUSTER_ABI) {
    return fail(Errc::failed_precondition,
                "the cluster module '{}' has version {}, and this program needs version {}", path,
                api->abi, CELLAR_CLUSTER_ABI);
  }
  return api;
}

Async<Result<std::unique_ptr<LibradosHandle>>> LibradosHandle::open(BlockingPool& pool,
                                                                    CephConfig config,
                                                                    uint32_t shards) {
  CHECK(shards >= 1 && shards <= RadosPort::kMaxShardsOfHandle, "{} shards of a handle", shards);
  CO_TRY(const Opened opened, co_await pool.run([&config] { return open_blocking(config); }));
  co_return std::unique_ptr<LibradosHandle>(
      new LibradosHandle(*opened.api, opened.handle, pool, shards));
}

LibradosHandle::~LibradosHandle() {
  CHECK(handle_ == nullptr, "a LibradosHandle was destroyed before close() was awaited");
}

std::unique_ptr<RadosPort> LibradosHandle::connect(Loop& loop) {
  return std::make_unique<LibradosPort>(api_, handle_, pool_, loop, RadosPort::share_of(shards_));
}

Async<void> LibradosHandle::close() {
  CellarHandle* const handle = std::exchange(handle_, nullptr);
  if (handle == nullptr) co_return;
  const auto shut = [this, handle] {
    api_.close(handle);
    return true;
  };
  co_await pool_.run(shut);
}

}  // namespace cellar
