#include "engine/gc/reclaim_estimate.h"

#include <algorithm>

#include "engine/model/types.h"
#include "engine/sstable/filter.h"
#include "io/base/saturating.h"

namespace cellar::engine {
namespace {

// Approximate number of filter probes per estimate: 20 ns each.
constexpr size_t kMostProbes = 16'384;
constexpr size_t kLeastSample = 2;
// Number of range deletes of one source that are examined for each run; with more, evenly chosen
// ones stand for all.
constexpr size_t kMostRanges = 64;

int64_t us_of(CommitStamp stamp) { return static_cast<int64_t>(stamp.value() / 1000); }

// Newer data that may have killed older cells.
struct Killer {
  size_t index = 0;
  double cells = 0;
  double deletes = 0;  // of rows, families and columns
  int64_t from_us = 0;
  int64_t to_us = 0;
  TimeBounds bounds;
  const CellProfile* profile = nullptr;
  Bytes smallest;  // empty: unknown key range
  Bytes largest;
  std::vector<uint64_t> rows;  // hashes; empty: its rows are not known
  const std::vector<RangeTombstone>* ranges = nullptr;
};

// Tables of one run as a range of indexes into the estimate, in key order without overlap.
struct RunPlace {
  size_t begin = 0;
  size_t end = 0;
};

// The fraction of the killer's cells that may have the timestamp of a cell of that table.
double share_at_its_times(const Killer& killer, const TimeBounds& older) {
  if (!older.known || !killer.bounds.known) return 1;
  if (!older.has_cells() || !killer.bounds.has_cells()) return 0;
  if (killer.bounds.min_timestamp_us > older.max_timestamp_us ||
      killer.bounds.max_timestamp_us < older.min_timestamp_us) {
    return 0;
  }
  if (killer.profile == nullptr || !killer.profile->known) return 1;
  double touching = static_cast<double>(killer.profile->expiries.bytes());
  double all = touching;
  for (const CellProfile::Family& family : killer.profile->families) {
    const uint64_t until =
        family.times.at_most_before(std::min(older.max_timestamp_us, kNeverUs - 1) + 1);
    touching += static_cast<double>(
        until - std::min(family.times.at_least_before(older.min_timestamp_us), until));
    all += static_cast<double>(family.times.bytes());
  }
  return all == 0 ? 1 : std::min(1.0, touching / all);
}

double bytes_in(const RangeTombstone& range, const TabletTable& older) {
  const TableIndex& index = older.slice().table().marks();
  if (index.blocks() == 0) return 0;
  const size_t first = index.find(row_prefix(range.start));
  const size_t last =
      range.end.empty() ? index.blocks() - 1 : index.find_before(row_prefix(range.end));
  if (last < first) return 0;
  const uint64_t bytes = index.handle(last).end() - index.handle(first).offset;
  return static_cast<double>(std::min(bytes, older.slice().bytes()));
}

class Estimate {
 public:
  explicit Estimate(Tablet& tablet)
      : tablet_(tablet),
        schema_(tablet.schema()),
        now_us_(tablet.shard().runtime.clock.now_us()),
        firm_(TableRetention::firm(schema_, gc_watermark_of(tablet.version()), now_us_)),
        reads_(schema_, gc_watermark_of(tablet.version())) {
    for (const FamilySchema& family : schema_.families) {
      for (const PastRule& past : family.history) {
        if (!past.can_be_undone(now_us_)) continue;
        undo_ = true;
        kept_until_us_ = std::max(kept_until_us_, past.undo_until_us);
      }
    }
    Instant kept_from = kNever;
    for (size_t i = 0; i < firm_.size(); ++i)
      kept_from = std::min(kept_from, firm_.family(i).firm_until());
    counts_ = reads_.any_counts() || counts_when_merged();
    if (counts_ && kept_from != kNever) kept_from_us_ = us_of(CommitStamp{kept_from});
  }

  ReclaimEstimate take() {
    add_tables();
    const size_t pairs = count_pairs();
    sample_ =
        std::clamp(kMostProbes / std::max<size_t>(pairs, 1), kLeastSample, CellProfile::kRowSample);
    for (const Killer& killer : memtable_killers()) add_kills(killer, 0);
    for (size_t i = 0; i < estimate_.tables.size(); ++i) {
      const Killer killer = killer_of(estimate_.tables[i]);
      add_kills(killer, estimate_.tables[i].run + 1);
      if (estimate_.tables[i].run + 1 == runs_.size()) add_own_kills(i, killer);
    }
    return std::move(estimate_);
  }

 private:
  void add_tables() {
    const Version& version = tablet_.version();
    bool any_expiry = false;
    const auto note = [&any_expiry](const TimeBounds& bounds) {
      any_expiry |= !bounds.known || bounds.latest_expiry_us != INT64_MIN;
    };
    for (const auto& memtable : version.memtables) note(memtable->entries.time_bounds());
    for (const TabletRun& run : version.runs) {
      for (const Ref<TabletTable>& table : run.tables) note(table->meta().bounds);
    }
    for (size_t i = 0; i < version.runs.size(); ++i) {
      const bool oldest = i + 1 == version.runs.size();
      runs_.push_back(
          {estimate_.tables.size(), estimate_.tables.size() + version.runs[i].tables.size()});
      for (const Ref<TabletTable>& table : version.runs[i].tables) {
        TableDeaths deaths = deaths_of(table);
        deaths.run = i;
        deaths.run_number = version.runs[i].number;
        deaths.alone = !counts_ && (oldest || !any_expiry);
        estimate_.bytes += deaths.bytes;
        estimate_.tables.push_back(std::move(deaths));
      }
    }
  }

  TableDeaths deaths_of(const Ref<TabletTable>& table) {
    const TableMeta& meta = table->meta();
    const MortalFacts facts{meta.bounds,
                            meta.profile,
                            meta.key_bytes + meta.value_bytes,
                            table->slice().bytes(),
                            meta.min_stamp,
                            meta.max_stamp,
                            meta.watermark()};
    TableDeaths deaths;
    deaths.table = table;
    deaths.bytes = facts.bytes;
    deaths.unknown = !meta.profile.known && meta.cells != 0;
    const int64_t orphaned_us = tablet_.orphans().since_us;
    deaths.by_time = death_spans(schema_, firm_, facts, orphaned_us);
    if (undo_) deaths.hidden = death_spans(schema_, reads_, facts, orphaned_us);
    add_own_ages(*table, deaths);
    return deaths;
  }

  // Entries of indexes that are past the index's own age; reads do not find them either.
  void add_own_ages(const TabletTable& table, TableDeaths& deaths) const {
    const uint64_t all = table.meta().data_bytes;
    const double part = !table.slice().is_cut() || all == 0
                            ? 1
                            : static_cast<double>(deaths.bytes) / static_cast<double>(all);
    for (const IndexSchema& index : schema_.indexes) {
      const IndexSection* section = table.meta().section_of(index.id);
      if (!index.max_age_us || section == nullptr || section->entries == 0) continue;
      const int64_t after_us = saturating_add(*index.max_age_us, 1);
      const DeathSpan span{saturating_add(section->oldest_us, after_us),
                           saturating_add(section->newest_us, after_us),
                           static_cast<double>(section->bytes()) * std::min(part, 1.0)};
      deaths.by_time.push_back(span);
      if (undo_) deaths.hidden.push_back(span);
    }
  }

  // While a change can be undone, merges apply each rule that may be restored.
  bool counts_when_merged() const {
    const int64_t merged_us = std::max<int64_t>(0, now_us_ - tablet_.margin_us());
    return TableRetention::firm(schema_, gc_watermark_of(tablet_.version()), merged_us)
        .any_counts();
  }

  const TableMeta& meta(size_t t) const { return estimate_.tables[t].table->meta(); }

  // The tables of a run with keys from `smallest` to `largest`; empty `largest`: all.
  RunPlace tables_at(size_t run, Bytes smallest, Bytes largest) {
    RunPlace place = runs_[run];
    ++estimate_.looks;
    if (largest.empty()) return place;
    const auto at = [](size_t t) { return static_cast<ptrdiff_t>(t); };
    const auto tables = estimate_.tables.begin();
    const auto first = std::partition_point(tables + at(place.begin), tables + at(place.end),
                                            [smallest](const TableDeaths& older) {
                                              return older.table->slice().ends_before(smallest);
                                            });
    const auto end = std::partition_point(
        first, tables + at(place.end),
        [largest](const TableDeaths& older) { return older.table->slice().first() <= largest; });
    return {static_cast<size_t>(first - tables), static_cast<size_t>(end - tables)};
  }

  // Calls back with each table of the runs from `from_run` on that may overlap the killer.
  template <class Call>
  void for_touched(const Killer& killer, size_t from_run, Call&& call) {
    for (size_t run = from_run; run < runs_.size(); ++run) {
      const RunPlace place = tables_at(run, killer.smallest, killer.largest);
      for (size_t t = place.begin; t < place.end; ++t) {
        ++estimate_.looks;
        if (meta(t).entries != 0) call(t);
      }
    }
  }

  // The approximate number of pairs of a table and an older one that share keys.
  size_t count_pairs() {
    size_t pairs = 0;
    for (const TableDeaths& table : estimate_.tables) {
      const TableMeta& of = table.table->meta();
      for (size_t run = table.run + 1; run < runs_.size(); ++run) {
        const RunPlace place = tables_at(run, of.smallest_key, of.largest_key);
        pairs += place.end - place.begin;
      }
    }
    return pairs;
  }

  static Killer killer_of(const TableDeaths& newer) {
    const TableMeta& meta = newer.table->meta();
    const double part = meta.file_bytes == 0 ? 1
                                             : static_cast<double>(newer.bytes) /
                                                   static_cast<double>(meta.file_bytes);
    Killer killer;
    killer.index = newer.run;
    killer.cells = static_cast<double>(meta.cells) * std::min(part, 1.0);
    killer.deletes = static_cast<double>(meta.deletes()) * std::min(part, 1.0);
    killer.from_us = us_of(meta.min_stamp);
    killer.to_us = us_of(meta.max_stamp);
    killer.bounds = meta.bounds;
    killer.profile = &meta.profile;
    killer.smallest = meta.smallest_key;
    killer.largest = meta.largest_key;
    killer.rows = meta.profile.row_sample;
    killer.ranges = &newer.table->slice().range_deletes();
    return killer;
  }

  std::vector<Killer> memtable_killers() const {
    std::vector<Killer> killers;
    std::vector<uint64_t> rows;
    for (const std::string& row : tablet_.history().samples.rows()) {
      rows.push_back(row_hash(row_prefix(row)));
    }
    for (const auto& memtable : tablet_.version().memtables) {
      const Memtable& entries = memtable->entries;
      if (entries.empty()) continue;
      Killer killer;
      killer.index = kByMemtables;
      killer.cells = static_cast<double>(entries.entries() - entries.deletes());
      killer.deletes = static_cast<double>(entries.deletes());
      killer.from_us = us_of(entries.min_stamp());
      killer.to_us = us_of(entries.max_stamp());
      killer.bounds = entries.time_bounds();
      killer.rows = rows;
      killer.ranges = &entries.range_deletes();
      killers.push_back(std::move(killer));
    }
    return killers;
  }

  // The rows to look up. A table with a partitioned index can tell only of some (TopLevelIndex).
  std::vector<uint64_t> sample_of(const Killer& killer, const std::vector<size_t>& touched) const {
    std::vector<uint64_t> rows = killer.rows;
    rows.resize(std::min(rows.size(), sample_));
    const auto is_partitioned = [this](size_t t) {
      return estimate_.tables[t].table->slice().table().top_index() != nullptr;
    };
    if (std::none_of(touched.begin(), touched.end(), is_partitioned)) return rows;
    if (std::any_of(rows.begin(), rows.end(), TopLevelIndex::is_sampled))
      std::erase_if(rows, [](uint64_t row) { return !TopLevelIndex::is_sampled(row); });
    return rows;
  }

  // Calls back with the tables of the runs from `from_run` on that may contain rows of the killer,
  // and the share of its rows in each. A row in several tables counts for each in part, because a
  // new cell kills at most one.
  template <class Call>
  void for_hits(const Killer& killer, size_t from_run, Call&& call) {
    std::vector<size_t> touched;
    double cells = 0;
    for_touched(killer, from_run, [&](size_t t) {
      touched.push_back(t);
      cells += static_cast<double>(meta(t).cells);
    });
    const std::vector<uint64_t> rows = sample_of(killer, touched);
    std::vector<double> shares(touched.size());
    std::vector<size_t> holders;
    for (const uint64_t row : rows) {
      holders.clear();
      for (size_t i = 0; i < touched.size(); ++i) {
        ++estimate_.looks;
        if (estimate_.tables[touched[i]].table->slice().table().may_contain_row(row))
          holders.push_back(i);
      }
      for (const size_t i : holders)
        shares[i] += 1.0 / static_cast<double>(holders.size() * rows.size());
    }
    for (size_t i = 0; i < touched.size(); ++i) {
      if (rows.empty() && cells > 0)
        shares[i] = static_cast<double>(meta(touched[i]).cells) / cells;
      if (shares[i] > 0) call(touched[i], shares[i]);
    }
  }

  void add_kills(const Killer& killer, size_t from_run) {
    if (from_run >= runs_.size()) return;
    if (killer.cells + killer.deletes > 0) {
      for_hits(killer, from_run,
               [&](size_t t, double share) { add_cell_kills(killer, share, estimate_.tables[t]); });
    }
    for (size_t run = from_run; run < runs_.size(); ++run) add_range_kills(killer, run);
  }

  // In the oldest run deletes remain because a merge had to keep them: they were too young, a
  // change could be undone, or the merge covered another part of the run. What they cover lies in
  // the same run, and is dropped with them in the run's next merge.
  void add_own_kills(size_t i, const Killer& of_table) {
    TableDeaths& table = estimate_.tables[i];
    const TableMeta& meta = table.table->meta();
    Killer killer = of_table;
    killer.from_us = std::max(killer.from_us, us_of(meta.watermark()));
    if (killer.deletes > 0) {
      const auto rows = static_cast<double>(std::max<uint64_t>(meta.rows, 1));
      add(killer, table, std::min(1.0, killer.deletes / rows) * static_cast<double>(table.bytes),
          killer.from_us, std::max(killer.from_us, killer.to_us));
    }
    add_range_kills(killer, table.run);
  }

  void add_cell_kills(const Killer& killer, double share, TableDeaths& older) const {
    const TableMeta& meta = older.table->meta();
    const auto bytes = static_cast<double>(older.bytes);
    const double cell_bytes = bytes / static_cast<double>(std::max<uint64_t>(meta.entries, 1));
    const double row_bytes = bytes / static_cast<double>(std::max<uint64_t>(meta.rows, 1));
    const double touching = reads_.any_counts() ? 1 : share_at_its_times(killer, meta.bounds);
    add(killer, older, share * (killer.cells * touching * cell_bytes + killer.deletes * row_bytes),
        killer.from_us, killer.to_us);
  }

  // Adds the bytes of a run's tables that the killer's range deletes cover.
  void add_range_kills(const Killer& killer, size_t run) {
    if (killer.ranges == nullptr) return;
    const size_t count = killer.ranges->size();
    const size_t looked_at = std::min(count, kMostRanges);
    for (size_t i = 0; i < looked_at; ++i) {
      const RangeTombstone& range = (*killer.ranges)[i * count / looked_at];
      const double stands_for = static_cast<double>(count) / static_cast<double>(looked_at);
      const std::string end = range.end.empty() ? std::string() : row_prefix(range.end);
      const RunPlace place = tables_at(run, row_prefix(range.start), end);
      for (size_t t = place.begin; t < place.end; ++t) {
        ++estimate_.looks;
        TableDeaths& older = estimate_.tables[t];
        if (range.stamp < meta(t).min_stamp) continue;
        const int64_t at_us = us_of(range.stamp);
        add(killer, older, stands_for * bytes_in(range, *older.table), at_us, at_us);
      }
    }
  }

  // Adds bytes that died evenly from `from_us` to `to_us`. Where versions count, a merge keeps
  // everything that died since a change that can be undone.
  void add(const Killer& killer, TableDeaths& older, double bytes, int64_t from_us,
           int64_t to_us) const {
    if (bytes < 1 || to_us < from_us) return;
    if (to_us >= kept_from_us_) {
      const double width_us = static_cast<double>(to_us - from_us) + 1;
      const int64_t since_us = std::max(from_us, kept_from_us_);
      const double kept = bytes * (static_cast<double>(to_us - since_us) + 1) / width_us;
      older.hidden.push_back({since_us, to_us, kept});
      older.by_newer.push_back(
          {killer.index,
           {std::max(since_us, kept_until_us_), std::max(to_us, kept_until_us_), kept}});
      bytes -= kept;
      to_us = since_us - 1;
    }
    if (from_us <= to_us) older.by_newer.push_back({killer.index, {from_us, to_us, bytes}});
  }

  Tablet& tablet_;
  const TableSchema& schema_;
  const int64_t now_us_;
  const TableRetention firm_;
  const TableRetention reads_;
  bool undo_ = false;
  bool counts_ = false;  // for a merge: versions count
  // Deaths from kept_from_us on are kept until kept_until_us; kNeverUs: none.
  int64_t kept_from_us_ = kNeverUs;
  int64_t kept_until_us_ = 0;
  size_t sample_ = CellProfile::kRowSample;
  std::vector<RunPlace> runs_;
  ReclaimEstimate estimate_;
};

}  // namespace

double TableDeaths::dead(int64_t at_us) const {
  double sum = about_dead(by_time, at_us);
  for (const DeathByNewer& death : by_newer) sum += about_dead({&death.span, 1}, at_us);
  return std::min(sum, static_cast<double>(bytes));
}

double TableDeaths::held(int64_t at_us) const {
  if (hidden.empty()) return 0;
  const double all = static_cast<double>(bytes);
  return std::max(0.0, std::min(about_dead(hidden, at_us), all) - dead(at_us));
}

int64_t TableDeaths::first_death_us() const {
  int64_t first_us = engine::first_death_us(by_time);
  for (const DeathByNewer& death : by_newer) first_us = std::min(first_us, death.span.from_us);
  return first_us;
}

double ReclaimEstimate::dead(int64_t at_us) const {
  double sum = 0;
  for (const TableDeaths& table : tables) sum += table.dead(at_us);
  return sum;
}

ReclaimEstimate reclaim_estimate(Tablet& tablet) { return Estimate(tablet).take(); }

}  // namespace cellar::engine
