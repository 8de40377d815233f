// Validation of row mutations, and the bytes of commits.
#include "engine/model/mutation.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/model/token.h"

namespace cellar {
namespace {

TableSchema schema_with(Granularity granularity) {
  TableSchema schema;
  schema.id = TableId{1};
  schema.name = "t";
  schema.granularity = granularity;
  schema.families = {{"f", CommitStamp{}}, {"g", CommitStamp{}}};
  return schema;
}

Mutation cell_set(Bytes family, Bytes qualifier, int64_t timestamp_us, Bytes value = "v") {
  Mutation m;
  m.family = family;
  m.qualifier = qualifier;
  m.timestamp_us = timestamp_us;
  m.value = value;
  return m;
}
Mutation column_delete(Bytes family, Bytes qualifier, int64_t start_us, int64_t end_us) {
  Mutation m;
  m.kind = Mutation::Kind::delete_from_column;
  m.family = family;
  m.qualifier = qualifier;
  m.start_us = start_us;
  m.end_us = end_us;
  return m;
}
Mutation family_delete(Bytes family) {
  Mutation m;
  m.kind = Mutation::Kind::delete_from_family;
  m.family = family;
  return m;
}
Mutation row_delete() {
  Mutation m;
  m.kind = Mutation::Kind::delete_from_row;
  return m;
}

class ValidateMutation : public testing::Test {
 protected:
  // "OK", or the name of the code; the message is kept in message_.
  std::string validate(std::vector<Mutation> ops, Bytes row = "r",
                       Granularity granularity = Granularity::millis) {
    const auto result = validate_mutation({row, ops}, schema_with(granularity), limits_);
    message_ = result ? "" : result.error().message;
    return result ? "OK" : std::string(errc_name(result.error().code));
  }

  MutationLimits limits_;
  std::string message_;
};

TEST_F(ValidateMutation, RowKeyMustHoldOneToFourThousandNinetySixBytes) {
  EXPECT_EQ(validate({cell_set("f", "q", 1000)}, ""), "INVALID_ARGUMENT");
  EXPECT_EQ(validate({cell_set("f", "q", 1000)}, std::string(4096, 'k')), "OK");
  EXPECT_EQ(validate({cell_set("f", "q", 1000)}, std::string(4097, 'k')), "INVALID_ARGUMENT");
  EXPECT_NE(message_.find("4097"), std::string::npos) << message_;
  EXPECT_NE(message_.find("4096"), std::string::npos) << message_;
}

TEST_F(ValidateMutation, QualifierMayHoldSixteenKibibytes) {
  EXPECT_EQ(validate({cell_set("f", std::string(16384, 'q'), 1000)}), "OK");
  EXPECT_EQ(validate({cell_set("f", std::string(16385, 'q'), 1000)}), "INVALID_ARGUMENT");
  EXPECT_EQ(validate({column_delete("f", std::string(16385, 'q'), 0, kMaxTimestampUs)}),
            "INVALID_ARGUMENT");
}

TEST_F(ValidateMutation, NoOperationsAndTooManyAreRefused) {
  EXPECT_EQ(validate({}), "INVALID_ARGUMENT");
  EXPECT_EQ(validate(std::vector<Mutation>(kMaxMutationsPerRow, cell_set("f", "q", 1000, ""))),
            "OK");
  EXPECT_EQ(validate(std::vector<Mutation>(kMaxMutationsPerRow + 1, cell_set("f", "q", 1000, ""))),
            "INVALID_ARGUMENT");
}

TEST_F(ValidateMutation, TimestampMustSuitTheGranularity) {
  EXPECT_EQ(validate({cell_set("f", "q", 32685506681)}), "INVALID_ARGUMENT");
  EXPECT_EQ(validate({cell_set("f", "q", 32685506681)}, "r", Granularity::micros), "OK");
  EXPECT_EQ(validate({cell_set("f", "q", -2000)}), "INVALID_ARGUMENT");
  EXPECT_EQ(validate({cell_set("f", "q", -1)}, "r", Granularity::micros), "INVALID_ARGUMENT");
  EXPECT_EQ(validate({cell_set("f", "q", 0)}), "OK");
  EXPECT_EQ(validate({cell_set("f", "q", kServerStamped)}), "OK");
  EXPECT_EQ(validate({cell_set("f", "q", 9223372036854775000)}), "OK");
  EXPECT_EQ(validate({cell_set("f", "q", kMaxTimestampUs)}), "INVALID_ARGUMENT");
  EXPECT_EQ(validate({cell_set("f", "q", kMaxTimestampUs)}, "r", Granularity::micros), "OK");
}

TEST_F(ValidateMutation, DeleteRangeMustBeAlignedAndNotEmpty) {
  EXPECT_EQ(validate({column_delete("f", "q", 1000, 2000)}), "OK");
  EXPECT_EQ(validate({column_delete("f", "q", 0, kMaxTimestampUs)}), "OK");
  EXPECT_EQ(validate({column_delete("f", "q", 2000, 2000)}), "INVALID_ARGUMENT");
  EXPECT_EQ(validate({column_delete("f", "q", 4000, 2000)}), "INVALID_ARGUMENT");
  EXPECT_EQ(validate({column_delete("f", "q", 1500, 3000)}), "INVALID_ARGUMENT");
  EXPECT_EQ(validate({column_delete("f", "q", 1000, 3500)}), "INVALID_ARGUMENT");
  EXPECT_EQ(validate({column_delete("f", "q", -1000, 3000)}), "INVALID_ARGUMENT");
  EXPECT_EQ(validate({column_delete("f", "q", 0, 0)}), "INVALID_ARGUMENT");
}

TEST_F(ValidateMutation, UnknownFamilyIsNotFoundWhateverTheOperation) {
  EXPECT_EQ(validate({cell_set("nope", "q", 1000)}), "NOT_FOUND");
  EXPECT_EQ(validate({column_delete("nope", "q", 0, kMaxTimestampUs)}), "NOT_FOUND");
  EXPECT_EQ(validate({row_delete(), family_delete("nope")}), "NOT_FOUND");
  EXPECT_EQ(message_, "operation 1: family 'nope' does not exist in table 't'");
}

TEST_F(ValidateMutation, FormComesBeforeExistence) {
  EXPECT_EQ(validate({cell_set("nope", "q", 1000), cell_set("f", "q", 1001)}), "INVALID_ARGUMENT");
  EXPECT_NE(message_.find("operation 1"), std::string::npos) << message_;
}

TEST_F(ValidateMutation, ValuesOverTheirLimitsAreRefused) {
  limits_.cell_bytes = 10;
  limits_.row_bytes = 30;
  EXPECT_EQ(validate({cell_set("f", "q", 1000, "0123456789")}), "OK");
  EXPECT_EQ(validate({cell_set("f", "q", 1000, "01234567890")}), "INVALID_ARGUMENT");
  EXPECT_EQ(validate(std::vector<Mutation>(3, cell_set("f", "q", 1000, "012345678"))),
            "INVALID_ARGUMENT");
}

TEST_F(ValidateMutation, AnOperationOfNoKindIsRefused) {
  Mutation m = cell_set("f", "q", 1000);
  m.kind = static_cast<Mutation::Kind>(0);
  EXPECT_EQ(validate({m}), "INVALID_ARGUMENT");
  m.kind = static_cast<Mutation::Kind>(9);
  EXPECT_EQ(validate({m}), "INVALID_ARGUMENT");
}

class Entries : public CommitVisitor {
 public:
  void entry(Bytes key, Bytes value) override {
    keys.emplace_back(key);
    values.emplace_back(value);
  }
  void range_delete(const RangeDelete& range, CommitStamp stamp) override {
    ranges.push_back(fmt::format("{}..{} at {}", range.start, range.end, stamp));
  }
  void range_token(const TokenEntry& token, std::span<const RangeDelete> deleted,
                   CommitStamp stamp) override {
    ranges.push_back(fmt::format("token {} of {} at {}", token.id, deleted.size(), stamp));
  }
  std::vector<std::string> keys;
  std::vector<std::string> values;
  std::vector<std::string> ranges;
};

TEST(Commit, ARowCommitBecomesItsEntries) {
  Mutation expiring = cell_set("g", "", 7, "w");
  expiring.expire_at_us = 99;
  const std::vector<Mutation> ops = {row_delete(), family_delete("f"),
                                     column_delete("f", "q", 5, kMaxTimestampUs),
                                     cell_set("f", "q", 6, "v"), expiring};
  std::string payload;
  encode_row_commit(payload, "r", ops);
  Entries got;
  ASSERT_TRUE(visit_commit(payload, CommitStamp{42}, got));
  std::vector<std::string> want(5);
  append_row_delete(want[0], "r", CommitStamp{42});
  append_family_delete(want[1], "r", "f", CommitStamp{42});
  append_column_delete(want[2], "r", "f", "q", CommitStamp{42}, 5, kMaxTimestampUs);
  append_cell(want[3], "r", "f", "q", 6, CommitStamp{42});
  append_cell(want[4], "r", "g", "", 7, CommitStamp{42});
  EXPECT_EQ(got.keys, want);
  std::string value;
  append_cell_value(value, "w", 99);
  EXPECT_EQ(got.values[4], value);
  EXPECT_EQ(got.values[0], "");
}

TEST(Commit, ARangeDeleteIsVisitedAsOne) {
  std::string payload;
  encode_range_delete(payload, {"a", "b"});
  Entries got;
  ASSERT_TRUE(visit_commit(payload, CommitStamp{7}, got));
  EXPECT_EQ(got.ranges, std::vector<std::string>{"a..b at 7"});
}

TEST(Commit, RangeDeletesWithATokenAreVisitedBeforeIt) {
  std::string record;
  append_token_record(record, TokenRecord());
  std::string payload;
  const std::vector<RangeDelete> ranges = {{"a", "b"}, {"c", ""}};
  encode_range_deletes(payload, ranges, {"id", record});
  Entries got;
  ASSERT_TRUE(visit_commit(payload, CommitStamp{7}, got));
  EXPECT_EQ(got.ranges, (std::vector<std::string>{"a..b at 7", "c.. at 7", "token id of 2 at 7"}));
  for (size_t n = 0; n < payload.size(); ++n) {
    Entries none;
    EXPECT_FALSE(visit_commit(Bytes(payload).substr(0, n), CommitStamp{1}, none)) << n;
    EXPECT_TRUE(none.ranges.empty()) << n;
  }
  payload.clear();
  encode_range_deletes(payload, {}, {"id", "no record"});
  EXPECT_FALSE(visit_commit(payload, CommitStamp{1}, got));
}

TEST(Commit, EveryTruncationIsDataLossAndNeverRead) {
  std::string payload;
  encode_row_commit(
      payload, "row",
      std::vector<Mutation>{cell_set("f", "q", 6, "v"), column_delete("f", "q", 5, 9)});
  for (size_t n = 0; n < payload.size(); ++n) {
    Entries got;
    const auto result = visit_commit(Bytes(payload).substr(0, n), CommitStamp{1}, got);
    ASSERT_FALSE(result) << n;
    EXPECT_EQ(result.error().code, Errc::data_loss);
  }
  payload += 'x';
  Entries got;
  EXPECT_FALSE(visit_commit(payload, CommitStamp{1}, got));
}

}  // namespace
}  // namespace cellar
