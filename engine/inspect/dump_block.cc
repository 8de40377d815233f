#include "engine/inspect/dump_block.h"

#include "engine/sstable/format.h"

namespace cellar::engine {

Async<Result<void>> BlockDump::read(uint64_t offset, size_t size) {
  bytes_.assign(size, '\0');
  const std::span<std::byte> into = std::as_writable_bytes(std::span(bytes_));
  CO_TRY(const size_t got, co_await read_at(file_, offset, into, IoClass::read));
  if (got < size) dump_.problem(fmt::format("the file ends at {}", offset + got));
  co_return Result<void>();
}

std::optional<std::string> BlockDump::open_block(uint64_t offset, const std::string& name) {
  Result<CheckedBlock> checked = check_block(bytes_, blob_, offset);
  const bool packed = checked && checked->type != BlockType::raw;
  static constexpr Bytes kPacked[] = {"raw", "lz4", "zstd", "zstd with dictionary"};
  dump_.section(offset, bytes_.size(),
                packed
                    ? fmt::format("{} ({}; offsets in the {} bytes unpacked)", name,
                                  kPacked[static_cast<size_t>(checked->type)], checked->raw_bytes)
                    : name);
  in_file_ = packed ? 0 : offset;
  Result<std::string> contents = read_block(bytes_, blob_, offset, dictionary_);
  if (!contents) {
    dump_.problem(contents.error().message);
    return std::nullopt;
  }
  return *std::move(contents);
}

void BlockDump::show_trailer(uint64_t offset) {
  const Bytes trailer = Bytes(bytes_).substr(bytes_.size() - kBlockTrailerBytes);
  dump_.field(offset + bytes_.size() - kBlockTrailerBytes, trailer, "type, checksum");
}

}  // namespace cellar::engine
