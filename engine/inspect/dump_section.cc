#include "engine/inspect/dump_section.h"

#include <algorithm>

#include "engine/inspect/dump_block.h"
#include "engine/sstable/data_block.h"
#include "engine/sstable/filter.h"
#include "engine/sstable/format.h"
#include "io/base/coding.h"
#include "io/base/crc32c.h"

namespace cellar::engine {

namespace {

std::vector<IndexSchema> with_section(const std::vector<IndexSection>& sections,
                                      const std::vector<IndexSchema>& indexes) {
  std::vector<IndexSchema> known;
  for (const IndexSchema& index : indexes) {
    const auto has = [&](const IndexSection& section) { return section.index == index.id; };
    if (std::ranges::any_of(sections, has)) known.push_back(index);
  }
  return known;
}

}  // namespace

WantedIndexEntries::WantedIndexEntries(const std::vector<IndexSection>& sections,
                                       const std::vector<IndexSchema>& indexes)
    : set_(with_section(sections, indexes)),
      maker_(make_index_set(with_section(sections, indexes))) {
  wanted_.resize(set_.size());
  for (const IndexSection& section : sections) {
    const size_t at = set_.find(section.index);
    if (at < set_.size()) wanted_[at].omitted_to_us = section.omitted_to_us;
  }
}

const IndexSchema* WantedIndexEntries::definition(uint64_t index) const {
  const size_t at = set_.find(index);
  return at == set_.size() ? nullptr : &set_[at];
}

// Of several with one key the first is in the section.
void WantedIndexEntries::add(const ParsedKey& key, Bytes value, size_t block) {
  const auto give = [&](size_t index, Bytes entry, Bytes entry_value) {
    Wanted& wanted = wanted_[index];
    if (key.timestamp_us <= wanted.omitted_to_us) return;
    const int64_t expiry = index_entry_expiry(entry_value).value_or(0);
    wanted.entries.try_emplace(row_hash(entry), Entry{expiry, block});
  };
  maker_.make(key, value, give, [this](size_t index) { ++wanted_[index].skipped; });
}

bool WantedIndexEntries::take(uint64_t index, Bytes entry_key, Bytes entry_value) {
  auto& entries = wanted_[set_.find(index)].entries;
  const auto at = entries.find(row_hash(entry_key));
  if (at == entries.end() || index_entry_expiry(entry_value) != at->second.expire_at_us)
    return false;
  entries.erase(at);
  return true;
}

size_t WantedIndexEntries::left(uint64_t index, size_t& block) const {
  const auto& entries = wanted_[set_.find(index)].entries;
  block = SIZE_MAX;
  for (const auto& [hash, entry] : entries) block = std::min(block, entry.block);
  return entries.size();
}

namespace {

// What a segment of a key stands for.
std::string segment_text(Bytes segment) {
  std::string scratch;
  return std::string(decode_row_prefix(segment, scratch));
}

std::string describe_index_entry(Bytes key, Bytes value, const IndexSchema* index) {
  const auto expiry = index_entry_expiry(value);
  std::string ending;
  if (!expiry) ending = " with a malformed expiry";
  if (expiry && *expiry != kNoExpiry) ending = fmt::format(" expires {}", *expiry);
  IndexKey parts;
  if (index == nullptr || !parse_index_key(key, *index, parts))
    return fmt::format("entry {}{}", escape_bytes(key), ending);
  std::string text = "entry";
  if (index->has(IndexPart::value) && index->type == IndexType::int64) {
    constexpr uint64_t kSignBit = uint64_t{1} << 63;
    text += fmt::format(" {} of", static_cast<int64_t>(load_be64(parts.value.data()) ^ kSignBit));
  } else if (index->has(IndexPart::value)) {
    text += fmt::format(" \"{}\" of", escape_bytes(segment_text(parts.value)));
  }
  const std::string qualifier =
      parts.qualifier.empty() ? index->qualifier.value_or("") : segment_text(parts.qualifier);
  return text + fmt::format(" \"{}\" {}:\"{}\" at {}{}", escape_bytes(segment_text(parts.row)),
                            index->family, escape_bytes(qualifier), parts.timestamp_us, ending);
}

class SectionDump : private BlockDump {
 public:
  SectionDump(File& file, BlobId blob, const IndexSection& section, const IndexSchema* index,
              WantedIndexEntries* wanted, const DumpOptions& options, Dump& dump)
      : BlockDump(file, options, dump),
        section_(section),
        index_(index),
        wanted_(wanted),
        name_(fmt::format("index {}", section.index)),
        problems_before_(dump.problems()) {
    blob_ = blob;
    if (index != nullptr) name_ += fmt::format(" '{}'", index->name);
  }

  Async<Result<void>> run() {
    if (section_.root.size != 0) {
      CO_TRY_VOID(co_await find_blocks());
      if (whole_) check_places();
      for (const Place& place : places_) {
        CO_TRY_VOID(co_await read(place.handle.offset, place.handle.size));
        checksum_ = crc32c(bytes_, checksum_);
        show_block(place);
      }
    }
    if (dump_.problems() == problems_before_) check_facts();
    co_return Result<void>();
  }

 private:
  struct Place {
    BlockHandle handle;
    uint32_t level = 0;    // 0: a leaf
    std::string last_key;  // by the node above; of the root empty
  };

  void problem(const std::string& sentence) {
    dump_.problem(fmt::format("{}: {}", name_, sentence));
  }

  // All blocks, in their order in the file. Damaged nodes are told when they are shown.
  Async<Result<void>> find_blocks() {
    std::vector<Place> level{{section_.root, section_.levels - 1, {}}};
    while (!level.empty()) {
      std::vector<Place> below;
      for (const Place& place : level) {
        if (place.level == 0) continue;
        CO_TRY_VOID(co_await read(place.handle.offset, place.handle.size));
        const auto contents = read_block(bytes_, blob_, place.handle.offset);
        whole_ = contents && add_children(place, *contents, below) && whole_;
      }
      std::ranges::move(level, std::back_inserter(places_));
      level = std::move(below);
    }
    std::ranges::sort(places_, {}, [](const Place& place) { return place.handle.offset; });
    co_return Result<void>();
  }

  // Blocks of a level lie in the order of their keys, before the node that names them.
  bool add_children(const Place& parent, Bytes contents, std::vector<Place>& below) {
    BlockReader reader;
    BlockReader::Move move = BlockReader::Move::corrupt;
    if (reader.open(contents)) move = reader.seek_first();
    for (; move == BlockReader::Move::ready; move = reader.next()) {
      BlockHandle child;
      const uint64_t least = below.empty() ? section_.offset : below.back().handle.end();
      if (!child_of(reader.value(), child) || child.offset < least ||
          child.end() > parent.handle.offset) {
        problem(
            fmt::format("the node at {} names a block where none can be", parent.handle.offset));
        return false;
      }
      below.push_back({child, parent.level - 1, std::string(reader.key())});
    }
    return move == BlockReader::Move::end;
  }

  static bool child_of(Bytes place, BlockHandle& child) {
    Reader in(place);
    child.offset = in.varint();
    const uint64_t size = in.varint();
    child.size = static_cast<uint32_t>(size);
    return in.ok() && in.at_end() && size > kBlockTrailerBytes && size <= UINT32_MAX;
  }

  void check_places() {
    uint64_t end = section_.offset;
    for (const Place& place : places_) {
      if (place.handle.offset != end) {
        problem(fmt::format("no node names the bytes from {} to {}", end, place.handle.offset));
        return;
      }
      end = place.handle.end();
    }
  }

  void show_block(const Place& place) {
    const uint64_t offset = place.handle.offset;
    const auto contents = open_block(
        offset, place.level == 0 ? fmt::format("{}, leaf", name_)
                                 : fmt::format("{}, node of level {}", name_, place.level));
    if (!contents) return;
    BlockReader reader;
    BlockReader::Move move = BlockReader::Move::corrupt;
    if (reader.open(*contents)) move = reader.seek_first();
    std::string last;
    size_t begin = 0;
    while (move == BlockReader::Move::ready) {
      const Bytes stored = Bytes(*contents).substr(begin, reader.position() - begin);
      std::string& before = place.level == 0 ? last_entry_ : last;
      if (!before.empty() && reader.key() <= before)
        problem(
            fmt::format("a key of the block at {} is not greater than the one before it", offset));
      before.assign(reader.key());
      if (place.level == 0) {
        show_entry(in_file_ + begin, stored, reader.key(), reader.value());
      } else if (options_.entries) {
        show_child(in_file_ + begin, stored, reader.key(), reader.value());
      }
      begin = reader.position();
      move = reader.next();
    }
    if (move == BlockReader::Move::corrupt)
      return problem(fmt::format("{} is malformed", block_name(blob_, offset)));
    const std::string& last_key = place.level == 0 ? last_entry_ : last;
    if (!place.last_key.empty() && last_key != place.last_key)
      problem(fmt::format("the last key of the block at {} is not the one in its node", offset));
    if (options_.entries)
      dump_.field(in_file_ + begin, Bytes(*contents).substr(begin), "restarts, their count");
    show_trailer(offset);
  }

  void show_child(uint64_t at, Bytes stored, Bytes key, Bytes value) {
    BlockHandle child;
    (void)child_of(value, child);  // find_blocks() tells of a malformed one
    dump_.field(
        at, stored,
        fmt::format("up to {}: {} bytes at {}", escape_bytes(key), child.size, child.offset));
  }

  void show_entry(uint64_t at, Bytes stored, Bytes key, Bytes value) {
    ++entries_;
    IndexKey parts;
    const bool parsed = index_ != nullptr && parse_index_key(key, *index_, parts);
    const bool good = (index_ == nullptr || parsed) && index_entry_expiry(value).has_value();
    if (!good) problem(fmt::format("an entry is malformed: {}", escape_bytes(key)));
    if (parsed) {
      oldest_us_ = std::min(oldest_us_, parts.timestamp_us);
      newest_us_ = std::max(newest_us_, parts.timestamp_us);
    }
    if (good && wanted_ != nullptr && !wanted_->take(section_.index, key, value)) {
      problem(fmt::format("{} is of no cell of the table that should have it",
                          describe_index_entry(key, value, index_)));
    }
    if (!options_.entries || (options_.filter.active() && !is_wanted(parsed, parts))) return;
    dump_.entry(at, stored, describe_index_entry(key, value, index_));
  }

  // Of an unknown definition the rows cannot be told.
  bool is_wanted(bool parsed, const IndexKey& parts) const {
    return parsed && options_.filter.wants_row(segment_text(parts.row));
  }

  // REQUIRES: everything else is right.
  void check_facts() {
    if (entries_ != section_.entries)
      problem(fmt::format("the meta block tells of {} entries, {} are there", section_.entries,
                          entries_));
    if (checksum_ != section_.checksum) problem("its checksum is not that in the meta block");
    if (index_ != nullptr && (oldest_us_ != section_.oldest_us || newest_us_ != section_.newest_us))
      problem(fmt::format("the meta block tells of times {} to {}, the entries have {} to {}",
                          section_.oldest_us, section_.newest_us, oldest_us_, newest_us_));
    if (wanted_ == nullptr) return;
    size_t block = 0;
    if (const size_t left = wanted_->left(section_.index, block); left > 0)
      problem(fmt::format("{} cells have no entry, the first of them is in data block {}", left,
                          block));
    if (wanted_->skipped(section_.index) != section_.skipped)
      problem(fmt::format("the meta block tells of {} cells without an int64, there are {}",
                          section_.skipped, wanted_->skipped(section_.index)));
  }

  const IndexSection& section_;
  const IndexSchema* index_;
  WantedIndexEntries* wanted_;
  std::string name_;
  const size_t problems_before_;
  bool whole_ = true;  // all nodes were read
  std::vector<Place> places_;
  std::string last_entry_;
  uint64_t entries_ = 0;
  int64_t oldest_us_ = INT64_MAX;
  int64_t newest_us_ = INT64_MIN;
  uint32_t checksum_ = 0;
};

}  // namespace

Async<Result<void>> dump_section(File& file, BlobId blob, const IndexSection& section,
                                 const IndexSchema* index, WantedIndexEntries* wanted,
                                 const DumpOptions& options, Dump& dump) {
  SectionDump of(file, blob, section, index, wanted, options, dump);
  co_return co_await of.run();
}

}  // namespace cellar::engine
