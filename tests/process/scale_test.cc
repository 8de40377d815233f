// Large amounts on a real node: connections, families, columns, cells, rows. Time grows linearly,
// and memory stays within the budget. bench/scale prints the figures.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "net/wire/frame.h"
#include "tests/net/wire/wire_bodies.h"
#include "tests/process/support/scale_bed.h"

namespace cellar::process {
namespace {

namespace fb = wire::fb;
using Scale = ScaleBed;

constexpr size_t kBudgetBytes = 256u << 20;

// A raw connection that sends given frames and waits for each answer; without the client library.
class Plain {
 public:
  explicit Plain(const std::string& address) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    const size_t colon = address.find(':');
    to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
    ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
    const int done = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    CHECK(fd_ >= 0 && done == 0, "cannot connect: {}", std::strerror(errno));
    std::string preface;
    wire::append_preface(preface, {});
    send(preface + wire::request_frame(fb::Op::Hello, 1, ""));
  }
  ~Plain() { ::close(fd_); }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;

  void send(const std::string& bytes) {
    CHECK(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
  }
  // Waits for one frame; returns whether it is not an error.
  bool take() {
    char header[wire::kHeaderBytes];
    read_all(header, sizeof header);
    const auto parsed = wire::parse_header({header, sizeof header}, wire::kLargestFrameBytes);
    CHECK(parsed.has_value(), "the node sent garbage");
    body_.resize(parsed->body_bytes);
    read_all(body_.data(), body_.size());
    return (parsed->flags & wire::kFrameError) == 0;
  }

 private:
  void read_all(char* to, size_t n) {
    while (n > 0) {
      const ssize_t got = ::recv(fd_, to, n, 0);
      CHECK(got > 0, "the node closed a connection: {}", std::strerror(errno));
      to += got;
      n -= static_cast<size_t>(got);
    }
  }
  int fd_;
  std::string body_;
};

TEST_F(Scale, AThousandConnections) {
  start(kBudgetBytes);
  if (IsSkipped()) return;
  create("t");
  const auto converse = [&](size_t n) {
    std::vector<std::unique_ptr<Plain>> all;
    for (size_t i = 0; i < n; ++i) all.push_back(std::make_unique<Plain>(address()));
    for (auto& one : all) EXPECT_TRUE(one->take());
    for (int round = 0; round < 3; ++round) {
      for (size_t i = 0; i < n; ++i) {
        all[i]->send(wire::request_frame(
            fb::Op::MutateRow, 2,
            wire::set_body("t", fmt::format("row{}", i), "f", "q", std::string(1000, 'v'), 1000)));
      }
      for (auto& one : all) EXPECT_TRUE(one->take());
      for (size_t i = 0; i < n; ++i) {
        all[i]->send(wire::request_frame(fb::Op::ReadRow, 3,
                                         wire::read_row_body("t", fmt::format("row{}", i))));
      }
      for (auto& one : all) EXPECT_TRUE(one->take());
    }
  };
  figure("connections: hello, 3 writes, 3 reads", 250, converse);
}

TEST_F(Scale, TenThousandTablets) {
  constexpr size_t kPerTable = 2500;
  start(kBudgetBytes);
  if (IsSkipped()) return;
  size_t tables = 0;
  const auto make = [&](size_t n) {
    for (; n > 0; n -= kPerTable) {
      client::TableSpec spec;
      spec.name = fmt::format("t{}", tables++);
      spec.families.emplace_back().name = "f";
      std::vector<client::Mutation> rows;
      for (size_t i = 0; i < kPerTable; ++i) {
        const std::string row = fmt::format("r{:04}", i);
        if (i > 0) spec.splits.push_back(row);
        rows.emplace_back(row).set("f", "q", "v", 1000);
      }
      ASSERT_TRUE(client().create_table(spec));
      ASSERT_TRUE(client().mutate_rows(spec.name, rows));
    }
  };
  figure("tablets: made, and a row written to each", kPerTable, make, 1);
  const double ms = restart_ms();
  EXPECT_LT(ms, 20'000.0);
  fmt::print("scale\tkilled and started with so many tablets\t{}\t{:.0f}\t\t\t\t{:.0f}\t{:.0f}\n",
             tables * kPerTable, ms, static_cast<double>(peak_bytes()) / kMiB,
             static_cast<double>(budget_bytes_) / kMiB);
  for (size_t i = 0; i < tables; ++i) {
    const Scanned all = scan(fmt::format("t{}", i), {});
    ASSERT_FALSE(all.error) << all.error->message;
    EXPECT_EQ(all.rows, kPerTable);
  }
  expect_within_budget("tablets, found again");
}

TEST_F(Scale, AThousandFamilies) {
  start(kBudgetBytes);
  if (IsSkipped()) return;
  int made = 0;
  figure("families: table made", 250, [&](size_t n) { create(fmt::format("t{}", ++made), n); });
  create("few", 250);
  create("many", 1000);
  const auto table_of = [](size_t n) { return n == 250 ? "few" : "many"; };
  figure("families: 40 rows with a cell in each", 250, [&](size_t n) {
    for (int row = 0; row < 40; ++row) {
      client::Mutation m(fmt::format("row{}", row));
      for (size_t i = 0; i < n; ++i) m.set(fmt::format("f{:04}", i), "q", "value", 1000);
      write(table_of(n), m);
    }
  });
  figure("families: those rows read", 250, [&](size_t n) {
    const Scanned all = scan(table_of(n), {});
    EXPECT_EQ(all.cells, 40 * n);
  });
  ASSERT_TRUE(client().flush_table("many"));
  EXPECT_EQ(scan("many", {}).cells, 40'000u);
}

TEST_F(Scale, RowsOfAHundredThousandColumns) {
  start(kBudgetBytes);
  if (IsSkipped()) return;
  create("t");
  const std::string value(50, 'v');
  const auto mutation = [&](const std::string& row, size_t from, size_t to) {
    client::Mutation m(row);
    for (size_t i = from; i < to; ++i) m.set("f", fmt::format("q{:06}", i), value, 1000);
    return m;
  };
  figure("columns: written in one mutation", 25'000,
         [&](size_t n) { write("t", mutation(fmt::format("one{}", n), 0, n)); });
  figure("columns: written in mutations of 500", 25'000, [&](size_t n) {
    for (size_t i = 0; i < n; i += 500) {
      write("t", mutation(fmt::format("many{}", n), i, i + 500));
    }
  });
  const auto read_it = [&](const char* prefix, size_t n, bool reversed) {
    client::ReadRows read;
    read.keys = {fmt::format("{}{}", prefix, n)};
    read.reversed = reversed;
    const Scanned row = scan("t", read);
    EXPECT_EQ(row.cells, n);
    EXPECT_EQ(row.rows, 1u);
  };
  figure("columns: read", 25'000, [&](size_t n) { read_it("one", n, false); });
  figure("columns: read by a reversed scan", 25'000, [&](size_t n) { read_it("many", n, true); });
  ASSERT_TRUE(client().flush_table("t"));
  figure("columns: read from disk", 25'000, [&](size_t n) { read_it("one", n, false); });
  figure("columns: point read of a whole row", 25'000, [&](size_t n) {
    client::ReadRow read;
    read.row = fmt::format("many{}", n);
    const auto row = client().read_row("t", read);
    ASSERT_TRUE(row && row->has_value());
    EXPECT_EQ((*row)->cells().size(), n);
  });
  figure("columns: deleted, then read as nothing", 25'000, [&](size_t n) {
    client::Mutation gone(fmt::format("one{}", n));
    gone.delete_row();
    write("t", gone);
    client::ReadRows read;
    read.keys = {fmt::format("one{}", n)};
    EXPECT_EQ(scan("t", read).cells, 0u);
  });
}

std::string noise(size_t bytes) {
  std::string out(bytes, '\0');
  uint64_t x = 88172645463325252u;
  for (size_t at = 0; at + 8 <= bytes; at += 8) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    std::memcpy(out.data() + at, &x, 8);
  }
  return out;
}

// Cells of 10 MiB have blocks of their own, and a merge or a scan holds one for each table that it
// reads; a quarter of a GiB is too little for that.
TEST_F(Scale, CellsOfTenMebibytes) {
  start(512u << 20);
  if (IsSkipped()) return;
  create("t");
  const std::string value = noise(10u << 20);
  figure(
      "cells of 10 MiB: written", 5,
      [&](size_t n) {
        for (size_t i = 0; i < n; ++i) {
          client::Mutation m(fmt::format("row{:02}", i));
          m.set("f", "q", value, 1000);
          write("t", m);
        }
      },
      1);
  figure(
      "cells of 10 MiB: scanned", 5,
      [&](size_t n) {
        client::ReadRows read;
        read.row_limit = n;
        const Scanned all = scan("t", read);
        ASSERT_FALSE(all.error) << all.error->message;
        EXPECT_EQ(all.bytes, n * value.size());
      },
      1);
  // One row of 250 MiB is at the bound of a row; the next cell exceeds it.
  for (int i = 0; i < 26; ++i) {
    client::Mutation m("wide");
    m.set("f", fmt::format("q{:02}", i), value, 1000);
    write("t", m);
    if (i < 24) continue;
    client::ReadRows read;
    read.keys = {"wide"};
    const Scanned row = scan("t", read);
    if (i == 24) {
      ASSERT_FALSE(row.error) << row.error->message;
      EXPECT_EQ(row.bytes, 25 * value.size());
      EXPECT_EQ(row.rows, 1u);
    } else {
      ASSERT_TRUE(row.error);
      EXPECT_EQ(row.error->code, Errc::failed_precondition);
      EXPECT_NE(row.error->message.find("wide"), std::string::npos) << row.error->message;
    }
  }
  client::ReadRows behind;
  behind.ranges.push_back({.start = "row", .end = "row99"});
  EXPECT_EQ(scan("t", behind).rows, 20u) << "a scan can pass by the row that is too large";
  expect_within_budget("a row of 250 MiB");
}

TEST_F(Scale, CellsOfAHundredMebibytesWhereConfigured) {
  start(1u << 30, {"--limits-cell", "100MiB", "--limits-row", "110MiB"});
  if (IsSkipped()) return;
  create("t");
  const std::string value = noise(100u << 20);
  figure(
      "cells of 100 MiB: written and read", 1,
      [&](size_t n) {
        for (size_t i = 0; i < n; ++i) {
          client::Mutation m(fmt::format("row{}", i));
          m.set("f", "q", value, 1000);
          write("t", m);
          client::ReadRow read;
          read.row = fmt::format("row{}", i);
          const auto row = client().read_row("t", read);
          ASSERT_TRUE(row) << row.error().message;
          ASSERT_EQ((*row)->cells().size(), 1u);
          EXPECT_EQ((*row)->cells()[0].value.size(), value.size());
        }
      },
      1);
}

// Readers that request data and do not read it: pending data is bounded, and others are served.
TEST_F(Scale, ManySlowReadersOfLargeCells) {
  start(kBudgetBytes);
  if (IsSkipped()) return;
  create("t");
  for (int i = 0; i < 8; ++i) {
    client::Mutation m(fmt::format("row{:02}", i));
    m.set("f", "q", noise(4u << 20), 1000);
    write("t", m);
  }
  std::vector<std::unique_ptr<Plain>> slow;
  for (int i = 0; i < 200; ++i) {
    slow.push_back(std::make_unique<Plain>(address()));
    slow.back()->send(
        wire::request_frame(fb::Op::ReadRows, 2, wire::read_rows_body("t", {.credits = 64})));
  }
  std::this_thread::sleep_for(std::chrono::seconds(2));
  client::ReadRow read;
  read.row = "absent";
  const double ms = time_ms([&] {
    const auto row = client().read_row("t", read);
    EXPECT_TRUE(row) << row.error().to_string();
  });
  EXPECT_LT(ms, 2000.0);
  fmt::print("scale\tslow readers of 4 MiB cells\t200\t{:.0f}\t\t\t\t{:.0f}\t{:.0f}\n", ms,
             static_cast<double>(peak_bytes()) / kMiB, static_cast<double>(budget_bytes_) / kMiB);
  expect_within_budget("200 slow readers");
}

// Scans over deleted rows return nothing for long; point reads on the same shards continue.
TEST_F(Scale, LongScansLeavePointReadsAlone) {
  start(kBudgetBytes);
  if (IsSkipped()) return;
  create("t");
  // Row by row: a scan seeks behind a dropped range.
  for (const bool deletes : {false, true}) {
    for (int batch = 0; batch < 100; ++batch) {
      std::vector<client::Mutation> rows;
      for (int i = 0; i < 1000; ++i) {
        auto& row = rows.emplace_back(fmt::format("row{:06}", batch * 1000 + i));
        if (deletes) {
          row.delete_row();
        } else {
          row.set("f", "q", "value", 1000);
        }
      }
      ASSERT_TRUE(client().mutate_rows("t", rows));
    }
  }
  client::Mutation kept("x");
  write("t", kept.set("f", "q", "value", 1000));
  struct Waits {
    double median_us;
    double p99_us;
  };
  const auto point_reads = [&]() -> Waits {
    std::vector<double> took_ms;
    client::ReadRow read;
    read.row = "x";
    for (int i = 0; i < 1000; ++i) {
      took_ms.push_back(time_ms([&] { EXPECT_TRUE(client().read_row("t", read)); }));
    }
    std::sort(took_ms.begin(), took_ms.end());
    return {took_ms[500] * 1000, took_ms[990] * 1000};
  };
  double scan_us = 1e12;  // of one such scan where nothing else runs
  for (int i = 0; i < 3; ++i) {
    client::ReadRows dead;
    dead.ranges.push_back({.start = "row", .end = "s"});
    scan_us = std::min(scan_us, time_ms([&] { EXPECT_EQ(scan("t", dead).cells, 0u); }) * 1000);
  }
  const Waits quiet = point_reads();
  std::atomic<bool> over = false;
  std::atomic<uint64_t> scans = 0;
  std::vector<std::thread> scanners;
  for (int i = 0; i < 4; ++i) {
    scanners.emplace_back([&] {
      Plain one(address());
      EXPECT_TRUE(one.take());
      while (!over) {
        one.send(wire::request_frame(fb::Op::ReadRows, 2,
                                     wire::read_rows_body("t", {.ranges = {{"row", "s"}}})));
        EXPECT_TRUE(one.take());
        ++scans;
      }
    });
  }
  const Waits busy = point_reads();
  over = true;
  for (std::thread& one : scanners) one.join();
  EXPECT_GT(scans, 0u);
  fmt::print(
      "scale\tpoint reads beside 4 scans of deleted rows, p99 us\t0\t{:.0f}\t4\t{:.0f}\t{:.1f}"
      "\t{:.0f}\t{:.0f}\n",
      quiet.p99_us, busy.p99_us, busy.p99_us / quiet.p99_us,
      static_cast<double>(peak_bytes()) / kMiB, static_cast<double>(budget_bytes_) / kMiB);
  fmt::print("one scan takes {:.0f} us, the median point read beside 4 of them {:.0f} us\n",
             scan_us, busy.median_us);
  EXPECT_LT(busy.p99_us, 20 * quiet.p99_us + 20'000);
  // Scans that gave way only at their end would keep it waiting for one of them at least.
  EXPECT_LT(busy.median_us, scan_us / 2);
}

}  // namespace
}  // namespace cellar::process
