#include "tests/cluster/keeper.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "net/client/sync_client.h"

namespace cellar::cluster {
namespace {

constexpr int kPauseUs = 2000;  // limits the number of rows, all of which are checked in the end

}  // namespace

Keepers::Keepers(std::string address, int count) : address_(std::move(address)) {
  for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { write(i); });
}

Keepers::~Keepers() { stop(); }

void Keepers::stop() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

uint64_t Keepers::take_failures(std::string& first) {
  const std::scoped_lock lock(mutex_);
  first = std::exchange(first_failure_, "");
  return std::exchange(failures_, 0);
}

void Keepers::write(int number) {
  client::ClientOptions options;
  options.address = address_;
  options.client_name = fmt::format("keeper-{}", number);
  options.routing_hint = client::hint_of(options.client_name);
  options.request_deadline_us = 15'000'000;
  options.wait_for_connection = true;
  client::SyncClient client(options);
  client::CallOptions call;
  call.draw_tokens = number % 2 != 0;
  call.sole_writer = true;  // of its own rows
  for (uint64_t n = 0; !stop_; ++n) {
    const std::string row = fmt::format("{:02}-{:08}", number, n);
    client::Mutation m(row);
    if (*call.draw_tokens) {
      m.set("f", "q", kept_value(row));
    } else {
      m.set("f", "q", kept_value(row), 1000);
    }
    const auto written = client.mutate_row(kKept, m, call);
    usleep(kPauseUs);
    const std::scoped_lock lock(mutex_);
    if (written) {
      promises_.insert(row);
      ++acknowledged_;
    } else if (++failures_ == 1) {
      first_failure_ = fmt::format("{}: {}", row, written.error().to_string());
    }
  }
}

std::string kept_value(const std::string& row) { return "the value of " + row; }

std::set<std::string> kept_rows(const std::string& address) {
  client::ClientOptions options;
  options.address = address;
  client::SyncClient client(options);
  std::set<std::string> rows;
  auto stream = client.read_rows(kKept, client::ReadRows());
  while (true) {
    auto block = client.next(stream);
    if (!block) ADD_FAILURE() << address << ": " << block.error().to_string();
    if (!block || block->empty()) return rows;
    for (const client::RowPart& part : block->rows()) {
      const std::string row(part.key);
      rows.insert(row);
      // A row that ends at the edge of a block comes once more, without cells.
      for (const client::Cell& cell : part.cells) EXPECT_EQ(cell.value, kept_value(row)) << address;
    }
  }
}

}  // namespace cellar::cluster
