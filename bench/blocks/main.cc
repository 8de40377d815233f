// Costs and savings of the form of a data block, on blocks as the engine writes them:
//
//   search   the first entry of a row, in blocks spread over memory: by restarts only, by a hash
//            index from rows to restarts (as one in the file would work), by the heads that the
//            engine makes (engine/sstable/block_heads.h)
//   codecs   bytes and processor time of LZ4 and Zstandard, without and with a dictionary: the raw
//            bytes of two blocks, which is what the engine takes, or one trained on first blocks
//   merge    a merge of two tables of LZ4 whose output is packed by LZ4, by Zstandard without and
//            with a dictionary, and by BlockPacker, which decides by trials: bytes, processor time
//            of the merge and of unpacking a block; median, minimum and maximum of the rounds
//
//   cellar-bench-blocks [--part all] [--blocks 40000] [--searches 2000000]
//                       [--dictionary-bytes 4096] [--merge-mib 32] [--rounds 5]
#include <fmt/format.h>
#include <lz4.h>
#include <xxhash.h>
#include <zdict.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/embedded/dataset.h"
#include "engine/model/key.h"
#include "engine/sstable/block_heads.h"
#include "engine/sstable/block_packer.h"
#include "engine/sstable/data_block.h"
#include "engine/sstable/format.h"
#include "engine/sstable/zstd_codec.h"
#include "io/base/check.h"
#include "io/base/random.h"

namespace cellar::bench {
namespace {

constexpr size_t kBlockBytes = 4096;
constexpr size_t kRounds = 3;
constexpr size_t kTrainedOn = 128;  // blocks

double processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// Nanoseconds of a call of `work`, divided by `times`; the minimum over the rounds.
double least_ns(size_t times, const std::function<void()>& work) {
  double least = 1e18;
  for (size_t i = 0; i < kRounds; ++i) {
    const double before = processor_ns();
    work();
    least = std::min(least, (processor_ns() - before) / static_cast<double>(times));
  }
  return least;
}

// ---- data

struct Kind {
  const char* name;
  std::function<void(uint64_t number, std::string& row, std::string& value)> make;
};

std::vector<Kind> kinds() {
  const auto random = std::make_shared<Random>(7);
  const auto values = std::make_shared<ValueSource>(1);
  return {
      {"numbered rows, values that halve",
       [values](uint64_t n, std::string& row, std::string& value) {
         row = RowKey(n).bytes();
         value = values->next(100);
       }},
      {"events, JSON of 150 bytes",
       [random](uint64_t n, std::string& row, std::string& value) {
         constexpr std::array<const char*, 5> kWhat = {"login", "logout", "view", "purchase",
                                                       "search"};
         constexpr std::array<const char*, 5> kWhere = {"DE", "US", "FR", "IN", "BR"};
         row = fmt::format("user{:010}", n * 977);
         value = fmt::format(
             R"-({{"event":"{}","country":"{}","at":{},"amount":{}.{:02},"session":"{:016x}",)-"
             R"-("agent":"Mozilla/5.0 (X11; Linux x86_64)"}})-",
             kWhat[random->below(5)], kWhere[random->below(5)],
             1'700'000'000'000 + random->below(100'000'000), random->below(1000),
             random->below(100), random->next());
       }},
      {"samples of a sensor",
       [random](uint64_t n, std::string& row, std::string& value) {
         row = fmt::format("sensor{:04}/{:012}", n / 500, n * 10'000 + random->below(1000));
         value = fmt::format("{:.3f}", 50.0 + static_cast<double>(random->below(8000)) / 1000);
       }},
  };
}

struct BlockAndRows {
  std::string contents;
  std::vector<std::string> prefixes;  // of rows, in order
};

std::vector<BlockAndRows> blocks_of(const Kind& kind, size_t count) {
  std::vector<BlockAndRows> blocks;
  engine::BlockWriter writer;
  BlockAndRows open;
  std::string row;
  std::string value;
  for (uint64_t n = 0; blocks.size() < count; ++n) {
    kind.make(n, row, value);
    std::string key;
    append_column_prefix(key, row, "f", "q");
    append_cell_suffix(key, static_cast<int64_t>(n) + 1, CommitStamp{n + 1});
    if (!writer.empty() && writer.bytes() + key.size() + value.size() > kBlockBytes) {
      open.contents = writer.finish();
      blocks.push_back(std::move(open));
      open = {};
      writer.reset();
    }
    writer.add(key, std::string(1, '\0') + value);
    open.prefixes.push_back(row_prefix(row));
  }
  return blocks;
}

// ---- searches

// From rows to restarts, one byte per bucket, three buckets for two rows; 255: several.
constexpr uint8_t kSeveral = 255;
constexpr uint8_t kNone = 254;

size_t bucket_of(Bytes row, size_t buckets) {
  return static_cast<size_t>((XXH3_64bits(row.data(), row.size()) >> 32) * buckets >> 32);
}

// A block in memory as the cache has it: prepared data before the contents, and after them the hash
// index, where one in the file would be.
class Placed {
 public:
  explicit Placed(const BlockAndRows& block)
      : contents_bytes_(block.contents.size()), buckets_(block.prefixes.size() * 3 / 2 + 1) {
    bytes_ = std::make_unique_for_overwrite<char[]>(kHeader + contents_bytes_ + buckets_);
    new (bytes_.get()) engine::BlockHeads(engine::make_block_heads(block.contents));
    block.contents.copy(bytes_.get() + kHeader, contents_bytes_);
    std::memset(buckets(), kNone, buckets_);
    for (size_t i = 0; i < block.prefixes.size(); ++i) {
      uint8_t& bucket = buckets()[bucket_of(block.prefixes[i], buckets_)];
      const auto restart = static_cast<uint8_t>(i / engine::kRestartInterval);
      bucket = bucket == kNone || bucket == restart ? restart : kSeveral;
    }
  }
  const engine::BlockHeads& heads() const {
    return *reinterpret_cast<const engine::BlockHeads*>(bytes_.get());
  }
  Bytes contents() const { return {bytes_.get() + kHeader, contents_bytes_}; }
  uint8_t restart_of(Bytes row) const { return buckets()[bucket_of(row, buckets_)]; }
  // Like BlockCache::find().
  void prefetch() const {
    for (size_t at = 0; at < kHeader + 64; at += 64) __builtin_prefetch(bytes_.get() + at);
  }

 private:
  static constexpr size_t kHeader = sizeof(engine::BlockHeads);
  uint8_t* buckets() const {
    return reinterpret_cast<uint8_t*>(bytes_.get() + kHeader + contents_bytes_);
  }

  size_t contents_bytes_;
  size_t buckets_;
  std::unique_ptr<char[]> bytes_;
};

// Like the walk of BlockReader, without building keys. Returns the beginning of the value.
const char* walk(Bytes contents, const engine::BlockReader& reader, uint32_t restart, Bytes key) {
  const char* const limit = contents.data() + reader.entries_bytes();
  size_t same = 0;
  for (const char* at = reader.restart(restart); at != limit;) {
    engine::BlockEntry entry;
    const char* p = engine::decode_entry(at, limit, entry);
    if (entry.shared <= same) {
      const Bytes tail(p, entry.unshared);
      const Bytes wanted = key.substr(entry.shared);
      const size_t common = common_prefix(tail, wanted);
      if (common == wanted.size() ||
          (common < tail.size() &&
           static_cast<uint8_t>(tail[common]) > static_cast<uint8_t>(wanted[common])))
        return p + entry.unshared;
      same = entry.shared + common;
    }
    at = p + entry.unshared + entry.value;
  }
  return nullptr;
}

void measure_searches(const Kind& kind, const std::vector<BlockAndRows>& blocks, size_t searches) {
  std::vector<Placed> placed;
  for (const BlockAndRows& block : blocks) placed.emplace_back(block);
  // The same keys for each kind of search.
  const auto each = [&](const std::function<const char*(size_t, Bytes)>& find) {
    return least_ns(searches, [&] {
      Random random(3);
      uint64_t sum = 0;
      for (size_t i = 0; i < searches; ++i) {
        const size_t at = random.below(blocks.size());
        const Bytes row = blocks[at].prefixes[random.below(blocks[at].prefixes.size())];
        const char* value = find(at, row);
        CHECK(value != nullptr, "a row is not in its block");
        sum += static_cast<uint8_t>(*value);
      }
      CHECK(sum != 1);
    });
  };
  const auto seek = [&](size_t at, Bytes row, const engine::BlockHeads* by) {
    engine::BlockReader reader;
    reader.open(placed[at].contents(), by);
    return reader.seek(row) == engine::BlockReader::Move::ready ? reader.value().data() : nullptr;
  };
  const double nothing = each([&](size_t at, Bytes row) { return row.data() + at % 2; });
  const double restarts = each([&](size_t at, Bytes row) { return seek(at, row, nullptr); });
  const double hash = each([&](size_t at, Bytes row) -> const char* {
    const uint8_t restart = placed[at].restart_of(row);
    if (restart == kSeveral) return seek(at, row, nullptr);
    engine::BlockReader reader;
    reader.open(placed[at].contents());
    return walk(placed[at].contents(), reader, restart, row);
  });
  const double head = each([&](size_t at, Bytes row) {
    placed[at].prefetch();
    return seek(at, row, &placed[at].heads());
  });
  engine::BlockHeads made_last;
  const double made = least_ns(blocks.size(), [&] {
    for (const BlockAndRows& block : blocks) made_last = engine::make_block_heads(block.contents);
  });
  fmt::print("  {:<36}{:>10.0f}{:>10.0f}{:>10.0f}{:>14.0f}\n", kind.name, restarts - nothing,
             hash - nothing, head - nothing, made);
}

// ---- codecs

struct Cost {
  double share;
  double pack_us;
  double unpack_us;
};

template <class Pack, class Unpack>
Cost cost_of(const std::vector<BlockAndRows>& blocks, Pack pack, Unpack unpack) {
  std::vector<std::string> packed(blocks.size());
  std::string out(2 * kBlockBytes + 512, '\0');
  size_t raw_bytes = 0;
  size_t bytes = 0;
  const double pack_ns = least_ns(blocks.size(), [&] {
    raw_bytes = bytes = 0;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const size_t n = pack(blocks[i].contents, out);
      packed[i].assign(out, 0, n);
      raw_bytes += blocks[i].contents.size();
      bytes += n;
    }
  });
  const double unpack_ns = least_ns(blocks.size(), [&] {
    for (size_t i = 0; i < blocks.size(); ++i)
      CHECK(unpack(packed[i], out) == blocks[i].contents.size(), "a block came back otherwise");
  });
  return {static_cast<double>(bytes) / static_cast<double>(raw_bytes), pack_ns / 1e3,
          unpack_ns / 1e3};
}

Cost cost_of_lz4(const std::vector<BlockAndRows>& blocks) {
  return cost_of(
      blocks,
      [](Bytes in, std::string& out) {
        return static_cast<size_t>(LZ4_compress_default(
            in.data(), out.data(), static_cast<int>(in.size()), static_cast<int>(out.size())));
      },
      [](Bytes in, std::string& out) {
        return static_cast<size_t>(LZ4_decompress_safe(
            in.data(), out.data(), static_cast<int>(in.size()), static_cast<int>(out.size())));
      });
}

std::string train(const std::vector<BlockAndRows>& blocks, size_t bytes) {
  std::string samples;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < std::min(kTrainedOn, blocks.size()); ++i) {
    samples += blocks[i].contents;
    sizes.push_back(blocks[i].contents.size());
  }
  std::string dictionary(bytes, '\0');
  const size_t made = ZDICT_trainFromBuffer(dictionary.data(), bytes, samples.data(), sizes.data(),
                                            static_cast<unsigned>(sizes.size()));
  CHECK(ZDICT_isError(made) == 0, "no dictionary: {}", ZDICT_getErrorName(made));
  dictionary.resize(made);
  return dictionary;
}

Cost cost_of_zstd(const std::vector<BlockAndRows>& blocks, int level, const std::string& dict) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> pack(ZSTD_createCCtx(), ZSTD_freeCCtx);
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> unpack(ZSTD_createDCtx(),
                                                                    ZSTD_freeDCtx);
  const std::unique_ptr<ZSTD_CDict, decltype(&ZSTD_freeCDict)> pack_dict(
      ZSTD_createCDict(dict.data(), dict.size(), level), ZSTD_freeCDict);
  const std::unique_ptr<ZSTD_DDict, decltype(&ZSTD_freeDDict)> unpack_dict(
      ZSTD_createDDict(dict.data(), dict.size()), ZSTD_freeDDict);
  return cost_of(
      blocks,
      [&](Bytes in, std::string& out) {
        return ZSTD_compress_usingCDict(pack.get(), out.data(), out.size(), in.data(), in.size(),
                                        pack_dict.get());
      },
      [&](Bytes in, std::string& out) {
        return ZSTD_decompress_usingDDict(unpack.get(), out.data(), out.size(), in.data(),
                                          in.size(), unpack_dict.get());
      });
}

// As in the engine: the raw bytes of two blocks (engine/sstable/block_packer.h).
Cost cost_of_raw_dictionary(const std::vector<BlockAndRows>& blocks) {
  constexpr size_t kSample = engine::BlockPacker::kSampleBytes;
  std::string dictionary(Bytes(blocks.front().contents).substr(0, kSample));
  dictionary += Bytes(blocks[engine::BlockPacker::kSecondSample].contents).substr(0, kSample);
  engine::ZstdPacker packer;
  packer.set_dictionary(dictionary);
  engine::ZstdUnpacker unpacker;
  return cost_of(
      blocks,
      [&](Bytes in, std::string& out) { return packer.pack(in, out.data(), out.size(), true); },
      [&](Bytes in, std::string& out) {
        size_t bytes = 0;
        const bool good = engine::ZstdUnpacker::raw_bytes(in, bytes) &&
                          unpacker.unpack(in, dictionary, out.data(), bytes);
        return good ? bytes : 0;
      });
}

void measure_codecs(const Kind& kind, std::vector<BlockAndRows> blocks, size_t dictionary_bytes) {
  blocks.resize(std::min<size_t>(blocks.size(), 4000));
  const auto line = [](const std::string& name, const Cost& cost) {
    fmt::print("  {:<36}{:>9.1f}%{:>10.2f}{:>10.2f}\n", name, cost.share * 100, cost.pack_us,
               cost.unpack_us);
  };
  fmt::print("  {}\n", kind.name);
  line("    LZ4", cost_of_lz4(blocks));
  for (const int level : {-1, 1, 3})
    line(fmt::format("    Zstandard {}", level), cost_of_zstd(blocks, level, ""));
  line("    Zstandard 1, bytes of two blocks", cost_of_raw_dictionary(blocks));
  std::string dictionary;
  const double train_ns = least_ns(1, [&] { dictionary = train(blocks, dictionary_bytes); });
  for (const int level : {1, 3})
    line(fmt::format("    Zstandard {}, trained dictionary", level),
         cost_of_zstd(blocks, level, dictionary));
  fmt::print("    dictionary of {} bytes made in {:.1f} ms\n", dictionary.size(), train_ns / 1e6);
}

// ---- merge

// A block that BlockPacker or a fixed choice has stored.
using Pack = std::function<uint32_t(std::string& out, Bytes raw, uint64_t offset)>;

struct Way {
  const char* name;
  std::function<Pack(std::string& dictionary)> begin;  // for one table
};

constexpr BlobId kBlob{1};

Pack pack_by_engine(Compression compression, std::string& dictionary) {
  return [packer = std::make_shared<engine::BlockPacker>(compression), &dictionary](
             std::string& out, Bytes raw, uint64_t offset) {
    const uint32_t size = packer->append(out, raw, kBlob, offset);
    if (dictionary.empty()) dictionary = packer->dictionary();
    return size;
  };
}

// Every block by Zstandard, uncompressed unless that saves 1/kMinGainDivisor. With a dictionary as
// soon as the engine would have one.
Pack pack_by_zstd(bool with_dictionary, std::string& dictionary) {
  return [zstd = std::make_shared<engine::ZstdPacker>(), with_dictionary, &dictionary,
          samples = std::string(),
          number = size_t{0}](std::string& out, Bytes raw, uint64_t offset) mutable {
    const size_t begin = out.size();
    const size_t most = raw.size() - raw.size() / engine::kMinGainDivisor;
    out.resize(begin + most);
    const bool use = !dictionary.empty();
    const size_t packed = zstd->pack(raw, out.data() + begin, most, use);
    out.resize(begin + packed);
    engine::BlockType type = use ? engine::BlockType::zstd_dictionary : engine::BlockType::zstd;
    if (packed == 0) {
      out.append(raw);
      type = engine::BlockType::raw;
    }
    const uint32_t size = engine::finish_block(out, begin, type, kBlob, offset);
    if (with_dictionary && (number == 0 || number == engine::BlockPacker::kSecondSample)) {
      samples += raw.substr(0, engine::BlockPacker::kSampleBytes);
      if (number > 0) {
        zstd->set_dictionary(samples);
        dictionary = samples;
      }
    }
    ++number;
    return size;
  };
}

std::vector<Way> ways() {
  return {{"LZ4", [](std::string& d) { return pack_by_engine(Compression::lz4, d); }},
          {"Zstandard", [](std::string& d) { return pack_by_zstd(false, d); }},
          {"Zstandard, dictionary", [](std::string& d) { return pack_by_zstd(true, d); }},
          {"trials", [](std::string& d) { return pack_by_engine(Compression::zstd, d); }}};
}

struct StoredBlocks {
  std::string bytes;
  std::vector<engine::BlockHandle> handles;
  std::string dictionary;
  size_t raw_bytes = 0;

  engine::CheckedBlock block(size_t i) const {
    const engine::BlockHandle& at = handles[i];
    return engine::check_block(Bytes(bytes).substr(at.offset, at.size), kBlob, at.offset).value();
  }
};

class BlocksWriter {
 public:
  BlocksWriter(const Way& way, StoredBlocks& out) : pack_(way.begin(out.dictionary)), out_(out) {}
  void add(Bytes key, Bytes value) {
    if (!writer_.empty() && writer_.bytes() + key.size() + value.size() > kBlockBytes) finish();
    writer_.add(key, value);
  }
  void finish() {
    const Bytes raw = writer_.finish();
    const uint64_t offset = out_.bytes.size();
    out_.handles.push_back({offset, pack_(out_.bytes, raw, offset)});
    out_.raw_bytes += raw.size();
    writer_.reset();
  }

 private:
  Pack pack_;
  StoredBlocks& out_;
  engine::BlockWriter writer_;
};

class BlocksReader {
 public:
  explicit BlocksReader(const StoredBlocks& blocks) : blocks_(blocks) { next(); }
  bool valid() const { return valid_; }
  Bytes key() const { return reader_.key(); }
  Bytes value() const { return reader_.value(); }
  void next() {
    if (valid_ && reader_.next() == engine::BlockReader::Move::ready) return;
    valid_ = next_ < blocks_.handles.size();
    if (!valid_) return;
    const engine::CheckedBlock block = blocks_.block(next_);
    contents_.resize(block.raw_bytes);
    CHECK(engine::unpack_block(block, contents_.data(), kBlob, blocks_.handles[next_].offset)
              .has_value());
    ++next_;
    CHECK(reader_.open(contents_) && reader_.seek_first() == engine::BlockReader::Move::ready);
  }

 private:
  const StoredBlocks& blocks_;
  size_t next_ = 0;
  bool valid_ = false;
  std::string contents_;
  engine::BlockReader reader_;
};

size_t merge(const StoredBlocks& a, const StoredBlocks& b, const Way& way, StoredBlocks& out) {
  BlocksWriter writer(way, out);
  BlocksReader left(a);
  BlocksReader right(b);
  size_t entries = 0;
  for (; left.valid() || right.valid(); ++entries) {
    BlocksReader& from =
        !right.valid() || (left.valid() && left.key() < right.key()) ? left : right;
    writer.add(from.key(), from.value());
    from.next();
  }
  writer.finish();
  return entries;
}

// The values of each kind, in the order of the rows.
std::vector<Kind> merge_kinds(size_t bytes) {
  std::vector<Kind> all = kinds();
  const auto random = std::make_shared<Random>(8);
  const auto noise = [random](size_t size) {
    std::string value(size, '\0');
    for (char& c : value) c = static_cast<char>(random->next());
    return value;
  };
  const auto event = all[1].make;
  all.push_back(
      {"hashes, 64 hexadecimal digits", [random](uint64_t n, std::string& row, std::string& value) {
         row = fmt::format("file{:010}", n * 31);
         value.clear();
         for (int i = 0; i < 4; ++i) value += fmt::format("{:016x}", random->next());
       }});
  all.push_back(
      {"random bytes, 400 a value", [noise](uint64_t n, std::string& row, std::string& value) {
         row = fmt::format("image{:010}", n);
         value = noise(400);
       }});
  all.push_back(
      {"random bytes, each three times", [noise](uint64_t n, std::string& row, std::string& value) {
         row = fmt::format("copy{:010}", n);
         value = noise(100);
         value += value + value;
       }});
  all.push_back({"mixed: events, 300 random bytes",
                 [event, noise](uint64_t n, std::string& row, std::string& value) {
                   event(n, row, value);
                   if (n % 2 == 1) value = noise(300);
                 }});
  // Some 200 bytes a row.
  const uint64_t few = bytes / 200 / 20;
  all.push_back({"random bytes in 5 %, then events",
                 [event, noise, few](uint64_t n, std::string& row, std::string& value) {
                   event(n, row, value);
                   if (n < few) value = noise(200);
                 }});
  all.push_back({"events in 5 %, then random bytes",
                 [event, noise, few](uint64_t n, std::string& row, std::string& value) {
                   event(n, row, value);
                   if (n >= few) value = noise(200);
                 }});
  return all;
}

struct Spread {
  std::vector<double> rounds;
  std::string print() {
    std::sort(rounds.begin(), rounds.end());
    return fmt::format("{:6.2f} [{:.2f}, {:.2f}]", rounds[rounds.size() / 2], rounds.front(),
                       rounds.back());
  }
};

void measure_merge(const Kind& kind, size_t bytes, size_t rounds) {
  const std::vector<Way> all = ways();
  StoredBlocks inputs[2];
  {
    BlocksWriter writers[2] = {{all[0], inputs[0]}, {all[0], inputs[1]}};
    Random random(5);
    std::string row;
    std::string value;
    size_t written = 0;
    for (uint64_t n = 0; written < bytes; ++n) {
      kind.make(n, row, value);
      std::string key;
      append_column_prefix(key, row, "f", "q");
      append_cell_suffix(key, static_cast<int64_t>(n) + 1, CommitStamp{n + 1});
      writers[random.below(2)].add(key, std::string(1, '\0') + value);
      written += key.size() + value.size() + 1;
    }
    for (BlocksWriter& writer : writers) writer.finish();
  }
  std::vector<Spread> merge_us(all.size());
  std::vector<Spread> unpack_us(all.size());
  std::vector<double> share(all.size());
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t w = 0; w < all.size(); ++w) {
      StoredBlocks out;
      out.bytes.reserve(bytes + bytes / 8);
      double before = processor_ns();
      merge(inputs[0], inputs[1], all[w], out);
      const auto blocks = static_cast<double>(out.handles.size());
      merge_us[w].rounds.push_back((processor_ns() - before) / blocks / 1e3);
      share[w] = static_cast<double>(out.bytes.size()) / static_cast<double>(out.raw_bytes);
      engine::ZstdUnpacker zstd;
      std::string contents;
      before = processor_ns();
      for (size_t i = 0; i < out.handles.size(); ++i) {
        const engine::CheckedBlock block = out.block(i);
        contents.resize(block.raw_bytes);
        CHECK(engine::unpack_block(block, contents.data(), kBlob, out.handles[i].offset,
                                   out.dictionary, &zstd)
                  .has_value());
      }
      unpack_us[w].rounds.push_back((processor_ns() - before) / blocks / 1e3);
    }
  }
  fmt::print("  {}\n", kind.name);
  for (size_t w = 0; w < all.size(); ++w) {
    fmt::print("    {:<30}{:>6.1f}%  {:<24}{:<24}\n", all[w].name, share[w] * 100,
               merge_us[w].print(), unpack_us[w].print());
  }
}

int run(int argc, char** argv) {
  size_t count = 40'000;
  size_t searches = 2'000'000;
  size_t dictionary_bytes = 4096;
  size_t merge_mib = 32;
  size_t rounds = 5;
  std::string part = "all";
  CLI::App app("Costs and savings of the form of a data block");
  app.add_option("--part", part, "of the measurements")
      ->check(CLI::IsMember({"all", "search", "codecs", "merge"}));
  app.add_option("--blocks", count, "that are searched")->check(CLI::Range(1000, 1'000'000));
  app.add_option("--searches", searches, "in each way");
  app.add_option("--dictionary-bytes", dictionary_bytes)->check(CLI::Range(1024, 1 << 20));
  app.add_option("--merge-mib", merge_mib, "of keys and values in the merged tables")
      ->check(CLI::Range(4, 1024));
  app.add_option("--rounds", rounds, "of each merge")->check(CLI::Range(1, 100));
  CLI11_PARSE(app, argc, argv);
  std::vector<std::vector<BlockAndRows>> all;
  if (part != "merge") {
    for (const Kind& kind : kinds()) all.push_back(blocks_of(kind, count));
  }
  if (part == "all" || part == "search") {
    fmt::print("search, ns {:<27}{:>10}{:>10}{:>10}{:>14}\n", "", "restarts", "hash", "heads",
               "making heads");
    for (size_t i = 0; i < all.size(); ++i) measure_searches(kinds()[i], all[i], searches);
  }
  if (part == "all" || part == "codecs") {
    fmt::print("codecs of a block of 4 KiB {:<11}{:>10}{:>10}{:>10}\n", "", "bytes", "pack us",
               "unpack us");
    for (size_t i = 0; i < all.size(); ++i)
      measure_codecs(kinds()[i], std::move(all[i]), dictionary_bytes);
  }
  if (part == "all" || part == "merge") {
    fmt::print("merge of blocks of 4 KiB {:<12}bytes  merge us a block        unpack us a block\n",
               "");
    const size_t bytes = merge_mib << 20;
    for (const Kind& kind : merge_kinds(bytes)) measure_merge(kind, bytes, rounds);
  }
  return 0;
}

}  // namespace
}  // namespace cellar::bench

int main(int argc, char** argv) { return cellar::bench::run(argc, argv); }
