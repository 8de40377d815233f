#include "engine/sstable/table_reader.h"

#include <algorithm>

#include "io/runtime/waiter.h"

namespace cellar::engine {
namespace {

// Everything behind the data blocks begins here.
uint64_t tail_begin(const TableFooter& footer) {
  for (const BlockHandle* h : {&footer.filter, &footer.ranges, &footer.meta}) {
    if (h->size != 0) return h->offset;
  }
  return footer.index.offset;
}

std::unexpected<Error> malformed(Bytes what, BlobId blob, const BlockHandle& handle) {
  return fail(Errc::data_loss, "the {} of {} is malformed", what, block_name(blob, handle.offset));
}

}  // namespace

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
                                                              BlockLoader& loader) {
  std::unique_ptr<TableReader> reader(new TableReader(std::move(blob), loader));
  Blob& from = *reader->blob_;
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
  if (wanted < begin) {
    CO_TRY(std::string rest, co_await read_blob(from, wanted, begin - wanted, IoClass::read));
    tail.insert(0, rest);
    begin = wanted;
  }
  CO_TRY_VOID(reader->load(tail, begin));
  co_return reader;
}

Result<std::string> TableReader::block(const BlockHandle& handle, Bytes tail,
                                       uint64_t tail_offset) const {
  return read_block(tail.substr(handle.offset - tail_offset, handle.size), id(), handle.offset);
}

Result<void> TableReader::load(Bytes tail, uint64_t tail_offset) {
  TRY(const std::string meta, block(footer_.meta, tail, tail_offset));
  TRY(meta_, decode_table_meta(meta));
  meta_.file_bytes = blob_->size();
  TRY(const std::string index, block(footer_.index, tail, tail_offset));
  if (!index_.open(index, tail_begin(footer_)) || index_.blocks() != meta_.blocks) {
    return malformed("index", id(), footer_.index);
  }
  if (footer_.filter.size != 0) {
    TRY(const std::string filter, block(footer_.filter, tail, tail_offset));
    if (!filter_.open(filter)) return malformed("filter", id(), footer_.filter);
  }
  if (footer_.ranges.size != 0) {
    TRY(const std::string ranges, block(footer_.ranges, tail, tail_offset));
    if (!decode_ranges(ranges, ranges_)) return malformed("range deletes", id(), footer_.ranges);
  }
  slots_ = std::make_unique<BlockSlot[]>(index_.blocks());
  memory_bytes_ = sizeof *this + index_.blocks() * sizeof(BlockSlot) + index_.memory_bytes() +
                  filter_.memory_bytes() + ranges_.capacity() * sizeof(StampedRange);
  loader_.cache().charge(memory_bytes_);
  return {};
}

TableReader::~TableReader() { loader_.cache().release(memory_bytes_); }

}  // namespace cellar::engine
