// Group commit over a sink in memory: batches, their order and their failures, without files.
#include "engine/store/commit/group_commit.h"

#include <deque>
#include <map>
#include <set>

#include "engine/record/record.h"
#include "tests/engine/store/store_rig.h"

namespace cellar::engine {
namespace {

// Keeps what is written in memory. Writes are answered when the test says so, in any order.
class MemSink final : public LogSink {
 public:
  static constexpr uint64_t kHeadBytes = 8192;  // other than that of a file

  uint64_t segment_bytes() const override { return 64u << 10; }
  uint64_t segment_head_bytes() const override { return kHeadBytes; }
  bool is_ready(uint64_t segment) const override { return segment < segments_; }
  uint64_t ready_end() const override { return segments_ * segment_bytes(); }
  const Error* failure() const override { return failure_ ? &*failure_ : nullptr; }
  void on_ready(void (*callback)(void*), void* context) override {
    callback_ = callback;
    context_ = context;
  }
  void submit(SinkWrite& write) override {
    EXPECT_TRUE(is_ready(write.position / segment_bytes()));
    EXPECT_LE(in_flight.size() + 1, kWritesInFlight);
    in_flight.push_back(&write);
    submitted.emplace_back(write.position, write.bytes.size());
    most_in_flight = std::max(most_in_flight, in_flight.size());
  }

  void complete(size_t i, std::optional<Error> error = std::nullopt) {
    SinkWrite& write = *in_flight[i];
    in_flight.erase(in_flight.begin() + static_cast<ptrdiff_t>(i));
    if (!error) {
      bytes[write.position] =
          std::string(reinterpret_cast<const char*>(write.bytes.data()), write.bytes.size());
    }
    write.error = std::move(error);
    write.done(write);
  }
  void make_ready(uint64_t segments) {
    segments_ = segments;
    failure_.reset();
    callback_(context_);
  }
  void fail_to_prepare(Error error) {
    failure_ = std::move(error);
    callback_(context_);
  }

  std::deque<SinkWrite*> in_flight;
  std::vector<std::pair<uint64_t, size_t>> submitted;
  size_t most_in_flight = 0;
  std::map<uint64_t, std::string> bytes;  // by position

 private:
  uint64_t segments_ = 100;
  std::optional<Error> failure_;
  void (*callback_)(void*) = nullptr;
  void* context_ = nullptr;
};

class GroupCommitTest : public testing::Test {
 protected:
  GroupCommitTest() { commits_.start(); }
  static LogOptions options() {
    LogOptions options = small_log();
    options.max_pending_bytes = 64u << 20;  // the tests append without waiting
    return options;
  }
  ~GroupCommitTest() override {
    while (!sink_.in_flight.empty()) sink_.complete(0);
    rig_.run(stopped());
  }
  Async<Result<void>> stopped() {
    co_await commits_.stop();
    co_return Result<void>();
  }
  Append& append(const std::string& payload, Durability level = Durability::sync) {
    Append& one = appends_.emplace_back(order_, static_cast<int>(appends_.size()), level);
    expect_ok(commits_.append("head", payload, one));
    payloads_.push_back("head" + payload);
    return one;
  }
  void turn() { rig_.world.run_for_us(10); }
  // The payloads of all data records that are in the sink, in order of position.
  std::vector<std::string> written() {
    std::vector<std::string> payloads;
    for (const auto& [at, bytes] : sink_.bytes) {
      uint64_t position = at;
      Bytes left(bytes);
      while (!left.empty()) {
        RecordView record;
        size_t need = 0;
        const uint64_t owner = record_owner(RecordFileKind::log, kLog.value());
        if (parse_record(left, owner, position, &record, &need) != RecordStatus::whole) {
          ADD_FAILURE() << "no record at " << position;
          return payloads;
        }
        if (record.type == RecordType::data) {
          if ((record.flags & kFirstFragment) != 0) payloads.emplace_back();
          payloads.back() += record.payload;
        }
        left.remove_prefix(record.size());
        position += record.size();
      }
    }
    return payloads;
  }

  MemDisk disk_;
  StoreRig rig_{disk_};
  MemSink sink_;
  GroupCommit commits_{sink_, rig_.runtime, kLog, options()};
  std::deque<Append> appends_;
  std::vector<int> order_;
  std::vector<std::string> payloads_;
};

TEST_F(GroupCommitTest, BatchesFollowEachOtherAndSkipTheHeadsOfSegments) {
  for (size_t i = 0; i < 60; ++i) append(payload_of(i, 100 + i * 150));
  while (order_.size() < appends_.size()) {
    turn();
    ASSERT_FALSE(sink_.in_flight.empty());
    sink_.complete(0);
  }
  for (const Append& one : appends_) EXPECT_TRUE(one.ok());
  uint64_t at = 0;
  for (const auto& [position, size] : sink_.submitted) {
    if (at % sink_.segment_bytes() == 0) at += MemSink::kHeadBytes;
    EXPECT_EQ(position, at);
    EXPECT_EQ(position / sink_.segment_bytes(), (position + size - 1) / sink_.segment_bytes());
    EXPECT_LE(size, small_log().batch_bytes);
    at = position + size;
  }
  EXPECT_GT(at, 3 * sink_.segment_bytes());
  EXPECT_EQ(written(), payloads_);
  EXPECT_EQ(commits_.durable_end(), at);
}

// Whatever the order in which a sink answers, appends are done in theirs, when all before is
// durable.
TEST_F(GroupCommitTest, AnswersOutOfOrderWaitForTheEarlierOnes) {
  Random random(5);
  size_t n = 0;
  while (n < 300) {
    for (uint64_t i = random.below(5); i > 0; --i) append(payload_of(n++, random.below(20'000)));
    turn();
    if (sink_.in_flight.empty()) continue;
    const size_t i = random.below(sink_.in_flight.size());
    const uint64_t before = commits_.durable_end();
    const uint64_t position = sink_.in_flight[i]->position;
    sink_.complete(i);
    if (i == 0) {
      EXPECT_GT(commits_.durable_end(), position);
    } else {
      EXPECT_EQ(commits_.durable_end(), before) << "an earlier one is on its way";
    }
    for (const Append& one : appends_) {
      if (one.is_done) EXPECT_LE(one.end.value(), commits_.durable_end());
    }
  }
  while (order_.size() < appends_.size()) {
    turn();
    if (!sink_.in_flight.empty()) sink_.complete(sink_.in_flight.size() - 1);
  }
  for (size_t i = 0; i < order_.size(); ++i) EXPECT_EQ(order_[i], static_cast<int>(i));
  EXPECT_GT(sink_.most_in_flight, 1u);
  EXPECT_EQ(written(), payloads_);
}

TEST_F(GroupCommitTest, TheFirstFailureFailsAllThatFollowsAndNothingMoreIsWritten) {
  append("durable");
  turn();
  sink_.complete(0);
  for (size_t i = 0; i < 12; ++i) append(payload_of(i, 15'000));
  turn();
  ASSERT_GE(sink_.in_flight.size(), 2u);
  sink_.complete(1, Error(Errc::unavailable, "the sink is gone"));
  turn();
  EXPECT_TRUE(appends_[0].ok());
  for (size_t i = 1; i < appends_.size(); ++i) {
    ASSERT_TRUE(appends_[i].is_done) << i;
    ASSERT_NE(appends_[i].failure, nullptr) << i;
    EXPECT_EQ(appends_[i].failure->applied, Applied::maybe_applied);
  }
  const size_t submitted = sink_.submitted.size();
  Append& late = appends_.emplace_back(order_, 99);
  const auto refused = commits_.append("head", "late", late);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_EQ(refused.error().applied, Applied::not_applied);
  while (!sink_.in_flight.empty()) sink_.complete(0);
  rig_.world.run_for_us(1'000'000);
  EXPECT_EQ(sink_.submitted.size(), submitted);
  EXPECT_FALSE(late.is_done);
}

TEST_F(GroupCommitTest, ABatchWaitsForItsSegment) {
  sink_.make_ready(1);
  for (size_t i = 0; i < 8; ++i) append(payload_of(i, 12'000));
  for (int i = 0; i < 20; ++i) {
    turn();
    if (!sink_.in_flight.empty()) sink_.complete(0);
  }
  EXPECT_LT(order_.size(), appends_.size());
  EXPECT_LE(commits_.durable_end(), sink_.segment_bytes());
  sink_.fail_to_prepare(Error(Errc::resource_exhausted, "no room"));
  turn();
  Append more(order_, 99);
  EXPECT_EQ(commits_.append("head", payload_of(1, 12'000), more).error().code,
            Errc::resource_exhausted);
  sink_.make_ready(3);
  while (order_.size() < appends_.size()) {
    turn();
    ASSERT_FALSE(sink_.in_flight.empty());
    sink_.complete(0);
  }
  for (const Append& one : appends_) EXPECT_TRUE(one.ok());
  EXPECT_EQ(written(), payloads_);
}

}  // namespace
}  // namespace cellar::engine
