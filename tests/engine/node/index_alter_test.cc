// Creating, altering and dropping indexes (SEMANTICS 11): what is refused and with what status, how
// the ages of rules and indexes bound each other, and what the audit trail tells.
#include <gtest/gtest.h>

#include "tests/engine/node/index_bed.h"

namespace cellar::support {
namespace {

using engine::AuditAction;
using Names = std::vector<std::string>;

class IndexAlter : public ::testing::Test {
 protected:
  // Families f (max_age 2 d), g, and s of sequence numbers.
  void create(Profile profile = Profile::none) {
    engine::TableSpec spec;
    spec.name = "t";
    spec.profile = profile;
    spec.families.resize(3);
    spec.families[0].name = "f";
    spec.families[0].rule = RetentionRule::max_age_us(2 * kDayUs);
    spec.families[1].name = "g";
    spec.families[2].name = "s";
    spec.families[2].rule = RetentionRule::max_versions(3);
    spec.families[2].timestamps = TimestampMeaning::sequence;
    ASSERT_TRUE(node_.create_table(std::move(spec)));
  }
  std::string change(TableChange change) {
    const auto done = node_.alter_table(std::move(change));
    message_ = done ? "" : done.error().message;
    return status(done);
  }
  std::string add(IndexSpec spec) { return change(creating(std::move(spec))); }
  template <class Set>
  std::string add_with(Set set) {
    IndexSpec spec = index_spec("i");
    set(spec);
    return add(std::move(spec));
  }
  std::string set_age(std::optional<int64_t> us) {
    return change(altering_index({.name = "i", .max_age_us = us, .tighter_base = {}}));
  }
  std::string set_base(TighterBase base) {
    return change(altering_index({.name = "i", .max_age_us = {}, .tighter_base = base}));
  }
  std::string set_rule(RetentionRule rule) { return change(ruling("f", std::move(rule))); }
  std::string set_rule_age(int64_t us) { return set_rule(RetentionRule::max_age_us(us)); }
  std::optional<int64_t> age() { return node_.table("t")->schema.find_index("i")->max_age_us; }
  uint64_t version() { return node_.table("t")->schema.version; }
  void restart() {
    const auto before = node_.table("t")->schema;
    node_.crash(CrashPolicy::none);
    ASSERT_TRUE(node_.reopen()) << node_.open_error()->to_string();
    EXPECT_EQ(node_.table("t")->schema.indexes, before.indexes);
    EXPECT_EQ(node_.table("t")->schema.next_index, before.next_index);
  }

  TestNode node_{shards(2)};
  std::string message_;  // of the last change that was refused
};

TEST_F(IndexAlter, IsInTheSchemaWithItsDefaultsAndOutlivesARestart) {
  create();
  ASSERT_EQ(add_with([](IndexSpec& i) { i.covered = {{"g", "n"}, {"f", "a"}}; }), "OK");
  const IndexSchema made = *node_.table("t")->schema.find_index("i");
  EXPECT_EQ(made.id, 1u);
  EXPECT_EQ(made.type, IndexType::bytes);
  EXPECT_EQ(made.match, IndexMatch::newest);
  EXPECT_EQ(made.tighter_base, TighterBase::follow);
  EXPECT_EQ(made.covered, (std::vector<IndexColumn>{{"f", "a"}, {"g", "n"}})) << "sorted";
  EXPECT_FALSE(made.max_age_us);
  EXPECT_EQ(version(), 2u);
  restart();
}

TEST_F(IndexAlter, WhatDoesNotExistIsNotFound) {
  create();
  EXPECT_EQ(status(node_.alter_table([] {
              TableChange change = creating(index_spec("i"));
              change.name = "none";
              return change;
            }())),
            "NOT_FOUND");
  EXPECT_EQ(add(index_spec("i", "none")), "NOT_FOUND");
  EXPECT_EQ(add_with([](IndexSpec& i) { i.covered = {{"none", "a"}}; }), "NOT_FOUND");
  EXPECT_EQ(set_age(kDayUs), "NOT_FOUND");
  EXPECT_EQ(message_, "table 't' has no index 'i'");
  EXPECT_EQ(change(dropping_indexes({"i"})), "NOT_FOUND");
  EXPECT_EQ(version(), 1u);
}

TEST_F(IndexAlter, ANameIsGivenOnce) {
  create();
  ASSERT_EQ(add(index_spec("i")), "OK");
  EXPECT_EQ(add(index_spec("i", "g")), "ALREADY_EXISTS");
  EXPECT_EQ(message_, "table 't' has an index 'i' already");
  TableChange twice = creating(index_spec("j"));
  twice.add_indexes.push_back(index_spec("j", "g"));
  EXPECT_EQ(change(twice), "INVALID_ARGUMENT");
  EXPECT_EQ(message_, "index 'j' is named twice in one change");
  TableChange both = dropping_indexes({"i"});
  both.add_indexes.push_back(index_spec("i"));
  EXPECT_EQ(change(both), "INVALID_ARGUMENT");
}

TEST_F(IndexAlter, ATableHasEight) {
  create();
  for (int n = 0; n < 8; ++n) ASSERT_EQ(add(index_spec(fmt::format("i{}", 7 - n))), "OK");
  EXPECT_EQ(index_names(node_), (Names{"i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"}));
  EXPECT_EQ(add(index_spec("i8")), "FAILED_PRECONDITION");
  EXPECT_EQ(message_,
            "table 't' has 8 indexes, the most there may be: drop one before 'i8' is created");
  EXPECT_EQ(add(index_spec("i3")), "ALREADY_EXISTS");
  TableChange replaced = dropping_indexes({"i0"});
  replaced.add_indexes.push_back(index_spec("i8"));
  EXPECT_EQ(change(replaced), "OK");
  EXPECT_EQ(node_.table("t")->schema.find_index("i8")->id, 9u);
  restart();
}

TEST_F(IndexAlter, DefinitionsThatContradictThemselvesAreRefused) {
  create();
  using enum IndexPart;
  const auto refused = [this](auto set) { return add_with(set) == "INVALID_ARGUMENT"; };
  EXPECT_TRUE(refused([](IndexSpec& i) { i.name = "no spaces"; }));
  EXPECT_TRUE(refused([](IndexSpec& i) { i.qualifier.reset(); })) << "a value of a family";
  EXPECT_TRUE(refused([](IndexSpec& i) { i.parts = {qualifier, time}; })) << "of a column";
  EXPECT_TRUE(refused([](IndexSpec& i) { i.parts = {}; }));
  EXPECT_TRUE(refused([](IndexSpec& i) { i.parts = {time, value}; }));
  EXPECT_TRUE(refused([](IndexSpec& i) { i.parts = {value, value}; }));
  for (const IndexType type : {IndexType::bytes, IndexType::int64}) {
    EXPECT_TRUE(refused([type](IndexSpec& i) {
      i.parts = {time};
      i.type = type;
    })) << "a type without a value part";
  }
  EXPECT_TRUE(refused([](IndexSpec& i) { i.covered = {{"f", "q"}}; }));
  EXPECT_TRUE(refused([](IndexSpec& i) { i.covered = {{"g", "a"}, {"f", "a"}, {"g", "a"}}; }));
  EXPECT_TRUE(refused([](IndexSpec& i) { i.max_age_us = 0; }));
  EXPECT_TRUE(refused([](IndexSpec& i) { i.max_age_us = 999; }));
  EXPECT_TRUE(refused([](IndexSpec& i) { i.max_age_us = 2 * kDayUs + 1; }));
  EXPECT_TRUE(refused([](IndexSpec& i) {
    i.family = "s";
    i.max_age_us = kDayUs;
  }));
  EXPECT_EQ(version(), 1u);
  EXPECT_EQ(node_.table("t")->schema.next_index, 1u);
  EXPECT_EQ(add_with([](IndexSpec& i) { i.max_age_us = 2 * kDayUs; }), "OK") << "equal";
}

TEST_F(IndexAlter, FormIsJudgedBeforeExistence) {
  create();
  EXPECT_EQ(add_with([](IndexSpec& i) {
              i.family = "none";
              i.parts = {};
            }),
            "INVALID_ARGUMENT");
  EXPECT_EQ(change(altering_index({.name = "none", .max_age_us = 0, .tighter_base = {}})),
            "INVALID_ARGUMENT");
  EXPECT_EQ(change(dropping_indexes({"a b"})), "INVALID_ARGUMENT");
}

TEST_F(IndexAlter, OnlyWhatIsNamedChanges) {
  create();
  ASSERT_EQ(add_with([](IndexSpec& i) { i.max_age_us = kDayUs; }), "OK");
  EXPECT_EQ(set_base(TighterBase::refuse), "OK");
  EXPECT_EQ(age(), kDayUs);
  EXPECT_EQ(set_age(std::nullopt), "OK");
  EXPECT_EQ(age(), std::nullopt);
  EXPECT_EQ(node_.table("t")->schema.find_index("i")->tighter_base, TighterBase::refuse);
  EXPECT_EQ(node_.table("t")->schema.find_index("i")->id, 1u);
  const uint64_t before = version();
  EXPECT_EQ(set_base(TighterBase::refuse), "OK");
  EXPECT_EQ(version(), before) << "nothing differs";
  restart();
}

TEST_F(IndexAlter, IdsAreNotUsedAgain) {
  create();
  ASSERT_EQ(add(index_spec("i")), "OK");
  ASSERT_EQ(change(dropping_indexes({"i"})), "OK");
  EXPECT_TRUE(index_names(node_).empty());
  restart();
  ASSERT_EQ(add(index_spec("i")), "OK");
  EXPECT_EQ(node_.table("t")->schema.find_index("i")->id, 2u);
}

// ---- ages

TEST_F(IndexAlter, UnderRefuseTheIndexIsLoweredFirstAndTheRuleRaisedFirst) {
  create();
  ASSERT_EQ(add_with([](IndexSpec& i) {
              i.max_age_us = kDayUs;
              i.tighter_base = TighterBase::refuse;
            }),
            "OK");
  EXPECT_EQ(set_rule_age(kDayUs / 2), "FAILED_PRECONDITION");
  EXPECT_EQ(message_,
            "the rule 'maxage=12h' of family 'f' kills at the age of 12h, below the 1d of index "
            "'i', which has tighter_base = refuse: lower its own age first");
  EXPECT_EQ(set_rule_age(kDayUs), "OK") << "equal";
  EXPECT_EQ(set_age(kDayUs / 2), "OK");
  EXPECT_EQ(set_rule_age(kDayUs / 2), "OK");
  EXPECT_EQ(set_age(kDayUs), "INVALID_ARGUMENT");
  EXPECT_EQ(set_rule_age(4 * kDayUs), "OK");
  EXPECT_EQ(set_age(4 * kDayUs), "OK");
  EXPECT_EQ(set_age(4 * kDayUs + 1), "INVALID_ARGUMENT");
}

TEST_F(IndexAlter, NothingOfARefusedAlterationHappens) {
  create();
  ASSERT_EQ(add_with([](IndexSpec& i) {
              i.max_age_us = kDayUs;
              i.tighter_base = TighterBase::refuse;
            }),
            "OK");
  const uint64_t before = version();
  TableChange several = ruling("f", RetentionRule::max_age_us(kDayUs / 2));
  several.add.push_back({.name = "h"});
  several.options.durability = Durability::periodic;
  several.add_indexes.push_back(index_spec("j"));
  EXPECT_EQ(change(several), "FAILED_PRECONDITION");
  EXPECT_EQ(version(), before);
  EXPECT_EQ(node_.table("t")->schema.find_family("h"), nullptr);
  EXPECT_EQ(index_names(node_), Names{"i"});
  EXPECT_TRUE(node_.set("t", "r", "g:q", 5000, "writes go on"));
  // Both in one change is as good as one after the other.
  several.alter_indexes.push_back({.name = "i", .max_age_us = kDayUs / 2, .tighter_base = {}});
  EXPECT_EQ(change(several), "OK");
}

TEST_F(IndexAlter, UnderRefuseAnyRuleIsJudgedByTheAgeAtWhichItKills) {
  create();
  ASSERT_EQ(add_with([](IndexSpec& i) {
              i.max_age_us = kDayUs;
              i.tighter_base = TighterBase::refuse;
            }),
            "OK");
  const auto one = RetentionRule::max_age_us(kDayUs / 2);
  const auto two = RetentionRule::max_age_us(2 * kDayUs);
  const auto versions = RetentionRule::max_versions(1);
  EXPECT_EQ(set_rule(RetentionRule::union_of({one, two})), "FAILED_PRECONDITION");
  EXPECT_EQ(set_rule(RetentionRule::intersection_of({one, two})), "OK");
  EXPECT_EQ(set_rule(RetentionRule::intersection_of({one, versions})), "OK");
  EXPECT_EQ(set_rule(versions), "OK");
  EXPECT_EQ(set_age(100 * kDayUs), "OK") << "no bound";
  EXPECT_EQ(set_rule(two), "FAILED_PRECONDITION") << "from none to one below";
  EXPECT_EQ(set_rule({}), "OK");
}

TEST_F(IndexAlter, UnderFollowTheRuleMayOvertakeTheIndexWhichKeepsItsAge) {
  create();
  ASSERT_EQ(add_with([](IndexSpec& i) { i.max_age_us = kDayUs; }), "OK");
  EXPECT_EQ(set_rule_age(kDayUs / 2), "OK");
  EXPECT_EQ(age(), kDayUs);
  EXPECT_EQ(set_base(TighterBase::refuse), "INVALID_ARGUMENT");
  EXPECT_EQ(set_age(kDayUs), "INVALID_ARGUMENT") << "it may not be given again";
  EXPECT_EQ(set_base(TighterBase::follow), "OK");
  restart();
  TableChange options = of_table();
  options.options.durability = Durability::periodic;
  EXPECT_EQ(change(options), "OK") << "other changes do not mind";
  TableChange both =
      altering_index({.name = "i", .max_age_us = kDayUs / 2, .tighter_base = TighterBase::refuse});
  EXPECT_EQ(change(both), "OK");
  EXPECT_EQ(set_age(std::nullopt), "OK");
}

TEST_F(IndexAlter, AFamilyWithAnOwnAgeOnItsCellsCannotBecomeOneOfNumbers) {
  create();
  ASSERT_EQ(add_with([](IndexSpec& i) {
              i.family = "g";
              i.max_age_us = kDayUs;
            }),
            "OK");
  TableChange numbers = of_table();
  numbers.alter.push_back({.name = "g", .timestamps = TimestampMeaning::sequence});
  EXPECT_EQ(change(numbers), "FAILED_PRECONDITION");
  EXPECT_EQ(message_,
            "the timestamps of family 'g' cannot become a sequence: index 'i' has an own age of "
            "1d; take it away first");
  ASSERT_EQ(set_age(std::nullopt), "OK");
  EXPECT_EQ(change(numbers), "OK");
  EXPECT_EQ(set_age(kDayUs), "INVALID_ARGUMENT");
}

TEST_F(IndexAlter, AFamilyOfExpiryMayHaveAnOwnAge) {
  create();
  TableChange meaning = of_table();
  meaning.alter.push_back({.name = "f", .timestamps = TimestampMeaning::expiry});
  ASSERT_EQ(change(meaning), "OK");
  EXPECT_EQ(add_with([](IndexSpec& i) { i.max_age_us = kDayUs; }), "OK");
}

TEST_F(IndexAlter, TheProfileOfTablestoreRefusesByDefault) {
  create(Profile::tablestore);
  ASSERT_EQ(add(index_spec("i")), "OK");
  EXPECT_EQ(node_.table("t")->schema.find_index("i")->tighter_base, TighterBase::refuse);
  IndexSpec named = index_spec("j");
  named.tighter_base = TighterBase::follow;
  ASSERT_EQ(add(named), "OK");
  EXPECT_EQ(node_.table("t")->schema.find_index("j")->tighter_base, TighterBase::follow);
}

TEST_F(IndexAlter, AnUndoIsRefusedWhereTheOldRuleKillsBelowAnIndexThatRefuses) {
  create();
  ASSERT_EQ(set_rule(RetentionRule::max_versions(3)), "OK");
  ASSERT_EQ(add_with([](IndexSpec& i) {
              i.max_age_us = 5 * kDayUs;
              i.tighter_base = TighterBase::refuse;
            }),
            "OK");
  const auto undo = [this] { return node_.undo_rule({"t", "f"}); };
  const auto refused = undo();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::failed_precondition);
  EXPECT_NE(refused.error().message.find("index 'i'"), std::string::npos);
  EXPECT_EQ(node_.table("t")->schema.find_family("f")->rule, RetentionRule::max_versions(3));
  EXPECT_TRUE(node_.set("t", "r", "g:q", 5000, "writes go on"));
  ASSERT_EQ(set_base(TighterBase::follow), "OK");
  EXPECT_EQ(status(undo()), "OK");
  EXPECT_EQ(age(), 5 * kDayUs);
}

TEST_F(IndexAlter, AnUndoThatLoosensIsNotRefused) {
  create();
  ASSERT_EQ(set_rule_age(kDayUs), "OK");
  ASSERT_EQ(add_with([](IndexSpec& i) {
              i.max_age_us = kDayUs;
              i.tighter_base = TighterBase::refuse;
            }),
            "OK");
  EXPECT_EQ(status(node_.undo_rule({"t", "f"})), "OK");
}

TEST_F(IndexAlter, APreviewIsRefusedAsTheChangeWouldBe) {
  create();
  ASSERT_EQ(add_with([](IndexSpec& i) {
              i.max_age_us = kDayUs;
              i.tighter_base = TighterBase::refuse;
            }),
            "OK");
  engine::PreviewRequest request;
  request.table = "t";
  request.family = "f";
  request.rule = RetentionRule::max_age_us(kDayUs / 2);
  const auto refused = node_.preview(request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::failed_precondition);
  request.rule = RetentionRule::max_age_us(kDayUs);
  EXPECT_TRUE(node_.preview(request));
}

// ---- families and tables

TEST_F(IndexAlter, AFamilyTakesItsIndexesAlongAndLeavesThoseThatCoverIt) {
  create();
  ASSERT_EQ(add(index_spec("i")), "OK");
  IndexSpec covering = index_spec("j", "g");
  covering.covered = {{"f", "a"}};
  ASSERT_EQ(add(covering), "OK");
  TableChange contradiction = dropping({"f"});
  contradiction.alter_indexes.push_back({.name = "i", .max_age_us = kDayUs, .tighter_base = {}});
  EXPECT_EQ(change(contradiction), "NOT_FOUND");
  TableChange again = dropping({"f"});
  again.add_indexes.push_back(index_spec("k"));
  EXPECT_EQ(change(again), "NOT_FOUND") << "its family goes";
  ASSERT_EQ(change(dropping({"f"})), "OK");
  EXPECT_EQ(index_names(node_), Names{"j"});
  restart();
  EXPECT_EQ(change(altering_index({.name = "j", .max_age_us = kDayUs, .tighter_base = {}})), "OK");
  ASSERT_EQ(change(adding({"f"})), "OK");
  EXPECT_EQ(add(index_spec("i")), "OK");
}

TEST_F(IndexAlter, AnIndexMayComeWithItsFamily) {
  create();
  TableChange both = adding({"h"});
  both.add_indexes.push_back(index_spec("i", "h"));
  EXPECT_EQ(change(both), "OK");
}

TEST_F(IndexAlter, ARestoredTableHasItsIndexes) {
  create();
  ASSERT_EQ(add(index_spec("i")), "OK");
  ASSERT_TRUE(node_.drop_table("t"));
  ASSERT_TRUE(node_.restore_table("t"));
  EXPECT_EQ(index_names(node_), Names{"i"});
}

TEST_F(IndexAlter, AChangeOfAnOlderVersionIsRefused) {
  create();
  ASSERT_EQ(add(index_spec("i")), "OK");
  TableChange late = dropping_indexes({"i"});
  late.expected_version = 1;
  EXPECT_EQ(change(late), "FAILED_PRECONDITION");
}

// ---- the audit trail

TEST_F(IndexAlter, EveryChangeIsInTheAuditTrail) {
  create();
  ASSERT_EQ(add_with([](IndexSpec& i) {
              i.type = IndexType::int64;
              i.covered = {{"g", "n"}, {"f", "a"}};
              i.max_age_us = kDayUs;
              i.tighter_base = TighterBase::refuse;
            }),
            "OK");
  ASSERT_EQ(set_age(kDayUs / 2), "OK");
  ASSERT_EQ(set_age(std::nullopt), "OK");
  IndexSpec by_qualifier = index_spec("j");
  by_qualifier.qualifier.reset();
  by_qualifier.parts = {IndexPart::qualifier, IndexPart::time};
  by_qualifier.match = IndexMatch::any;
  ASSERT_EQ(add(by_qualifier), "OK");
  ASSERT_EQ(change(dropping_indexes({"i"})), "OK");
  ASSERT_EQ(change(dropping({"f"})), "OK");
  const auto line = [](const engine::AuditEntry& entry) {
    std::string text =
        fmt::format("{} {}.{}", static_cast<int>(entry.action), entry.table, entry.family);
    for (const engine::AuditDetail& detail : entry.details) {
      text += fmt::format("; {} {} -> {}", detail.name, detail.before, detail.after);
    }
    return text;
  };
  const Names expected = {
      "11 t.f; index j -> ",
      "7 t.f",
      "11 t.f; index i -> ",
      "9 t.f; index  -> j; parts  -> qualifier, time; match  -> any",
      "10 t.f; index i -> i; max_age_us 43200000000 -> none",
      "10 t.f; index i -> i; max_age_us 86400000000 -> 43200000000",
      "9 t.f; index  -> i; qualifier  -> 'q'; parts  -> value; type  -> int64; covered  -> f:a, "
      "g:n; max_age_us  -> 86400000000; tighter_base  -> refuse"};
  for (int life = 0; life < 2; ++life) {
    Names told;
    for (const engine::AuditEntry& entry : node_.audit_log().entries) {
      told.push_back(line(entry));
      EXPECT_EQ(entry.by.client, "test");
    }
    ASSERT_GE(told.size(), expected.size());
    told.resize(expected.size());
    EXPECT_EQ(told, expected);
    restart();
  }
}

}  // namespace
}  // namespace cellar::support
