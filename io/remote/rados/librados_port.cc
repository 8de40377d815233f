#include "io/remote/rados/librados_port.h"

#include <algorithm>
#include <cerrno>

#include "io/base/check.h"

namespace cellar {

// One request as the module sees it, from send() to its arrival.
struct LibradosPort::Operation : Arrival {
  CellarOperation c = {};
  LibradosPort* port = nullptr;
  RadosRequest* request = nullptr;
  std::vector<CellarStep> steps;
  std::vector<CellarBytes> keys;
};

LibradosPort::LibradosPort(const CellarClusterApi& api, CellarHandle* handle, BlockingPool& pool,
                           Loop& loop, RadosShare share)
    : RadosPort(loop.timers(), share),
      api_(api),
      handle_(handle),
      blocking_(pool),
      arrivals_(loop) {}

LibradosPort::~LibradosPort() {
  CHECK(pools_.empty() && blocking_calls_ == 0, "a port to Ceph was not closed");
}

CellarPool* LibradosPort::pool_of(RadosPool pool) const {
  CHECK(pool.value() < pools_.size(), "no pool {}", pool);
  return pools_[pool.value()];
}

Async<Result<RadosPool>> LibradosPort::open_pool(std::string pool, std::string name_space) {
  CO_TRY_VOID(admit_pool(pools_.size() + blocking_calls_));
  CellarPool* opened = nullptr;
  ++blocking_calls_;
  const auto look_up = [&] {
    return api_.open_pool(handle_, pool.c_str(), name_space.c_str(), &opened);
  };
  const int result = co_await blocking_.run(look_up);
  --blocking_calls_;
  calls_over_.notify_all();
  if (result == -ENOENT) {
    co_return fail(Errc::not_found, "the Ceph cluster has no pool '{}'", pool);
  }
  if (result != 0) {
    co_return std::unexpected(look_error(result, fmt::format("opening the Ceph pool '{}'", pool)));
  }
  pools_.push_back(opened);
  co_return RadosPool(static_cast<uint32_t>(pools_.size() - 1));
}

void LibradosPort::send(RadosRequest& request) {
  auto* const operation = new Operation;
  operation->port = this;
  operation->request = &request;
  operation->on_arrival = [](Arrival& self) {
    auto& mine = static_cast<Operation&>(self);
    mine.port->collect(mine);
  };
  request.body = operation;
  for (const RadosStep& step : request.steps) {
    operation->steps.push_back({static_cast<uint32_t>(step.kind),
                                step.offset,
                                {step.key.data(), step.key.size()},
                                {step.value.data(), step.value.size()}});
  }
  for (const std::string& key : request.keys) operation->keys.push_back({key.data(), key.size()});
  CellarOperation& c = operation->c;
  c.kind = static_cast<uint32_t>(request.kind);
  c.object = request.object.name.c_str();
  c.steps = operation->steps.data();
  c.step_count = operation->steps.size();
  c.offset = request.offset;
  c.size = request.size;
  c.buffer = request.kind == RadosRequest::Kind::read ? request.bytes.buffer.chars() : nullptr;
  c.any_replica = request.any_replica ? 1 : 0;
  c.after = request.after.c_str();
  c.keys = operation->keys.data();
  c.key_count = operation->keys.size();
  c.context = operation;
  c.done = [](CellarOperation* over) {  // on a thread of librados
    auto& mine = *static_cast<Operation*>(over->context);
    mine.port->arrivals_.push(mine);
  };
  const int result = api_.submit(pool_of(request.object.pool), &c);
  if (result == 0) return;
  c.result = result;
  arrivals_.push(*operation);
}

void LibradosPort::give_up(RadosRequest& request) {
  auto& operation = *static_cast<Operation*>(request.body);
  if (operation.c.module_state != nullptr) api_.cancel(pool_of(request.object.pool), &operation.c);
}

void LibradosPort::collect(Operation& operation) {
  const std::unique_ptr<Operation> mine(&operation);
  RadosRequest& request = *operation.request;
  request.result = operation.c.result;
  request.bytes.data = request.kind == RadosRequest::Kind::read
                           ? request.bytes.buffer.bytes(0, operation.c.bytes_read)
                           : Bytes();
  request.stat.size = operation.c.object_size;
  request.more = operation.c.more != 0;
  if (operation.c.module_state != nullptr) {
    CellarBytes key = {};
    CellarBytes value = {};
    while (request.result == 0 && api_.next_pair(&operation.c, &key, &value) != 0) {
      request.pairs.emplace_back(std::string(key.data, key.size),
                                 std::string(value.data, value.size));
    }
    std::ranges::sort(request.pairs);
    api_.release(&operation.c);
  }
  request.body = nullptr;
  landed(request);
}

namespace {

struct Listing {
  std::string prefix;
  std::vector<std::string> names;
};

int add_name(void* context, CellarBytes name) {
  auto& listing = *static_cast<Listing*>(context);
  const std::string_view text(name.data, name.size);
  if (!text.starts_with(listing.prefix)) return 0;
  if (listing.names.size() == RadosPort::kMaxListed) return -E2BIG;
  listing.names.emplace_back(text);
  return 0;
}

}  // namespace

Async<Result<std::vector<std::string>>> LibradosPort::list(RadosPool pool, std::string prefix) {
  if (is_closed())
    co_return fail(Errc::unavailable, "the connection to the Ceph cluster is closing");
  CellarPool* const where = pool_of(pool);
  Listing listing{std::move(prefix), {}};
  ++blocking_calls_;
  const auto look = [&] {
    const int result = api_.list(where, &add_name, &listing);
    std::ranges::sort(listing.names);
    return result;
  };
  const int result = co_await blocking_.run(look);
  --blocking_calls_;
  calls_over_.notify_all();
  if (result == -E2BIG) {
    co_return fail(Errc::resource_exhausted,
                   "a Ceph pool has more than {} objects with names '{}*'", kMaxListed,
                   listing.prefix);
  }
  if (result == -ENOENT) co_return fail(Errc::not_found, "the Ceph cluster has the pool no more");
  if (result != 0) co_return std::unexpected(look_error(result, "listing a Ceph pool"));
  co_return std::move(listing.names);
}

Async<void> LibradosPort::release() {
  while (blocking_calls_ > 0) co_await calls_over_.wait();
  for (CellarPool* pool : pools_) api_.close_pool(pool);
  pools_.clear();
}

}  // namespace cellar
