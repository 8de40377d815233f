// A reader that takes no further block of its stream, with a real node on simulated time.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/net/client/client_node_bed.h"

namespace cellar::client {
namespace {

constexpr int64_t kHourUs = 3'600'000'000;

server::ServerOptions with_idle_timeout() {
  server::ServerOptions options;
  options.net.idle_timeout_us = 60'000'000;
  return options;
}

class ForgottenTest : public ClientNodeBed {
 protected:
  static constexpr int kRows = 400;

  ForgottenTest() : ClientNodeBed(with_idle_timeout()) {
    connect(3);
    CHECK(create("t").has_value());
    for (int i = 0; i < kRows; ++i) {
      CHECK(write(cell(key(i), std::string(40'000, 'v'))).has_value());
    }
  }
  static std::string key(int i) { return fmt::format("r{:04}", i); }
  size_t scans() { return bed_.shard(0).admission().scans() + bed_.shard(1).admission().scans(); }
  CellBlock next(ReadStream& stream) {
    auto block = wait<CellBlock>([&](auto done) { stream.async_next(std::move(done)); });
    CHECK(block.has_value(), "{}", block.error().to_string());
    return *std::move(block);
  }
  void take_one(ReadStream& stream, std::vector<std::string>& rows) {
    for (const RowPart& row : next(stream).rows()) rows.emplace_back(row.key);
  }
};

TEST_F(ForgottenTest, AStreamKeepsNoPlaceInTheNode) {
  ReadRows read;
  read.credits = 4;
  ReadStream stream = client_->read_rows("t", read);
  std::vector<std::string> rows;
  take_one(stream, rows);
  bed_.world().run_for_us(kHourUs);
  EXPECT_LE(client_->stats().repeats, 2u);
  for (int minute = 0; minute < 60; ++minute) {
    bed_.world().run_for_us(kHourUs / 60);
    ASSERT_EQ(scans(), 0u) << "after an hour and " << minute << " minutes";
  }
  EXPECT_LE(client_->stats().repeats, 2u);
  while (true) {
    const CellBlock block = next(stream);
    if (block.empty()) break;
    for (const RowPart& row : block.rows()) rows.emplace_back(row.key);
  }
  ASSERT_EQ(rows.size(), static_cast<size_t>(kRows));
  for (int i = 0; i < kRows; ++i) ASSERT_EQ(rows[static_cast<size_t>(i)], key(i));
}

TEST_F(ForgottenTest, AStreamThatWaitsForItsReaderCanBeLetGo) {
  ReadRows read;
  read.credits = 2;
  {
    ReadStream stream = client_->read_rows("t", read);
    std::vector<std::string> rows;
    take_one(stream, rows);
    bed_.world().run_for_us(2 * kHourUs);
  }
  bed_.world().run_for_us(1'000'000);
  EXPECT_EQ(client_->stats().pending, 0u);
  ReadStream other = client_->read_rows("t", read);
  bed_.world().run_for_us(2 * kHourUs);
  client_.reset();
}

}  // namespace
}  // namespace cellar::client
