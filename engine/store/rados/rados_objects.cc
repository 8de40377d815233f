#include "engine/store/rados/rados_objects.h"

#include "engine/store/blob_store.h"

namespace cellar::engine {
namespace {

// A cluster that does not answer says nothing about the bytes.
Error read_error(Error error) {
  const bool silent = error.code == Errc::deadline_exceeded || error.code == Errc::unavailable;
  return silent ? unreachable_blob(std::move(error.message)) : error;
}

}  // namespace

Async<bool> RadosObjects::again(const Error& error, int64_t began_us) {
  const bool retryable = error.retryable() &&
                         (error.code == Errc::deadline_exceeded || error.code == Errc::unavailable);
  const int64_t passed_us = runtime_.timers.now_us() - began_us;
  if (port_.is_closed() || !retryable || passed_us >= kPatienceUs) co_return false;
  co_await sleep_us(runtime_.timers, kPauseUs);
  co_return true;
}

Async<Result<RadosObjects::Made>> RadosObjects::write(std::string name, RadosWrite write) {
  const int64_t began_us = runtime_.timers.now_us();
  while (true) {
    RadosObject object{pool_, name};
    RadosWrite copy = write;
    auto outcome = co_await port_.write(std::move(object), std::move(copy), kAttemptUs);
    Error error;
    if (!outcome) {
      error = std::move(outcome).error();
    } else if (std::holds_alternative<RadosApplied>(*outcome)) {
      co_return Made::yes;
    } else if (std::holds_alternative<RadosRefused>(*outcome)) {
      co_return Made::refused;
    } else {
      error = std::move(std::get<RadosUnknown>(*outcome).error);
    }
    const bool more = co_await again(error, began_us);
    if (!more) co_return std::unexpected(std::move(error));
  }
}

Async<Result<void>> RadosObjects::put(std::string name, std::string content) {
  RadosWrite write;
  write.write_full(std::move(content));
  CO_TRY(const Made made, co_await this->write(name, std::move(write)));
  if (made == Made::yes) co_return Result<void>();
  co_return fail(Errc::not_found, "RADOS object '{}' cannot be written: its pool is no more", name);
}

Async<Result<void>> RadosObjects::remove(std::string name) {
  RadosWrite write;
  write.remove();
  CO_TRY(const Made made, co_await this->write(std::move(name), std::move(write)));
  (void)made;  // refused: absent
  co_return Result<void>();
}

Async<Result<RadosBytes>> RadosObjects::read(std::string name, uint64_t offset, size_t size,
                                             bool any_replica) {
  const int64_t began_us = runtime_.timers.now_us();
  while (true) {
    RadosObject object{pool_, name};
    auto bytes = co_await port_.read(std::move(object), offset, size, kAttemptUs, any_replica);
    if (bytes) co_return bytes;
    const bool more = co_await again(bytes.error(), began_us);
    if (!more) co_return std::unexpected(read_error(std::move(bytes).error()));
  }
}

Async<Result<std::vector<std::string>>> RadosObjects::list(std::string prefix) {
  const int64_t began_us = runtime_.timers.now_us();
  while (true) {
    std::string beginning = prefix;
    auto names = co_await port_.list(pool_, std::move(beginning));
    if (names) co_return names;
    const bool more = co_await again(names.error(), began_us);
    if (!more) co_return std::unexpected(std::move(names).error());
  }
}

Async<Result<RadosObjects::Xattrs>> RadosObjects::xattrs(std::string name) {
  const int64_t began_us = runtime_.timers.now_us();
  while (true) {
    RadosObject object{pool_, name};
    auto pairs = co_await port_.xattrs(std::move(object), kAttemptUs);
    if (pairs) co_return Xattrs(pairs->begin(), pairs->end());
    const bool more = co_await again(pairs.error(), began_us);
    if (!more) co_return std::unexpected(read_error(std::move(pairs).error()));
  }
}

}  // namespace cellar::engine
