// The states of node and tablet as bytes: round trips, the golden bytes of FORMATS.md, and damage.
#include "engine/manifest/states.h"

#include <gtest/gtest.h>

#include "engine/manifest/audit_entry.h"
#include "engine/manifest/table_item.h"
#include "engine/manifest/table_state.h"
#include "io/base/random.h"

namespace cellar::engine {
namespace {

TabletState example_tablet() {
  TabletState state;
  state.table = TableId{3};
  state.epoch = Epoch{1};
  state.home = 9;
  state.start = "m";
  state.created = CommitStamp{1000};
  state.last_flushed = CommitStamp{2000};
  state.next_run = 4;
  state.spans = {{.log = LogId{0x20001}, .from = LogPosition{4096}, .to = LogPosition{8192}},
                 {.log = LogId{0x30001}}};
  return state;
}

std::string hex(Bytes bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x} ", static_cast<unsigned char>(c));
  if (!out.empty()) out.pop_back();
  return out;
}

TEST(NodeState, HasTheBytesOfFormatsMd) {
  const NodeState state{.session = SessionEpoch{2},
                        .next_table = TableId{4},
                        .next_tablet = TabletId{300},
                        .tokens = {.window_us = 1000, .raised_us = 5, .before_us = 60},
                        .own_sessions = SessionSet::up_to(SessionEpoch{2})};
  const std::string encoded = encode_node_state(state);
  EXPECT_EQ(hex(encoded), "04 02 04 ac 02 d0 0f 0a 78 01 01 01");
  EXPECT_EQ(*decode_node_state(encoded), state);
}

TEST(NodeState, KnowsItsOwnSessions) {
  NodeState state;
  state.draw_session();
  state.draw_session();
  state.session = SessionEpoch{7};  // others drew some
  state.draw_session();
  EXPECT_EQ(state.session, SessionEpoch{8});
  EXPECT_EQ(*decode_node_state(encode_node_state(state)), state);
  EXPECT_TRUE(state.own_sessions.contains(SessionEpoch{2}));
  EXPECT_FALSE(state.own_sessions.contains(SessionEpoch{7}));
  const std::string encoded = encode_node_state(state);
  for (size_t n = 0; n < encoded.size(); ++n) {
    const auto decoded = decode_node_state(Bytes(encoded).substr(0, n));
    ASSERT_FALSE(decoded) << n;
    EXPECT_EQ(decoded.error().code, Errc::data_loss) << n;
  }
}

// Ranges that are empty, out of order, adjacent, of session 0 or of one that was not drawn yet.
TEST(NodeState, SessionsThatMakeNoSenseAreDataLoss) {
  NodeState state;
  state.session = SessionEpoch{9};
  const std::string whole = encode_node_state(state);
  const std::string head = whole.substr(0, whole.size() - 1);
  const auto with = [&](std::string_view sessions) {
    return decode_node_state(head + std::string(sessions));
  };
  using namespace std::string_view_literals;
  EXPECT_TRUE(with("\1\3\6"sv));
  EXPECT_TRUE(with("\2\1\0\3\6"sv));
  EXPECT_FALSE(with("\0"sv)) << "the last session is its own";
  EXPECT_FALSE(with("\1\3\5"sv)) << "the last session is its own";
  for (const std::string_view bad : {"\1\0\1"sv, "\1\3\7"sv, "\1\12\0"sv, "\2\3\1\4\0"sv,
                                     "\2\3\1\5\0"sv, "\2\3\0\1\0"sv, "\377\177"sv}) {
    const auto decoded = with(bad);
    ASSERT_FALSE(decoded) << hex(bad);
    EXPECT_EQ(decoded.error().code, Errc::data_loss) << hex(bad);
  }
}

TEST(TabletState, HasTheBytesOfFormatsMd) {
  const std::string encoded = encode_tablet_state(example_tablet());
  EXPECT_EQ(hex(encoded),
            "03 03 01 09 01 6d 00 e8 07 d0 0f 04 02 81 80 08 80 20 81 40 81 80 0c 00 00 00");
  const auto decoded = decode_tablet_state(encoded);
  ASSERT_TRUE(decoded) << decoded.error().to_string();
  EXPECT_EQ(*decoded, example_tablet());
}

TEST(TabletState, WithRangeTokensHasTheBytesOfFormatsMd) {
  TabletState state = example_tablet();
  state.range_tokens.push_back({"\2metoken", 5000, {.low = 7, .high = 8}, {{"m", "n"}, {"p", ""}}});
  state.range_tokens.push_back({"\2mez", 60, {}, {}});
  const std::string encoded = encode_tablet_state(state);
  EXPECT_EQ(hex(encoded),
            "03 03 01 09 01 6d 00 e8 07 d0 0f 04 02 81 80 08 80 20 81 40 81 80 0c 00 00 "
            "02 08 02 6d 65 74 6f 6b 65 6e 90 4e "
            "07 00 00 00 00 00 00 00 08 00 00 00 00 00 00 00 02 01 6d 01 6e 01 70 00 "
            "04 02 6d 65 7a 78 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
  EXPECT_EQ(*decode_tablet_state(encoded), state);
  for (size_t n = 0; n < encoded.size(); ++n) {
    const auto decoded = decode_tablet_state(Bytes(encoded).substr(0, n));
    ASSERT_FALSE(decoded) << n;
    EXPECT_EQ(decoded.error().code, Errc::data_loss) << n;
  }
  state.range_tokens[0].done = {{"p", "q"}, {"m", "n"}};
  EXPECT_EQ(decode_tablet_state(encode_tablet_state(state)).error().code, Errc::data_loss)
      << "rows out of order";
}

// ---- range tokens

using Done = std::vector<KeyRange>;

TEST(RangeToken, RowsThatAreLeftAreThoseThatAreNotDone) {
  EXPECT_EQ(rows_left({"a", "z"}, {}), (Done{{"a", "z"}}));
  EXPECT_EQ(rows_left({"", ""}, {}), (Done{{"", ""}}));
  EXPECT_EQ(rows_left({"", ""}, {{"b", "c"}, {"e", ""}}), (Done{{"", "b"}, {"c", "e"}}));
  EXPECT_EQ(rows_left({"b", "f"}, {{"a", "c"}, {"d", "e"}, {"g", "h"}}),
            (Done{{"c", "d"}, {"e", "f"}}));
  EXPECT_EQ(rows_left({"b", "f"}, {{"a", ""}}), Done());
  EXPECT_EQ(rows_left({"b", "f"}, {{"", "b"}, {"f", ""}}), (Done{{"b", "f"}}));
  EXPECT_EQ(rows_left({"b", "f"}, {{"b", "f"}}), Done());
}

TEST(RangeToken, IsCutAndPutTogetherWithItsRows) {
  const std::vector<RangeToken> left = {{"far", 90, {1, 1}, {}},
                                        {"near", 90, {2, 2}, {{"b", "h"}}}};
  const std::vector<RangeToken> right = {{"ended", 9, {3, 3}, {{"h", "k"}}},
                                         {"near", 90, {2, 2}, {{"h", "k"}, {"m", ""}}}};
  const CommitStamp last{10'000};
  const auto cut = [&](const KeyRange& rows) {
    return inherit_tokens({&left, &right}, rows, last);
  };
  EXPECT_EQ(cut({"", ""}),
            (std::vector<RangeToken>{{"far", 90, {1, 1}, {}},
                                     {"near", 90, {2, 2}, {{"b", "k"}, {"m", ""}}}}));
  EXPECT_EQ(cut({"", "c"}),
            (std::vector<RangeToken>{{"far", 90, {1, 1}, {}}, {"near", 90, {2, 2}, {{"b", "c"}}}}));
  EXPECT_EQ(cut({"c", "n"}),
            (std::vector<RangeToken>{{"near", 90, {2, 2}, {{"c", "k"}, {"m", "n"}}}}));
  EXPECT_EQ(cut({"k", "m"}), std::vector<RangeToken>());
}

TEST(TabletState, AnyStateComesBackAsItWas) {
  Random random(11);
  for (int i = 0; i < 1000; ++i) {
    TabletState state;
    state.table = TableId{random.next()};
    state.epoch = Epoch{random.next() >> random.below(64)};
    state.home = static_cast<uint32_t>(random.next());
    state.start = std::string(random.below(20), static_cast<char>(random.next()));
    state.end = std::string(random.below(20), static_cast<char>(random.next()));
    state.created = CommitStamp{random.next()};
    state.last_flushed = CommitStamp{random.next()};
    state.next_run = random.next();
    for (uint64_t n = random.below(4); n > 0; --n) {
      LogSpan span{.log = LogId{random.next()}, .from = LogPosition{random.next()}};
      if (random.one_in(2)) span.to = LogPosition{random.next() >> 1};
      state.spans.push_back(span);
    }
    const auto decoded = decode_tablet_state(encode_tablet_state(state));
    ASSERT_TRUE(decoded) << decoded.error().to_string();
    EXPECT_EQ(*decoded, state);
  }
}

TEST(TabletState, CutShortAtAnyByteItIsDataLoss) {
  const std::string encoded = encode_tablet_state(example_tablet());
  for (size_t n = 0; n < encoded.size(); ++n) {
    const auto decoded = decode_tablet_state(Bytes(encoded).substr(0, n));
    ASSERT_FALSE(decoded) << n;
    EXPECT_EQ(decoded.error().code, Errc::data_loss) << n;
  }
  EXPECT_EQ(decode_tablet_state(encoded + "x").error().code, Errc::data_loss);
}

TEST(States, OfAnotherFormatAreRefusedByNameNotMisread) {
  std::string tablet = encode_tablet_state(example_tablet());
  std::string node = encode_node_state({});
  const auto what = [](int version, int known) {
    return fmt::format(" has format version {}; this program reads version {} only", version,
                       known);
  };
  for (const char version : {1, 2, 4}) {
    tablet[0] = version;
    const Error of_tablet = decode_tablet_state(tablet).error();
    EXPECT_EQ(of_tablet.code, Errc::failed_precondition);
    EXPECT_EQ(of_tablet.message, "tablet state" + what(version, 3));
  }
  for (const char version : {1, 2, 3, 5}) {
    node[0] = version;
    const Error of_node = decode_node_state(node).error();
    EXPECT_EQ(of_node.code, Errc::failed_precondition);
    EXPECT_EQ(of_node.message, "node state" + what(version, 4));
  }
  // The bytes of version 1.
  EXPECT_EQ(decode_node_state(Bytes("\1\2\4\xac\2", 5)).error().code, Errc::failed_precondition);
}

TEST(TableState, OfATableThatIsThereIsItsSchemaAndADroppedOneHasItsMarkBefore) {
  TableSchema schema;
  schema.id = TableId{7};
  schema.name = "t";
  const std::string there = encode_table_state(schema, std::nullopt);
  EXPECT_EQ(there, encode_schema(schema));
  EXPECT_FALSE(decode_table_state(there)->drop);
  const DropMark mark{1000, 4600};
  const std::string dropped = encode_table_state(schema, mark);
  EXPECT_EQ(hex(Bytes(dropped).substr(0, 5)), "81 e8 07 f8 23");
  EXPECT_EQ(dropped.substr(5), there);
  const auto decoded = decode_table_state(dropped);
  ASSERT_TRUE(decoded) << decoded.error().to_string();
  EXPECT_EQ(decoded->drop, mark);
  EXPECT_EQ(decoded->schema.id, schema.id);
  // It is not a schema.
  EXPECT_EQ(decode_schema(dropped).error().code, Errc::failed_precondition);
  for (size_t n = 0; n < dropped.size(); ++n) {
    EXPECT_EQ(decode_table_state(Bytes(dropped).substr(0, n)).error().code, Errc::data_loss) << n;
  }
}

AuditEntry example_audit_entry() {
  AuditEntry entry;
  entry.sequence = 12;
  entry.at_us = 1000;
  entry.action = AuditAction::alter_family;
  entry.by = {"me", "h:1"};
  entry.table_id = TableId{7};
  entry.schema_version = 2;
  entry.table = "t";
  entry.family = "f";
  entry.old_rule = RetentionRule::max_versions(3);
  entry.new_rule = RetentionRule();
  entry.details.push_back({"born_dead", "refuse", "accept"});
  return entry;
}

TEST(AuditEntry, HasTheBytesOfFormatsMd) {
  const std::string encoded = encode_audit_entry(example_audit_entry());
  EXPECT_EQ(hex(encoded),
            "01 e8 07 06 02 6d 65 03 68 3a 31 07 02 01 74 01 66 03 01 01 00 03 00 01 09 62 6f 72 "
            "6e 5f 64 65 61 64 06 72 65 66 75 73 65 06 61 63 63 65 70 74");
  const auto decoded = decode_audit_entry(12, encoded);
  ASSERT_TRUE(decoded) << decoded.error().to_string();
  EXPECT_EQ(*decoded, example_audit_entry());
  for (size_t n = 0; n < encoded.size(); ++n) {
    EXPECT_EQ(decode_audit_entry(1, Bytes(encoded).substr(0, n)).error().code, Errc::data_loss)
        << n;
  }
  EXPECT_EQ(hex(encode_audit_state({.next_sequence = 300})), "01 ac 02");
  std::string newer = encoded;
  newer[0] = 2;
  EXPECT_EQ(decode_audit_entry(1, newer).error().code, Errc::failed_precondition);
}

TableItem example_item() {
  TableItem item;
  item.meta.blob = BlobId{0x10001};
  item.meta.file_bytes = 4096;
  item.meta.table = TableId{3};
  item.meta.tablet = TabletId{5};
  item.meta.entries = 2;
  item.meta.smallest_key = "a";
  item.meta.largest_key = "z";
  item.meta.min_stamp = CommitStamp{10};
  item.meta.max_stamp = CommitStamp{20};
  return item;
}

TEST(TableItem, HasItsRowsInFrontOfTheFacts) {
  TableItem item = example_item();
  const std::string facts = encode_table_meta(item.meta);
  EXPECT_EQ(
      hex(facts),
      "01 03 81 80 04 02 02 80 20 03 01 03 04 01 05 05 00 06 00 07 01 00 08 01 02 09 01 00 0a "
      "01 00 0b 01 00 0c 01 00 0d 01 00 0e 01 00 0f 01 61 10 01 7a 11 01 0a 12 01 14 13 01 01 "
      "14 01 00 15 01 00 16 01 00 17 01 00 18 01 00 19 01 01 1a 01 00 1c 02 00 00 1d 02 00 00");
  const std::string whole = encode_table_item(item);
  EXPECT_EQ(hex(Bytes(whole).substr(0, 4)), "04 00 00 00");
  EXPECT_EQ(whole.substr(4), facts);
  // In version 1 an item was the facts alone.
  EXPECT_EQ(decode_table_item(facts).error().code, Errc::failed_precondition);
  item.rows = {"g", "m\x01"};
  const std::string cut = encode_table_item(item);
  EXPECT_EQ(hex(Bytes(cut).substr(0, 7)), "04 00 01 67 02 6d 01");
  EXPECT_EQ(cut.substr(7), facts);
  item.shared = true;
  EXPECT_EQ(hex(Bytes(encode_table_item(item)).substr(0, 7)), "04 01 01 67 02 6d 01");
  EXPECT_TRUE(decode_table_item(encode_table_item(item))->shared);
  EXPECT_FALSE(decode_table_item(cut)->shared);
  for (const KeyRange& rows : {KeyRange{}, item.rows, KeyRange{"g", ""}, KeyRange{"", "g"}}) {
    item.rows = rows;
    const auto decoded = decode_table_item(encode_table_item(item));
    ASSERT_TRUE(decoded) << decoded.error().to_string();
    EXPECT_EQ(decoded->rows, rows);
    EXPECT_EQ(decoded->meta, item.meta);
  }
}

TEST(TableItem, HasTheTimeOfItsVerificationAfterTheFacts) {
  TableItem item = example_item();
  const std::string without = encode_table_item(item);
  item.verified_us = 0x0102030405060708;
  const std::string encoded = encode_table_item(item);
  EXPECT_EQ(encoded.substr(0, without.size()), without);
  EXPECT_EQ(hex(Bytes(encoded).substr(without.size())), "64 08 08 07 06 05 04 03 02 01");
  const auto decoded = decode_table_item(encoded);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->verified_us, item.verified_us);
  EXPECT_EQ(decoded->meta, item.meta);
  EXPECT_EQ(decode_table_item(without)->verified_us, 0);
  // A time that cannot be one counts as none, and does not make the table unreadable.
  for (const std::string& content :
       {std::string(), std::string(7, '\x01'), std::string(8, '\xff')}) {
    std::string other = without + '\x64';
    other += static_cast<char>(content.size());
    const auto read = decode_table_item(other + content);
    ASSERT_TRUE(read) << content.size();
    EXPECT_EQ(read->verified_us, 0) << content.size();
  }
}

TEST(TableItem, DamagedOrOfAnotherFormatIsRefused) {
  TableItem item = example_item();
  item.rows = {"g", "m"};
  const std::string encoded = encode_table_item(item);
  for (size_t n = 0; n < encoded.size(); ++n) {
    const auto decoded = decode_table_item(Bytes(encoded).substr(0, n));
    ASSERT_FALSE(decoded) << n;
    EXPECT_EQ(decoded.error().code, Errc::data_loss) << n;
  }
  item.rows = {"m", "g"};
  EXPECT_EQ(decode_table_item(encode_table_item(item)).error().code, Errc::data_loss)
      << "rows that end before they begin";
  std::string other = encoded;
  other[1] = 2;
  EXPECT_EQ(decode_table_item(other).error().code, Errc::data_loss) << "a flag that is unknown";
  other = encoded;
  for (const char version : {1, 2, 3, 5}) {
    other[0] = version;
    EXPECT_EQ(decode_table_item(other).error().code, Errc::failed_precondition);
  }
}

TEST(LogSpan, HoldsEntriesThatEndAfterItsBeginningAndNotAfterItsEnd) {
  const LogSpan span{.log = LogId{1}, .from = LogPosition{10}, .to = LogPosition{20}};
  EXPECT_FALSE(span.contains(LogPosition{10}));
  EXPECT_TRUE(span.contains(LogPosition{11}));
  EXPECT_TRUE(span.contains(LogPosition{20}));
  EXPECT_FALSE(span.contains(LogPosition{21}));
}

}  // namespace
}  // namespace cellar::engine
