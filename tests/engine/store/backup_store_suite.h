// BackupStoreSuite: what every body of BackupStore does. Its blobs are tested by BlobStoreSuite
// (blob_store_suite.h), to which a body gives BackupStore::blobs().
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "engine/store/backup_store.h"
#include "tests/engine/store/store_bed.h"

namespace cellar::engine {

using BackupStoreBody = StoreBody<BackupStore>;

class BackupStoreSuite : public StoreSuite<BackupStore> {
 protected:
  static std::string source(char digit) { return std::string(32, digit); }
};

TEST_P(BackupStoreSuite, ANewStoreHasNothing) {
  EXPECT_TRUE(value(store().names()).empty());
  EXPECT_TRUE(value(store().blobs().list()).empty());
  const Error missing = error(store().read("monday"), Errc::not_found);
  EXPECT_THAT(missing.message, testing::HasSubstr("monday"));
}

TEST_P(BackupStoreSuite, WhatWasWrittenIsReadAlsoByALaterStore) {
  ok(store().claim(source('a')));
  std::vector<std::pair<std::string, std::string>> written;
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{4096}, size_t{100'003}, size_t{5'000'000}}) {
    written.emplace_back(fmt::format("of-{}", size), text_of(size));
    ok(store().write(written.back().first, written.back().second));
  }
  // Any bytes.
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes.push_back(static_cast<char>(c));
  written.emplace_back("bytes", bytes);
  ok(store().write("bytes", bytes));
  for (int life = 0; life < 2; ++life) {
    for (const auto& [name, content] : written) {
      EXPECT_TRUE(value(store().read(name)) == content) << name;
    }
    EXPECT_EQ(value(store().names()).size(), written.size());
    reopen();
  }
}

TEST_P(BackupStoreSuite, NamesAreSorted) {
  ok(store().claim(source('a')));
  for (const char* name : {"b", "a", "a.1", "Z", "a-1", "_", "10", "9"}) {
    ok(store().write(name, name));
  }
  EXPECT_THAT(value(store().names()),
              testing::ElementsAre("10", "9", "Z", "_", "a", "a-1", "a.1", "b"));
}

TEST_P(BackupStoreSuite, ANameHasItsWholeLength) {
  ok(store().claim(source('a')));
  const std::string longest(64, 'n');
  ok(store().write(longest, "content"));
  EXPECT_EQ(value(store().read(longest)), "content");
  EXPECT_THAT(value(store().names()), testing::ElementsAre(longest));
}

TEST_P(BackupStoreSuite, AnotherContentReplacesTheWholeOfTheFirst) {
  ok(store().claim(source('a')));
  ok(store().write("monday", text_of(200'000, 1)));
  ok(store().write("monday", text_of(1'000, 2)));
  EXPECT_TRUE(value(store().read("monday")) == text_of(1'000, 2));
  ok(store().write("monday", text_of(300'000, 3)));
  reopen();
  EXPECT_TRUE(value(store().read("monday")) == text_of(300'000, 3));
  EXPECT_THAT(value(store().names()), testing::ElementsAre("monday"));
}

TEST_P(BackupStoreSuite, ARemovedBackupIsGoneAndTheOthersStay) {
  ok(store().claim(source('a')));
  ok(store().write("monday", "1"));
  ok(store().write("tuesday", "2"));
  ok(store().remove("monday"));
  ok(store().remove("monday"));  // absent
  (void)error(store().read("monday"), Errc::not_found);
  reopen();
  EXPECT_THAT(value(store().names()), testing::ElementsAre("tuesday"));
  EXPECT_EQ(value(store().read("tuesday")), "2");
  ok(store().write("monday", "3"));  // the name is free again
  EXPECT_EQ(value(store().read("monday")), "3");
}

TEST_P(BackupStoreSuite, AStoreIsOfOneDataDirectory) {
  ok(store().claim(source('a')));
  ok(store().claim(source('a')));
  (void)error(store().claim(source('b')), Errc::failed_precondition);
  ok(store().write("monday", "1"));
  reopen();
  (void)error(store().claim(source('b')), Errc::failed_precondition);
  ok(store().claim(source('a')));
  EXPECT_EQ(value(store().read("monday")), "1");
}

TEST_P(BackupStoreSuite, WhatIsNoNameOfABackupIsRefused) {
  ok(store().claim(source('a')));
  for (const std::string& name : {std::string(), std::string(".hidden"), std::string("../SOURCE"),
                                  std::string("a/b"), std::string("a b"), std::string(65, 'n')}) {
    SCOPED_TRACE(name);
    (void)error(store().read(name), Errc::invalid_argument);
    (void)error(store().write(name, "content"), Errc::invalid_argument);
    (void)error(store().remove(name), Errc::invalid_argument);
  }
  EXPECT_TRUE(value(store().names()).empty());
}

// The blobs and the backups are kept apart.
TEST_P(BackupStoreSuite, BlobsAreNoBackups) {
  constexpr BlobId kId = make_blob_id(SessionEpoch{3}, 1, 7);
  ok(store().claim(source('a')));
  const auto write = [&]() -> Async<Result<void>> {
    CO_TRY(auto writer, co_await store().blobs().create(kId, 0, IoClass::flush));
    CO_TRY_VOID(co_await writer->append("content"));
    CO_TRY_VOID(co_await writer->seal());
    co_return Result<void>();
  };
  ok(write());
  ok(store().write("monday", "1"));
  EXPECT_THAT(value(store().names()), testing::ElementsAre("monday"));
  reopen();
  const std::vector<BlobInfo> blobs = value(store().blobs().list());
  ASSERT_EQ(blobs.size(), 1u);
  EXPECT_EQ(blobs[0].id, kId);
  ok(store().remove("monday"));
  EXPECT_EQ(value(store().blobs().list()).size(), 1u);
  ok(store().blobs().remove(kId));
  EXPECT_TRUE(value(store().blobs().list()).empty());
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BackupStoreSuite);

}  // namespace cellar::engine
