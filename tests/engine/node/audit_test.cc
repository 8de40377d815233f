// The audit trail: every change of a schema or a rule, with its principal and its values before and
// after; read in pages; bounded; kept across restarts.
#include <gtest/gtest.h>

#include "engine/catalog/audit_trail.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

using engine::AuditEntry;
using engine::AuditTrail;
using Story = std::vector<std::string>;

// Newest first: "alter_family t.f: maxversions=3 -> maxversions=1; undo_window_us 5 -> 6".
Story story(const engine::AuditPage& page) {
  static constexpr std::string_view kNames[] = {"",
                                                "create_table",
                                                "drop_table",
                                                "restore_table",
                                                "alter_table",
                                                "add_family",
                                                "alter_family",
                                                "drop_family",
                                                "undo_rule",
                                                "create_index",
                                                "alter_index",
                                                "drop_index"};
  Story lines;
  for (const AuditEntry& entry : page.entries) {
    std::string line = fmt::format("{} {}", kNames[static_cast<size_t>(entry.action)], entry.table);
    if (!entry.family.empty()) line += "." + entry.family;
    if (entry.old_rule) line += ": " + describe_rule(*entry.old_rule);
    if (entry.new_rule) line += " -> " + describe_rule(*entry.new_rule);
    for (const engine::AuditDetail& detail : entry.details) {
      line += fmt::format("; {} {} -> {}", detail.name, detail.before, detail.after);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

TEST(Audit, TellsEveryChangeOfASchemaWithItsAuthorAndOutlivesRestarts) {
  TestNodeOptions options;
  options.shards = 2;
  TestNode node(options);
  node.author = {"cellar 0.1", "10.0.0.1:5000"};
  const int64_t began_us = node.world().clock().wall_us();
  engine::TableSpec spec;
  spec.name = "t";
  spec.families.emplace_back().name = "f";
  spec.families[0].rule = RetentionRule::max_versions(3);
  spec.families[0].undo_window_us = 1000;
  ASSERT_TRUE(node.create_table(std::move(spec)));
  engine::TableChange change;
  change.name = "t";
  change.alter.emplace_back().name = "f";
  change.alter[0].rule = RetentionRule::max_versions(1);
  change.alter[0].timestamps = TimestampMeaning::sequence;
  change.add.emplace_back().name = "g";
  change.options.durability = Durability::periodic;
  node.author = {"other", "10.0.0.2:6000"};
  ASSERT_TRUE(node.alter_table(change));
  ASSERT_TRUE(node.undo_rule({"t", "f"}));
  engine::TableChange dropping;
  dropping.name = "t";
  dropping.drop = {"g"};
  ASSERT_TRUE(node.alter_table(dropping));
  EXPECT_FALSE(node.alter_table(dropping)) << "what is refused is not told";
  engine::TableChange nothing;
  nothing.name = "t";
  ASSERT_TRUE(node.alter_table(nothing));
  ASSERT_TRUE(node.drop_table("t"));
  ASSERT_TRUE(node.restore_table("t"));
  const Story expected = {
      "restore_table t",
      fmt::format("drop_table t; restorable_until_us  -> {}",
                  node.audit_log().entries[1].at_us + 1000),
      "drop_family t.g: keep everything",
      "undo_rule t.f: maxversions=1 -> maxversions=3",
      "add_family t.g -> keep everything",
      "alter_family t.f: maxversions=3 -> maxversions=1; timestamps time -> sequence",
      "alter_table t; durability sync -> periodic",
      "add_family t.f -> maxversions=3; undo_window_us  -> 1000",
      "create_table t; granularity  -> millis"};
  for (int life = 0; life < 3; ++life) {
    const engine::AuditPage page = node.audit_log();
    EXPECT_EQ(story(page), expected) << "the window is f's: g is gone";
    EXPECT_EQ(page.next_before, 0u);
    EXPECT_EQ(page.oldest, 1u);
    EXPECT_EQ(page.entries.back().by.address, "10.0.0.1:5000");
    EXPECT_EQ(page.entries.front().by.client, "other");
    EXPECT_EQ(page.entries.front().schema_version, 4u);
    for (size_t i = 0; i < page.entries.size(); ++i) {
      EXPECT_EQ(page.entries[i].sequence, expected.size() - i);
      EXPECT_GE(page.entries[i].at_us, began_us);
    }
    node.crash(CrashPolicy::none);
    ASSERT_TRUE(node.reopen(1 + static_cast<uint32_t>(life))) << node.open_error()->to_string();
  }
}

TEST(Audit, IsReadInPagesByTableAndTime) {
  TestNode node;
  for (const char* name : {"a", "b", "a2"}) {
    ASSERT_TRUE(node.create_table(name, {"f"}));
    node.world().run_for_us(1'000'000);
  }
  engine::AuditQuery query;
  query.limit = 2;
  engine::AuditPage page = node.audit_log(query);
  EXPECT_EQ(story(page), (Story{"add_family a2.f -> keep everything",
                                "create_table a2; granularity  -> micros"}));
  query.before = page.next_before;
  query.limit = 100;
  page = node.audit_log(query);
  EXPECT_EQ(page.entries.size(), 4u);
  EXPECT_EQ(page.next_before, 0u);
  query = {};
  query.table = "a";
  EXPECT_EQ(node.audit_log(query).entries.size(), 2u);
  query = {};
  query.since_us = page.entries.front().at_us;
  EXPECT_EQ(node.audit_log(query).entries.size(), 4u) << "a2 and b";
}

AuditEntry small(int i) {
  AuditEntry entry;
  entry.table = fmt::format("t{}", i);
  return entry;
}

TEST(AuditTrail, TheOldestGoWhenThereAreTooMany) {
  AuditTrail trail;
  for (size_t i = 0; i < engine::kMaxAuditEntries + 5; ++i) {
    std::vector<AuditEntry> entries = {small(static_cast<int>(i))};
    auto addition = trail.plan(std::move(entries));
    EXPECT_EQ(addition.edit.remove_items.size(), i < engine::kMaxAuditEntries ? 0u : 1u);
    trail.written(std::move(addition), i + 1);
  }
  EXPECT_EQ(trail.size(), engine::kMaxAuditEntries);
  EXPECT_EQ(trail.read({}).oldest, 6u);
}

TEST(AuditTrail, TheOldestGoWhenTheyTakeTooMuchAndTheNewestStays) {
  AuditTrail trail;
  AuditEntry large;
  large.details.push_back({"x", "", std::string(engine::kMaxAuditBytes / 3, 'v')});
  for (int i = 0; i < 4; ++i) {
    std::vector<AuditEntry> entries = {large};
    trail.written(trail.plan(std::move(entries)), 1);
    EXPECT_LE(trail.size(), 2u);
  }
  EXPECT_EQ(trail.read({}).oldest, 3u);
  // A change with more entries than there is room for: its last entries are kept.
  std::vector<AuditEntry> entries(5, large);
  auto addition = trail.plan(std::move(entries));
  EXPECT_EQ(addition.edit.put_items.size(), 2u);
  EXPECT_EQ(addition.edit.remove_items.size(), 2u);
  trail.written(std::move(addition), 2);
  EXPECT_EQ(trail.read({}).oldest, 8u);
  EXPECT_EQ(trail.size(), 2u);
  const engine::AuditPage page = trail.read({});
  EXPECT_EQ(page.entries.size(), 1u) << "a page has its bound, too";
  EXPECT_EQ(page.next_before, 9u);
}

}  // namespace
}  // namespace cellar::support
