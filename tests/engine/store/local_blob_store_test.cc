#include "engine/store/blob/local_blob_store.h"

#include <cstdio>

#include "engine/store/blob/local_blob_writer.h"
#include "io/loop/waiter.h"
#include "io/sim/tracing_fs.h"
#include "tests/engine/store/store_rig.h"

namespace cellar::engine {
namespace {

constexpr BlobId kBlob = make_blob_id(SessionEpoch{2}, 1, 9);

Async<Result<std::string>> read_range(Blob& blob, uint64_t offset, size_t size) {
  Waiter waiter;
  BlobRead read;
  read.offset = offset;
  read.size = size;
  read.context = &waiter;
  read.done = [](BlobRead& self) { static_cast<Waiter*>(self.context)->resume(); };
  blob.submit(read);
  co_await waiter.wait();
  if (read.error) co_return std::unexpected(*read.error);
  co_return std::string(read.data);
}

Async<Result<void>> write_blob(BlobStore& store, std::string content, uint64_t expected,
                               size_t part) {
  CO_TRY(auto writer, co_await store.create(kBlob, expected, IoClass::flush));
  for (size_t at = 0; at < content.size(); at += part) {
    const Bytes bytes = Bytes(content).substr(at, part);
    CO_TRY_VOID(co_await writer->append(bytes));
  }
  EXPECT_EQ(writer->size(), content.size());
  CO_TRY_VOID(co_await writer->seal());
  co_return Result<void>();
}

struct BlobTest : testing::Test {
  MemDisk disk;
};

TEST_F(BlobTest, WhatWasWrittenInPartsIsReadByRange) {
  for (const size_t size : {0u, 1u, 4095u, 4096u, 262'144u, 1'000'003u}) {
    for (const uint64_t expected : {uint64_t{0}, uint64_t{100'000}, uint64_t{2'000'000}}) {
      SCOPED_TRACE(fmt::format("{} bytes, {} expected", size, expected));
      StoreRig rig(disk);
      LocalBlobStore store(*rig.fs);
      const std::string content = payload_of(size, size);
      expect_ok(rig.run(write_blob(store, content, expected, 77'777)));
      auto blob = value_of(rig.run(store.open(kBlob)));
      EXPECT_EQ(blob->size(), size);
      EXPECT_EQ(blob->id(), kBlob);
      EXPECT_EQ(value_of(disk.read_all(disk.all_files().at(0))), content);
      Random random(7);
      for (int i = 0; i < 50; ++i) {
        const uint64_t offset = random.below(size + 1);
        const auto n = static_cast<size_t>(random.below(size - offset + 1));
        EXPECT_EQ(value_of(rig.run(read_range(*blob, offset, n))), content.substr(offset, n));
      }
      const auto past = rig.run(read_range(*blob, size, 1));
      ASSERT_FALSE(past);
      EXPECT_EQ(past.error().code, Errc::data_loss);
      blob.reset();
      expect_ok(rig.run(store.remove(kBlob)));
      EXPECT_TRUE(disk.all_files().empty());
    }
  }
}

TEST_F(BlobTest, IdsInUseAreRefusedAndAbsentOnesAreNotFound) {
  StoreRig rig(disk);
  LocalBlobStore store(*rig.fs);
  const auto absent = rig.run(store.open(kBlob));
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Errc::not_found);
  EXPECT_TRUE(value_of(rig.run(store.list())).empty());
  expect_ok(rig.run(store.remove(kBlob)));
  auto writer = value_of(rig.run(store.create(kBlob, 0, IoClass::flush)));
  EXPECT_EQ(rig.run(store.create(kBlob, 0, IoClass::flush)).error().code, Errc::already_exists);
  expect_ok(rig.run(writer->append("abc")));
  EXPECT_FALSE(rig.run(store.open(kBlob)));  // not sealed: does not exist
  const auto listed = value_of(rig.run(store.list()));
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].id, kBlob);
  EXPECT_FALSE(listed[0].sealed);
  expect_ok(rig.run(writer->seal()));
  EXPECT_EQ(rig.run(store.create(kBlob, 0, IoClass::flush)).error().code, Errc::already_exists);
  const auto sealed = value_of(rig.run(store.list()));
  ASSERT_EQ(sealed.size(), 1u);
  EXPECT_TRUE(sealed[0].sealed);
  EXPECT_EQ(sealed[0].size, 3u);
}

TEST_F(BlobTest, AbandonedBlobsLeaveNothing) {
  StoreRig rig(disk, 1, {.min_latency_us = 100, .max_latency_us = 1000});
  LocalBlobStore store(*rig.fs);
  auto writer = value_of(rig.run(store.create(kBlob, 1 << 20, IoClass::compaction)));
  const std::string content(900'000, 'x');
  expect_ok(rig.run(writer->append(content)));
  expect_ok(rig.run(writer->abandon()));
  EXPECT_TRUE(disk.all_files().empty());
}

TEST_F(BlobTest, FailedWritesAndSyncsFailTheSealAndNothingIsRetried) {
  for (const char* rule :
       {"write path=blob/* nth=2 error=EIO", "write path=blob/* nth=2 error=ENOSPC",
        "sync path=blob/* nth=1 drop", "rename path=blob/* nth=1 error=EIO",
        "truncate path=blob/* nth=1 error=EIO"}) {
    SCOPED_TRACE(rule);
    StoreRig rig(disk);
    LocalBlobStore store(*rig.fs);
    expect_ok(rig.rules.add(rule));
    auto writer = value_of(rig.run(store.create(kBlob, 0, IoClass::flush)));
    const std::string content(1'000'001, 'x');
    const auto appended = rig.run(writer->append(content));
    const auto sealed = rig.run(writer->seal());
    EXPECT_FALSE(sealed) << appended.has_value();
    EXPECT_EQ(rig.rules.hits(), 1u);
    EXPECT_FALSE(rig.run(store.open(kBlob)));
    expect_ok(rig.run(writer->abandon()));
    EXPECT_TRUE(disk.all_files().empty());
  }
}

// Every write is inside the space allocated before, and little of it is unused.
TEST_F(BlobTest, NoWriteExtendsTheFile) {
  for (const size_t size : {size_t{1}, size_t{5'000}, size_t{262'144}, size_t{700'001},
                            size_t{6'000'000}, size_t{30'000'000}}) {
    for (const uint64_t expected : {uint64_t{0}, uint64_t{500'000}}) {
      SCOPED_TRACE(fmt::format("{} bytes, {} expected", size, expected));
      MemDisk machine;
      StoreRig rig(machine);
      Trace trace;
      TracingFs fs(std::make_unique<MemFs>(rig.loop.executor(), machine, MemFsOptions()), trace);
      LocalBlobStore store(fs);
      const std::string content(size, 'x');
      expect_ok(rig.run(write_blob(store, content, expected, 77'777)));
      uint64_t allocated = 0;
      size_t writes = 0;
      for (const std::string& line : trace.lines) {
        char path[64];
        unsigned long offset = 0;
        unsigned long bytes = 0;
        if (std::sscanf(line.c_str(), "allocate %63s %lu+%lu", path, &offset, &bytes) == 3) {
          EXPECT_EQ(offset, allocated);
          allocated = offset + bytes;
        } else if (std::sscanf(line.c_str(), "write %63s %lu+%lu", path, &offset, &bytes) == 3) {
          EXPECT_LE(offset + bytes, allocated) << line;
          ++writes;
        }
      }
      EXPECT_GE(writes, 1u);
      EXPECT_LE(allocated, std::max<uint64_t>(size, expected) + kIoAlignment +
                               LocalBlobWriter::kMostReserveBytes);
      EXPECT_EQ(value_of(machine.read_all(machine.all_files().at(0))), content);
    }
  }
}

TEST_F(BlobTest, AFullDiskIsMetBeforeTheWriteAndTheLastSpaceIsUsed) {
  const std::string content(3'000'000, 'x');
  {
    StoreRig rig(disk);
    LocalBlobStore store(*rig.fs);
    expect_ok(rig.rules.add("allocate path=blob/* nth=2 error=ENOSPC"));
    expect_ok(rig.run(write_blob(store, content, 0, 90'000)));  // with less allocated ahead
    EXPECT_EQ(rig.rules.hits(), 1u);
    expect_ok(rig.run(store.remove(kBlob)));
  }
  StoreRig rig(disk);
  LocalBlobStore store(*rig.fs);
  expect_ok(rig.rules.add("allocate path=blob/* nth=2 sticky error=ENOSPC"));
  auto writer = value_of(rig.run(store.create(kBlob, 0, IoClass::flush)));
  const auto appended = rig.run(writer->append(content));
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, Errc::resource_exhausted) << appended.error().to_string();
  EXPECT_EQ(rig.run(writer->seal()).error().code, Errc::resource_exhausted);
  expect_ok(rig.run(writer->abandon()));
  EXPECT_TRUE(disk.all_files().empty());
  const auto expected = rig.run(store.create(kBlob, 1 << 20, IoClass::flush));
  ASSERT_FALSE(expected);
  EXPECT_EQ(expected.error().code, Errc::resource_exhausted);
  EXPECT_TRUE(disk.all_files().empty());
}

TEST_F(BlobTest, AReadThatFailsOnceIsRepeatedAndTwiceIsAnErrorNamingBlobAndPlace) {
  StoreRig rig(disk);
  LocalBlobStore store(*rig.fs);
  const std::string content = payload_of(1, 50'000);
  expect_ok(rig.run(write_blob(store, content, 0, 50'000)));
  auto blob = value_of(rig.run(store.open(kBlob)));
  expect_ok(rig.rules.add("read path=blob/* nth=1 error=EIO"));
  EXPECT_EQ(value_of(rig.run(read_range(*blob, 9000, 500))), content.substr(9000, 500));
  EXPECT_EQ(rig.rules.hits(), 1u);
  rig.rules.clear();
  expect_ok(rig.rules.add("read path=blob/* nth=1 sticky error=EIO"));
  const auto failed = rig.run(read_range(*blob, 9000, 500));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().os_error, EIO);
  EXPECT_NE(failed.error().message.find(fmt::format("{:x} at 8192", kBlob.value())),
            std::string::npos)
      << failed.error().message;
  EXPECT_EQ(rig.rules.hits(), 2u);
  rig.rules.clear();
  EXPECT_TRUE(rig.run(read_range(*blob, 9000, 500)));  // failures are not cached
}

TEST_F(BlobTest, ShortTransfersMakeNoDifference) {
  StoreRig rig(disk);
  LocalBlobStore store(*rig.fs);
  expect_ok(rig.rules.add("write p=0.5 seed=5 short"));
  expect_ok(rig.rules.add("read p=0.3 seed=6 short"));
  const std::string content = payload_of(1, 1'500'000);
  expect_ok(rig.run(write_blob(store, content, 1'500'000, 100'000)));
  auto blob = value_of(rig.run(store.open(kBlob)));
  for (uint64_t at = 0; at < content.size(); at += 100'000) {
    EXPECT_EQ(value_of(rig.run(read_range(*blob, at, 100'000))), content.substr(at, 100'000));
  }
}

TEST_F(BlobTest, ACrashLeavesTheWholeBlobOrNone) {
  constexpr CrashPolicy kPolicies[] = {CrashPolicy::none, CrashPolicy::all,
                                       CrashPolicy::random_subset, CrashPolicy::torn_last_write};
  size_t images = 0;
  for (uint64_t seed = 1; seed <= 10 && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    MemDisk machine;
    Random random(seed);
    StoreRig rig(machine, seed, {.min_latency_us = 20, .max_latency_us = 300});
    LocalBlobStore store(*rig.fs);
    const std::string content = payload_of(seed, 700'000 + random.below(5000));
    bool sealed = false;
    const auto look = [&] {
      auto image = machine.crash_image(kPolicies[random.below(4)], random);
      ++images;
      StoreRig after(*image);
      LocalBlobStore again(*after.fs);
      bool there = false;
      for (const BlobInfo& info : value_of(after.run(again.list()))) {
        EXPECT_EQ(info.id, kBlob);
        if (!info.sealed) continue;
        there = true;
        auto blob = value_of(after.run(again.open(kBlob)));
        EXPECT_EQ(info.size, content.size());
        EXPECT_EQ(value_of(after.run(read_range(*blob, 0, content.size()))), content);
      }
      EXPECT_TRUE(there || !sealed);
      expect_ok(after.run(again.remove(kBlob)));
      EXPECT_TRUE(image->all_files().empty());
      return HasFailure();
    };
    const auto work = [&]() -> Async<void> {
      auto written = co_await write_blob(store, content, 800'000, 90'000);
      expect_ok(written);
      sealed = true;
    };
    spawn(rig.loop.executor(), work());
    rig.world.run_until([&] { return look() || sealed; });
    EXPECT_TRUE(sealed);
    look();
  }
  EXPECT_GT(images, 100u);
}

}  // namespace
}  // namespace cellar::engine
