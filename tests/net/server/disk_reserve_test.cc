// A disk that fills up: what is accepted, what is refused, and how space is regained.
#include <gmock/gmock.h>

#include "io/base/random.h"
#include "net/server/disk_watch.h"
#include "tests/net/client/client_node_bed.h"

namespace cellar::client {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMiB = 1u << 20;

class DiskReserve : public ClientNodeBed {
 protected:
  static server::ServerOptions options() {
    server::ServerOptions options;
    options.disk.reserve_bytes = 24 * kMiB;
    options.engine.memtable_bytes = kMiB;
    return options;
  }
  DiskReserve() : ClientNodeBed(options()), watch_(bed_.shard(0), bed_.fs(0)) {
    for (uint32_t i = 0; i < 2; ++i) bed_.shard(i).set_disk(&watch_.room());
    bed_.disk().set_bytes_limit(64 * kMiB);
    watch_.start();
    CHECK(create("t", {"m"}), "no table");
  }
  ~DiskReserve() override { bed_.world().block_on(bed_.loop(0), watch_.stop()); }

  void look() { bed_.world().run_for_us(2 * server::DiskWatch::kLookUs); }
  uint64_t free() { return watch_.room().free_bytes(); }
  // Writes rows of 128 KiB until one is refused; returns how many were accepted.
  int fill(Error& refusal) {
    Random random(7);
    for (int i = 0; i < 2000; ++i) {
      std::string value(128 * 1024, ' ');  // bytes that do not compress
      for (char& c : value) c = static_cast<char>(random.next());
      const auto written = write(cell(fmt::format("{}{:05}", i % 2 ? 'a' : 'z', i), value));
      look();
      if (written) continue;
      refusal = written.error();
      return i;
    }
    return 2000;
  }
  Result<DropReply> drop_rows(const std::string& prefix) {
    DropRows drop;
    drop.prefix = prefix;
    return wait<DropReply>(
        [&](auto done) { client_->async_drop_row_range("t", drop, {}, std::move(done)); });
  }
  Result<void> compact() {
    return wait<void>([&](auto done) { client_->async_compact_table("t", std::move(done)); });
  }

  server::DiskWatch watch_;
};

TEST_F(DiskReserve, WhatAddsDataIsRefusedAndDeletesGoOnUntilThereIsRoomAgain) {
  Error refusal;
  const int rows = fill(refusal);
  ASSERT_GT(rows, 20);
  ASSERT_LT(rows, 2000);
  EXPECT_EQ(refusal.code, Errc::resource_exhausted);
  EXPECT_EQ(refusal.applied, Applied::not_applied);
  EXPECT_THAT(refusal.message, HasSubstr("the last 25165824 (disk.reserve) are kept"));
  EXPECT_EQ(refusal.retry_after_ms, server::DiskRoom::kRetryMs);
  EXPECT_LT(free(), 24 * kMiB);

  // Every form of write that adds data is refused; of a batch the deletes are accepted.
  const ReadModifyWrite modify{"a00001", {{"f", "n", std::nullopt, 1}}, std::nullopt};
  const auto modified = wait<Row>(
      [&](auto done) { client_->async_read_modify_write("t", modify, {}, std::move(done)); });
  EXPECT_EQ(modified.error().code, Errc::resource_exhausted);
  const CheckAndMutate check{"a00001", std::nullopt, Mutation(Bytes()), cell("", "v"), {}};
  const auto checked = wait<CheckAndMutateReply>(
      [&](auto done) { client_->async_check_and_mutate("t", check, {}, std::move(done)); });
  EXPECT_EQ(checked.error().code, Errc::resource_exhausted);
  Mutation gone("a00001");
  gone.delete_row();
  const std::vector<Mutation> entries = {cell("b", "1"), gone};
  const auto results = wait<EntryResults>(
      [&](auto done) { client_->async_mutate_rows("t", entries, {}, std::move(done)); });
  ASSERT_TRUE(results);
  EXPECT_EQ((*results)[0].error().code, Errc::resource_exhausted);
  EXPECT_TRUE((*results)[1]);
  Mutation alone("z00000");
  alone.delete_row();
  EXPECT_TRUE(write(alone));
  EXPECT_FALSE(*read("a00001"));
  EXPECT_FALSE(*read("z00000"));
  EXPECT_TRUE(*read("a00003"));

  // Reclaiming works within the reserve.
  EXPECT_TRUE(drop_rows("a"));
  const auto compacted = compact();
  EXPECT_TRUE(compacted) << compacted.error().message;
  bed_.world().run_for_us(10'000'000);
  EXPECT_GT(free(), 24 * kMiB);
  EXPECT_TRUE(write(cell("b", "1")));
  EXPECT_FALSE(*read("a00003"));
  EXPECT_TRUE(*read("z00002"));
}

TEST_F(DiskReserve, AReloadMayGiveItUp) {
  Error refusal;
  ASSERT_LT(fill(refusal), 2000);
  server::ServerOptions none = options();
  none.disk.reserve_bytes = 0;
  for (uint32_t i = 0; i < 2; ++i) bed_.shard(i).reconfigure(none);
  EXPECT_TRUE(write(cell("b", "1")));
}

}  // namespace
}  // namespace cellar::client
