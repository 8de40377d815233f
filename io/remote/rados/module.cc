// libcellar_cluster.so: librados behind module_api.h.
#include <rados/librados.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "io/remote/rados/module_api.h"
#include "io/remote/rados_request.h"

struct CellarHandle {
  rados_t cluster = nullptr;
};
struct CellarPool {
  rados_ioctx_t io = nullptr;
};

namespace {

using cellar::RadosRequest;
using cellar::RadosStep;

// What an operation keeps between submit() and release().
struct State {
  rados_completion_t completion = nullptr;
  rados_write_op_t write = nullptr;
  rados_read_op_t read = nullptr;
  int step_result = 0;
  uint64_t size = 0;
  unsigned char more = 0;
  rados_xattrs_iter_t xattrs = nullptr;
  rados_omap_iter_t omap = nullptr;

  ~State() {
    if (xattrs != nullptr) rados_getxattrs_end(xattrs);
    if (omap != nullptr) rados_omap_get_end(omap);
    if (read != nullptr) rados_release_read_op(read);
    if (write != nullptr) rados_release_write_op(write);
    if (completion != nullptr) rados_aio_release(completion);
  }
};

State& state_of(CellarOperation& operation) { return *static_cast<State*>(operation.module_state); }

int open(const char* client, const char* config_file, const CellarSetting* settings,
         size_t setting_count, CellarHandle** handle, char* error, size_t error_size) {
  auto opened = std::make_unique<CellarHandle>();
  const char* step = "making a client of Ceph";
  int result = rados_create2(&opened->cluster, "ceph", client, 0);
  const bool created = result == 0;
  if (result == 0 && config_file != nullptr) {
    step = "reading the configuration of Ceph";
    result = rados_conf_read_file(opened->cluster, config_file);
  }
  std::string setting;
  for (size_t i = 0; i < setting_count && result == 0; ++i) {
    setting = std::string("setting ") + settings[i].name + " of Ceph";
    step = setting.c_str();
    result = rados_conf_set(opened->cluster, settings[i].name, settings[i].value);
  }
  if (result == 0) {
    step = "connecting to the monitors of Ceph";
    result = rados_connect(opened->cluster);
  }
  if (result == 0) {
    *handle = opened.release();
    return 0;
  }
  std::snprintf(error, error_size, "%s: %s", step, std::strerror(-result));
  if (created) rados_shutdown(opened->cluster);
  return result;
}

void close(CellarHandle* handle) {
  rados_shutdown(handle->cluster);
  delete handle;
}

int open_pool(CellarHandle* handle, const char* pool, const char* name_space, CellarPool** opened) {
  auto made = std::make_unique<CellarPool>();
  if (const int result = rados_ioctx_create(handle->cluster, pool, &made->io); result != 0) {
    return result;
  }
  rados_ioctx_set_namespace(made->io, name_space);
  // A full pool answers with an error; without this its writes wait until there is room.
  rados_set_pool_full_try(made->io);
  *opened = made.release();
  return 0;
}

void close_pool(CellarPool* pool) {
  rados_ioctx_destroy(pool->io);
  delete pool;
}

void add_step(rados_write_op_t write, const CellarStep& step) {
  // Names of attributes are C strings.
  const std::string key(step.key.data, step.key.size);
  switch (static_cast<RadosStep::Kind>(step.kind)) {
    case RadosStep::Kind::require_xattr:
      rados_write_op_cmpxattr(write, key.c_str(), LIBRADOS_CMPXATTR_OP_EQ, step.value.data,
                              step.value.size);
      break;
    case RadosStep::Kind::require_exists:
      rados_write_op_assert_exists(write);
      break;
    case RadosStep::Kind::create_new:
      rados_write_op_create(write, LIBRADOS_CREATE_EXCLUSIVE, nullptr);
      break;
    case RadosStep::Kind::create:
      rados_write_op_create(write, LIBRADOS_CREATE_IDEMPOTENT, nullptr);
      break;
    case RadosStep::Kind::write:
      rados_write_op_write(write, step.value.data, step.value.size, step.offset);
      break;
    case RadosStep::Kind::write_full:
      rados_write_op_write_full(write, step.value.data, step.value.size);
      break;
    case RadosStep::Kind::set_xattr:
      rados_write_op_setxattr(write, key.c_str(), step.value.data, step.value.size);
      break;
    case RadosStep::Kind::set_omap:
    case RadosStep::Kind::remove_omap:
      break;  // add_omap_steps()
    case RadosStep::Kind::remove:
      rados_write_op_remove(write);
      break;
  }
}

// Adds the steps from `at` on that have the kind of the first, as one operation of the OSD. Returns
// the index of the next.
size_t add_omap_steps(rados_write_op_t write, const CellarOperation& operation, size_t at) {
  const uint32_t kind = operation.steps[at].kind;
  std::vector<const char*> keys;
  std::vector<const char*> values;
  std::vector<size_t> key_sizes;
  std::vector<size_t> value_sizes;
  for (; at < operation.step_count && operation.steps[at].kind == kind; ++at) {
    const CellarStep& step = operation.steps[at];
    keys.push_back(step.key.data);
    key_sizes.push_back(step.key.size);
    values.push_back(step.value.data);
    value_sizes.push_back(step.value.size);
  }
  if (static_cast<RadosStep::Kind>(kind) == RadosStep::Kind::set_omap) {
    rados_write_op_omap_set2(write, keys.data(), values.data(), key_sizes.data(),
                             value_sizes.data(), keys.size());
  } else {
    rados_write_op_omap_rm_keys2(write, keys.data(), key_sizes.data(), keys.size());
  }
  return at;
}

void add_steps(rados_write_op_t write, const CellarOperation& operation) {
  for (size_t at = 0; at < operation.step_count;) {
    const CellarStep& step = operation.steps[at];
    const auto kind = static_cast<RadosStep::Kind>(step.kind);
    if (kind == RadosStep::Kind::set_omap || kind == RadosStep::Kind::remove_omap) {
      at = add_omap_steps(write, operation, at);
    } else {
      add_step(write, step);
      ++at;
    }
  }
}

void add_read(State& state, CellarOperation& operation) {
  switch (static_cast<RadosRequest::Kind>(operation.kind)) {
    case RadosRequest::Kind::read:
      rados_read_op_read(state.read, operation.offset, operation.size, operation.buffer,
                         &operation.bytes_read, &state.step_result);
      break;
    case RadosRequest::Kind::stat:
      rados_read_op_stat(state.read, &state.size, nullptr, &state.step_result);
      break;
    case RadosRequest::Kind::xattrs:
      rados_read_op_getxattrs(state.read, &state.xattrs, &state.step_result);
      break;
    case RadosRequest::Kind::omap:
      rados_read_op_omap_get_vals2(state.read, operation.after, "", operation.size, &state.omap,
                                   &state.more, &state.step_result);
      break;
    case RadosRequest::Kind::omap_values: {
      std::vector<const char*> keys;
      std::vector<size_t> sizes;
      for (size_t i = 0; i < operation.key_count; ++i) {
        keys.push_back(operation.keys[i].data);
        sizes.push_back(operation.keys[i].size);
      }
      rados_read_op_omap_get_vals_by_keys2(state.read, keys.data(), keys.size(), sizes.data(),
                                           &state.omap, &state.step_result);
      break;
    }
    case RadosRequest::Kind::write:
      break;
  }
}

void on_done(rados_completion_t completion, void* argument) {
  auto& operation = *static_cast<CellarOperation*>(argument);
  const State& state = state_of(operation);
  const int result = rados_aio_get_return_value(completion);
  // A read returns a positive number in some releases.
  operation.result = result < 0 ? result : (state.step_result < 0 ? state.step_result : 0);
  operation.object_size = state.size;
  operation.more = state.more;
  operation.done(&operation);
}

int submit(CellarPool* pool, CellarOperation* operation) {
  auto state = std::make_unique<State>();
  operation->module_state = state.get();
  int result = rados_aio_create_completion2(operation, &on_done, &state->completion);
  if (result != 0) {
    operation->module_state = nullptr;
    return result;
  }
  if (static_cast<RadosRequest::Kind>(operation->kind) == RadosRequest::Kind::write) {
    state->write = rados_create_write_op();
    add_steps(state->write, *operation);
    result = rados_aio_write_op_operate(state->write, pool->io, state->completion,
                                        operation->object, nullptr, LIBRADOS_OPERATION_NOFLAG);
  } else {
    state->read = rados_create_read_op();
    add_read(*state, *operation);
    const int flags =
        operation->any_replica != 0 ? LIBRADOS_OPERATION_BALANCE_READS : LIBRADOS_OPERATION_NOFLAG;
    result = rados_aio_read_op_operate(state->read, pool->io, state->completion, operation->object,
                                       flags);
  }
  if (result == 0) {
    state.release();  // release() frees it
  } else {
    operation->module_state = nullptr;
  }
  return result;
}

void cancel(CellarPool* pool, CellarOperation* operation) {
  rados_aio_cancel(pool->io, state_of(*operation).completion);
}

int next_pair(CellarOperation* operation, CellarBytes* key, CellarBytes* value) {
  const State& state = state_of(*operation);
  if (state.xattrs != nullptr) {
    const char* name = nullptr;
    const int result = rados_getxattrs_next(state.xattrs, &name, &value->data, &value->size);
    if (result != 0 || name == nullptr) return 0;
    *key = {name, std::strlen(name)};
    return 1;
  }
  if (state.omap == nullptr) return 0;
  char* name = nullptr;
  char* content = nullptr;
  const int result = rados_omap_get_next2(state.omap, &name, &content, &key->size, &value->size);
  if (result != 0 || name == nullptr) return 0;
  key->data = name;
  value->data = content;
  return 1;
}

void release(CellarOperation* operation) {
  delete static_cast<State*>(operation->module_state);
  operation->module_state = nullptr;
}

// A listing ends in the same way when its pool is deleted.
int pool_exists(CellarPool* pool) {
  char name[256];
  const int result = rados_pool_reverse_lookup(rados_ioctx_get_cluster(pool->io),
                                               rados_ioctx_get_id(pool->io), name, sizeof name);
  // The name does not matter, and may be longer.
  return result >= 0 || result == -ERANGE ? 0 : result;
}

int list(CellarPool* pool, int (*name)(void* context, CellarBytes name), void* context) {
  rados_list_ctx_t listing = nullptr;
  if (const int result = rados_nobjects_list_open(pool->io, &listing); result != 0) return result;
  int result = 0;
  while (result == 0) {
    const char* entry = nullptr;
    const char* locator = nullptr;
    const char* name_space = nullptr;
    size_t entry_size = 0;
    size_t locator_size = 0;
    size_t space_size = 0;
    result = rados_nobjects_list_next2(listing, &entry, &locator, &name_space, &entry_size,
                                       &locator_size, &space_size);
    if (result == 0) result = name(context, {entry, entry_size});
  }
  rados_nobjects_list_close(listing);
  return result == -ENOENT ? pool_exists(pool) : result;
}

std::string library_name() {
  int major = 0;
  int minor = 0;
  int extra = 0;
  rados_version(&major, &minor, &extra);
  return "librados " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(extra);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const CellarClusterApi* cellar_cluster_entry() {
  static const std::string kLibrary = library_name();
  static const CellarClusterApi kApi = {CELLAR_CLUSTER_ABI, kLibrary.c_str(), &open,   &close,
                                        &open_pool,         &close_pool,      &submit, &cancel,
                                        &next_pair,         &release,         &list};
  return &kApi;
}
