// Load of the shards.
#include "net/cli/commands/commands.h"
#include "net/cli/print/printer.h"
#include "net/cli/text/pause.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using Stats = client::ShardStats;

// Figures of one shard, or the sum of all.
Stats sum_of(const std::vector<Stats>& all) {
  Stats sum;
  for (const Stats& one : all) {
    for (const auto field : {&Stats::tablets,
                             &Stats::tables_on_disk,
                             &Stats::table_bytes,
                             &Stats::log_bytes,
                             &Stats::memtable_bytes,
                             &Stats::cache_bytes,
                             &Stats::metadata_bytes,
                             &Stats::commits,
                             &Stats::flushes,
                             &Stats::compactions,
                             &Stats::requests,
                             &Stats::requests_handed_over,
                             &Stats::cache_packed_bytes,
                             &Stats::zstd_bytes,
                             &Stats::released_bytes,
                             &Stats::token_bytes,
                             &Stats::free_bytes,
                             &Stats::row_cache_bytes,
                             &Stats::row_hits,
                             &Stats::row_misses,
                             &Stats::withheld_bytes}) {
      sum.*field += one.*field;
    }
    sum.connections += one.connections;
    sum.read_only |= one.read_only;
  }
  return sum;
}

// Dead data over all shards and tables. Absent if the node is too old to report it.
struct Reclaim {
  client::ReclaimFigures all;
  std::vector<client::ReclaimFigures> shards;
  uint64_t missed = 0;  // number of tables
};

client::ReclaimFigures sum_of(const std::vector<client::ReclaimFigures>& all) {
  using F = client::ReclaimFigures;
  F sum;
  for (const F& one : all) {
    for (const auto field : {&F::live_bytes, &F::dead_bytes, &F::overdue_bytes, &F::held_bytes,
                             &F::pinned_bytes, &F::unknown_bytes, &F::damaged_files}) {
      sum.*field += one.*field;
    }
    for (const auto time : {&F::oldest_death_us, &F::next_reclaim_us}) {
      if (one.*time != 0 && (sum.*time == 0 || one.*time < sum.*time)) sum.*time = one.*time;
    }
  }
  return sum;
}

std::optional<Reclaim> ask_reclaim(Session& session) {
  auto report = ask_reclaim_figures(session);
  if (!report) return std::nullopt;
  Reclaim reclaim;
  reclaim.all = sum_of(report->shards);
  reclaim.shards = std::move(report->shards);
  for (const client::TableReclaim& table : report->tables) {
    reclaim.missed += table.missed_since_us != 0 ? 1 : 0;
  }
  return reclaim;
}

double rate(uint64_t before, uint64_t now, int64_t us) {
  if (us <= 0 || now < before) return 0;
  return static_cast<double>(now - before) * 1e6 / static_cast<double>(us);
}

std::vector<std::string> stats_line(std::string name, const Stats& was, const Stats& is, int64_t us,
                                    const client::ReclaimFigures* reclaim) {
  const auto per_second = [us](uint64_t before, uint64_t now) {
    return with_commas(static_cast<uint64_t>(rate(before, now, us)));
  };
  if (is.read_only) name += " (read-only)";
  const auto bytes = [reclaim](uint64_t client::ReclaimFigures::* field) {
    return reclaim == nullptr ? std::string("?") : human_bytes(reclaim->*field);
  };
  return {std::move(name),
          per_second(was.requests, is.requests),
          per_second(was.commits, is.commits),
          with_commas(is.connections),
          with_commas(is.tablets),
          human_bytes(is.memtable_bytes),
          human_bytes(is.cache_bytes),
          human_bytes(is.cache_packed_bytes),
          human_bytes(is.metadata_bytes),
          human_bytes(is.token_bytes),
          human_bytes(is.free_bytes),
          human_bytes(is.log_bytes),
          human_bytes(is.table_bytes),
          human_bytes(is.zstd_bytes),
          with_commas(is.flushes),
          with_commas(is.compactions),
          bytes(&client::ReclaimFigures::dead_bytes),
          bytes(&client::ReclaimFigures::overdue_bytes),
          bytes(&client::ReclaimFigures::pinned_bytes)};
}

std::string stats_json(const Stats& was, const Stats& is, int64_t us) {
  return fmt::format(
      "\"requests_per_s\":{:.0f},\"commits_per_s\":{:.0f},\"connections\":{},\"tablets\":{},"
      "\"memtable_bytes\":{},\"cache_bytes\":{},\"metadata_bytes\":{},\"log_bytes\":{},"
      "\"table_bytes\":{},\"flushes\":{},\"compactions\":{},\"requests\":{},"
      "\"requests_handed_over\":{},\"read_only\":{},\"cache_packed_bytes\":{},\"zstd_bytes\":{},"
      "\"released_bytes\":{},\"token_bytes\":{},\"free_bytes\":{},"
      "\"row_cache_bytes\":{},\"row_hits\":{},\"row_misses\":{},"
      "\"withheld_bytes\":{}",
      rate(was.requests, is.requests, us), rate(was.commits, is.commits, us), is.connections,
      is.tablets, is.memtable_bytes, is.cache_bytes, is.metadata_bytes, is.log_bytes,
      is.table_bytes, is.flushes, is.compactions, is.requests, is.requests_handed_over,
      is.read_only, is.cache_packed_bytes, is.zstd_bytes, is.released_bytes, is.token_bytes,
      is.free_bytes, is.row_cache_bytes, is.row_hits, is.row_misses, is.withheld_bytes);
}

std::string with_reclaim(std::string json, const client::ReclaimFigures* reclaim) {
  return reclaim == nullptr ? json : json + ",\"reclaim\":{" + reclaim_figures_json(*reclaim) + "}";
}

void print_stats(const Session& session, const client::ServerInfo& was,
                 const client::ServerInfo& is, const std::optional<Reclaim>& reclaim) {
  const int64_t us = is.uptime_us - was.uptime_us;
  const auto of_shard = [&reclaim](size_t i) {
    return reclaim && i < reclaim->shards.size() ? &reclaim->shards[i] : nullptr;
  };
  const client::ReclaimFigures* all = reclaim ? &reclaim->all : nullptr;
  if (session.json) {
    std::string out = fmt::format(
        "{{\"now_us\":{},\"lag_us\":{},\"stands\":{},\"over_us\":{},"
        "\"requests_bytes\":{},\"answers_bytes\":{},{}",
        is.now_us, is.lag_us, is.stands, us, is.requests_bytes, is.answers_bytes,
        stats_json(sum_of(was.stats), sum_of(is.stats), us));
    out = with_reclaim(std::move(out), all);
    if (reclaim) out += fmt::format(",\"deadlines_missed\":{}", reclaim->missed);
    out += ",\"shards\":[";
    for (size_t i = 0; i < is.stats.size(); ++i) {
      const std::string shard = fmt::format("{}{{\"shard\":{},{}", i == 0 ? "" : ",", i,
                                            stats_json(was.stats[i], is.stats[i], us));
      out += with_reclaim(shard, of_shard(i)) + "}";
    }
    session.console.print("{}]}}\n", out);
    return;
  }
  Lines lines = {{"SHARD", "REQUESTS/S", "COMMITS/S", "CONNECTIONS", "TABLETS", "MEMTABLES",
                  "CACHE", "PACKED", "METADATA", "TOKENS", "FREE", "LOG", "FILES", "ZSTD",
                  "FLUSHES", "COMPACTIONS", "DEAD", "OVERDUE", "PINNED"}};
  for (size_t i = 0; i < is.stats.size(); ++i) {
    lines.push_back(stats_line(fmt::format("{}", i), was.stats[i], is.stats[i], us, of_shard(i)));
  }
  if (is.stats.size() > 1) {
    lines.push_back(stats_line("all", sum_of(was.stats), sum_of(is.stats), us, all));
  }
  session.console.write(aligned(lines, 0));
  if (is.stands) {
    session.console.print("started read-only: what the node answers is as of {}\n",
                          format_time(is.now_us));
  } else if (is.lag_us > 0) {
    session.console.print("trusted time lags {} behind, at {}: cellar clock\n",
                          format_duration(is.lag_us), format_time(is.now_us));
  }
  if (reclaim && reclaim->missed > 0) {
    session.console.print("{} miss their reclaim deadline: cellar gc why\n",
                          counted(reclaim->missed, "table"));
  }
}

CommandResult stats(Session& session, const Arguments& arguments) {
  TRY(const auto watch, usage(arguments.flag("watch")));
  TRY(const auto count, usage(arguments.number("count", watch ? UINT64_MAX : 1)));
  int64_t interval_us = 1'000'000;
  if (const std::string* word = arguments.find("interval")) {
    TRY(interval_us, usage(parse_duration(*word)));
  }
  TRY(auto was, session.client().server_info());
  for (uint64_t i = 0; i < count; ++i) {
    pause_us(session.client(), interval_us);
    TRY(auto is, session.client().server_info());
    if (i > 0 && !session.json) session.console.print("\n");
    // Counters of a restarted node begin at zero.
    const bool restarted = is.uptime_us < was.uptime_us || is.stats.size() != was.stats.size();
    print_stats(session, restarted ? is : was, is, ask_reclaim(session));
    was = std::move(is);
  }
  return kDone;
}

}  // namespace

std::vector<CommandSpec> stats_commands() {
  return {
      CommandSpec(
          "stats", "Node", "", 0, 0, false, "Show how busy each shard is.",
          "Rates are those of the interval. PACKED: of the cache, blocks that are kept packed; "
          "FREE:\n"
          "memory that memtables, cache, metadata and tokens leave; ZSTD: of the files, those "
          "that\n"
          "Zstandard has packed. DEAD: on disk and dead; OVERDUE: for longer than the table's\n"
          "reclaim_within; PINNED: in replaced files that somebody still holds (gc why).",
          {{"watch", "", "again and again, until interrupted"},
           {"interval", "DURATION", "between two looks (default: 1s)"},
           {"count", "N", "so many times (default: 1)"}},
          {"cellar stats", "cellar stats --watch interval=5s"}, &stats),
  };
}

}  // namespace cellar::cli
