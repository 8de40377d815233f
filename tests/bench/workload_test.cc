#include "bench/load/workload.h"

#include <gtest/gtest.h>
#include <lz4.h>

#include <set>
#include <thread>

namespace cellar::bench {
namespace {

Workload named(const char* name, uint64_t keys = 10'000) {
  Workload w = find_workload(name)->workload;
  w.keys = keys;
  return w;
}

// Shares of operations that a drawer draws.
std::array<double, kOperations> drawn_shares(const Workload& workload, int draws = 100'000) {
  KeySpace keys(workload, workload.keys);
  RequestDrawer drawer(workload, keys, 0);
  std::array<double, kOperations> shares{};
  for (int i = 0; i < draws; ++i)
    shares[static_cast<size_t>(drawer.draw().operation)] += 1.0 / draws;
  return shares;
}

// https://github.com/brianfrankcooper/YCSB/wiki/Core-Workloads
TEST(Ycsb, MixesAreAsSpecified) {
  struct Case {
    const char* name;
    std::array<double, kOperations> shares;  // read, update, insert, scan, modify, delete
    Distribution distribution;
  };
  const Case cases[] = {
      {"ycsb-a", {.5, .5, 0, 0, 0, 0}, Distribution::zipf},
      {"ycsb-b", {.95, .05, 0, 0, 0, 0}, Distribution::zipf},
      {"ycsb-c", {1, 0, 0, 0, 0, 0}, Distribution::zipf},
      {"ycsb-d", {.95, 0, .05, 0, 0, 0}, Distribution::latest},
      {"ycsb-e", {0, 0, .05, .95, 0, 0}, Distribution::zipf},
      {"ycsb-f", {.5, 0, 0, 0, .5, 0}, Distribution::zipf},
  };
  for (const Case& c : cases) {
    const Workload w = named(c.name, 1000);
    EXPECT_EQ(w.distribution, c.distribution) << c.name;
    EXPECT_EQ(w.fields, 10u) << c.name;
    EXPECT_EQ(w.value_bytes.mean(), 100) << c.name;
    EXPECT_EQ(w.key_form, KeyForm::hashed) << c.name;
    EXPECT_EQ(w.scan_rows, 100u) << c.name;
    const auto drawn = drawn_shares(w, 20'000);
    for (size_t i = 0; i < kOperations; ++i) {
      EXPECT_DOUBLE_EQ(w.shares[i], c.shares[i]) << c.name;
      EXPECT_NEAR(drawn[i], c.shares[i], 0.015) << c.name << " " << i;
      if (c.shares[i] == 0) EXPECT_EQ(drawn[i], 0) << c.name;
    }
  }
}

TEST(Ycsb, RecordsAreAsSpecified) {
  const Workload w = named("ycsb-e");
  KeySpace keys(w, w.keys);
  RequestDrawer drawer(w, keys, 0);
  std::set<uint32_t> lengths;
  for (int i = 0; i < 20'000; ++i) {
    const Request& request = drawer.draw();
    EXPECT_TRUE(request.key.starts_with("user"));
    if (request.operation == Operation::scan) {
      lengths.insert(request.rows);
      EXPECT_FALSE(request.within_prefix);
    } else {
      ASSERT_EQ(request.fields.size(), 10u);
      EXPECT_EQ(request.fields[3].name, "field3");
      EXPECT_EQ(request.fields[3].value.size(), 100u);
    }
  }
  EXPECT_EQ(lengths.size(), 100u);
  EXPECT_EQ(*lengths.begin(), 1u);
  std::string key;
  keys.name_row(0, key);
  EXPECT_EQ(key, "user6284781860667377211");  // of the first record of YCSB
}

// An update writes one field, and a read-modify-write too.
TEST(Ycsb, UpdatesWriteOneField) {
  const Workload w = named("ycsb-a");
  KeySpace keys(w, w.keys);
  RequestDrawer drawer(w, keys, 0);
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) {
    const Request& request = drawer.draw();
    if (request.operation != Operation::update) continue;
    ASSERT_EQ(request.fields.size(), 1u);
    names.emplace(request.fields[0].name);
  }
  EXPECT_EQ(names.size(), 10u);
  const Request& second = drawer.draw_update("user1");
  EXPECT_EQ(second.operation, Operation::update);
  EXPECT_EQ(second.key, "user1");
  EXPECT_EQ(second.fields.size(), 1u);
}

TEST(Workload, EveryNameHasSharesThatAddUp) {
  for (const NamedWorkload& w : named_workloads()) {
    double sum = 0;
    for (double share : w.workload.shares) sum += share;
    EXPECT_NEAR(sum, 1, 1e-12) << w.name;
    EXPECT_EQ(find_workload(w.name), &w);
  }
  EXPECT_EQ(find_workload("nothing"), nullptr);
}

TEST(Workload, SharesAreParsed) {
  const auto shares = parse_shares("read=3,delete=1");
  ASSERT_TRUE(shares);
  EXPECT_DOUBLE_EQ((*shares)[0], .75);
  EXPECT_DOUBLE_EQ((*shares)[5], .25);
  for (const char* bad : {"", "read", "read=-1", "reed=1", "read=x", "read=0"})
    EXPECT_FALSE(parse_shares(bad)) << bad;
}

// Eight connections on four threads write every row once.
TEST(Workload, ASequenceIsOneForTheRun) {
  Workload w = named("write", 20'000);
  w.distribution = Distribution::sequential;
  KeySpace keys(w, 0);
  std::vector<std::set<std::string>> seen(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < seen.size(); ++t) {
    threads.emplace_back([&, t] {
      RequestDrawer drawer(w, keys, t);
      for (int i = 0; i < 5000; ++i) seen[t].insert(drawer.draw().key);
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& part : seen) all.insert(part.begin(), part.end());
  EXPECT_EQ(all.size(), 20'000u);
}

TEST(Workload, TheLoadPhaseInsertsEveryRowOnce) {
  for (const char* name : {"ycsb-c", "timeseries", "clicks", "sessions"}) {
    const Workload load = load_phase_of(named(name, 3000));
    KeySpace keys(load, 0);
    RequestDrawer a(load, keys, 0);
    RequestDrawer b(load, keys, 1);
    std::set<std::string> rows;
    for (int i = 0; i < 1500; ++i) {
      rows.insert(a.draw().key);
      const Request& request = b.draw();
      EXPECT_EQ(request.operation, Operation::insert);
      EXPECT_EQ(request.fields.size(), load.fields);
      rows.insert(request.key);
    }
    EXPECT_EQ(rows.size(), 3000u) << name;
  }
}

// A read never asks for a row whose insert, or an earlier one, has not been acknowledged.
TEST(Workload, ReadsFollowAcknowledgedInserts) {
  Workload w = named("ycsb-d", 100);
  KeySpace keys(w, 100);
  InsertSequence& inserts = *keys.inserts();
  EXPECT_EQ(inserts.existing(), 100u);
  const uint64_t first = inserts.next();
  const uint64_t second = inserts.next();
  inserts.acknowledge(second);
  EXPECT_EQ(inserts.existing(), 100u);
  inserts.acknowledge(first);
  EXPECT_EQ(inserts.existing(), 102u);
  RequestDrawer drawer(w, keys, 0);
  for (int i = 0; i < 1000; ++i) {
    const Request& request = drawer.draw();
    if (request.operation == Operation::read) EXPECT_LT(request.number, inserts.existing());
    if (request.operation == Operation::insert) inserts.acknowledge(request.number);
  }
  EXPECT_GT(inserts.existing(), 110u);
}

TEST(Workload, AcknowledgementsOfManyThreadsAddUp) {
  InsertSequence sequence(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) sequence.acknowledge(sequence.next());
    });
  }
  for (auto& thread : threads) thread.join();
  sequence.acknowledge(sequence.next());  // advances over what a busy lock left
  EXPECT_EQ(sequence.existing(), 80'001u);
}

TEST(Workload, ZipfDrawsFromKeysThatExist) {
  Workload w = named("ycsb-a", 500);
  w.shares = {.5, 0, .5, 0, 0, 0};
  w.expected_inserts = 1000;
  KeySpace keys(w, w.keys);
  RequestDrawer drawer(w, keys, 0);
  uint64_t highest = 0;
  for (int i = 0; i < 4000; ++i) {
    const Request& request = drawer.draw();
    if (request.operation == Operation::insert) {
      if (i < 2000) keys.inserts()->acknowledge(request.number);
    } else {
      EXPECT_LT(request.number, keys.inserts()->existing());
      highest = std::max(highest, request.number);
    }
  }
  EXPECT_GT(highest, 500u);
}

// The rows of an owner are together, the newest one first.
TEST(Workload, SeriesHaveTheNewestRowFirst) {
  Workload w = named("timeseries", 1000);
  w.owners = 10;
  const KeySpace keys(w, 0);
  std::string older;
  std::string newer;
  std::string other;
  std::string prefix;
  keys.name_row(13, older);
  keys.name_row(23, newer);
  keys.name_row(24, other);
  keys.name_owner(3, prefix);
  EXPECT_LT(newer, older);
  EXPECT_TRUE(newer.starts_with(prefix));
  EXPECT_TRUE(older.starts_with(prefix));
  EXPECT_FALSE(other.starts_with(prefix));
}

TEST(Workload, ScansOfSeriesStayWithinTheirOwner) {
  const Workload w = named("clicks", 5000);
  KeySpace keys(w, w.keys);
  RequestDrawer drawer(w, keys, 0);
  int scans = 0;
  for (int i = 0; i < 2000; ++i) {
    const Request& request = drawer.draw();
    if (request.operation != Operation::scan) {
      EXPECT_GT(request.life_us, 0u);
      EXPECT_FALSE(request.within_prefix);
      continue;
    }
    ++scans;
    EXPECT_TRUE(request.within_prefix);
    EXPECT_TRUE(request.key.ends_with('#'));
  }
  EXPECT_NEAR(scans, 200, 60);
}

TEST(Workload, IsRepeatableFromItsSeed) {
  const Workload w = named("ycsb-a");
  const auto draw = [&](uint64_t stream) {
    KeySpace keys(w, w.keys);
    RequestDrawer drawer(w, keys, stream);
    std::string all;
    for (int i = 0; i < 50; ++i) {
      const Request& request = drawer.draw();
      all += request.key;
      for (const FieldValue& field : request.fields) all += field.value;
    }
    return all;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

// ---- values

TEST(Values, CompressToTheirShare) {
  for (double share : {0.25, 0.5, 1.0}) {
    std::string values;
    for (int i = 0; values.size() < 64 * 1024; ++i)
      append_value(values, fmt::format("row{}", i), "q", static_cast<uint64_t>(i) * 77, 1024,
                   share);
    std::string packed(static_cast<size_t>(LZ4_compressBound(static_cast<int>(values.size()))),
                       '\0');
    const int size =
        LZ4_compress_default(values.data(), packed.data(), static_cast<int>(values.size()),
                             static_cast<int>(packed.size()));
    EXPECT_NEAR(size / static_cast<double>(values.size()), share, 0.03) << share;
  }
}

TEST(Values, AreRecognised) {
  std::string scratch;
  for (size_t bytes : {0, 1, 7, 8, 9, 100, 1000, 4097}) {
    std::string value;
    append_value(value, "row", "q", 0x123456789abcdef, bytes, 0.5);
    ASSERT_EQ(value.size(), bytes);
    EXPECT_TRUE(is_value_of(value, "row", "q", 0.5, scratch)) << bytes;
    if (bytes < 30) continue;
    EXPECT_FALSE(is_value_of(value, "row2", "q", 0.5, scratch));
    EXPECT_FALSE(is_value_of(value, "row", "p", 0.5, scratch));
    for (size_t at : {size_t{0}, size_t{20}, bytes - 1}) {
      std::string damaged = value;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      EXPECT_FALSE(is_value_of(damaged, "row", "q", 0.5, scratch)) << bytes << " " << at;
    }
    EXPECT_FALSE(is_value_of(Bytes(value).substr(0, bytes - 30), "row", "p", 0.5, scratch));
  }
}

TEST(Values, MixesAreParsed) {
  const auto sizes = Mix::parse_sizes("64:50,1K-2K:30,1M:20");
  ASSERT_TRUE(sizes) << sizes.error().to_string();
  EXPECT_EQ(sizes->max(), 1u << 20);
  EXPECT_NEAR(sizes->mean(), .5 * 64 + .3 * 1536 + .2 * (1 << 20), 0.5);
  Random random(4);
  std::array<int, 3> counts{};
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t size = sizes->draw(random);
    if (size == 64) {
      ++counts[0];
    } else if (size >= 1024 && size <= 2048) {
      ++counts[1];
    } else if (size == 1 << 20) {
      ++counts[2];
    }
  }
  EXPECT_NEAR(counts[0], 5000, 200);
  EXPECT_NEAR(counts[1], 3000, 200);
  EXPECT_NEAR(counts[2], 2000, 200);
  const auto lives = Mix::parse_lives("none:1,500ms:1");
  ASSERT_TRUE(lives);
  EXPECT_EQ(lives->max(), 500'000u);
  EXPECT_EQ(Mix::parse_lives("2d")->max(), 172'800'000'000u);
  for (const char* bad : {"", "x", "10:", "10:0", "10:-1", "20-10", "10G", "1,,2", "65M"})
    EXPECT_FALSE(Mix::parse_sizes(bad)) << bad;
  for (const char* bad : {"", "10", "0s", "1y", "-1s"}) EXPECT_FALSE(Mix::parse_lives(bad)) << bad;
}

}  // namespace
}  // namespace cellar::bench
