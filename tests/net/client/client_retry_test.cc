// What is retried and what is not; bounds of the client; tokens.
#include <set>

#include "tests/net/client/client_bed.h"

namespace cellar::client {
namespace {

// ---- the policy alone ----

Error error_of(Errc code, Applied applied, uint32_t retry_after_ms) {
  Error error(code, "x");
  error.applied = applied;
  error.retry_after_ms = retry_after_ms;
  return error;
}

TEST(RetryPolicyTest, TheTableOfItsEssay) {
  constexpr auto kNot = Applied::not_applied;
  constexpr auto kMaybe = Applied::maybe_applied;
  constexpr auto kYes = Applied::applied;
  struct Row {
    Errc code;
    Applied applied;
    uint32_t hint_ms;
    bool idempotent_again;
    bool other_again;
  };
  const Row rows[] = {
      {Errc::unavailable, kNot, 0, true, true},
      {Errc::unavailable, kMaybe, 0, true, false},
      {Errc::unavailable, kYes, 0, false, false},
      {Errc::resource_exhausted, kNot, 10, true, true},
      {Errc::aborted, kNot, 0, true, true},
      {Errc::aborted, kMaybe, 0, true, false},
      {Errc::unavailable, kNot, kRetryNever, false, false},
      {Errc::resource_exhausted, kNot, kRetryNever, false, false},
      {Errc::invalid_argument, kNot, 0, false, false},
      {Errc::not_found, kNot, 0, false, false},
      {Errc::deadline_exceeded, kNot, 0, false, false},
      {Errc::cancelled, kNot, 0, false, false},
      {Errc::failed_precondition, kNot, 0, false, false},
      {Errc::out_of_range, kNot, 0, false, false},
      {Errc::unimplemented, kNot, 0, false, false},
      {Errc::internal, kNot, 0, false, false},
      {Errc::data_loss, kNot, 0, false, false},
      {Errc::unknown, kMaybe, 0, false, false},
  };
  for (const Row& row : rows) {
    RetryPolicy policy({}, 1);
    const Error error = error_of(row.code, row.applied, row.hint_ms);
    EXPECT_EQ(policy.pause_us(error, Repeat::always, 1, INT64_MAX).has_value(),
              row.idempotent_again)
        << errc_name(row.code);
    EXPECT_EQ(policy.pause_us(error, Repeat::unless_applied, 1, INT64_MAX).has_value(),
              row.other_again)
        << errc_name(row.code);
  }
}

TEST(RetryPolicyTest, PausesDoubleFromMinToMaxAndAreDrawnFromTheUpperHalf) {
  RetryPolicy policy({.max_attempts = 100, .backoff_min_us = 1000, .backoff_max_us = 16'000}, 1);
  const Error error = error_of(Errc::unavailable, Applied::not_applied, 0);
  std::set<int64_t> drawn;
  for (int round = 0; round < 50; ++round) {
    for (uint32_t attempt = 1; attempt < 9; ++attempt) {
      const int64_t full_us = std::min<int64_t>(1000 << (attempt - 1), 16'000);
      const auto pause_us = policy.pause_us(error, Repeat::always, attempt, INT64_MAX);
      ASSERT_TRUE(pause_us);
      EXPECT_GE(*pause_us, full_us / 2);
      EXPECT_LE(*pause_us, full_us);
      drawn.insert(*pause_us);
    }
  }
  EXPECT_GT(drawn.size(), 200u) << "no two clients come back together";
}

TEST(RetryPolicyTest, TheServersHintAttemptsAndDeadlineBound) {
  RetryPolicy policy({.max_attempts = 3, .backoff_min_us = 1000}, 1);
  const Error error = error_of(Errc::unavailable, Applied::not_applied, 250);
  EXPECT_GE(policy.pause_us(error, Repeat::always, 1, INT64_MAX), 250'000);
  EXPECT_TRUE(policy.pause_us(error, Repeat::always, 2, INT64_MAX));
  EXPECT_FALSE(policy.pause_us(error, Repeat::always, 3, INT64_MAX));
  EXPECT_FALSE(policy.pause_us(error, Repeat::always, 1, 250'000)) << "it would begin too late";
}

TEST(RetryPolicyTest, RepetitionsAreAShareOfWhatIsAnswered) {
  RetryPolicy policy({.budget_share = 0.25, .budget_reserve = 10}, 1);
  const Error error = error_of(Errc::unavailable, Applied::not_applied, 0);
  const auto spend = [&] {
    int spent = 0;
    while (policy.pause_us(error, Repeat::always, 1, INT64_MAX)) ++spent;
    return spent;
  };
  EXPECT_EQ(spend(), 10);
  for (int i = 0; i < 20; ++i) policy.on_answer();
  EXPECT_EQ(spend(), 5);
  for (int i = 0; i < 1000; ++i) policy.on_answer();
  EXPECT_EQ(spend(), 10) << "the reserve is all that is saved up";
}

// ---- the client ----

class RetryTest : public ClientBed {
 protected:
  static std::string refuse(const Received& r, Errc code, uint32_t retry_after_ms) {
    flatbuffers::FlatBufferBuilder b;
    Error error(code, "not now");
    error.retry_after_ms = retry_after_ms;
    return frame(wire::FrameKind::reply, r.header, wire::build_status(b, error), wire::kFrameError);
  }
  std::shared_ptr<Outcome> send(const Mutation& m, CallOptions options = {}) {
    auto outcome = std::make_shared<Outcome>();
    client_->async_mutate_row("t", m, options,
                              [outcome](Result<MutateReply> r) { outcome->emplace(std::move(r)); });
    return outcome;
  }
  // The first request is dropped and its connection cut; later requests are answered.
  void lose_the_first() {
    server_.script = [this](const Received& r) -> std::string {
      if (server_.requests.size() > 1) return mutate_reply(r);
      server_.cut();
      return {};
    };
  }
};

// By name: every kind of mutation, and whether a sole writer may repeat it.
struct Case {
  const char* name;
  Mutation mutation;
  bool sole_writer_repeats;
};
std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&all](const char* name, bool repeats) -> Mutation& {
    all.push_back({name, Mutation("row"), repeats});
    return all.back().mutation;
  };
  add("a given timestamp", true).set("f", "q", "v", 1000);
  add("a given expiry", true).set("f", "q", "v", 1000).with_expire_at(9000);
  add("a column's delete", true).set("f", "q", "v", 1000).delete_column("f", "old");
  add("a family's delete", true).delete_family("f");
  add("a row's delete", true).delete_row();
  add("a server stamp", false).set("f", "q", "v", 1000).set("f", "r", "v");
  add("a ttl", false).set("f", "q", "v", 1000).with_ttl(5000).delete_family("g");
  return all;
}

TEST_F(RetryTest, WithoutATokenWhatMayBeAppliedIsToldInDoubt) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    server_.requests.clear();
    lose_the_first();
    client(ClientOptions());
    const auto outcome = send(c.mutation);
    settle(5'000'000);
    ASSERT_TRUE(*outcome && !**outcome);
    EXPECT_EQ((*outcome)->error().applied, Applied::maybe_applied);
    EXPECT_EQ(server_.requests.size(), 1u);
  }
}

TEST_F(RetryTest, ASoleWriterRepeatsTimestampsAndDeletes) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    for (const bool by_call : {true, false}) {
      server_.requests.clear();
      lose_the_first();
      ClientOptions options;
      options.sole_writer = !by_call;
      client(options);
      CallOptions call;
      if (by_call) call.sole_writer = true;
      const auto outcome = send(c.mutation, call);
      settle(5'000'000);
      ASSERT_TRUE(outcome->has_value());
      EXPECT_EQ((*outcome)->has_value(), c.sole_writer_repeats);
      ASSERT_EQ(server_.requests.size(), c.sole_writer_repeats ? 2u : 1u);
      if (!c.sole_writer_repeats) continue;
      EXPECT_EQ(server_.requests[0].body, server_.requests[1].body);
      EXPECT_LT(server_.requests[1].header.deadline_ms, server_.requests[0].header.deadline_ms);
      EXPECT_EQ(client_->stats().repeats, 1u);
    }
  }
  // The options of a call override those of the client.
  server_.requests.clear();
  lose_the_first();
  ClientOptions options;
  options.sole_writer = true;
  client(options);
  CallOptions shared;
  shared.sole_writer = false;
  const auto outcome = send(one_cell("row"), shared);
  settle(5'000'000);
  ASSERT_TRUE(*outcome && !**outcome);
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(RetryTest, AConditionOrAModificationIsRepeatedOnlyWithAToken) {
  for (const bool token : {false, true}) {
    server_.requests.clear();
    server_.script = [this](const Received&) -> std::string {
      server_.cut();
      return {};
    };
    ClientOptions options;
    options.sole_writer = true;
    options.draw_tokens = token;
    options.retry.max_attempts = 3;
    client(options);
    int in_doubt = 0;
    const auto count = [&in_doubt](const auto& result) {
      in_doubt += !result && result.error().applied == Applied::maybe_applied;
    };
    CheckAndMutate check;
    check.row = "row";
    check.then_mutation.delete_row();
    client_->async_check_and_mutate("t", check, {}, count);
    settle(5'000'000);
    const ReadModifyWrite modify{"row", {{"f", "q", "more", 0}}, std::nullopt};
    client_->async_read_modify_write("t", modify, {}, count);
    settle(5'000'000);
    EXPECT_EQ(in_doubt, 2);
    EXPECT_EQ(server_.requests.size(), token ? 6u : 2u);
  }
}

TEST_F(RetryTest, ARangeDeleteIsRepeatedWithATokenOrForASoleWriter) {
  enum class With { nothing, sole_writer, token };
  for (const With with : {With::nothing, With::sole_writer, With::token}) {
    server_.requests.clear();
    server_.features = {"tokens", "drop_row_range_tokens"};
    lose_the_first();
    ClientOptions options;
    options.sole_writer = with == With::sole_writer;
    options.draw_tokens = with == With::token;
    client(options);
    DropRows drop;
    drop.prefix = "r";
    std::optional<Result<DropReply>> dropped;
    client_->async_drop_row_range("t", drop, {},
                                  [&](Result<DropReply> r) { dropped.emplace(std::move(r)); });
    settle(5'000'000);
    ASSERT_TRUE(dropped);
    EXPECT_EQ(dropped->has_value(), with != With::nothing);
    ASSERT_EQ(server_.requests.size(), with == With::nothing ? 1u : 2u);
    const BodyOf<fb::DropRowRangeRequest> first(server_.requests[0]);
    EXPECT_EQ(first->token() != nullptr, with == With::token);
    if (with == With::nothing) {
      EXPECT_EQ(dropped->error().applied, Applied::maybe_applied);
    } else {
      EXPECT_EQ(server_.requests[0].body, server_.requests[1].body);
    }
  }
}

// The node would ignore the token, and delete again at each attempt.
TEST_F(RetryTest, ANodeThatKeepsNoTokensOfRangeDeletesIsNotSentAny) {
  server_.features = {"tokens"};
  lose_the_first();
  client(ClientOptions());
  DropRows drop;
  drop.prefix = "r";
  drop.token = Token{"drop"};
  std::optional<Result<DropReply>> dropped;
  client_->async_drop_row_range("t", drop, {},
                                [&](Result<DropReply> r) { dropped.emplace(std::move(r)); });
  settle(5'000'000);
  ASSERT_TRUE(dropped && !*dropped);
  EXPECT_EQ(dropped->error().code, Errc::unimplemented);
  EXPECT_EQ(dropped->error().applied, Applied::not_applied);
  EXPECT_TRUE(server_.requests.empty());
}

// The token was generated, not given by the caller.
TEST_F(RetryTest, ADrawnTokenOfARangeDeleteIsLeftAwayForANodeThatKeepsNone) {
  for (const bool sole_writer : {false, true}) {
    server_.requests.clear();
    server_.features = {"tokens"};
    lose_the_first();
    ClientOptions options;
    options.draw_tokens = true;
    options.sole_writer = sole_writer;
    client(options);
    DropRows drop;
    drop.prefix = "r";
    std::optional<Result<DropReply>> dropped;
    client_->async_drop_row_range("t", drop, {},
                                  [&](Result<DropReply> r) { dropped.emplace(std::move(r)); });
    settle(5'000'000);
    ASSERT_TRUE(dropped);
    EXPECT_EQ(dropped->has_value(), sole_writer);
    if (!*dropped) EXPECT_EQ(dropped->error().applied, Applied::maybe_applied);
    ASSERT_EQ(server_.requests.size(), sole_writer ? 2u : 1u);
    const BodyOf<fb::DropRowRangeRequest> first(server_.requests[0]);
    EXPECT_EQ(first->token(), nullptr);
    EXPECT_EQ(first->prefix()->size(), 1u);
  }
}

// The first attempt had the token and may have been applied.
TEST_F(RetryTest, ARangeDeleteInDoubtIsNotRepeatedWithoutItsToken) {
  server_.features = {"tokens", "drop_row_range_tokens"};
  lose_the_first();
  const auto lose = std::move(server_.script);
  server_.script = [this, lose](const Received& r) {
    server_.features = {"tokens"};  // an older program takes over
    return lose(r);
  };
  ClientOptions options;
  options.draw_tokens = true;
  client(options);
  DropRows drop;
  drop.prefix = "r";
  std::optional<Result<DropReply>> dropped;
  client_->async_drop_row_range("t", drop, {},
                                [&](Result<DropReply> r) { dropped.emplace(std::move(r)); });
  settle(5'000'000);
  ASSERT_TRUE(dropped && !*dropped);
  EXPECT_EQ(dropped->error().applied, Applied::maybe_applied);
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(RetryTest, ARefusalThatChangedNothingIsRepeatedWhateverTheWrite) {
  int refusals = 0;
  server_.script = [&](const Received& r) {
    return refusals++ < 3 ? refuse(r, Errc::resource_exhausted, 5) : mutate_reply(r);
  };
  client(ClientOptions());
  Mutation deleted("row");
  deleted.delete_row();
  const auto outcome = send(deleted);
  settle(5'000'000);
  EXPECT_TRUE(*outcome && **outcome);
  EXPECT_EQ(server_.requests.size(), 4u);
}

TEST_F(RetryTest, WhereTheServerSeesNoHelpInARetryItIsFinal) {
  server_.script = [&](const Received& r) {
    return refuse(r, Errc::resource_exhausted, kRetryNever);
  };
  client(ClientOptions());
  const auto outcome = send(one_cell("row"));
  settle(5'000'000);
  EXPECT_EQ((*outcome)->error().code, Errc::resource_exhausted);
  EXPECT_EQ(server_.requests.size(), 1u);
}

TEST_F(RetryTest, ADoubtStaysWhateverALaterAttemptIsTold) {
  server_.script = [this](const Received& r) -> std::string {
    if (server_.requests.size() > 1) return error_frame(r.header, Errc::not_found, "no table 't'");
    server_.cut();
    return {};
  };
  ClientOptions options;
  options.draw_tokens = true;
  client(options);
  const auto outcome = send(one_cell("row"));
  settle(5'000'000);
  ASSERT_TRUE(*outcome && !**outcome);
  EXPECT_EQ((*outcome)->error().code, Errc::not_found);
  EXPECT_EQ((*outcome)->error().applied, Applied::maybe_applied);
  EXPECT_NE((*outcome)->error().message.find("after 2 attempts"), std::string::npos);
}

TEST_F(RetryTest, TheDeadlineHoldsOverAllAttempts) {
  server_.script = [&](const Received& r) { return refuse(r, Errc::unavailable, 1); };
  ClientOptions options;
  options.retry.max_attempts = 1000;
  client(options);
  CallOptions call;
  call.deadline_us = 500'000;
  const auto outcome = send(one_cell("row"), call);
  settle(510'000);
  ASSERT_TRUE(*outcome && !**outcome);
  EXPECT_EQ((*outcome)->error().code, Errc::unavailable);
  EXPECT_GT(server_.requests.size(), 4u);
}

TEST_F(RetryTest, ANodeThatRefusesEverythingSeesLittleMoreThanWhatIsNew) {
  server_.script = [&](const Received& r) { return refuse(r, Errc::resource_exhausted, 1); };
  ClientOptions options;
  options.retry.budget_reserve = 50;
  client(options);
  std::vector<std::shared_ptr<Outcome>> outcomes;
  for (int i = 0; i < 1000; ++i) {
    outcomes.push_back(send(one_cell(fmt::format("row{}", i))));
    settle(2'000);
  }
  settle(20'000'000);
  for (const auto& outcome : outcomes) ASSERT_TRUE(*outcome && !**outcome);
  EXPECT_LE(server_.requests.size(), 1000 + 50 + 1000 / 5u);
  EXPECT_GT(server_.requests.size(), 1050u);
}

TEST_F(RetryTest, AnUnreachableNodeIsToldAtOnceUnlessTheCallWaits) {
  fabric_.faults().refuse = true;
  client(ClientOptions());
  const auto hasty = send(one_cell("a"));
  CallOptions patient;
  patient.wait_for_connection = true;
  const auto waits = send(one_cell("b"), patient);
  settle(1'000'000);
  ASSERT_TRUE(hasty->has_value());
  EXPECT_EQ((*hasty)->error().code, Errc::unavailable);
  EXPECT_FALSE(waits->has_value());
  fabric_.faults().refuse = false;
  settle(3'000'000);
  EXPECT_TRUE(*waits && **waits);
}

// ---- batches ----

class BatchRetryTest : public RetryTest {
 protected:
  static std::vector<std::string> rows_of(const Received& r) {
    const BodyOf<fb::MutateRowsRequest> body(r);
    std::vector<std::string> rows;
    for (const fb::EntryRec* entry : *body->entries()) {
      rows.emplace_back(
          wire::bytes_of(body->arena()).substr(entry->row().at(), entry->row().size()));
    }
    return rows;
  }
  struct Failure {
    uint32_t index;
    Errc code;
    uint32_t retry_after_ms;
  };
  static std::string failures(const Received& r, const std::vector<Failure>& list) {
    flatbuffers::FlatBufferBuilder b;
    std::vector<fb::EntryFailure> records;
    for (const Failure& f : list) {
      records.emplace_back(f.index, f.retry_after_ms, fb::Span(0, 0), static_cast<uint8_t>(f.code),
                           uint8_t{0}, uint16_t{0});
    }
    const auto vector = b.CreateVectorOfStructs(records);
    return frame(wire::FrameKind::reply, r.header,
                 wire::finish_body(b, fb::CreateMutateRowsReply(b, vector)));
  }
  std::optional<Result<EntryResults>> batch(const std::vector<Mutation>& entries) {
    std::optional<Result<EntryResults>> got;
    client_->async_mutate_rows("t", entries, {}, [&](auto r) { got.emplace(std::move(r)); });
    settle(20'000'000);
    return got;
  }
};

TEST_F(BatchRetryTest, OnlyWhatFailedInPassingIsSentAgain) {
  server_.script = [this](const Received& r) {
    if (server_.requests.size() > 1) return mutate_reply(r);
    return failures(r, {{1, Errc::resource_exhausted, 1},
                        {2, Errc::out_of_range, kRetryNever},
                        {3, Errc::aborted, 0}});
  };
  client(ClientOptions());
  const auto got =
      batch({one_cell("a"), one_cell("b"), one_cell("c"), one_cell("d"), one_cell("e")});
  ASSERT_TRUE(got && *got);
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_EQ(rows_of(server_.requests[1]), (std::vector<std::string>{"b", "d"}));
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ((**got)[i].has_value(), i != 2) << i;
}

// The node may have refused the first entry and applied the last: with its token that is not done
// again, so the first must not be applied now.
TEST_F(BatchRetryTest, WithTokensALostEntryDoesNotOvertakeALaterOneOfItsRow) {
  lose_the_first();
  ClientOptions options;
  options.draw_tokens = true;
  client(options);
  const auto got = batch({one_cell("a"), one_cell("b"), one_cell("a")});
  ASSERT_TRUE(got && *got);
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_EQ(rows_of(server_.requests[1]), (std::vector<std::string>{"b", "a"}));
  ASSERT_FALSE((**got)[0].has_value());
  EXPECT_EQ((**got)[0].error().applied, Applied::maybe_applied);
  EXPECT_TRUE((**got)[1].has_value() && (**got)[2].has_value());
}

TEST_F(BatchRetryTest, AnEntryDoesNotOvertakeALaterOneOfItsRow) {
  server_.script = [this](const Received& r) {
    if (server_.requests.size() > 1) return mutate_reply(r);
    return failures(r, {{0, Errc::resource_exhausted, 1}, {1, Errc::resource_exhausted, 1}});
  };
  client(ClientOptions());
  const auto got = batch({one_cell("a"), one_cell("b"), one_cell("a")});
  ASSERT_TRUE(got && *got);
  EXPECT_EQ((**got)[0].error().code, Errc::resource_exhausted);
  EXPECT_TRUE((**got)[1].has_value() && (**got)[2].has_value());
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_EQ(rows_of(server_.requests[1]), std::vector<std::string>{"b"});
}

TEST_F(BatchRetryTest, AfterALossEveryEntryWithoutATokenIsInDoubt) {
  lose_the_first();
  client(ClientOptions());
  Mutation with_token("b");
  with_token.set("f", "q", "v").with_token({"b"});
  const auto got = batch({one_cell("a"), with_token, one_cell("c")});
  ASSERT_TRUE(got && *got);
  EXPECT_TRUE((**got)[1].has_value());
  EXPECT_EQ((**got)[0].error().applied, Applied::maybe_applied);
  EXPECT_EQ((**got)[2].error().applied, Applied::maybe_applied);
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_EQ(rows_of(server_.requests[1]), std::vector<std::string>{"b"});
}

TEST_F(BatchRetryTest, AfterALossASoleWritersEntriesAreSentAgain) {
  lose_the_first();
  ClientOptions options;
  options.sole_writer = true;
  client(options);
  Mutation stamped("s");
  stamped.set("f", "q", "v");
  const auto got = batch({one_cell("a"), stamped, one_cell("b")});
  ASSERT_TRUE(got && *got);
  EXPECT_TRUE((**got)[0].has_value() && (**got)[2].has_value());
  EXPECT_EQ((**got)[1].error().applied, Applied::maybe_applied);
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_EQ(rows_of(server_.requests[1]), (std::vector<std::string>{"a", "b"}));
}

TEST_F(BatchRetryTest, ABatchThatFailsAsAWholeIsToldAsAWhole) {
  server_.script = [](const Received& r) {
    return error_frame(r.header, Errc::not_found, "no table 't'");
  };
  client(ClientOptions());
  const auto got = batch({one_cell("a"), one_cell("b")});
  ASSERT_TRUE(got && !*got);
  EXPECT_EQ(got->error().code, Errc::not_found);
}

// ---- tokens ----

TEST_F(RetryTest, ADrawnTokenMakesAnyWriteSafeAndKeepsItsMomentOfIssue) {
  lose_the_first();
  server_.now_us = 5'000'000'000;
  client(ClientOptions());
  Mutation stamped("row");
  stamped.set("f", "q", "v");
  CallOptions options;
  options.draw_tokens = true;
  const auto outcome = send(stamped, options);
  settle(5'000'000);
  EXPECT_TRUE(*outcome && **outcome);
  ASSERT_EQ(server_.requests.size(), 2u);
  EXPECT_EQ(server_.requests[0].body, server_.requests[1].body);
  const BodyOf<fb::MutateRowRequest> body(server_.requests[0]);
  ASSERT_TRUE(body->token() != nullptr);
  EXPECT_EQ(body->token()->token()->size(), 16u);
  EXPECT_GE(body->token()->issued_us(), 5'000'000'000);
  EXPECT_LT(body->token()->issued_us(), 5'000'100'000);
}

// ---- bounds ----

TEST_F(RetryTest, PastItsBoundTheClientRefusesOrWaits) {
  server_.script = nullptr;
  for (const WhenFull when : {WhenFull::refuse, WhenFull::wait}) {
    server_.requests.clear();
    ClientOptions options;
    options.max_pending = 3;
    options.when_full = when;
    client(options);
    std::vector<std::shared_ptr<Outcome>> outcomes;
    for (int i = 0; i < 5; ++i) outcomes.push_back(send(one_cell(fmt::format("row{}", i))));
    settle(1'000'000);
    EXPECT_EQ(server_.requests.size(), 3u);
    EXPECT_EQ(client_->stats().pending, 3u);
    if (when == WhenFull::refuse) {
      ASSERT_TRUE(*outcomes[3] && !**outcomes[3]);
      EXPECT_EQ((*outcomes[3])->error().code, Errc::resource_exhausted);
      EXPECT_EQ((*outcomes[3])->error().applied, Applied::not_applied);
      continue;
    }
    EXPECT_FALSE(outcomes[3]->has_value());
    server_.send(mutate_reply(server_.requests[0]));
    settle(1'000'000);
    EXPECT_EQ(server_.requests.size(), 4u);
    settle(20'000'000);
    ASSERT_TRUE(*outcomes[4] && !**outcomes[4]) << "a deadline passes while waiting for room";
    EXPECT_EQ((*outcomes[4])->error().code, Errc::deadline_exceeded);
  }
}

TEST_F(RetryTest, ClosingEndsWhatIsPausedAndParked) {
  server_.script = [&](const Received& r) { return refuse(r, Errc::unavailable, 60'000); };
  ClientOptions options;
  options.max_pending = 1;
  options.when_full = WhenFull::wait;
  client(options);
  CallOptions call;
  call.deadline_us = 100'000'000;
  const auto paused = send(one_cell("a"), call);
  const auto parked = send(one_cell("b"), call);
  settle(1'000'000);
  EXPECT_FALSE(paused->has_value() || parked->has_value());
  client_->close();
  settle(1'000);
  EXPECT_EQ((*paused)->error().code, Errc::cancelled);
  EXPECT_EQ((*parked)->error().code, Errc::cancelled);
  EXPECT_EQ((*parked)->error().applied, Applied::not_applied);
}

}  // namespace
}  // namespace cellar::client
