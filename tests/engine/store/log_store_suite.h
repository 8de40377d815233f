// LogStoreSuite: what every body of LogStore does.
#pragma once

#include <gmock/gmock.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/store/log_store.h"
#include "tests/engine/store/store_bed.h"

namespace cellar::engine {

using LogStoreBody = StoreBody<LogStore>;

class LogStoreSuite : public StoreSuite<LogStore> {
 protected:
  static constexpr LogId kId = make_log_id(SessionEpoch{3}, 1);

  // An append that notes its number when it is done.
  struct Noted : LogAppend {
    std::vector<size_t>* order = nullptr;
    size_t number = 0;
    bool is_done = false;
    bool ok() const { return is_done && failure == nullptr; }
  };
  struct Seen : LogVisitor {
    struct Entry {
      TabletId tablet;
      Epoch epoch;
      CommitStamp stamp;
      std::string payload;
      LogPosition end;
    };
    Result<void> entry(const LogEntry& e, LogPosition end) override {
      if (entries.size() == fail_at) return fail(Errc::cancelled, "the visitor has seen enough");
      entries.push_back({e.tablet, e.epoch, e.stamp, std::string(e.payload), end});
      return {};
    }
    std::vector<Entry> entries;
    size_t fail_at = SIZE_MAX;
  };

  static LogEntry entry_of(size_t number, Bytes payload) {
    return LogEntry{TabletId{number % 7 + 1}, Epoch{number % 3 + 1}, CommitStamp{1000 + number},
                    payload};
  }
  Noted& append(Log& log, std::string payload, Durability level = Durability::sync) {
    const size_t number = appends_.size();
    Noted& mine = appends_.emplace_back();
    mine.level = level;
    mine.order = &order_;
    mine.number = number;
    mine.done = [](LogAppend& self) {
      auto& noted = static_cast<Noted&>(self);
      noted.is_done = true;
      noted.order->push_back(noted.number);
    };
    const Result<void> accepted = log.append(entry_of(number, payload), mine);
    EXPECT_TRUE(accepted) << accepted.error().to_string();
    payloads_.push_back(std::move(payload));
    return mine;
  }
  void wait_for_all() {
    ASSERT_TRUE(bed().run_until([&] { return order_.size() == appends_.size(); }));
  }
  // The entries from number `first` on.
  void expect_entries(const Seen& seen, size_t first, size_t count) {
    ASSERT_EQ(seen.entries.size(), count);
    for (size_t i = 0; i < count; ++i) {
      const size_t number = first + i;
      EXPECT_EQ(seen.entries[i].tablet, entry_of(number, "").tablet);
      EXPECT_EQ(seen.entries[i].epoch, entry_of(number, "").epoch);
      EXPECT_EQ(seen.entries[i].stamp, entry_of(number, "").stamp);
      EXPECT_TRUE(seen.entries[i].payload == payloads_[number]) << number;
      EXPECT_EQ(seen.entries[i].end, appends_[number].end);
    }
  }

  std::deque<Noted> appends_;
  std::vector<size_t> order_;
  std::vector<std::string> payloads_;
};

TEST_P(LogStoreSuite, EntriesComeBackAsTheyWereAppended) {
  auto log = value(store().create(kId));
  EXPECT_EQ(log->id(), kId);
  LogPosition last = log->end();
  for (const size_t size : {0, 1, 100, 4000, 4096, 16'000, 70'000, 5, 200'000, 3}) {
    append(*log, text_of(size, appends_.size()));
    wait_for_all();
    EXPECT_TRUE(appends_.back().ok());
    EXPECT_GT(appends_.back().end, last);
    last = appends_.back().end;
    EXPECT_EQ(log->end(), last);
    EXPECT_GE(log->durable_end(), last);
  }
  EXPECT_EQ(value(log->seal()), last);
  log.reset();
  for (int life = 0; life < 2; ++life) {
    Seen seen;
    const LogReadReport report = value(store().read(kId, kLogBegin, seen));
    expect_entries(seen, 0, appends_.size());
    EXPECT_EQ(report.end, last);
    EXPECT_EQ(report.entries, appends_.size());
    EXPECT_EQ(report.torn_tail_bytes, 0u);
    reopen();
  }
  // From the end of any entry: exactly the entries after it.
  for (size_t i = 0; i < appends_.size(); ++i) {
    Seen rest;
    (void)value(store().read(kId, appends_[i].end, rest));
    expect_entries(rest, i + 1, appends_.size() - 1 - i);
  }
}

TEST_P(LogStoreSuite, DoneNeverRunsInsideAppendAndKeepsTheOrder) {
  auto log = value(store().create(kId));
  const Durability levels[] = {Durability::sync, Durability::memory, Durability::periodic};
  for (size_t i = 0; i < 60; ++i) append(*log, text_of(3'000, i), levels[i % 3]);
  EXPECT_TRUE(order_.empty());
  wait_for_all();
  for (size_t i = 0; i < order_.size(); ++i) EXPECT_EQ(order_[i], i);
  (void)value(log->seal());
}

TEST_P(LogStoreSuite, SyncWaitsForEverythingWhateverItsLevel) {
  auto log = value(store().create(kId));
  append(*log, text_of(100), Durability::memory);
  append(*log, text_of(100), Durability::periodic);
  ok(log->sync());
  EXPECT_GE(log->durable_end(), log->end());
  (void)value(log->seal());
}

TEST_P(LogStoreSuite, ASealedLogTakesNothingMore) {
  auto log = value(store().create(kId));
  append(*log, "one");
  const LogPosition end = value(log->seal());
  EXPECT_TRUE(appends_[0].ok());  // what was accepted before is durable
  EXPECT_EQ(end, appends_[0].end);
  Noted late;
  const Result<void> refused = log->append(entry_of(1, "x"), late);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_FALSE(late.is_done);
}

TEST_P(LogStoreSuite, AcknowledgedEntriesOfALogThatWasNotSealedAreThere) {
  auto log = value(store().create(kId));
  for (size_t i = 0; i < 20; ++i) append(*log, text_of(2'000, i));
  wait_for_all();
  for (const Noted& append : appends_) EXPECT_TRUE(append.ok());
  log.reset();  // as at the end of its process
  reopen();
  Seen seen;
  const LogReadReport report = value(store().read(kId, kLogBegin, seen));
  expect_entries(seen, 0, appends_.size());
  EXPECT_EQ(report.entries, appends_.size());
}

TEST_P(LogStoreSuite, AnIdIsUsedOnceAndAnAbsentLogIsNotFound) {
  Seen seen;
  (void)error(store().read(kId, kLogBegin, seen), Errc::not_found);
  EXPECT_TRUE(value(store().list()).empty());
  ok(store().remove(kId));
  auto log = value(store().create(kId));
  (void)error(store().create(kId), Errc::already_exists);
  (void)value(log->seal());
  log.reset();
  (void)error(store().create(kId), Errc::already_exists);
  reopen();
  (void)error(store().create(kId), Errc::already_exists);
}

TEST_P(LogStoreSuite, LogsAreListedSortedAndRemovedOneByOne) {
  std::vector<LogId> ids = {make_log_id(SessionEpoch{2}, 0), make_log_id(SessionEpoch{2}, 1),
                            make_log_id(SessionEpoch{10}, 0)};
  for (const size_t i : {size_t{2}, size_t{0}, size_t{1}}) {
    auto log = value(store().create(ids[i]));
    append(*log, text_of(5'000, i));
    (void)value(log->seal());
  }
  EXPECT_EQ(value(store().list()), ids);
  ok(store().remove(ids[1]));
  ok(store().remove(ids[1]));  // absent
  EXPECT_THAT(value(store().list()), testing::ElementsAre(ids[0], ids[2]));
  reopen();
  EXPECT_THAT(value(store().list()), testing::ElementsAre(ids[0], ids[2]));
  Seen seen;
  (void)error(store().read(ids[1], kLogBegin, seen), Errc::not_found);
  (void)value(store().read(ids[2], kLogBegin, seen));
  EXPECT_EQ(seen.entries.size(), 1u);
  (void)value(store().remove_litter());
  EXPECT_THAT(value(store().list()), testing::ElementsAre(ids[0], ids[2]));
}

TEST_P(LogStoreSuite, AnErrorOfTheVisitorEndsTheRead) {
  auto log = value(store().create(kId));
  for (size_t i = 0; i < 5; ++i) append(*log, text_of(100, i));
  (void)value(log->seal());
  log.reset();
  Seen seen;
  seen.fail_at = 3;
  (void)error(store().read(kId, kLogBegin, seen), Errc::cancelled);
  EXPECT_EQ(seen.entries.size(), 3u);
}

TEST_P(LogStoreSuite, WhatIsBehindATrimIsStillRead) {
  auto log = value(store().create(kId));
  for (size_t i = 0; i < 40; ++i) {
    append(*log, text_of(20'000, i));
    wait_for_all();
    if (i >= 5) log->trim(appends_[i - 5].end);
  }
  EXPECT_LE(log->needed_bytes(), log->bytes_on_disk());
  (void)value(log->seal());
  log.reset();
  reopen();
  Seen rest;
  (void)value(store().read(kId, appends_[34].end, rest));
  expect_entries(rest, 35, 5);
}

TEST_P(LogStoreSuite, WhatIsErasedNeedsATrimAndLeavesTheRest) {
  auto log = value(store().create(kId));
  for (size_t i = 0; i < 10; ++i) append(*log, text_of(20'000, i));
  wait_for_all();
  const LogPosition upto = value(log->erase(appends_[9].end));
  EXPECT_GE(upto, appends_[9].end);
  log->trim(upto);
  append(*log, text_of(3'000, 10));
  append(*log, text_of(3'000, 11));
  wait_for_all();
  (void)value(log->seal());
  log.reset();
  reopen();
  Seen rest;
  (void)value(store().read(kId, upto, rest));
  expect_entries(rest, 10, 2);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LogStoreSuite);

}  // namespace cellar::engine
