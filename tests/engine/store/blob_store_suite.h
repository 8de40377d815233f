// BlobStoreSuite: what every body of BlobStore does, the blobs of a BackupStore included.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/store/blob_store.h"
#include "io/base/random.h"
#include "io/loop/waiter.h"
#include "tests/engine/store/store_bed.h"

namespace cellar::engine {

using BlobStoreBody = StoreBody<BlobStore>;

class BlobStoreSuite : public StoreSuite<BlobStore> {
 protected:
  static constexpr BlobId kBlob = make_blob_id(SessionEpoch{2}, 1, 9);

  static Async<Result<std::string>> read(Blob& blob, uint64_t offset, size_t size) {
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
  // Writes a blob in parts of `part` bytes and seals it.
  static Async<Result<void>> write(BlobStore& store, BlobId id, std::string content,
                                   uint64_t expected, size_t part) {
    CO_TRY(auto writer, co_await store.create(id, expected, IoClass::flush));
    for (size_t at = 0; at < content.size(); at += part) {
      const Bytes bytes = Bytes(content).substr(at, part);
      CO_TRY_VOID(co_await writer->append(bytes));
    }
    EXPECT_EQ(writer->size(), content.size());
    co_return co_await writer->seal();
  }
  std::vector<BlobInfo> listed() {
    std::vector<BlobInfo> blobs = value(store().list());
    std::ranges::sort(blobs, {}, &BlobInfo::id);
    return blobs;
  }
};

TEST_P(BlobStoreSuite, WhatWasWrittenInPartsIsReadByRangeAlsoByALaterStore) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{262'144},
                            size_t{4'194'304}, size_t{9'000'001}}) {
    for (const uint64_t expected : {uint64_t{0}, uint64_t{100'000}, uint64_t{20'000'000}}) {
      SCOPED_TRACE(fmt::format("{} bytes, {} expected", size, expected));
      const std::string content = text_of(size);
      ok(write(store(), kBlob, content, expected, 77'777));
      for (int life = 0; life < 2; ++life) {
        auto blob = value(store().open(kBlob));
        EXPECT_EQ(blob->size(), size);
        EXPECT_EQ(blob->id(), kBlob);
        EXPECT_TRUE(value(read(*blob, 0, size)) == content);
        Random random(7);
        for (int i = 0; i < 20; ++i) {
          const uint64_t offset = random.below(size + 1);
          const auto n =
              static_cast<size_t>(random.below(std::min<uint64_t>(size - offset, 9'000) + 1));
          EXPECT_TRUE(value(read(*blob, offset, n)) == content.substr(offset, n));
        }
        blob.reset();
        reopen();
      }
      ok(store().remove(kBlob));
    }
  }
}

TEST_P(BlobStoreSuite, ARangePastTheEndIsDataLoss) {
  ok(write(store(), kBlob, text_of(5'000), 0, 5'000));
  auto blob = value(store().open(kBlob));
  (void)error(read(*blob, 5'000, 1), Errc::data_loss);
  (void)error(read(*blob, 4'999, 2), Errc::data_loss);
  (void)error(read(*blob, 1'000'000, 10), Errc::data_loss);
  (void)error(read(*blob, UINT64_MAX - 1, 10), Errc::data_loss);
  EXPECT_EQ(value(read(*blob, 5'000, 0)), "");
  EXPECT_EQ(value(read(*blob, 4'999, 1)), text_of(5'000).substr(4'999));
}

// Many reads are in flight at once; each is done from the loop, never inside submit().
TEST_P(BlobStoreSuite, ReadsInFlightAtOnceGetTheirOwnBytes) {
  struct Counted : BlobRead {
    size_t* left = nullptr;
    bool inside = true;
    bool done_inside = false;
  };
  const std::string content = text_of(1'000'000);
  ok(write(store(), kBlob, content, 0, 100'000));
  auto blob = value(store().open(kBlob));
  std::vector<Counted> reads(40);
  size_t left = reads.size();
  for (size_t i = 0; i < reads.size(); ++i) {
    reads[i].offset = i * 24'001;
    reads[i].size = 5'000 + i;
    reads[i].left = &left;
    reads[i].done = [](BlobRead& self) {
      auto& mine = static_cast<Counted&>(self);
      mine.done_inside = mine.inside;
      --*mine.left;
    };
    blob->submit(reads[i]);
    reads[i].inside = false;
  }
  ASSERT_TRUE(bed().run_until([&] { return left == 0; }));
  for (const Counted& read : reads) {
    EXPECT_FALSE(read.done_inside);
    ASSERT_FALSE(read.error) << read.error->to_string();
    EXPECT_TRUE(read.data == Bytes(content).substr(read.offset, read.size));
  }
}

TEST_P(BlobStoreSuite, AnUnsealedBlobDoesNotExist) {
  auto writer = value(store().create(kBlob, 0, IoClass::flush));
  ok(writer->append("abc"));
  (void)error(store().open(kBlob), Errc::not_found);
  for (const BlobInfo& blob : listed()) EXPECT_FALSE(blob.sealed);
  ok(writer->seal());
  const std::vector<BlobInfo> sealed = listed();
  ASSERT_EQ(sealed.size(), 1u);
  EXPECT_EQ(sealed[0].id, kBlob);
  EXPECT_TRUE(sealed[0].sealed);
  EXPECT_EQ(sealed[0].size, 3u);
}

TEST_P(BlobStoreSuite, AnIdInUseIsRefusedAndAnAbsentBlobIsNotFoundByItsId) {
  const Error absent = error(store().open(kBlob), Errc::not_found);
  EXPECT_THAT(absent.message, testing::HasSubstr(fmt::format("{:x}", kBlob.value())));
  EXPECT_TRUE(listed().empty());
  ok(store().remove(kBlob));
  ok(write(store(), kBlob, "abc", 0, 3));
  (void)error(store().create(kBlob, 0, IoClass::flush), Errc::already_exists);
  reopen();
  (void)error(store().create(kBlob, 0, IoClass::flush), Errc::already_exists);
  auto blob = value(store().open(kBlob));
  EXPECT_EQ(value(read(*blob, 0, 3)), "abc");
}

TEST_P(BlobStoreSuite, AnAbandonedBlobLeavesNothing) {
  auto writer = value(store().create(kBlob, 1 << 20, IoClass::compaction));
  ok(writer->append(text_of(900'000)));
  ok(writer->abandon());
  writer.reset();
  EXPECT_TRUE(listed().empty());
  (void)error(store().open(kBlob), Errc::not_found);
}

TEST_P(BlobStoreSuite, ARemovedBlobIsGoneAndTheOthersStay) {
  std::vector<BlobId> ids;
  for (uint32_t i = 0; i < 5; ++i) {
    ids.push_back(make_blob_id(SessionEpoch{1 + i}, i % 2, i));
    ok(write(store(), ids.back(), text_of(1'000 * (i + 1), i), 0, 700));
  }
  ok(store().remove(ids[2]));
  ok(store().remove(ids[2]));  // absent
  (void)error(store().open(ids[2]), Errc::not_found);
  reopen();
  std::vector<BlobId> found;
  for (const BlobInfo& blob : listed()) {
    EXPECT_TRUE(blob.sealed);
    found.push_back(blob.id);
  }
  EXPECT_THAT(found, testing::ElementsAre(ids[0], ids[1], ids[3], ids[4]));
  for (const uint32_t i : {0u, 1u, 3u, 4u}) {
    auto blob = value(store().open(ids[i]));
    EXPECT_TRUE(value(read(*blob, 0, blob->size())) == text_of(1'000 * (i + 1), i));
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BlobStoreSuite);

}  // namespace cellar::engine
