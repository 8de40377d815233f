// One suite for every body of RadosPort.
#include <gmock/gmock.h>

#include <optional>

#include "tests/io/remote/guarded_lane.h"
#include "tests/io/remote/rados_bodies.h"

namespace cellar::test {
namespace {

using testing::HasSubstr;

class RadosConformance : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::string why;
    if (!RadosMachine::available(GetParam(), why)) GTEST_SKIP() << why;
    machine.emplace(GetParam());
    port = machine->connect();
    ASSERT_NE(port, nullptr);
    pool = open(*port, machine->pool());
  }
  RadosPool open(RadosPort& of, const std::string& name) {
    auto opened = m().run(of.open_pool(name, name_space));
    EXPECT_TRUE(opened) << opened.error().to_string();
    return opened.value_or(RadosPool(0));
  }
  RadosMachine& m() { return *machine; }

  RadosObject object(std::string name) const { return {pool, std::move(name)}; }
  Result<RadosOutcome> write(const std::string& name, RadosWrite write) {
    return m().run(port->write(object(name), std::move(write), kCallUs));
  }
  void apply(const std::string& name, RadosWrite changes) {
    const auto outcome = write(name, std::move(changes));
    ASSERT_TRUE(outcome) << outcome.error().to_string();
    EXPECT_TRUE(std::holds_alternative<RadosApplied>(*outcome)) << outcome->index();
  }
  void refuse(const std::string& name, RadosWrite changes, RadosRefused::Reason reason) {
    const auto outcome = write(name, std::move(changes));
    ASSERT_TRUE(outcome) << outcome.error().to_string();
    ASSERT_TRUE(std::holds_alternative<RadosRefused>(*outcome)) << outcome->index();
    EXPECT_EQ(std::get<RadosRefused>(*outcome).reason, reason);
  }
  std::string read(const std::string& name, uint64_t offset = 0, size_t size = 1000) {
    const auto bytes = m().run(port->read(object(name), offset, size, kCallUs));
    return bytes ? std::string(bytes->data) : bytes.error().to_string();
  }
  RadosPairs xattrs(const std::string& name) {
    const auto pairs = m().run(port->xattrs(object(name), kCallUs));
    EXPECT_TRUE(pairs) << pairs.error().to_string();
    return pairs.value_or(RadosPairs());
  }

  std::optional<RadosMachine> machine;
  RadosPort* port = nullptr;
  RadosPool pool;
  const std::string name_space = fresh_namespace();
};

TEST_P(RadosConformance, ReadsBackWhatWasWritten) {
  apply("a", RadosWrite().write(0, "hello").write(5, " world"));
  EXPECT_EQ(read("a"), "hello world");
  EXPECT_EQ(read("a", 6, 3), "wor");
  EXPECT_EQ(read("a", 9, 100), "ld");
  EXPECT_EQ(read("a", 11, 10), "");
  apply("a", RadosWrite().write(13, "!"));
  EXPECT_EQ(read("a"), std::string("hello world\0\0!", 14));
  const auto stat = m().run(port->stat(object("a"), kCallUs));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->size, 14u);
}

TEST_P(RadosConformance, LargeContentComesBackWhole) {
  std::string large(4u << 20, '\0');
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 + i / 4096);
  apply("large", RadosWrite().write_full(large));
  const auto bytes = m().run(port->read(object("large"), 0, large.size(), kCallUs, true));
  ASSERT_TRUE(bytes) << bytes.error().to_string();
  EXPECT_TRUE(bytes->data == large);
}

TEST_P(RadosConformance, WriteFullReplacesTheContentAndKeepsTheAttributes) {
  apply("a", RadosWrite().write_full("a long content").set_xattr("k", "v"));
  apply("a", RadosWrite().write_full("short"));
  EXPECT_EQ(read("a"), "short");
  EXPECT_EQ(xattrs("a"), (RadosPairs{{"k", "v"}}));
}

TEST_P(RadosConformance, AttributesAreBytesAndSorted) {
  const std::string bytes("\0\xff\n", 3);
  apply("a", RadosWrite().create().set_xattr("z", bytes).set_xattr("b", "").set_xattr("m", "1"));
  EXPECT_EQ(xattrs("a"), (RadosPairs{{"b", ""}, {"m", "1"}, {"z", bytes}}));
}

TEST_P(RadosConformance, AGuardThatDoesNotHoldLeavesEverythingAsItWas) {
  apply("a", RadosWrite().write_full("old").set_xattr("s", "1").set_xattr("e", "3"));
  refuse("a",
         RadosWrite().require_xattr("s", "1").require_xattr("e", "4").write(0, "new").set_xattr(
             "e", "9"),
         RadosRefused::Reason::guard);
  EXPECT_EQ(read("a"), "old");
  EXPECT_EQ(xattrs("a"), (RadosPairs{{"e", "3"}, {"s", "1"}}));
  apply("a", RadosWrite().require_xattr("s", "1").require_xattr("e", "3").write(3, "er").set_xattr(
                 "e", "5"));
  EXPECT_EQ(read("a"), "older");
  refuse("a", RadosWrite().require_xattr("absent", "1").write_full("x"),
         RadosRefused::Reason::guard);
}

TEST_P(RadosConformance, ExistenceIsAGuard) {
  refuse("a", RadosWrite().require_exists().write_full("x"), RadosRefused::Reason::absent);
  refuse("a", RadosWrite().require_xattr("s", "1").write_full("x"), RadosRefused::Reason::absent);
  refuse("a", RadosWrite().remove(), RadosRefused::Reason::absent);
  apply("a", RadosWrite().create_new().write_full("x"));
  refuse("a", RadosWrite().create_new().write_full("y"), RadosRefused::Reason::exists);
  EXPECT_EQ(read("a"), "x");
  apply("a", RadosWrite().require_exists().remove());
  EXPECT_THAT(read("a"), HasSubstr("'a'"));
  EXPECT_EQ(m().run(port->stat(object("a"), kCallUs)).error().code, Errc::not_found);
  EXPECT_EQ(m().run(port->xattrs(object("a"), kCallUs)).error().code, Errc::not_found);
}

TEST_P(RadosConformance, OmapHasPagesInTheOrderOfBytes) {
  const std::string odd("\x01\n", 2);
  apply("a", RadosWrite().create().set_omap("k1", "1").set_omap("k3", "3").set_omap("k2", "2"));
  apply("a", RadosWrite().set_omap(odd, "0").remove_omap("k3").remove_omap("absent"));
  auto page = m().run(port->omap(object("a"), "", 2, kCallUs));
  ASSERT_TRUE(page) << page.error().to_string();
  EXPECT_EQ(page->entries, (RadosPairs{{odd, "0"}, {"k1", "1"}}));
  EXPECT_TRUE(page->more);
  page = m().run(port->omap(object("a"), "k1", 2, kCallUs));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->entries, (RadosPairs{{"k2", "2"}}));
  EXPECT_FALSE(page->more);
  const auto some = m().run(port->omap_values(object("a"), {"k2", odd, "k3"}, kCallUs));
  ASSERT_TRUE(some) << some.error().to_string();
  EXPECT_EQ(*some, (RadosPairs{{odd, "0"}, {"k2", "2"}}));
}

TEST_P(RadosConformance, AListingHasTheNamesOfTheNamespace) {
  for (const std::string name : {"b/2", "a", "b/1", "b/3"}) apply(name, RadosWrite().create());
  apply("b/3", RadosWrite().remove());
  EXPECT_EQ(m().run(port->list(pool, "")).value(), (std::vector<std::string>{"a", "b/1", "b/2"}));
  EXPECT_EQ(m().run(port->list(pool, "b/")).value(), (std::vector<std::string>{"b/1", "b/2"}));
  auto other = m().run(port->open_pool(m().pool(), name_space + "-other"));
  ASSERT_TRUE(other);
  EXPECT_TRUE(m().run(port->list(*other, "")).value().empty());
}

TEST_P(RadosConformance, APoolThatIsAbsentIsNamed) {
  const auto opened = m().run(port->open_pool("no-such-pool", ""));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::not_found);
  EXPECT_THAT(opened.error().message, HasSubstr("no-such-pool"));
}

TEST_P(RadosConformance, SoManyPoolsMayBeOpenAndNoMore) {
  for (size_t i = 1; i < RadosPort::kMaxPools; ++i) {
    ASSERT_TRUE(m().run(port->open_pool(m().pool(), fmt::format("{}-{}", name_space, i))));
  }
  EXPECT_EQ(m().run(port->open_pool(m().pool(), "one more")).error().code,
            Errc::resource_exhausted);
}

TEST_P(RadosConformance, ACodedPoolTakesWholeObjectsWithAttributesAndNoOmap) {
  if (m().coded_pool().empty()) GTEST_SKIP() << "no erasure-coded pool";
  pool = open(*port, m().coded_pool());
  apply("piece", RadosWrite().create_new().set_xattr("attempt", "1"));
  apply("piece", RadosWrite().require_exists().require_xattr("attempt", "1").write_full("content"));
  refuse("piece", RadosWrite().require_exists().require_xattr("attempt", "2").write_full("other"),
         RadosRefused::Reason::guard);
  refuse("absent", RadosWrite().require_exists().require_xattr("attempt", "2").write_full("other"),
         RadosRefused::Reason::absent);
  EXPECT_EQ(read("piece"), "content");
  EXPECT_EQ(write("piece", RadosWrite().set_omap("k", "v")).error().code, Errc::unimplemented);
  const auto page = m().run(port->omap(object("piece"), "", 1, kCallUs));
  ASSERT_TRUE(page) << page.error().to_string();
  EXPECT_TRUE(page->entries.empty());
}

TEST_P(RadosConformance, CallsBeyondTheBoundsAreRefusedBeforeTheyAreSent) {
  const size_t most = RadosPort::kMaxCallBytes;
  apply("a", RadosWrite().write_full(std::string(most, 'x')));
  EXPECT_EQ(write("a", RadosWrite().write_full(std::string(most + 1, 'x'))).error().code,
            Errc::invalid_argument);
  EXPECT_EQ(m().run(port->read(object("a"), 0, most + 1, kCallUs)).error().code,
            Errc::invalid_argument);
  EXPECT_EQ(m().run(port->read(object("a"), 0, 0, kCallUs)).error().code, Errc::invalid_argument);
  EXPECT_EQ(write("", RadosWrite().create()).error().code, Errc::invalid_argument);
  EXPECT_EQ(
      write(std::string(RadosPort::kMaxNameBytes + 1, 'n'), RadosWrite().create()).error().code,
      Errc::invalid_argument);
  EXPECT_EQ(write("a", RadosWrite()).error().code, Errc::invalid_argument);
  const std::string zero("k\0x", 3);
  EXPECT_EQ(write(zero, RadosWrite().create()).error().code, Errc::invalid_argument);
  EXPECT_EQ(write("a", RadosWrite().set_xattr(zero, "")).error().code, Errc::invalid_argument);
  EXPECT_EQ(write("a", RadosWrite().set_omap(zero, "")).error().code, Errc::invalid_argument);
  EXPECT_EQ(m().run(port->omap(object("a"), zero, 1, kCallUs)).error().code,
            Errc::invalid_argument);
  EXPECT_EQ(write("a", RadosWrite().set_xattr("k", std::string(RadosPort::kMaxXattrBytes + 1, 'v')))
                .error()
                .code,
            Errc::invalid_argument);
  RadosWrite many;
  for (size_t i = 0; i < RadosPort::kMaxSteps; ++i) many.set_omap(fmt::format("{:05}", i), "v");
  apply("many", many);
  EXPECT_EQ(write("many", many.set_omap("one more", "v")).error().code, Errc::invalid_argument);
}

// Starts `count` writes of `size` bytes at once; returns the most that were in flight.
struct Peak {
  size_t operations = 0;
  uint64_t bytes = 0;
  int applied = 0;
};
Async<Peak> flood(Loop& loop, RadosPort& port, RadosPool pool, int count, size_t size) {
  Peak peak;
  int open = count;
  Event over;
  for (int i = 0; i < count; ++i) {
    spawn(loop.executor(), [&, i]() -> Async<void> {
      RadosObject object{pool, fmt::format("flood-{}", i % 50)};
      RadosWrite write;
      write.write_full(std::string(size, static_cast<char>('a' + i % 26)));
      const auto outcome = co_await port.write(std::move(object), std::move(write), 4 * kCallUs);
      if (outcome && std::holds_alternative<RadosApplied>(*outcome)) ++peak.applied;
      if (--open == 0) over.set();
    });
    const RadosFigures figures = port.figures();
    peak.operations = std::max(peak.operations, figures.in_flight);
    peak.bytes = std::max(peak.bytes, figures.bytes_in_flight);
  }
  co_await over.wait();
  co_return peak;
}

TEST_P(RadosConformance, OperationsInFlightStayBelowTheBoundAndTheOthersWait) {
  const Peak peak = m().run(flood(m().loop(), *port, pool, 1000, 100));
  EXPECT_EQ(peak.operations, RadosPort::kMaxInFlight);
  EXPECT_EQ(peak.applied, 1000);
  EXPECT_EQ(port->figures().in_flight, 0u);
  EXPECT_EQ(port->figures().waiting, 0u);
}

TEST_P(RadosConformance, BytesInFlightStayBelowTheBound) {
  const Peak peak = m().run(flood(m().loop(), *port, pool, 20, 4u << 20));
  EXPECT_EQ(peak.bytes, RadosPort::kMaxBytesInFlight);
  EXPECT_EQ(peak.applied, 20);
  EXPECT_EQ(port->figures().bytes_in_flight, 0u);
}

TEST_P(RadosConformance, ACallWhoseTimeIsUpIsUnknownAndItsAnswerIsDropped) {
  apply("a", RadosWrite().write_full("old"));
  RadosWrite changes;
  changes.write_full("new");
  const auto outcome = m().run(port->write(object("a"), std::move(changes), 1));
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  ASSERT_TRUE(std::holds_alternative<RadosUnknown>(*outcome));
  const Error& error = std::get<RadosUnknown>(*outcome).error;
  EXPECT_EQ(error.code, Errc::deadline_exceeded);
  EXPECT_EQ(error.applied, Applied::maybe_applied);
  const auto bytes = m().run(port->read(object("a"), 0, 10, 1));
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, Errc::deadline_exceeded);
  for (int i = 0; i < 1000 && port->figures().in_flight > 0; ++i) {
    m().run(sleep_us(m().loop().timers(), 10'000));
  }
  EXPECT_EQ(port->figures().late, 2u);
  EXPECT_EQ(read("a"), "new");  // it arrived nevertheless
}

TEST_P(RadosConformance, CloseEndsTheCallsInFlight) {
  RadosPort* const other = m().connect();
  ASSERT_NE(other, nullptr);
  const RadosPool there = open(*other, m().pool());
  std::optional<Result<RadosOutcome>> outcome;
  const auto play = [&]() -> Async<void> {
    spawn(m().loop().executor(), [&]() -> Async<void> {
      RadosObject a{there, "a"};
      RadosWrite changes;
      changes.write_full("x");
      outcome = co_await other->write(std::move(a), std::move(changes), kCallUs);
    });
    co_await other->close();
    co_await sleep_us(m().loop().timers(), 1'000);
  };
  m().run(play());
  ASSERT_TRUE(outcome && *outcome);
  EXPECT_TRUE(std::holds_alternative<RadosUnknown>(**outcome));
  RadosWrite after;
  after.create();
  EXPECT_EQ(m().run(other->write({there, "a"}, std::move(after), kCallUs)).error().code,
            Errc::unavailable);
  EXPECT_EQ(m().run(other->list(there, "")).error().code, Errc::unavailable);
}

TEST_P(RadosConformance, AGuardedLaneHoldsWhatWasAcknowledgedInOrder) {
  GuardedLane lane(*port, m().loop().timers(), object("lane"), "7", kCallUs);
  m().run(lane.create());
  std::string all;
  for (int i = 0; i < 60; ++i) {
    const std::string batch = fmt::format("[batch {}]", i);
    ASSERT_EQ(m().run(lane.append(batch)), GuardedLane::Fate::applied);
    all += batch;
  }
  EXPECT_EQ(m().run(lane.content()), all);
}

// A session that goes on after its fence: what it sends after the fence's answer is refused, and
// the fixed end stays.
TEST_P(RadosConformance, NoAppendOfAZombieIsMadeAfterItsFence) {
  RadosPort* const taker = m().connect();
  ASSERT_NE(taker, nullptr);
  const RadosPool there = open(*taker, m().pool());
  constexpr int kTrials = 1000;
  int refused = 0;
  int unchanged = 0;
  const auto trial = [&](int i) -> Async<void> {
    const std::string name = fmt::format("lane-{}", i);
    GuardedLane zombie(*port, m().loop().timers(), object(name), "7", kCallUs);
    GuardedLane fencing(*taker, m().loop().timers(), {there, name}, "8", kCallUs);
    co_await zombie.create();
    co_await zombie.append("acknowledged");
    bool first_over = false;  // is on its way when the fence comes: it may be made or not
    spawn(m().loop().executor(), [&]() -> Async<void> {
      co_await zombie.append("at the same time");
      first_over = true;
    });
    const uint64_t end = co_await fencing.fence();
    GuardedLane late(*port, m().loop().timers(), object(name), "7", kCallUs);
    late.go_on_at(end);
    const auto fate = co_await late.append("too late");
    if (fate == GuardedLane::Fate::fenced) ++refused;
    while (!first_over) co_await sleep_us(m().loop().timers(), 1'000);
    const std::string content = co_await fencing.content();
    if (content.size() == end && content.starts_with("acknowledged")) ++unchanged;
  };
  for (int i = 0; i < kTrials; ++i) m().run(trial(i));
  EXPECT_EQ(refused, kTrials);
  EXPECT_EQ(unchanged, kTrials);
}

INSTANTIATE_TEST_SUITE_P(Bodies, RadosConformance,
                         testing::Values("simulated", "simulated_faulty", "ceph"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cellar::test
