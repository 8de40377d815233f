// Tables through the client and a real node: created, described, altered, dropped and restored.
#include "tests/net/client/client_node_bed.h"

namespace cellar::client {
namespace {

class ClientTablesTest : public ClientNodeBed {};

TEST_F(ClientTablesTest, TablesAreListedDescribedAndDropped) {
  const auto made = create("t", {"m"});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->tablets.size(), 2u);
  EXPECT_EQ(made->families.size(), 2u);
  const auto list = wait<std::vector<TableSummary>>(
      [&](auto done) { client_->async_list_tables({}, std::move(done)); });
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->front().tablets, 2u);
  const auto written = write(cell("a", "1"));
  ASSERT_TRUE(written.has_value());
  DropRows drop;
  drop.prefix = "a";
  const auto dropped = wait<DropReply>(
      [&](auto done) { client_->async_drop_row_range("t", drop, {}, std::move(done)); });
  ASSERT_TRUE(dropped) << dropped.error().message;
  EXPECT_EQ(dropped->tablets, 1u);
  EXPECT_GT(dropped->commit_stamp_ns, written->commit_stamp_ns);
  EXPECT_FALSE(read("a")->has_value());
  EXPECT_TRUE(wait<void>([&](auto done) { client_->async_flush_table("t", std::move(done)); }));
  EXPECT_TRUE(wait<void>([&](auto done) { client_->async_compact_table("t", std::move(done)); }));
  EXPECT_EQ(wait<ServerInfo>([&](auto done) {
              client_->async_server_info(std::move(done));
            })->stats.size(),
            2u);
  EXPECT_TRUE(wait<void>([&](auto done) { client_->async_drop_table("t", std::move(done)); }));
  EXPECT_EQ(read("a").error().code, Errc::not_found);
}

TEST_F(ClientTablesTest, TheRulesOfAFamilyAreToldAndTheNewestChangeIsUndone) {
  ASSERT_TRUE(create("t").has_value());
  Mutation m("row");
  for (int64_t t = 1; t <= 5; ++t) m.set("f", "q", fmt::format("v{}", t), t * 1000);
  ASSERT_TRUE(write(m).has_value());
  const auto set_rule = [&](std::optional<RetentionRule> rule) {
    TableChange change;
    change.name = "t";
    FamilySpec& family = change.alter.emplace_back();
    family.name = "f";
    family.rule_given = true;
    family.rule = std::move(rule);
    return wait<TableDescription>(
        [&](auto done) { client_->async_alter_table(change, std::move(done)); });
  };
  const auto history = [&](const char* table = "t", const char* family = "f") {
    return wait<RuleHistory>(
        [&](auto done) { client_->async_rule_history(table, family, std::move(done)); });
  };
  const auto undo = [&](uint64_t expected_version) {
    const UndoRule asked{"t", "f", expected_version};
    return wait<TableDescription>(
        [&](auto done) { client_->async_undo_rule(asked, std::move(done)); });
  };
  const auto fresh = history();
  ASSERT_TRUE(fresh) << fresh.error().to_string();
  ASSERT_EQ(fresh->eras.size(), 1u);
  EXPECT_EQ(fresh->version, 1u);
  EXPECT_EQ(fresh->undo_window_us, 86'400'000'000);
  EXPECT_FALSE(fresh->eras[0].rule);

  const auto changed = set_rule(RetentionRule::max_versions(2));
  ASSERT_TRUE(changed) << changed.error().to_string();
  ASSERT_EQ(changed->undo_windows.size(), 1u);
  EXPECT_EQ(changed->undo_windows[0].family, "f");
  EXPECT_FALSE(changed->undo_windows[0].replaced);
  EXPECT_EQ(changed->undo_windows[0].until_us,
            changed->undo_windows[0].changed_us + 86'400'000'000);
  const auto now = history();
  ASSERT_TRUE(now) << now.error().to_string();
  ASSERT_EQ(now->eras.size(), 2u);
  EXPECT_EQ(now->eras[0].rule->value, 2);
  EXPECT_EQ(now->eras[0].until_us, 0);
  EXPECT_EQ(now->eras[0].since_us, now->eras[1].until_us);
  EXPECT_EQ(now->eras[0].undo_until_us, changed->undo_windows[0].until_us);
  EXPECT_EQ(now->eras[1].undo_until_us, 0);
  EXPECT_GE(now->now_us, now->eras[0].since_us);
  EXPECT_EQ((*read("row"))->cells().size(), 2u);

  EXPECT_EQ(undo(1).error().code, Errc::failed_precondition) << "that was another version";
  const auto undone = undo(now->version);
  ASSERT_TRUE(undone) << undone.error().to_string();
  EXPECT_EQ(undone->version, 3u);
  EXPECT_TRUE(undone->undo_windows.empty());
  EXPECT_EQ((*read("row"))->cells().size(), 5u);
  EXPECT_EQ(undo(0).error().code, Errc::failed_precondition);
  EXPECT_EQ(history("none").error().code, Errc::not_found);
  EXPECT_EQ(history("t", "none").error().code, Errc::not_found);
}

TEST_F(ClientTablesTest, ADroppedTableIsListedRestoredAndToldOfInTheAuditTrail) {
  ASSERT_TRUE(create("t", {"m"}).has_value());
  ASSERT_TRUE(write(cell("row", "v")).has_value());
  const auto drop = [&] {
    return wait<void>([&](auto done) { client_->async_drop_table("t", std::move(done)); });
  };
  const auto restore = [&](const char* name) {
    return wait<TableDescription>(
        [&](auto done) { client_->async_restore_table(name, std::move(done)); });
  };
  const auto list = [&](bool include_dropped) {
    const ListTables asked{"", include_dropped};
    return *wait<std::vector<TableSummary>>(
        [&](auto done) { client_->async_list_tables(asked, std::move(done)); });
  };
  EXPECT_EQ(restore("t").error().code, Errc::not_found);
  ASSERT_TRUE(drop());
  EXPECT_EQ(read("row").error().code, Errc::not_found);
  EXPECT_TRUE(list(false).empty());
  const std::vector<TableSummary> dropped = list(true);
  ASSERT_EQ(dropped.size(), 1u);
  EXPECT_TRUE(dropped[0].dropped);
  EXPECT_EQ(dropped[0].tablets, 2u);
  EXPECT_EQ(dropped[0].restorable_until_us, dropped[0].dropped_us + 86'400'000'000);
  EXPECT_GT(dropped[0].bytes, 0u);
  ASSERT_TRUE(create("t").has_value());
  EXPECT_EQ(restore("t").error().code, Errc::already_exists);
  EXPECT_EQ(list(true).size(), 2u);
  ASSERT_TRUE(drop());
  EXPECT_EQ(restore("t")->tablets.size(), 1u) << "the one dropped last";
  TableChange rule;
  rule.name = "t";
  rule.alter.emplace_back().name = "g";
  rule.alter[0].rule_given = true;
  rule.alter[0].rule = RetentionRule::max_versions(2);
  ASSERT_TRUE(wait<TableDescription>(
      [&](auto done) { client_->async_alter_table(rule, std::move(done)); }));

  AuditLog asked;
  asked.limit = 3;
  const auto audit = [&] {
    return wait<AuditPage>([&](auto done) { client_->async_audit_log(asked, std::move(done)); });
  };
  const auto page = audit();
  ASSERT_TRUE(page) << page.error().to_string();
  ASSERT_EQ(page->entries.size(), 3u);
  const AuditEntry& newest = page->entries[0];
  EXPECT_EQ(newest.action, AuditAction::alter_family);
  EXPECT_EQ(newest.family, "g");
  EXPECT_TRUE(newest.old_rule_given && newest.new_rule_given);
  EXPECT_FALSE(newest.old_rule);
  EXPECT_EQ(newest.new_rule->value, 2);
  EXPECT_EQ(newest.client_name, "cellar-client");
  EXPECT_FALSE(newest.address.empty());
  EXPECT_EQ(newest.schema_version, 2u);
  EXPECT_GT(newest.at_us, 0);
  EXPECT_EQ(page->entries[1].action, AuditAction::restore_table);
  EXPECT_EQ(page->entries[2].action, AuditAction::drop_table);
  ASSERT_EQ(page->entries[2].details.size(), 1u);
  EXPECT_EQ(page->entries[2].details[0].name, "restorable_until_us");
  EXPECT_EQ(page->oldest, 1u);
  asked.before = page->next_before;
  asked.limit = 1000;
  EXPECT_EQ(audit()->entries.back().action, AuditAction::create_table);
  EXPECT_EQ(audit()->next_before, 0u);
  asked.limit = 1001;
  EXPECT_EQ(audit().error().code, Errc::invalid_argument);
}

TEST_F(ClientTablesTest, ATableIsAlteredAndItsBoundariesAreTold) {
  ASSERT_TRUE(create("t").has_value());
  TableChange change;
  change.name = "t";
  change.add.emplace_back().name = "h";
  change.options.durability = Durability::periodic;
  const auto altered = wait<TableDescription>(
      [&](auto done) { client_->async_alter_table(change, std::move(done)); });
  ASSERT_TRUE(altered.has_value()) << altered.error().to_string();
  EXPECT_EQ(altered->families.back().name, "h");
  EXPECT_EQ(altered->options.durability, Durability::periodic);
  EXPECT_EQ(altered->version, 2u);
  const auto samples = wait<std::vector<SplitPoint>>(
      [&](auto done) { client_->async_sample_row_keys("t", std::move(done)); });
  ASSERT_TRUE(samples.has_value()) << samples.error().to_string();
  ASSERT_EQ(samples->size(), altered->tablets.size());
  for (size_t i = 0; i < samples->size(); ++i) {
    EXPECT_EQ(samples->at(i).key, altered->tablets[i].end);
  }
}

TEST_F(ClientTablesTest, WhatATableIsMadeWithIsWhatItsDescriptionTells) {
  TableSpec spec;
  spec.name = "p";
  spec.profile = Profile::tablestore;
  spec.families.emplace_back().name = "a";
  FamilySpec& b = spec.families.emplace_back();
  b.name = "b";
  b.rule_given = true;
  b.rule = RetentionRule::any_of(
      {RetentionRule::max_age_us(5'000'000),
       RetentionRule::all_of({RetentionRule::max_versions(2), RetentionRule::max_age_us(1000)})});
  b.timestamps = TimestampMeaning::expiry;
  b.undo_window_us = 0;
  FamilySpec& c = spec.families.emplace_back();
  c.name = "c";
  c.rule_given = true;  // keep everything, whatever the profile says
  c.window.emplace().past_us = 7;
  c.born_dead = BornDead::accept;
  spec.options.reclaim_within_us = 60'000'000;
  spec.options.dead_slack = 0.0;
  spec.options.reclaim_share = 1.0;
  spec.options.compaction = Compaction::time_window;
  spec.options.bottom_compression = BottomCompression::zstd;
  const auto made = wait<TableDescription>(
      [&](auto done) { client_->async_create_table(spec, std::move(done)); });
  ASSERT_TRUE(made.has_value()) << made.error().to_string();
  EXPECT_EQ(made->profile, Profile::tablestore);
  EXPECT_EQ(made->options.reclaim_within_us, 60'000'000);
  EXPECT_EQ(made->options.dead_slack, 0.0);
  EXPECT_EQ(made->options.reclaim_share, 1.0);
  EXPECT_EQ(made->options.compaction, Compaction::time_window);
  EXPECT_EQ(made->options.bottom_compression, BottomCompression::zstd);
  ASSERT_EQ(made->families.size(), 3u);
  ASSERT_TRUE(made->families[0].rule);
  EXPECT_EQ(made->families[0].rule->value, 1);
  EXPECT_EQ(made->families[0].window->past_us, 86'400'000'000);
  EXPECT_TRUE(made->families[0].window->whole_seconds);
  EXPECT_TRUE(made->families[0].window_from_profile);
  EXPECT_FALSE(made->families[2].window_from_profile);
  EXPECT_EQ(made->families[0].undo_window_us, 86'400'000'000);
  ASSERT_TRUE(made->families[1].rule);
  EXPECT_EQ(made->families[1].rule->parts[1].parts[1].value, 1000);
  EXPECT_EQ(made->families[1].timestamps, TimestampMeaning::expiry);
  EXPECT_FALSE(made->families[1].window->past_us) << "a window is for times";
  EXPECT_EQ(made->families[1].undo_window_us, 0);
  EXPECT_FALSE(made->families[2].rule);
  EXPECT_EQ(made->families[2].window->past_us, 7);
  EXPECT_FALSE(made->families[2].window->future_us);
  EXPECT_EQ(made->families[2].born_dead, BornDead::accept);

  // An alteration changes the fields that it names; an added family takes the profile's options.
  TableChange change;
  change.name = "p";
  change.alter.emplace_back().name = "b";
  change.alter.back().undo_window_us = 5;
  change.add.emplace_back().name = "d";
  const auto altered = wait<TableDescription>(
      [&](auto done) { client_->async_alter_table(change, std::move(done)); });
  ASSERT_TRUE(altered.has_value()) << altered.error().to_string();
  EXPECT_EQ(altered->families[1].undo_window_us, 5);
  EXPECT_EQ(altered->families[1].rule->parts[0].value, 5'000'000);
  EXPECT_EQ(altered->families[3].rule->value, 1);

  // Options that the meaning of the timestamps forbids are refused, whichever of the two changes.
  change = {};
  change.name = "p";
  change.alter.emplace_back().name = "b";
  change.alter.back().timestamps = TimestampMeaning::sequence;
  const auto refused = wait<TableDescription>(
      [&](auto done) { client_->async_alter_table(change, std::move(done)); });
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::invalid_argument);
}

}  // namespace
}  // namespace cellar::client
