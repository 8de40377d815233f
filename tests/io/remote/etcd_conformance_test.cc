// What EtcdPort promises, played against every body. The gateway needs an etcd: the installed one,
// or the cluster that CELLAR_ETCD_ENDPOINTS names.
#include <gmock/gmock.h>

#include "tests/io/remote/etcd_bodies.h"

namespace cellar::test {
namespace {

using namespace etcd;

constexpr int64_t kConformanceUs = 10'000'000;

class EtcdConformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "simulated") {
      body_ = std::make_unique<SimBody>();
      return;
    }
    Result<std::vector<Address>> endpoints = endpoints_of_environment();
    ASSERT_TRUE(endpoints.has_value()) << endpoints.error().to_string();
    if (endpoints->empty()) {
      if (!own_etcd().lacking().empty()) GTEST_SKIP() << own_etcd().lacking();
      ASSERT_EQ(own_etcd().failure(), "");
      endpoints->push_back(own_etcd().endpoint());
    }
    body_ = std::make_unique<GatewayBody>(*std::move(endpoints));
  }

  template <class F>
  void play(F script) {
    body_->run(run_script(std::move(script)));
  }
  template <class F>
  static Async<void> run_script(F script) {
    co_await script();
  }

  EtcdPort& port() { return body_->port(); }
  std::string key(const std::string& name) const { return body_->key(name); }
  Keys all() const { return Keys::prefix(body_->key("")); }

  Async<Done> put(std::string name, std::string value, LeaseId lease = kNoLease) {
    Txn txn;
    txn.then.push_back(Put{key(name), std::move(value), lease});
    co_return co_await done(std::move(txn));
  }
  Async<Done> done(Txn txn) {
    auto outcome = co_await port().txn(std::move(txn), kConformanceUs);
    const bool well = outcome && std::holds_alternative<Done>(*outcome);
    EXPECT_TRUE(well) << (outcome ? "not done" : outcome.error().to_string());
    co_return well ? std::get<Done>(std::move(*outcome)) : Done{};
  }
  Async<RangeAnswer> read(Range range) {
    auto answer = co_await port().range(std::move(range), kConformanceUs);
    EXPECT_TRUE(answer.has_value()) << answer.error().to_string();
    co_return answer.value_or(RangeAnswer{});
  }
  Async<RangeAnswer> read(std::string name) { return read(Range{Keys::one(key(name))}); }
  Async<Errc> code_of(Txn txn) {
    auto outcome = co_await port().txn(std::move(txn), kConformanceUs);
    co_return outcome ? Errc::ok : outcome.error().code;
  }
  Async<Errc> code_of(Range range) {
    auto answer = co_await port().range(std::move(range), kConformanceUs);
    co_return answer ? Errc::ok : answer.error().code;
  }
  // Whether a comparison holds.
  Async<bool> holds(Compare compare) {
    Txn txn;
    txn.compares.push_back(std::move(compare));
    auto outcome = co_await port().txn(std::move(txn), kConformanceUs);
    EXPECT_TRUE(outcome && !std::holds_alternative<Unknown>(*outcome));
    co_return outcome&& std::holds_alternative<Done>(*outcome);
  }
  // The next changes of a watch.
  Async<std::vector<Change>> changes(Watch& watch, size_t at_least) {
    std::vector<Change> all;
    while (all.size() < at_least) {
      auto news = co_await watch.next(kConformanceUs);
      EXPECT_TRUE(news.has_value()) << news.error().to_string();
      if (!news) break;
      if (auto* more = std::get_if<Changes>(&*news)) {
        EXPECT_EQ(more->revision, more->changes.back().now.modified);
        all.insert(all.end(), more->changes.begin(), more->changes.end());
      }
      EXPECT_FALSE(std::holds_alternative<Compacted>(*news));
      if (std::holds_alternative<Compacted>(*news)) break;
    }
    co_return all;
  }

  std::unique_ptr<EtcdBody> body_;
};

TEST_P(EtcdConformance, APutIsReadWithItsRevisions) {
  play([&]() -> Async<void> {
    const Done first = co_await put("a", "one");
    const Done second = co_await put("a", "two");
    EXPECT_GT(second.revision, first.revision);
    const RangeAnswer answer = co_await read("a");
    const KeyValue expected{key("a"), "two", first.revision, second.revision, 2, kNoLease};
    EXPECT_THAT(answer.items, testing::ElementsAre(expected));
    EXPECT_EQ(answer.count, 1);
    EXPECT_GE(answer.revision, second.revision);
    EXPECT_FALSE(answer.more);
    const RangeAnswer none = co_await read("b");
    EXPECT_TRUE(none.items.empty());
    EXPECT_EQ(none.count, 0);
    const RangeAnswer before = co_await read(Range{Keys::one(key("a")), first.revision});
    EXPECT_EQ(before.items.at(0).value, "one");
  });
}

TEST_P(EtcdConformance, KeysAndValuesAreAnyBytes) {
  play([&]() -> Async<void> {
    std::string bytes;
    for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
    co_await put(bytes, bytes);
    co_await put("empty", "");
    const RangeAnswer answer = co_await read(bytes);
    EXPECT_EQ(answer.items.at(0).key, key(bytes));
    EXPECT_EQ(answer.items.at(0).value, bytes);
    const RangeAnswer empty = co_await read("empty");
    EXPECT_EQ(empty.items.at(0).value, "");
  });
}

TEST_P(EtcdConformance, PagesAreOneMoment) {
  play([&]() -> Async<void> {
    for (int i = 0; i < 25; ++i) co_await put(fmt::format("k{:02}", i), "old");
    Range page{all()};
    page.limit = 10;
    RangeAnswer answer = co_await read(page);
    EXPECT_EQ(answer.count, 25);
    std::vector<KeyValue> items = answer.items;
    while (answer.more) {
      Txn txn;
      txn.then.push_back(Put{key("k20"), "new"});
      txn.then.push_back(Delete{Keys::one(key("k21"))});
      co_await done(std::move(txn));
      page = next_page(page, answer);
      answer = co_await read(page);
      items.insert(items.end(), answer.items.begin(), answer.items.end());
    }
    EXPECT_EQ(items.size(), 25u);
    for (size_t i = 0; i < items.size(); ++i) {
      EXPECT_EQ(items[i].key, key(fmt::format("k{:02}", i)));
      EXPECT_EQ(items[i].value, "old");
    }
  });
}

TEST_P(EtcdConformance, APageBeginsBehindTheLongestKey) {
  play([&]() -> Async<void> {
    const std::string longest(kMaxKeyBytes - key("").size(), 'k');
    co_await put(longest, "1");
    co_await put("l", "2");
    Range page{all()};
    page.limit = 1;
    const RangeAnswer first = co_await read(page);
    EXPECT_EQ(first.items.at(0).key.size(), kMaxKeyBytes);
    EXPECT_TRUE(first.more);
    const RangeAnswer second = co_await read(next_page(page, first));
    EXPECT_EQ(second.items.at(0).key, key("l"));
    EXPECT_FALSE(second.more);
    EXPECT_EQ(co_await code_of(Range{{std::string(kMaxKeyBytes + 2, 'k'), std::string(kNoEnd)}}),
              Errc::invalid_argument);
  });
}

TEST_P(EtcdConformance, ARangeCountsOrTellsKeysOnly) {
  play([&]() -> Async<void> {
    for (const char* name : {"a", "b", "b1", "c"}) co_await put(name, "v");
    const RangeAnswer some = co_await read(Range{{key("b"), key("c")}});
    EXPECT_EQ(some.items.size(), 2u);
    Range counting{all()};
    counting.count_only = true;
    const RangeAnswer counted = co_await read(counting);
    EXPECT_EQ(counted.count, 4);
    EXPECT_TRUE(counted.items.empty());
    Range naming{all()};
    naming.keys_only = true;
    naming.serializable = true;
    const RangeAnswer named = co_await read(naming);
    EXPECT_EQ(named.items.size(), 4u);
    EXPECT_EQ(named.items.at(0).value, "");
  });
}

TEST_P(EtcdConformance, EveryComparison) {
  play([&]() -> Async<void> {
    using What = Compare::What;
    using How = Compare::How;
    co_await put("a", "m");
    const Done done = co_await put("a", "m");
    const RangeAnswer answer = co_await read("a");
    const KeyValue& kv = answer.items.at(0);
    const std::pair<What, int64_t> numbers[] = {{What::version, kv.version},
                                                {What::created, kv.created.value()},
                                                {What::modified, kv.modified.value()},
                                                {What::lease, 0}};
    for (const auto& [what, number] : numbers) {
      for (const int64_t other : {number - 1, number, number + 1}) {
        EXPECT_EQ(co_await holds({kv.key, what, How::equal, other}), number == other);
        EXPECT_EQ(co_await holds({kv.key, what, How::not_equal, other}), number != other);
        EXPECT_EQ(co_await holds({kv.key, what, How::greater, other}), number > other);
        EXPECT_EQ(co_await holds({kv.key, what, How::less, other}), number < other);
      }
    }
    for (const std::string& other : {std::string("l"), std::string("m"), std::string("n")}) {
      EXPECT_EQ(co_await holds({kv.key, What::value, How::equal, 0, other}), other == "m");
      EXPECT_EQ(co_await holds({kv.key, What::value, How::not_equal, 0, other}), other != "m");
      EXPECT_EQ(co_await holds({kv.key, What::value, How::greater, 0, other}), other < "m");
      EXPECT_EQ(co_await holds({kv.key, What::value, How::less, 0, other}), other > "m");
    }
    EXPECT_TRUE(co_await holds(Compare::unchanged(kv)));
    EXPECT_FALSE(co_await holds(Compare::absent(kv.key)));
    EXPECT_TRUE(co_await holds(Compare::absent(key("b"))));
    EXPECT_FALSE(co_await holds({key("b"), What::value, How::not_equal, 0, "x"}));
    EXPECT_EQ(done.revision, kv.modified);
  });
}

TEST_P(EtcdConformance, ATransactionIsAllAtOneRevisionOrRefused) {
  play([&]() -> Async<void> {
    co_await put("old", "v");
    Txn txn;
    txn.compares = {Compare::absent(key("a"))};
    txn.then = {Put{key("a"), "1"}, Put{key("b"), "2"}, Delete{Keys::one(key("old"))},
                Range{all()}};
    txn.otherwise = {Range{Keys::one(key("a"))}, Delete{Keys::one(key("b"))}};
    const Done first = co_await done(txn);
    EXPECT_EQ(std::get<DeleteAnswer>(first.answers.at(2)).deleted, 1);
    const auto& seen = std::get<RangeAnswer>(first.answers.at(3));
    EXPECT_EQ(seen.items.size(), 2u);
    EXPECT_EQ(seen.items.at(0).modified, first.revision);
    EXPECT_EQ(seen.items.at(1).modified, first.revision);
    auto second = co_await port().txn(txn, kConformanceUs);
    EXPECT_TRUE(second && std::holds_alternative<Refused>(*second));
    if (!second || !std::holds_alternative<Refused>(*second)) co_return;
    const Refused& refused = std::get<Refused>(*second);
    EXPECT_EQ(std::get<RangeAnswer>(refused.answers.at(0)).items.at(0).value, "1");
    EXPECT_EQ(std::get<DeleteAnswer>(refused.answers.at(1)).deleted, 1);
    EXPECT_EQ(refused.revision.value(), first.revision.value() + 1);
  });
}

TEST_P(EtcdConformance, ALeaseTakesItsKeysWithIt) {
  play([&]() -> Async<void> {
    const LeaseId id(static_cast<int64_t>(entropy_seed() >> 2 | 1));
    const auto granted = co_await port().grant(id, 60, kConformanceUs);
    EXPECT_TRUE(granted && std::holds_alternative<Granted>(*granted));
    const auto again = co_await port().grant(id, 60, kConformanceUs);
    EXPECT_EQ(again ? Errc::ok : again.error().code, Errc::failed_precondition);
    co_await put("a", "v", id);
    co_await put("b", "v", id);
    co_await put("b", "v");  // leaves the lease
    const auto state = co_await port().time_to_live(id, kConformanceUs);
    EXPECT_TRUE(state.has_value());
    EXPECT_EQ(state->granted_s, 60);
    EXPECT_THAT(state->keys, testing::ElementsAre(key("a")));
    EXPECT_TRUE(state->left_s > 40 && state->left_s <= 60) << state->left_s;
    const auto leases = co_await port().leases(kConformanceUs);
    EXPECT_THAT(leases.value(), testing::Contains(id));
    const auto renewed = co_await port().keep_alive(id, kConformanceUs);
    EXPECT_TRUE(renewed && std::get<Renewed>(*renewed).ttl_s == 60);
    const auto revoked = co_await port().revoke(id, kConformanceUs);
    EXPECT_TRUE(revoked && std::holds_alternative<Revoked>(*revoked));
    const RangeAnswer left = co_await read(Range{all()});
    EXPECT_EQ(left.items.size(), 1u);
    const auto twice = co_await port().revoke(id, kConformanceUs);
    EXPECT_EQ(twice ? Errc::ok : twice.error().code, Errc::not_found);
    const auto late = co_await port().keep_alive(id, kConformanceUs);
    EXPECT_EQ(late ? Errc::ok : late.error().code, Errc::not_found);
    const auto gone = co_await port().time_to_live(id, kConformanceUs);
    EXPECT_EQ(gone ? Errc::ok : gone.error().code, Errc::not_found);
  });
}

TEST_P(EtcdConformance, ALeaseExpiresUnlessItIsRenewed) {
  play([&]() -> Async<void> {
    const auto granted = co_await port().grant(kNoLease, 2, kConformanceUs);
    const LeaseId id = std::get<Granted>(*granted).id;
    const Done put_it = co_await put("a", "v", id);
    for (int i = 0; i < 4; ++i) {
      co_await body_->sleep(1'000'000);
      const auto renewed = co_await port().keep_alive(id, kConformanceUs);
      EXPECT_TRUE(renewed && std::holds_alternative<Renewed>(*renewed));
    }
    const RangeAnswer kept = co_await read("a");
    EXPECT_EQ(kept.items.size(), 1u);
    auto watch = port().watch({all(), Revision(put_it.revision.value() + 1), true});
    const auto told = co_await changes(**watch, 1);
    EXPECT_EQ(told.at(0).kind, Change::Kind::removed);
    EXPECT_EQ(told.at(0).before->value, "v");
    const auto late = co_await port().keep_alive(id, kConformanceUs);
    EXPECT_EQ(late ? Errc::ok : late.error().code, Errc::not_found);
  });
}

TEST_P(EtcdConformance, APutWithALeaseThatIsGoneIsNotApplied) {
  play([&]() -> Async<void> {
    Txn txn;
    txn.then = {Put{key("a"), "v"}, Put{key("b"), "v", LeaseId(4242)}};
    EXPECT_EQ(co_await code_of(txn), Errc::not_found);
    const RangeAnswer none = co_await read(Range{all()});
    EXPECT_EQ(none.count, 0);
  });
}

TEST_P(EtcdConformance, AWatchTellsEveryChangeOnceInOrder) {
  play([&]() -> Async<void> {
    const Done first = co_await put("a", "0");
    auto watch = port().watch({all(), first.revision, true});
    EXPECT_TRUE(watch.has_value());
    std::vector<std::pair<Revision, std::string>> expected = {{first.revision, "0"}};
    for (int i = 1; i <= 40; ++i) {
      const Done one = co_await put("a", std::to_string(i));
      expected.emplace_back(one.revision, std::to_string(i));
      co_await put("b", "other");
      Txn removal;
      removal.then = {Delete{Keys::one(key("b"))}};
      co_await done(std::move(removal));
    }
    const auto told = co_await changes(**watch, 1 + 3 * 40);
    EXPECT_EQ(told.size(), 1u + 3 * 40);
    std::vector<std::pair<Revision, std::string>> of_a;
    for (size_t i = 0; i < told.size(); ++i) {
      if (told[i].now.key == key("a")) of_a.emplace_back(told[i].now.modified, told[i].now.value);
      if (i > 0) EXPECT_GT(told[i].now.modified, told[i - 1].now.modified);
      EXPECT_EQ(told[i].kind == Change::Kind::removed, i > 0 && i % 3 == 0);
    }
    EXPECT_EQ(of_a, expected);
    EXPECT_EQ(told.at(1).before->value, "0");
    EXPECT_EQ(told.at(3).before->value, "other");
  });
}

TEST_P(EtcdConformance, AWatchWithoutNewsWaitsAndGoesOn) {
  play([&]() -> Async<void> {
    const Done first = co_await put("a", "0");
    auto watch = port().watch({all(), Revision(first.revision.value() + 1)});
    for (int i = 0; i < 3; ++i) {
      auto news = co_await (*watch)->next(700'000);
      while (news && std::holds_alternative<Progress>(*news)) {
        news = co_await (*watch)->next(700'000);
      }
      EXPECT_EQ(news ? Errc::ok : news.error().code, Errc::deadline_exceeded);
    }
    co_await put("other", "v");
    co_await put("a", "1");
    const auto told = co_await changes(**watch, 2);
    EXPECT_EQ(told.at(0).now.key, key("other"));
    EXPECT_EQ(told.at(1).now.value, "1");
    EXPECT_FALSE(told.at(1).before.has_value());
  });
}

TEST_P(EtcdConformance, WhatIsCompactedIsToldAsSuch) {
  play([&]() -> Async<void> {
    const Done first = co_await put("a", "0");
    co_await put("a", "1");
    const Done last = co_await put("a", "2");
    auto compacted = co_await port().compact(last.revision, kConformanceUs);
    EXPECT_TRUE(compacted && std::holds_alternative<Compaction>(*compacted));
    auto watch = port().watch({all(), first.revision});
    auto news = co_await (*watch)->next(kConformanceUs);
    EXPECT_TRUE(news && std::holds_alternative<Compacted>(*news));
    if (news && std::holds_alternative<Compacted>(*news)) {
      EXPECT_EQ(std::get<Compacted>(*news).oldest, last.revision);
    }
    auto over = co_await (*watch)->next(kConformanceUs);
    EXPECT_EQ(over ? Errc::ok : over.error().code, Errc::failed_precondition);
    EXPECT_EQ(co_await code_of(Range{all(), first.revision}), Errc::out_of_range);
    EXPECT_EQ(co_await code_of(Range{all(), Revision(last.revision.value() + 1'000'000)}),
              Errc::out_of_range);
    EXPECT_EQ(co_await code_of(Range{all(), last.revision}), Errc::ok);
    const auto twice = co_await port().compact(last.revision, kConformanceUs);
    EXPECT_EQ(twice ? Errc::ok : twice.error().code, Errc::out_of_range);
    // The way back: read, and watch from there.
    const RangeAnswer now = co_await read(Range{all()});
    auto next = port().watch({all(), Revision(now.revision.value() + 1)});
    co_await put("a", "3");
    const auto told = co_await changes(**next, 1);
    EXPECT_EQ(told.at(0).now.value, "3");
  });
}

// A watch counts from its last news, as etcd does: changes of other keys do not move it.
TEST_P(EtcdConformance, ACompactionEndsAQuietWatchThoughItMissedNothing) {
  play([&]() -> Async<void> {
    const Done first = co_await put("a", "0");
    auto watch = port().watch({Keys::one(key("a")), Revision(first.revision.value() + 1)});
    const auto quiet = co_await (*watch)->next(100'000);
    EXPECT_EQ(quiet ? Errc::ok : quiet.error().code, Errc::deadline_exceeded);
    co_await put("elsewhere", "1");
    const Done last = co_await put("elsewhere", "2");
    auto compacted = co_await port().compact(last.revision, kConformanceUs);
    EXPECT_TRUE(compacted && std::holds_alternative<Compaction>(*compacted));
    auto news = co_await (*watch)->next(kConformanceUs);
    EXPECT_TRUE(news && std::holds_alternative<Compacted>(*news));
  });
}

TEST_P(EtcdConformance, BoundsAreKeptBeforeAnythingIsSent) {
  play([&]() -> Async<void> {
    const uint64_t sent = port().stats().requests;
    Txn many;
    for (size_t i = 0; i <= kMaxTxnOps; ++i) many.then.push_back(Put{key(std::to_string(i)), ""});
    EXPECT_EQ(co_await code_of(many), Errc::invalid_argument);
    many.then.pop_back();
    Txn twice;
    twice.then = {Put{key("a"), "1"}, Put{key("a"), "2"}};
    EXPECT_EQ(co_await code_of(twice), Errc::invalid_argument);
    Txn both;
    both.otherwise = {Put{key("a"), "1"}, Delete{all()}};
    EXPECT_EQ(co_await code_of(both), Errc::invalid_argument);
    Txn large;
    const size_t room = kMaxRequestBytes - kOpOverheadBytes - key("large").size();
    large.then = {Put{key("large"), std::string(room + 1, 'x')}};
    EXPECT_EQ(co_await code_of(large), Errc::invalid_argument);
    EXPECT_EQ(co_await code_of(Range{Keys::one("")}), Errc::invalid_argument);
    EXPECT_EQ(co_await code_of(Range{Keys::one(std::string(kMaxKeyBytes + 1, 'k'))}),
              Errc::invalid_argument);
    EXPECT_EQ(co_await code_of(Range{{"b", "a"}}), Errc::invalid_argument);
    Range page{all()};
    page.limit = kMaxRangeItems + 1;
    EXPECT_EQ(co_await code_of(page), Errc::invalid_argument);
    const auto lease = co_await port().grant(kNoLease, kMaxLeaseSeconds + 1, kConformanceUs);
    EXPECT_EQ(lease ? Errc::ok : lease.error().code, Errc::invalid_argument);
    const auto hasty = co_await port().range(Range{all()}, 0);
    EXPECT_EQ(hasty ? Errc::ok : hasty.error().code, Errc::invalid_argument);
    const auto watch = port().watch({all(), Revision(0)});
    EXPECT_EQ(watch ? Errc::ok : watch.error().code, Errc::invalid_argument);
    EXPECT_EQ(port().stats().requests, sent);
    // At the bound it is taken, by etcd too.
    std::get<Put>(large.then[0]).value.pop_back();
    EXPECT_EQ(co_await code_of(large), Errc::ok);
    EXPECT_EQ(co_await code_of(many), Errc::ok);
    page.limit = kMaxRangeItems;
    EXPECT_EQ(co_await code_of(page), Errc::ok);
  });
}

TEST_P(EtcdConformance, CallsInFlightAndWatchesAreBounded) {
  play([&]() -> Async<void> {
    size_t over = 0;
    size_t refused = 0;
    size_t well = 0;
    for (size_t i = 0; i < kMaxInFlight + 3; ++i) {
      spawn(body_->loop().executor(), [&]() -> Async<void> {
        auto answer = co_await port().range(Range{all()}, kConformanceUs);
        const bool full = !answer && answer.error().code == Errc::resource_exhausted;
        refused += full ? 1 : 0;
        well += answer ? 1 : 0;
        ++over;
      });
    }
    while (over < kMaxInFlight + 3) co_await body_->sleep(1'000);
    EXPECT_EQ(refused, 3u);
    EXPECT_EQ(well, kMaxInFlight);
    std::vector<std::unique_ptr<Watch>> watches;
    for (size_t i = 0; i < kMaxWatches; ++i) {
      auto watch = port().watch({all(), Revision(1)});
      EXPECT_TRUE(watch.has_value());
      if (watch) watches.push_back(std::move(*watch));
    }
    const auto more = port().watch({all(), Revision(1)});
    EXPECT_EQ(more ? Errc::ok : more.error().code, Errc::resource_exhausted);
    watches.pop_back();
    EXPECT_TRUE(port().watch({all(), Revision(1)}).has_value());
  });
}

TEST_P(EtcdConformance, CloseEndsWhatWaits) {
  play([&]() -> Async<void> {
    const Done first = co_await put("a", "0");
    auto watch = port().watch({all(), Revision(first.revision.value() + 1)});
    bool ended = false;
    spawn(body_->loop().executor(), [&]() -> Async<void> {
      auto news = co_await (*watch)->next(kConformanceUs);
      while (news) news = co_await (*watch)->next(kConformanceUs);
      EXPECT_EQ(news.error().code, Errc::cancelled);
      ended = true;
    });
    co_await body_->sleep(100'000);
    co_await port().close();
    while (!ended) co_await body_->sleep(1'000);
    EXPECT_EQ(co_await code_of(Range{all()}), Errc::cancelled);
    const auto late = port().watch({all(), Revision(1)});
    EXPECT_EQ(late ? Errc::ok : late.error().code, Errc::cancelled);
  });
}

TEST_P(EtcdConformance, MembersAndTheirStatus) {
  play([&]() -> Async<void> {
    const auto members = co_await port().members(kConformanceUs);
    EXPECT_TRUE(members && !members->empty());
    if (!members || members->empty()) co_return;
    EXPECT_FALSE(members->at(0).client_urls.empty());
    const auto status = co_await port().status(kConformanceUs);
    EXPECT_TRUE(status && status->leader != 0);
  });
}

INSTANTIATE_TEST_SUITE_P(Bodies, EtcdConformance, testing::Values("simulated", "gateway"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cellar::test
