#include "tests/process/support/aging_writers.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace cellar::process {
namespace {

constexpr const char* kTable = "aging";
constexpr uint64_t kDeleteOneIn = 8;
constexpr uint64_t kBriefOneIn = 4;

int64_t wall_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

size_t AgingWriter::free_slot() {
  while (true) {
    const size_t slot = random_.below(slots_.size());
    if (!slots_[slot].busy) return slot;
  }
}

// `value` is 0: the row is deleted.
client::Mutation AgingWriter::mutation(size_t slot, uint64_t value, size_t value_bytes,
                                       int64_t now_us) {
  client::Mutation m(row(slot));
  if (value == 0) {
    m.delete_row();
    return m;
  }
  const size_t filler = random_.below(value_bytes);
  m.set("latest", "q", fmt::format("{:012}", value) + std::string(filler, 'x'),
        static_cast<int64_t>(value) * 1000);
  if (now_us != 0) m.set("brief", "q", "v", now_us);
  return m;
}

void AgingWriter::acknowledge(Slot& slot, uint64_t value, int64_t brief_us) {
  ++acknowledged_;
  slot.known = value;
  slot.doubtful.reset();
  if (value == 0) slot.brief_us = 0;
  if (brief_us != 0) slot.brief_us = brief_us;
}

void AgingWriter::write_until_failure(const std::string& address, size_t depth, size_t value_bytes,
                                      uint32_t attempts) {
  client::ClientOptions options;
  options.address = address;
  options.request_deadline_us = attempts == 1 ? 20'000'000 : 3'000'000;
  options.retry.max_attempts = attempts;
  options.retry.backoff_max_us = 100'000;
  client::SyncClient sync(options);
  bool failed = false;
  size_t in_flight = 0;
  while (!failed || in_flight > 0) {
    while (!failed && in_flight < depth) {
      const size_t place = free_slot();
      Slot& slot = slots_[place];
      const uint64_t value = random_.one_in(kDeleteOneIn) ? 0 : next_++;
      // For a cell with a timestamp in whole milliseconds.
      const int64_t brief_us =
          value != 0 && random_.one_in(kBriefOneIn) ? wall_us() / 1000 * 1000 : 0;
      slot.busy = true;
      slot.doubtful = value;
      ++in_flight;
      sync.client().async_mutate_row(
          kTable, mutation(place, value, value_bytes, brief_us),
          [this, &slot, &in_flight, &failed, value, brief_us](Result<client::MutateReply> reply) {
            --in_flight;
            slot.busy = false;
            failed = failed || !reply;
            if (reply) acknowledge(slot, value, brief_us);
            if (!reply && reply.error().applied == Applied::not_applied) slot.doubtful.reset();
          });
    }
    sync.loop().turn(true);
  }
}

void AgingWriter::judge(size_t place, const Seen& seen, int64_t began_us, int64_t ended_us,
                        std::vector<std::string>& wrong) {
  Slot& slot = slots_[place];
  const bool right = seen.latest == slot.known || (slot.doubtful && seen.latest == *slot.doubtful);
  if (!right || seen.latest_cells > 1) {
    wrong.push_back(fmt::format("row {} holds {} in {} cells; {} was acknowledged, {} is in doubt",
                                row(place), seen.latest, seen.latest_cells, slot.known,
                                slot.doubtful ? std::to_string(*slot.doubtful) : "nothing"));
  }
  if (seen.oldest_brief_us < began_us - kBriefUs) {
    wrong.push_back(fmt::format("row {} shows a cell that is dead for {} us", row(place),
                                began_us - kBriefUs - seen.oldest_brief_us));
  }
  // The cell is still alive, and no operation in doubt could have deleted it.
  const bool lives = slot.brief_us > ended_us - kBriefUs;
  if (lives && !slot.doubtful && seen.brief_us < slot.brief_us) {
    wrong.push_back(fmt::format("row {} has lost a cell that lives for {} us more", row(place),
                                slot.brief_us + kBriefUs - ended_us));
  }
  slot.known = seen.latest;
  slot.doubtful.reset();
  slot.brief_us = seen.brief_us;
}

std::vector<std::string> AgingWriter::check(client::SyncClient& client) {
  std::map<std::string, Seen> rows;
  const int64_t began_us = wall_us();
  const auto read = client::ReadRows::prefix(fmt::format("w{:02}-", number_));
  client::ReadStream stream = client.read_rows(kTable, read);
  while (true) {
    const auto block = client.next(stream);
    if (!block) return {"the scan failed: " + block.error().to_string()};
    if (block->empty()) break;
    for (const client::RowPart& part : block->rows()) {
      for (const client::Cell& cell : part.cells) {
        Seen& seen = rows[std::string(part.key)];
        if (cell.family == "latest") {
          ++seen.latest_cells;
          seen.latest = std::stoull(std::string(cell.value.substr(0, 12)));
        } else {
          seen.brief_us = std::max(seen.brief_us, cell.timestamp_us);
          seen.oldest_brief_us = std::min(seen.oldest_brief_us, cell.timestamp_us);
        }
      }
    }
  }
  const int64_t ended_us = wall_us();
  std::vector<std::string> wrong;
  for (size_t slot = 0; slot < slots_.size(); ++slot)
    judge(slot, rows[row(slot)], began_us, ended_us, wrong);
  return wrong;
}

Result<void> create_aging_table(client::SyncClient& client) {
  client::TableSpec spec;
  spec.name = kTable;
  spec.granularity = Granularity::millis;
  spec.families.resize(2);
  spec.families[0].name = "brief";
  spec.families[0].rule_given = true;
  spec.families[0].rule = client::RetentionRule::max_age_us(kBriefUs);
  spec.families[1].name = "latest";
  spec.families[1].rule_given = true;
  spec.families[1].rule = client::RetentionRule::max_versions(1);
  spec.families[1].timestamps = client::TimestampMeaning::sequence;
  spec.options.bottom_compression = client::BottomCompression::zstd;
  spec.options.reclaim_within_us = 10'000'000;
  spec.options.dead_slack = 0.1;
  spec.splits = {"w02"};
  TRY_VOID(client.create_table(spec));
  return {};
}

}  // namespace cellar::process
