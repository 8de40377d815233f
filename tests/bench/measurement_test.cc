// Pacing, recording, comparing and searching.
#include <gtest/gtest.h>

#include <fstream>

#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "bench/load/compare.h"
#include "bench/load/hdr_log.h"
#include "bench/load/html_report.h"
#include "bench/load/pacing.h"
#include "bench/load/report.h"
#include "bench/load/search.h"

namespace cellar::bench {
namespace {

// ---- pacing

TEST(Schedule, DoesNotAccumulateRounding) {
  constexpr double kRate = 300'000;  // a gap of 3333.33 ns
  Schedule schedule(1000, kRate);
  EXPECT_EQ(schedule.next_ns(), 1000);
  for (int i = 0; i < 3'000'000; ++i) schedule.take();
  EXPECT_EQ(schedule.next_ns(), 1000 + 10'000'000'000);
  EXPECT_EQ(schedule.taken(), 3'000'000u);
}

TEST(Schedule, PartsOfThreadsCoverAllConnections) {
  for (uint32_t connections : {1u, 7u, 50u, 64u}) {
    for (uint32_t threads = 1; threads <= std::min(connections, 9u); ++threads) {
      uint32_t next = 0;
      for (uint32_t t = 0; t < threads; ++t) {
        const ThreadPart part = part_of_thread(t, threads, connections);
        EXPECT_EQ(part.first, next);
        EXPECT_GT(part.count(), 0u);
        next = part.end;
      }
      EXPECT_EQ(next, connections);
    }
  }
}

// 7 connections on 3 threads have 2, 2 and 3: together exactly the rate, and starts that differ.
TEST(Schedule, ThreadsTogetherHaveTheRate) {
  constexpr int64_t kSecondNs = 1'000'000'000;
  uint64_t due = 0;
  std::vector<int64_t> starts;
  for (uint32_t t = 0; t < 3; ++t) {
    Schedule schedule = schedule_of(part_of_thread(t, 3, 7), 7, 0, 7000);
    starts.push_back(schedule.next_ns());
    while (schedule.next_ns() < kSecondNs) schedule.take();
    due += schedule.taken();
  }
  EXPECT_EQ(due, 7000u);
  EXPECT_EQ(starts.size(), 3u);
  EXPECT_LT(starts[0], starts[1]);
  EXPECT_LT(starts[1], starts[2]);
}

// ---- histograms

int value_of(char c) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return static_cast<int>(kDigits.find(c));
}

std::string from_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(value_of(c));
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count);
  }
  return out;
}

uint64_t big_endian(std::string_view bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// A decoder written from the specification of the V2 encoding.
std::vector<std::pair<size_t, int64_t>> decode_counts(std::string_view text) {
  const std::string packed = from_base64(text);
  EXPECT_EQ(big_endian(packed, 0, 4), 0x1c849314u);
  EXPECT_EQ(big_endian(packed, 4, 4), packed.size() - 8);
  namespace zlib = boost::beast::zlib;
  zlib::inflate_stream inflater;
  std::string plain(1 << 20, '\0');
  zlib::z_params z;
  z.next_in = packed.data() + 8 + 2;
  z.avail_in = packed.size() - 8 - 2 - 4;
  z.next_out = plain.data();
  z.avail_out = plain.size();
  boost::beast::error_code ec;
  inflater.write(z, zlib::Flush::finish, ec);
  EXPECT_TRUE(!ec || ec == zlib::error::end_of_stream) << ec.message();
  plain.resize(z.total_out);
  EXPECT_EQ(big_endian(plain, 0, 4), 0x1c849313u);
  EXPECT_EQ(big_endian(plain, 4, 4), plain.size() - 40);
  EXPECT_EQ(big_endian(plain, 12, 4), 3u);
  EXPECT_EQ(big_endian(plain, 24, 8), Histogram::kMaxValue);
  std::vector<std::pair<size_t, int64_t>> counts;
  size_t index = 0;
  for (size_t at = 40; at < plain.size();) {
    uint64_t word = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<uint8_t>(plain[at++]);
      word |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) break;
    }
    const auto count = static_cast<int64_t>(word >> 1) ^ -static_cast<int64_t>(word & 1);
    if (count < 0) {
      index += static_cast<size_t>(-count);
    } else {
      counts.emplace_back(index++, count);
    }
  }
  return counts;
}

TEST(HdrLog, EncodesTheCounts) {
  Histogram h;
  h.record(0, 3);
  h.record(5);
  h.record(2047, 200);
  h.record(2048, 70'000);  // the first bucket of two values
  h.record(2050, 1);
  const std::vector<std::pair<size_t, int64_t>> expected = {
      {0, 3}, {5, 1}, {2047, 200}, {2048, 70'000}, {2049, 1}};
  EXPECT_EQ(decode_counts(encode_hdr(h)), expected);
  Histogram large;
  large.record(1'000'000);  // 976 << 10 and more: bucket (10 - 1 + 1) * 1024 + 976 - 1024 + 1024
  const auto counts = decode_counts(encode_hdr(large));
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts[0].first, 9u * 1024 + (1'000'000u >> 9));
}

// ---- the timeline

TEST(Timeline, SummarisesByInterval) {
  Timeline timeline(1'000'000, true);
  const RunTimes times{.measure_from_ns = 1000};
  Recorder a(timeline, times);
  Recorder b(timeline, times);
  a.completed(Operation::read, 1000 + 500'000, 100, 1);
  b.completed(Operation::read, 1000 + 900'000, 300, 0);
  a.failed(Operation::update, 1000 + 1'500'000);
  b.completed(Operation::update, 1000 + 2'500'000, 700, 0);
  a.flush();
  b.flush();
  timeline.finish(2'600'000);
  ASSERT_EQ(timeline.intervals().size(), 3u);
  const Interval& first = timeline.intervals()[0];
  EXPECT_EQ(first.all.completed, 2u);
  EXPECT_EQ(first.all.max_ns, 300u);
  EXPECT_FALSE(first.operations[0].encoded.empty());
  EXPECT_EQ(timeline.intervals()[1].all.failed, 1u);
  EXPECT_NEAR(timeline.intervals()[2].length_s, 0.0006, 1e-9);
  EXPECT_EQ(timeline.total()[0].completed(), 2u);
  EXPECT_EQ(timeline.total()[0].missing, 1u);
  EXPECT_EQ(timeline.total()[0].rows, 1u);
  EXPECT_EQ(timeline.total()[1].completed(), 1u);
}

TEST(Timeline, KeepsSlicesThatArriveLate) {
  Timeline timeline(1'000'000, false);
  const RunTimes times{};
  Recorder slow(timeline, times);
  slow.completed(Operation::read, 1, 10, 1);
  timeline.settle(3);
  slow.flush();
  timeline.finish(4'000'000);
  ASSERT_EQ(timeline.intervals().size(), 4u);
  EXPECT_EQ(timeline.intervals()[3].all.completed, 1u);
  EXPECT_EQ(timeline.total()[0].completed(), 1u);
}

LoadResult some_result(double seconds) {
  Timeline timeline(100'000'000, true);
  const RunTimes times{};
  Recorder recorder(timeline, times);
  for (int i = 0; i < 1000; ++i) {
    const auto at = static_cast<int64_t>(seconds * 1e9 / 1000 * i);
    recorder.completed(i % 4 == 0 ? Operation::update : Operation::read, at, 50'000 + i * 100, 1);
  }
  recorder.flush();
  timeline.finish(static_cast<int64_t>(seconds * 1e9));
  LoadResult result;
  result.operations = timeline.total();
  result.intervals = timeline.intervals();
  result.elapsed_us = static_cast<int64_t>(seconds * 1e6);
  result.started_s = 1'700'000'000.25;
  return result;
}

TEST(Report, SaysWhatIsInvalid) {
  LoadOptions options;
  LoadResult result = some_result(1);
  EXPECT_EQ(result.invalid_reason(options), "");
  options.rate = 1000;
  result.lateness.record(10, 980);
  result.lateness.record(200'000, 20);
  result.late_sends = 20;
  EXPECT_NE(result.invalid_reason(options), "");
  const auto json = json_report({"n", "redis", "mixed"}, options, result);
  EXPECT_FALSE(json.at("valid").as_bool());
  EXPECT_NE(text_report({"n", "redis", "mixed"}, options, result).find("INVALID"),
            std::string::npos);
  result.late_sends = 10;  // 1 % is allowed
  EXPECT_EQ(result.invalid_reason(options), "");
  EXPECT_NE(LoadResult().invalid_reason(options), "");
}

TEST(Report, HistogramLogHasALinePerIntervalAndOperation) {
  const std::string log = histogram_log(some_result(1));
  EXPECT_TRUE(
      log.starts_with("#[Histogram log format version 1.3]\n"
                      "#[StartTime: 1700000000.250 (seconds since epoch), "
                      "Tue Nov 14 22:13:20 UTC 2023]\n"))
      << log.substr(0, 200);
  size_t lines = 0;
  for (size_t at = 0; (at = log.find("\nTag=", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, 20u);
  EXPECT_NE(log.find("\nTag=read,0.100,0.100,0."), std::string::npos);
}

TEST(Report, HtmlRefersToNothingElse) {
  LoadOptions options;
  const auto json = json_report({"a<b", "cellar", "mixed"}, options, some_result(1));
  const std::string html = html_report({json, json});
  EXPECT_NE(html.find("a&lt;b"), std::string::npos);
  EXPECT_EQ(html.find("a<b"), std::string::npos);
  EXPECT_EQ(html.find("src="), std::string::npos);
  EXPECT_EQ(html.find("href="), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_NE(html.find("<svg"), std::string::npos);
}

// ---- comparisons

// Welch's interval of the difference of two samples of logarithms, from a table of Student's t: the
// samples below have means 0 and 1, both variances 1/3 over 4 numbers, hence 6 degrees of freedom,
// for which t is 2.4469.
TEST(Compare, RatioHasWelchsInterval) {
  const std::vector<double> logs = {-0.5, -0.5, 0.5, 0.5};
  std::vector<double> a;
  std::vector<double> b;
  for (double log : logs) {
    a.push_back(std::exp(log));
    b.push_back(std::exp(log + 1));
  }
  const auto ratio = ratio_of(a, b);
  ASSERT_TRUE(ratio);
  const double reach = 2.4469 * std::sqrt(2 * (1.0 / 3) / 4);
  EXPECT_NEAR(ratio->ratio, std::exp(1), 1e-9);
  EXPECT_NEAR(std::log(ratio->low), 1 - reach, 1e-4);
  EXPECT_NEAR(std::log(ratio->high), 1 + reach, 1e-4);
  EXPECT_TRUE(ratio->differs());
  EXPECT_FALSE(ratio_of({1}, {1, 2}));
  EXPECT_FALSE(ratio_of({0, 1}, {1, 2}));
}

// In 95 of 100 comparisons of two samples of one distribution the interval contains 1.
TEST(Compare, IntervalsCoverTheTruth) {
  Random random(11);
  const auto sample = [&] {
    std::vector<double> values;
    for (int i = 0; i < 8; ++i) {
      double sum = 0;
      for (int k = 0; k < 12; ++k) sum += random.unit();
      values.push_back(std::exp((sum - 6) * 0.1));
    }
    return values;
  };
  int differs = 0;
  for (int i = 0; i < 2000; ++i) differs += ratio_of(sample(), sample())->differs() ? 1 : 0;
  EXPECT_NEAR(differs, 100, 35);
}

boost::json::object result_at(double rate, double p99) {
  boost::json::object read{
      {"completed", 1000}, {"per_second", rate}, {"p50_us", 10}, {"p99_us", p99}};
  boost::json::object result = read;
  result["operations"] = boost::json::object{{"read", read}, {"update", read}};
  result["valid"] = true;
  return result;
}

TEST(Compare, ResultsAreSampledAsAWholeIfThereAreThree) {
  const std::vector<boost::json::object> a = {result_at(100, 10), result_at(101, 11),
                                              result_at(99, 12)};
  const std::vector<boost::json::object> b = {result_at(200, 10), result_at(202, 12),
                                              result_at(198, 11)};
  const Comparison comparison = compare(a, b);
  EXPECT_FALSE(comparison.by_interval);
  EXPECT_EQ(comparison.samples_a, 3u);
  ASSERT_EQ(comparison.rows.size(), 9u);
  EXPECT_EQ(comparison.rows[0].figure, "per_second");
  EXPECT_NEAR(comparison.rows[0].ratio->ratio, 2, 0.001);
  EXPECT_TRUE(comparison.rows[0].ratio->differs());
  EXPECT_EQ(comparison.rows[2].figure, "p99_us");
  EXPECT_FALSE(comparison.rows[2].ratio->differs());
  EXPECT_NE(text_of(comparison).find("no difference shown"), std::string::npos);
}

TEST(Compare, OneResultIsSampledByInterval) {
  LoadOptions options;
  const auto a = json_report({"a", "cellar", "mixed"}, options, some_result(1));
  const auto b = json_report({"b", "cellar", "mixed"}, options, some_result(2));
  const Comparison comparison = compare({a}, {b});
  EXPECT_TRUE(comparison.by_interval);
  EXPECT_EQ(comparison.samples_a, 10u);
  EXPECT_EQ(comparison.samples_b, 20u);
  EXPECT_NEAR(comparison.rows[0].ratio->ratio, 0.5, 0.01);
}

TEST(Compare, WarnsOfWhatCannotBeCompared) {
  auto a = result_at(100, 1);
  auto b = result_at(100, 1);
  a["valid"] = false;
  b["depth"] = 16;
  const Comparison comparison = compare({a}, {b});
  EXPECT_EQ(comparison.warnings.size(), 2u);
}

TEST(Compare, ReadsResultsOfFiles) {
  const std::string path = testing::TempDir() + "/results.json";
  std::ofstream(path) << boost::json::serialize(result_at(1, 2)) << "\n\n"
                      << boost::json::serialize(result_at(2, 2)) << "\n{\"highest_rate\":5}\n";
  const auto results = read_results(path);
  ASSERT_TRUE(results) << results.error().to_string();
  EXPECT_EQ(results->size(), 2u);
  std::ofstream(path) << "nonsense\n";
  EXPECT_FALSE(read_results(path));
  EXPECT_FALSE(read_results(path + ".absent"));
}

// ---- rates

TEST(Search, RatesAreParsed) {
  const auto rates = parse_rates("1000,50%,2.5e4");
  ASSERT_TRUE(rates);
  ASSERT_EQ(rates->size(), 3u);
  EXPECT_EQ((*rates)[0].value, 1000);
  EXPECT_TRUE((*rates)[1].is_share);
  EXPECT_EQ((*rates)[1].value, 0.5);
  for (const char* bad : {"", "0", "-1", "x", "10k"}) EXPECT_FALSE(parse_rates(bad)) << bad;
  const auto goal = parse_goal("p99.9=2ms");
  ASSERT_TRUE(goal);
  EXPECT_EQ(goal->percentile, 99.9);
  EXPECT_EQ(goal->bound_us, 2000);
  for (const char* bad : {"", "99=1", "p99", "p101=5", "p99=5s"})
    EXPECT_FALSE(parse_goal(bad)) << bad;
}

TEST(Search, FindsTheHighestRate) {
  int tries = 0;
  const auto below = [&](double limit) {
    return [&tries, limit](double rate) -> Result<bool> {
      ++tries;
      return rate <= limit;
    };
  };
  EXPECT_NEAR(*highest_rate(1000, 0.05, below(640)), 640, 640 * 0.06);
  EXPECT_LE(tries, 8);
  EXPECT_LE(*highest_rate(1000, 0.05, below(640)), 640);
  EXPECT_EQ(*highest_rate(1000, 0.05, below(2000)), 1000);
  EXPECT_EQ(*highest_rate(1000, 0.05, below(0.1)), 0);
}

TEST(Search, ARateMustBeReachedUnderTheBound) {
  LoadOptions options;
  options.rate = 1000;
  options.duration_us = 1'000'000;
  LoadResult result = some_result(1);
  result.lateness.record(1, 1000);
  EXPECT_TRUE(meets({99, 200}, options, result));
  EXPECT_FALSE(meets({99, 100}, options, result)) << "p99 is 149 us";
  options.rate = 1100;
  EXPECT_FALSE(meets({99, 200}, options, result)) << "a tenth did not complete";
  options.rate = 1000;
  result.unanswered = 1;
  EXPECT_FALSE(meets({99, 200}, options, result));
}

}  // namespace
}  // namespace cellar::bench
