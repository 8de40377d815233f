#include "engine/sstable/table_reader.h"

#include <algorithm>

#include "engine/sstable/zstd_codec.h"
#include "io/base/check.h"
#include "io/loop/waiter.h"

namespace cellar::engine {
namespace {

// A table's metadata is held here, by its tablet and, encoded, by the manifest.
constexpr size_t kMetaCopies = 3;

// Start of everything after the data blocks.
uint64_t tail_begin(const TableFooter& footer) {
  for (const BlockHandle* h : {&footer.filter, &footer.ranges, &footer.meta}) {
    if (h->size != 0) return h->offset;
  }
  return footer.index.offset;
}

std::unexpected<Error> malformed(Bytes what, BlobId blob, const BlockHandle& handle) {
  return fail(Errc::data_loss, "the {} of {} is malformed", what, block_name(blob, handle.offset));
}

// Yields if there is a `work`.
Async<void> yield_if_over(Background::Work* work) {
  if (work != nullptr && work->over()) co_await work->begin();
}

}  // namespace

uint64_t TableReader::data_end() const {
  for (const IndexSection& section : meta_.sections) {
    if (section.root.size != 0) return section.offset;
  }
  for (const BlockHandle* h : {&footer_.filter, &footer_.ranges, &meta_.dictionary}) {
    if (h->size != 0) return h->offset;
  }
  return tail_begin(footer_);
}

Async<Result<std::string>> read_blob(Blob& blob, uint64_t offset, size_t size, IoClass io_class) {
  Waiter waiter;
  BlobRead read;
  read.offset = offset;
  read.size = size;
  read.io_class = io_class;
  read.context = &waiter;
  read.done = [](BlobRead& r) { static_cast<Waiter*>(r.context)->resume(); };
  blob.submit(read);
  co_await waiter.wait();
  if (read.error) co_return std::unexpected(*read.error);
  co_return std::string(read.data);
}

Async<Result<std::unique_ptr<TableReader>>> TableReader::open(std::unique_ptr<Blob> blob,
                                                              BlockLoader& loader,
                                                              Background::Work* work) {
  std::unique_ptr<TableReader> reader(new TableReader(std::move(blob), loader));
  Blob& from = reader->blob();
  const uint64_t size = from.size();
  if (size < kTableHeaderBytes + kTableFooterBytes) {
    co_return fail(Errc::data_loss, "blob {:016x} has {} bytes, too few for a table",
                   from.id().value(), size);
  }
  uint64_t begin = size - std::min<uint64_t>(size, kTailReadBytes);
  CO_TRY(std::string tail, co_await read_blob(from, begin, size - begin, IoClass::read));
  const Bytes footer = Bytes(tail).substr(tail.size() - kTableFooterBytes);
  CO_TRY(reader->footer_, decode_table_footer(footer, from.id(), size));
  const uint64_t wanted = tail_begin(reader->footer_);
  if (wanted < begin && size - wanted <= kPieceBytes) {
    CO_TRY(std::string rest, co_await read_blob(from, wanted, begin - wanted, IoClass::read));
    tail.insert(0, rest);
    begin = wanted;
  }
  CO_TRY_VOID(co_await reader->load(tail, begin, work));
  co_return reader;
}

std::unique_ptr<TableReader> TableReader::lost(std::unique_ptr<Blob> blob, BlockLoader& loader,
                                               TableMeta meta, Error damage) {
  std::unique_ptr<TableReader> reader(new TableReader(std::move(blob), loader));
  reader->meta_ = std::move(meta);
  reader->meta_.dictionary = {};
  reader->index_.open_lost();
  reader->slots_ = std::make_unique<BlockSlot[]>(reader->index_.blocks());
  reader->damage_ = std::move(damage);
  reader->lost_ = true;
  return reader;
}

void TableReader::expect_walk(size_t i) const {
  if (top_index_ != nullptr) return;
  if (i + 1 < index_.blocks()) BlockCache::expect(slots_[i + 1]);
  const BlockRef block = slots_[i].peek();
  if (!block) return;
  const Bytes contents = block->contents();
  const size_t bytes = std::min(contents.size(), kWalkBytes);
  for (size_t at = 0; at < bytes; at += BlockCache::kLineBytes)
    __builtin_prefetch(contents.data() + at);
  __builtin_prefetch(contents.data() + contents.size() - 1);  // the number of restarts
}

// A block of the tail in memory.
struct TableReader::Part {
  explicit Part(const BlockHandle& place) : handle(place) {}
  BlockHandle handle;
  std::string memory;  // backing of `contents` if that is not the tail
  Bytes contents;
};

Async<Result<void>> TableReader::read(Part& part, Bytes tail, uint64_t tail_offset,
                                      Background::Work* work) {
  const BlockHandle& handle = part.handle;
  Bytes stored;
  if (handle.offset >= tail_offset) {
    stored = tail.substr(handle.offset - tail_offset, handle.size);
  } else {
    part.memory.reserve(handle.size);
    while (part.memory.size() < handle.size) {
      const size_t at = part.memory.size();
      const size_t bytes = std::min<size_t>(kPieceBytes, handle.size - at);
      CO_TRY(const std::string piece,
             co_await read_blob(blob(), handle.offset + at, bytes, IoClass::read));
      part.memory += piece;
    }
    stored = part.memory;
  }
  RawBlockChecker raw(stored, id(), handle.offset);
  if (raw.is_packed()) {
    CO_TRY(std::string unpacked, read_block(stored, id(), handle.offset));
    part.memory = std::move(unpacked);
    part.contents = part.memory;
    co_return Result<void>();
  }
  if (work != nullptr && stored.size() > RawBlockAppender::kPieceBytes) co_await work->begin();
  while (!raw.step()) co_await yield_if_over(work);
  if (work != nullptr) work->end();
  CO_TRY(part.contents, raw.contents());
  co_return Result<void>();
}

Async<Result<void>> TableReader::load_index(Bytes contents, uint64_t data_end,
                                            Background::Work* work) {
  if (contents.size() <= RawBlockAppender::kPieceBytes) work = nullptr;
  if (work != nullptr) co_await work->begin();
  TableIndexOpener opener(index_, contents, data_end);
  while (!opener.step()) co_await yield_if_over(work);
  if (work != nullptr) work->end();
  if (opener.ok()) co_return Result<void>();
  co_return malformed("index", id(), footer_.index);
}

Async<Result<void>> TableReader::load_top_index(Bytes contents, Background::Work* work) {
  const auto inner = TopLevelIndex::inner(contents, data_end());
  if (!inner) co_return malformed("top-level index", id(), footer_.index);
  CO_TRY_VOID(co_await load_index(inner->index, inner->data_end, work));
  top_index_ = std::make_unique<TopLevelIndex>();
  if (top_index_->open(contents, index_, data_end())) co_return Result<void>();
  co_return malformed("top-level index", id(), footer_.index);
}

Async<Result<void>> TableReader::load_filter(const BlockHandle& handle, Filter& into, Bytes tail,
                                             uint64_t tail_offset, Background::Work* work) {
  if (handle.size == 0) co_return Result<void>();
  if (handle.offset < kTableHeaderBytes || handle.offset > footer_.meta.offset ||
      handle.size > footer_.meta.offset - handle.offset || handle.size <= kBlockTrailerBytes) {
    co_return malformed("place of a filter", id(), footer_.meta);
  }
  Part part(handle);
  CO_TRY_VOID(co_await read(part, tail, tail_offset, work));
  if (!into.begin(part.contents)) co_return malformed("filter", id(), handle);
  if (part.contents.size() <= RawBlockAppender::kPieceBytes) work = nullptr;
  if (work != nullptr) co_await work->begin();
  while (!into.step()) co_await yield_if_over(work);
  if (work != nullptr) work->end();
  co_return Result<void>();
}

// The dictionary lies between the data and the meta block, which has its handle.
Async<Result<void>> TableReader::load_dictionary(Bytes tail, uint64_t tail_offset) {
  const BlockHandle& handle = meta_.dictionary;
  if (handle.offset < kTableHeaderBytes || handle.offset >= footer_.meta.offset ||
      handle.size > footer_.meta.offset - handle.offset ||
      handle.size > kMaxDictionaryBytes + kBlockTrailerBytes) {
    co_return malformed("dictionary", id(), handle);
  }
  Part part(handle);
  CO_TRY_VOID(co_await read(part, tail, tail_offset, nullptr));
  if (!can_be_dictionary(part.contents)) co_return malformed("dictionary", id(), handle);
  loader_.add_dictionary(id(), part.contents);
  dictionary_bytes_ = part.contents.size();
  co_return Result<void>();
}

Async<Result<void>> TableReader::load(Bytes tail, uint64_t tail_offset, Background::Work* work) {
  Part meta(footer_.meta);
  CO_TRY_VOID(co_await read(meta, tail, tail_offset, work));
  CO_TRY(meta_, decode_table_meta(meta.contents));
  meta_.file_bytes = blob().size();
  CO_TRY_VOID(check_sections());
  if (meta_.dictionary.size != 0) CO_TRY_VOID(co_await load_dictionary(tail, tail_offset));
  Part index(footer_.index);
  CO_TRY_VOID(co_await read(index, tail, tail_offset, work));
  if (footer_.index_in_parts) {
    CO_TRY_VOID(co_await load_top_index(index.contents, work));
  } else {
    CO_TRY_VOID(co_await load_index(index.contents, data_end(), work));
  }
  if (blocks() != meta_.blocks) co_return malformed("index", id(), footer_.index);
  CO_TRY_VOID(co_await load_filter(footer_.filter, filter_, tail, tail_offset, work));
  CO_TRY_VOID(co_await load_filter(meta_.column_filter, columns_, tail, tail_offset, work));
  if (footer_.ranges.size != 0) {
    Part ranges(footer_.ranges);
    CO_TRY_VOID(co_await read(ranges, tail, tail_offset, work));
    if (!decode_ranges(ranges.contents, ranges_))
      co_return malformed("range deletes", id(), footer_.ranges);
  }
  memory_bytes_ = sizeof *this + kMetaCopies * meta_.heap_bytes() + dictionary_bytes_ +
                  index_.memory_bytes() + filter_.memory_bytes() + columns_.memory_bytes() +
                  ranges_.capacity() * sizeof(RangeTombstone);
  if (top_index_) {
    memory_bytes_ += top_index_->memory_bytes();
  } else {
    slots_ = std::make_unique<BlockSlot[]>(index_.blocks());
    memory_bytes_ += index_.blocks() * sizeof(BlockSlot);
  }
  loader_.cache().charge(memory_bytes_);
  co_return Result<void>();
}

// Sections lie one behind the other, before everything else that follows the data.
Result<void> TableReader::check_sections() const {
  uint64_t end = kTableHeaderBytes;
  for (const IndexSection& section : meta_.sections) {
    if (section.root.size == 0) continue;
    const uint64_t after = tail_begin(footer_);
    if (section.offset < end || section.root.offset > after || section.root.end() > after) {
      return malformed("place of an index section", id(), footer_.meta);
    }
    end = section.root.end();
  }
  return {};
}

const TableIndex& TableReader::index() const {
  CHECK(!top_index_, "blob {} has its index in parts", id());
  return index_;
}

bool TableReader::open_part(const BlockRef& block, size_t number, IndexPartition& into) const {
  return into.open(block->contents(), index_.raw_bytes(number), index_.handle(number).offset);
}

// Deletes of the row or of a column's family may cover the columns.
template <class Known>
bool TableReader::may_contain_columns(const RowProbe& probe, Known known) const {
  return probe.any_column(known) || (meta_.row_deletes != 0 && known({}, probe.hash())) ||
         (meta_.family_deletes != 0 && probe.any_family(known));
}

bool TableReader::may_contain_columns(const RowProbe& probe) const {
  return may_contain_columns(probe,
                             [this](Bytes, uint64_t hash) { return columns_.may_contain(hash); });
}

bool TableReader::has_cached_block(size_t i) const {
  if (!top_index_) return has_cached(index_.handle(i).offset);
  const size_t number = top_index_->part_of(i);
  const BlockRef block = top_index_->slot(number).peek();
  IndexPartition part;
  return block && open_part(block, number, part) &&
         has_cached(part.handle(i - top_index_->first_block(number)).offset);
}

bool TableReader::part_may_contain(const RowProbe& probe) {
  if (index_.blocks() == 0) return false;
  const size_t number = index_.find(probe.row_prefix());
  const BlockRef block = cached_part(number);
  IndexPartition part;
  return !block || !open_part(block, number, part) || may_contain(probe, part, number);
}

// The part's row filter has the rows with an entry in it; its column filter says something about
// rows that do not continue in the next part.
bool TableReader::may_contain(const RowProbe& probe, const IndexPartition& part,
                              size_t number) const {
  if (!part.may_contain_row(probe.hash())) return false;
  if (!probe.has_columns()) return true;
  if (number + 1 < index_.blocks() &&
      index_.separator(number + 1).starts_with(probe.row_prefix())) {
    return true;
  }
  return may_contain_columns(probe,
                             [&part](Bytes, uint64_t hash) { return part.may_contain_key(hash); });
}

TableReader::~TableReader() {
  if (dictionary_bytes_ > 0) loader_.remove_dictionary(id());
  loader_.cache().release(memory_bytes_);
  loader_.cache().forget(id(), std::move(slots_));
}

}  // namespace cellar::engine
