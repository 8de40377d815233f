// LibradosPort over a cluster module of plain functions: what it does around calls that block.
#include "io/remote/rados/librados_port.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "io/loop/shard_loop.h"

namespace cellar {
namespace {

// A listing stands still until it is released.
std::atomic<bool> listing_begun = false;
std::atomic<bool> listing_released = false;

int open_pool(CellarHandle* /*handle*/, const char* /*pool*/, const char* /*name_space*/,
              CellarPool** opened) {
  *opened = nullptr;
  return 0;
}
void close_pool(CellarPool* /*pool*/) {}
int list(CellarPool* /*pool*/, int (* /*name*/)(void* context, CellarBytes name),
         void* /*context*/) {
  listing_begun = true;
  listing_begun.notify_all();
  listing_released.wait(false);
  return 0;
}

// As a node stops while a job lists: the stop has begun to close the port, the job ends it and
// destroys it.
TEST(LibradosPort, OneThatIsBeingClosedIsNotGoneBeforeThatHasEnded) {
  CellarClusterApi api = {};
  api.open_pool = &open_pool;
  api.close_pool = &close_pool;
  api.list = &list;
  ShardLoop loop;
  BlockingPool blocking(1);
  std::unique_ptr<RadosPort> port =
      std::make_unique<LibradosPort>(api, nullptr, blocking, loop, RadosPort::share_of(1));
  const RadosPool pool = block_on(loop, port->open_pool("p", "")).value();
  bool stop_is_over = false;
  bool job_is_over = false;
  const auto job = [&]() -> Async<void> {
    (void)co_await port->list(pool, "");
    co_await port->close();
    EXPECT_TRUE(stop_is_over) << "the port would go while its close() runs";
    job_is_over = true;
  };
  const auto stop = [&]() -> Async<void> {
    co_await port->close();
    stop_is_over = true;
  };
  spawn(loop.executor(), job);
  while (!listing_begun) loop.turn(false);
  spawn(loop.executor(), stop);
  while (!port->is_closed()) loop.turn(false);
  listing_released = true;
  listing_released.notify_all();
  while (!job_is_over || !stop_is_over) loop.turn(true);
  port.reset();
}

}  // namespace
}  // namespace cellar
