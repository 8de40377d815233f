#include "net/cli/print/printer.h"

#include <algorithm>

#include "net/cli/parse/rule_text.h"
#include "net/cli/parse/schema_syntax.h"
#include "net/cli/parse/table_json.h"
#include "net/cli/print/index_format.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

constexpr size_t kWidestColumn = 48;  // a longer name shifts its own line only

std::string padded(const std::string& text, size_t width) {
  const size_t own = display_width(text);
  return own >= width ? text : text + std::string(width - own, ' ');
}

}  // namespace

std::string aligned(const Lines& lines, size_t indent) {
  std::vector<size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) {
      const size_t width = display_width(line[i]);
      if (width <= kWidestColumn) widths[i] = std::max(widths[i], width);
    }
  }
  std::string out;
  for (const auto& line : lines) {
    out.append(indent, ' ');
    for (size_t i = 0; i < line.size(); ++i) {
      out += i + 1 == line.size() ? line[i] : padded(line[i], widths[i]) + "  ";
    }
    out += '\n';
  }
  return out;
}

// ---- rows ----

bool RowPrinter::block(const client::CellBlock& block, uint64_t limit) {
  for (const client::RowPart& one : block.rows()) {
    if (limit != 0 && rows_ >= limit) return false;
    part(one);
  }
  return limit == 0 || rows_ < limit;
}

void RowPrinter::part(const client::RowPart& part) {
  if (!part.continued && part.complete) {
    row(part.key, part.cells);
    return;
  }
  if (!part.continued) {
    open_row_ = std::string(part.key);
    open_cells_.clear();
  }
  for (const client::Cell& cell : part.cells) {
    OwnCell& own = open_cells_.emplace_back();
    own = {std::string(cell.family),
           std::string(cell.qualifier),
           std::string(cell.value),
           std::string(cell.labels),
           cell.timestamp_us,
           cell.expire_at_us,
           std::nullopt};
    if (cell.explained) own.explained = *cell.explained;
  }
  if (!part.complete) return;
  std::vector<client::Cell> cells;
  for (const OwnCell& cell : open_cells_) {
    client::Cell& view = cells.emplace_back();
    view.family = cell.family;
    view.qualifier = cell.qualifier;
    view.timestamp_us = cell.timestamp_us;
    view.expire_at_us = cell.expire_at_us;
    view.value = cell.value;
    view.labels = cell.labels;
    if (cell.explained) view.explained = &*cell.explained;
  }
  row(open_row_, cells);
  open_cells_.clear();
}

void RowPrinter::row(Bytes key, std::span<const client::Cell> cells) {
  std::vector<const client::Cell*> chosen;
  for (const client::Cell& cell : cells) {
    if (choice_.has(cell.family, cell.qualifier)) chosen.push_back(&cell);
  }
  if (chosen.empty()) return;
  ++rows_;
  cells_ += chosen.size();
  const Console& console = session_.console;
  if (session_.json) {
    if (keys_only_) {
      console.print("{{{}}}\n", json_field("row", key, session_.key_form));
    } else {
      print_json(key, chosen);
    }
  } else if (keys_only_) {
    console.print("{}\n", session_.show_key(key));
  } else {
    print_plain(key, chosen);
  }
}

void RowPrinter::row(const client::Row& one) {
  if (explainer_ != nullptr) runs_ = one.runs();
  const uint64_t before = rows_;
  row(one.key(), one.cells());
  const Console& console = session_.console;
  if (rows_ == before || runs_.all == 0 || session_.json || !console.out_is_terminal) return;
  const std::string text = fmt::format("opens {} of {}", runs_.opened, counted(runs_.all, "run"));
  console.print("{}\n", console.styled(Style::dim, text + " on disk"));
}

void RowPrinter::print_json(Bytes key, const std::vector<const client::Cell*>& cells) {
  std::string out;
  begin_json_row(out, key, session_.json_forms());
  for (const client::Cell* cell : cells) {
    const bool explained = explainer_ != nullptr && cell->explained != nullptr;
    add_json_cell(out, *cell, cell == cells.front(), session_.json_forms(),
                  explained ? explainer_->json(*cell) : std::string());
  }
  out += ']';
  if (runs_.all != 0) {
    out += fmt::format(",\"runs\":{},\"runs_opened\":{}", runs_.all, runs_.opened);
  }
  session_.console.print("{}}}\n", out);
}

// The key, then one line per version: the column (once), time, value.
void RowPrinter::print_plain(Bytes key, const std::vector<const client::Cell*>& cells) {
  const Console& console = session_.console;
  Lines lines;
  const client::Cell* last = nullptr;
  for (const client::Cell* cell : cells) {
    const bool same = last && last->family == cell->family && last->qualifier == cell->qualifier;
    std::string column =
        same ? "" : session_.show(cell->family) + ":" + session_.show(cell->qualifier);
    std::string value = session_.show_value(cell->value);
    if (!cell->labels.empty()) value += fmt::format("  [{}]", session_.show(cell->labels));
    lines.push_back(
        {std::move(column), session_.show_timestamp(cell->timestamp_us), std::move(value)});
    if (explainer_ != nullptr && cell->explained) lines.back().push_back(explainer_->text(*cell));
    last = cell;
  }
  size_t column_width = 0;
  size_t time_width = 0;
  size_t value_width = 0;
  for (const auto& line : lines) {
    const size_t width = display_width(line[0]);
    if (width <= kWidestColumn) column_width = std::max(column_width, width);
    time_width = std::max(time_width, line[1].size());
    const size_t of_value = display_width(line[2]);
    if (line.size() > 3 && of_value <= kWidestColumn) value_width = std::max(value_width, of_value);
  }
  std::string out = console.styled(Style::bold, session_.show_key(key)) + "\n";
  for (const auto& line : lines) {
    out += "  " + padded(line[0], column_width) + "  " +
           console.styled(Style::dim, padded(line[1], time_width)) + "  " +
           padded(line[2], value_width);
    if (line.size() > 3) out += "  " + console.styled(Style::dim, line[3]);
    out += "\n";
  }
  console.write(out);
}

// ---- tables ----

void print_tables(const Session& session, const std::vector<client::TableSummary>& tables) {
  if (session.json) {
    for (const client::TableSummary& table : tables) {
      session.console.print("{{\"table\":{},\"id\":{},\"families\":{},\"tablets\":{}}}\n",
                            json_string(table.name), table.table_id, table.families, table.tablets);
    }
    return;
  }
  if (tables.empty()) {
    if (session.console.out_is_terminal) session.console.print("no tables\n");
    return;
  }
  Lines lines = {{"TABLE", "FAMILIES", "TABLETS"}};
  for (const client::TableSummary& table : tables) {
    lines.push_back(
        {table.name, fmt::format("{}", table.families), fmt::format("{}", table.tablets)});
  }
  session.console.write(aligned(lines, 0));
}

void print_dropped_tables(const Session& session, const std::vector<client::TableSummary>& tables) {
  Lines lines = {{"TABLE", "FAMILIES", "TABLETS", "HOLDS", "DELETED", "RESTORABLE UNTIL"}};
  for (const client::TableSummary& table : tables) {
    if (session.json) {
      session.console.print(
          "{{\"table\":{},\"id\":{},\"families\":{},\"tablets\":{},\"bytes\":{},"
          "\"dropped_us\":{},\"restorable_until_us\":{}}}\n",
          json_string(table.name), table.table_id, table.families, table.tablets, table.bytes,
          table.dropped_us, table.restorable_until_us);
      continue;
    }
    lines.push_back({table.name, fmt::format("{}", table.families),
                     fmt::format("{}", table.tablets), human_bytes(table.bytes),
                     format_time(table.dropped_us), format_time(table.restorable_until_us)});
  }
  if (session.json) return;
  if (!tables.empty()) {
    session.console.write(aligned(lines, 0));
  } else if (session.console.out_is_terminal) {
    session.console.print("no deleted tables that could be restored\n");
  }
}

namespace {

std::string undo_windows_json(const std::vector<client::UndoWindow>& windows) {
  if (windows.empty()) return {};
  return ",\"undo_windows\":" + json_list(windows, [](const client::UndoWindow& window) {
           return fmt::format(
               "{{\"family\":{},\"rule_before\":{},\"changed_us\":{},\"until_us\":{}}}",
               json_string(window.family), json_string(rule_text(window.replaced)),
               window.changed_us, window.until_us);
         });
}

std::string options_json(const client::TableOptions& options) {
  std::string out;
  if (options.durability)
    out += fmt::format(",\"durability\":\"{}\"", name_of(*options.durability));
  if (options.compression) {
    out += fmt::format(",\"compression\":\"{}\"", name_of(*options.compression));
  }
  if (options.block_bytes) out += fmt::format(",\"block_bytes\":{}", *options.block_bytes);
  if (options.reclaim_within_us) {
    out += fmt::format(",\"reclaim_within_us\":{}", *options.reclaim_within_us);
  }
  if (options.dead_slack) out += fmt::format(",\"dead_slack\":{}", *options.dead_slack);
  if (options.reclaim_share) out += fmt::format(",\"reclaim_share\":{}", *options.reclaim_share);
  if (options.compaction)
    out += fmt::format(",\"compaction\":\"{}\"", name_of(*options.compaction));
  if (options.bottom_compression) {
    out += fmt::format(",\"bottom_compression\":\"{}\"", name_of(*options.bottom_compression));
  }
  return out;
}

void print_table_json(const Session& session, const client::TableDescription& table) {
  std::string out =
      fmt::format("{{\"table\":{},\"id\":{},\"version\":{},{}", json_string(table.name),
                  table.table_id, table.version, schema_members(table));
  out += fmt::format(",\"profile\":\"{}\"", name_of(table.profile)) + options_json(table.options) +
         undo_windows_json(table.undo_windows);
  if (!table.indexes.empty()) {
    out += ",\"indexes\":" + json_list(table.indexes, [](const client::IndexSpec& index) {
             return "{" + index_json(index) + "}";
           });
  }
  session.console.print("{},\"tablets\":{}}}\n", out, json_list(table.tablets, tablet_json));
}

}  // namespace

void print_table(const Session& session, const client::TableDescription& table) {
  if (session.json) return print_table_json(session, table);
  const Console& console = session.console;
  console.print("{}\n", console.styled(Style::bold, table.name));
  Lines lines = {{"granularity", std::string(name_of(table.granularity))}};
  if (table.profile != client::Profile::none) {
    lines.push_back({"profile", std::string(name_of(table.profile))});
  }
  const client::TableOptions& options = table.options;
  if (options.durability)
    lines.push_back({"durability", std::string(name_of(*options.durability))});
  if (options.compression) {
    std::string text(name_of(*options.compression));
    if (options.block_bytes)
      text += fmt::format(", blocks of {}", human_bytes(*options.block_bytes));
    if (options.bottom_compression)
      text += fmt::format("; at the bottom {}", name_of(*options.bottom_compression));
    lines.push_back({"compression", text});
  }
  if (options.reclaim_within_us) {
    lines.push_back({"reclaim", fmt::format("within {}, dead slack {}, up to {} of disk writes",
                                            exact_duration(*options.reclaim_within_us),
                                            share_text(options.dead_slack.value_or(0)),
                                            share_text(options.reclaim_share.value_or(0)))});
  }
  if (options.compaction)
    lines.push_back({"compaction", std::string(name_of(*options.compaction))});
  lines.push_back({"schema", fmt::format("table {}, version {}", table.table_id, table.version)});
  lines.push_back({"tablets", fmt::format("{}", table.tablets.size())});
  lines.push_back({"families", fmt::format("{}", table.families.size())});
  console.write(aligned(lines, 2));
  if (!table.families.empty()) console.write(aligned(family_lines(table.families), 4));
  Lines windows = {{"CAN BE UNDONE", "RULE BEFORE", "CHANGED", "UNTIL"}};
  for (const client::UndoWindow& window : table.undo_windows) {
    windows.push_back({window.family, rule_text(window.replaced), format_time(window.changed_us),
                       format_time(window.until_us)});
  }
  if (windows.size() > 1) console.write(aligned(windows, 4));
  if (!table.indexes.empty()) console.write(aligned(index_lines(session, table.indexes), 4));
  if (table.tablets.size() > 1) console.write(aligned(tablet_lines(session, table.tablets), 4));
}

std::string first_row_text(const Session& session, const std::string& row) {
  return row.empty() ? "(first row)" : session.show_key(row);
}

std::string last_row_text(const Session& session, const std::string& row) {
  return row.empty() ? "(last row)" : session.show_key(row);
}

std::string tablet_json(const client::TabletDescription& tablet) {
  return fmt::format("{{\"id\":{},\"epoch\":{},\"shard\":{},{},{}}}", tablet.tablet_id,
                     tablet.epoch, tablet.shard, json_field("start", tablet.start),
                     json_field("end", tablet.end));
}

Lines tablet_lines(const Session& session, const std::vector<client::TabletDescription>& tablets) {
  Lines lines = {{"FROM", "TO", "SHARD", "TABLET", "EPOCH"}};
  for (const client::TabletDescription& one : tablets) {
    lines.push_back({first_row_text(session, one.start), last_row_text(session, one.end),
                     fmt::format("{}", one.shard), fmt::format("{}", one.tablet_id),
                     fmt::format("{}", one.epoch)});
  }
  return lines;
}

void print_samples(const Session& session, const std::vector<client::SplitPoint>& samples) {
  Lines lines = {{"UP TO", "BYTES BEFORE"}};
  for (const client::SplitPoint& sample : samples) {
    if (session.json) {
      session.console.print("{{{},\"bytes_before\":{}}}\n", json_field("key", sample.key),
                            sample.bytes_before);
      continue;
    }
    lines.push_back({last_row_text(session, sample.key), fmt::format("{}", sample.bytes_before)});
  }
  if (!session.json) session.console.write(aligned(lines, 0));
}

// ---- the node ----

namespace {

void print_info_json(const Session& session, const client::ServerInfo& info) {
  const std::string out = fmt::format(
      "{{\"version\":{},\"data_dir\":{},\"shards\":{},\"io_backend\":{},\"io_reason\":{},"
      "\"uptime_us\":{},\"now_us\":{},\"wall_us\":{},\"held_us\":{},"
      "\"recovery\":{{\"replayed_commits\":{},\"replayed_bytes\":{},\"torn_tail_bytes\":{},"
      "\"orphans_removed\":{},\"elapsed_us\":{}}}",
      json_string(info.version), json_string(info.data_dir), info.shards,
      json_string(info.io_backend), json_string(info.io_reason), info.uptime_us, info.now_us,
      info.wall_us, info.held_us, info.replayed_commits, info.replayed_bytes, info.torn_tail_bytes,
      info.orphans_removed, info.recovery_us);
  const auto stats = json_list(info.stats, [](const client::ShardStats& s) {
    return fmt::format(
        "{{\"tablets\":{},\"files\":{},\"table_bytes\":{},\"log_bytes\":{},\"memtable_bytes\":{},"
        "\"cache_bytes\":{},\"metadata_bytes\":{},\"commits\":{},\"flushes\":{},"
        "\"compactions\":{},\"connections\":{},\"requests\":{},\"requests_handed_over\":{},"
        "\"read_only\":{},\"cache_packed_bytes\":{},\"zstd_bytes\":{}}}",
        s.tablets, s.tables_on_disk, s.table_bytes, s.log_bytes, s.memtable_bytes, s.cache_bytes,
        s.metadata_bytes, s.commits, s.flushes, s.compactions, s.connections, s.requests,
        s.requests_handed_over, s.read_only, s.cache_packed_bytes, s.zstd_bytes);
  });
  session.console.print("{},\"stats\":{}}}\n", out, stats);
}

// A figure of a shard, one line each.
struct ShardLine {
  const char* name;
  uint64_t client::ShardStats::* value;
  bool is_bytes;
};
using Stats = client::ShardStats;
constexpr ShardLine kShardLines[] = {
    {"tablets", &Stats::tablets, false},
    {"memtables", &Stats::memtable_bytes, true},
    {"log", &Stats::log_bytes, true},
    {"files", &Stats::tables_on_disk, false},
    {"bytes in files", &Stats::table_bytes, true},
    {"of it Zstandard's", &Stats::zstd_bytes, true},
    {"block cache", &Stats::cache_bytes, true},
    {"of it packed", &Stats::cache_packed_bytes, true},
    {"metadata", &Stats::metadata_bytes, true},
    {"tokens", &Stats::token_bytes, true},
    {"free memory", &Stats::free_bytes, true},
    {"withheld memory", &Stats::withheld_bytes, true},
    {"row cache", &Stats::row_cache_bytes, true},
    {"point reads from it", &Stats::row_hits, false},
    {"point reads past it", &Stats::row_misses, false},
    {"commits", &Stats::commits, false},
    {"flushes", &Stats::flushes, false},
    {"compactions", &Stats::compactions, false},
    {"requests", &Stats::requests, false},
    {"handed to others", &Stats::requests_handed_over, false},
};

}  // namespace

void print_info(const Session& session, const client::ServerInfo& info) {
  if (session.json) return print_info_json(session, info);
  const Console& console = session.console;
  console.print("{}\n", console.styled(Style::bold, fmt::format("cellard {} at {}", info.version,
                                                                session.options.address)));
  Lines lines = {
      {"data", info.data_dir},
      {"up", format_duration(info.uptime_us)},
      {"i/o", info.io_reason.empty() ? info.io_backend
                                     : fmt::format("{} ({})", info.io_backend, info.io_reason)},
      {"time",
       fmt::format("{}{}", format_time(info.now_us),
                   info.held_us > 0 ? fmt::format(", {} held back", format_duration(info.held_us))
                                    : std::string())},
      {"memory", fmt::format("budget {}, memtables up to {}, requests {}, answers {}",
                             human_bytes(info.memory_bytes), human_bytes(info.memtable_limit_bytes),
                             human_bytes(info.requests_bytes), human_bytes(info.answers_bytes))},
      {"limits", fmt::format("cell {}, row mutation {}, request {}", human_bytes(info.cell_bytes),
                             human_bytes(info.row_bytes), human_bytes(info.frame_bytes))},
      {"last start",
       fmt::format("{} commits ({}) replayed in {}, torn tail of {}, {} orphans removed",
                   with_commas(info.replayed_commits), human_bytes(info.replayed_bytes),
                   format_duration(info.recovery_us), human_bytes(info.torn_tail_bytes),
                   info.orphans_removed)}};
  console.write(aligned(lines, 2));
  Lines shards = {{""}};
  for (size_t i = 0; i < info.stats.size(); ++i) {
    shards[0].push_back(
        fmt::format("SHARD {}{}", i, info.stats[i].read_only ? " (read-only)" : ""));
  }
  for (const ShardLine& line : kShardLines) {
    std::vector<std::string>& cells = shards.emplace_back();
    cells.push_back(line.name);
    for (const client::ShardStats& stats : info.stats) {
      const uint64_t value = stats.*line.value;
      cells.push_back(line.is_bytes ? human_bytes(value) : with_commas(value));
    }
  }
  console.print("\n{}", aligned(shards, 2));
}

}  // namespace cellar::cli
