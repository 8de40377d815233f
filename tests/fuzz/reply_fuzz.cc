// A malicious node: the client's decoders get bodies of every kind of answer.
#include "net/client/codec/decode.h"
#include "net/wire/chunk_builder.h"
#include "net/wire/rule_codec.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/net/wire/aligned_body.h"

namespace cellar::fuzz {

namespace fb = wire::fb;

namespace {

constexpr size_t kWord = sizeof(uint64_t);

// A body as in a receive buffer: aligned, in whole words.
class Body {
 public:
  explicit Body(Bytes bytes) : words_(bytes.size() / kWord) {
    if (!words_.empty()) std::memcpy(words_.data(), bytes.data(), words_.size() * kWord);
  }
  Bytes view() const {
    return {reinterpret_cast<const char*>(words_.data()), words_.size() * kWord};
  }

 private:
  std::vector<uint64_t> words_;
};

using Decode = void (*)(const client::Answer&);

template <auto kDecode>
void ask(const client::Answer& answer) {
  (void)kDecode(answer);
}

// Reads every byte of every cell.
size_t look_at(std::span<const client::Cell> cells) {
  size_t sum = 0;
  for (const client::Cell& cell : cells) {
    for (const Bytes part : {cell.family, cell.qualifier, cell.value, cell.labels})
      for (const char c : part) sum += static_cast<uint8_t>(c);
    if (cell.explained != nullptr) sum += cell.explained->dead ? 1 : 0;
  }
  return sum;
}

// Decodes a block of a read, once whole and once with its last row removed.
void decode_block(const client::Answer& answer) {
  auto block = client::CellBlock::decode(answer.last.body);
  if (!block) return;
  volatile size_t seen = 0;
  for (const client::RowPart& row : block->rows())
    seen = seen + row.key.size() + look_at(row.cells);
  if (block->empty()) return;
  const client::CellBlock last = block->split_last();
  seen = seen + look_at(last.cells()) + look_at(block->cells());
}

// Decodes the row of a point read, in two chunks.
void decode_row(const client::Answer& answer) {
  const std::vector<std::string> chunks = {std::string(answer.last.body),
                                           std::string(answer.last.body)};
  wire::Frame end{.header = answer.last.header, .body = {}};
  end.header.kind = wire::FrameKind::end;
  const auto row = client::decode_row({end, chunks});
  if (row && *row) look_at((*row)->cells());
}

void decode_status(const client::Answer& answer) {
  const auto* status = wire::verified<fb::Status>(answer.last.body);
  if (status == nullptr) return;
  (void)wire::error_of(*status);
  (void)wire::hint_of(*status);
}

void decode_progress(const client::Answer& answer) {
  (void)client::decode_progress(answer.last.body);
}

constexpr Decode kDecoders[] = {&decode_block,
                                &decode_row,
                                &decode_status,
                                &decode_progress,
                                &ask<&client::decode_hello>,
                                &ask<&client::decode_ping>,
                                &ask<&client::decode_info>,
                                &ask<&client::decode_clock>,
                                &ask<&client::decode_mutate>,
                                &ask<&client::decode_entries>,
                                &ask<&client::decode_drop>,
                                &ask<&client::decode_check>,
                                &ask<&client::decode_samples>,
                                &ask<&client::decode_list>,
                                &ask<&client::decode_table>,
                                &ask<&client::decode_reshape>,
                                &ask<&client::decode_tablets>,
                                &ask<&client::decode_history>,
                                &ask<&client::decode_audit>,
                                &ask<&client::decode_preview>};

void fuzz_reply(Bytes input) {
  const Choice choice = choose(input, std::size(kDecoders));
  const Body body(choice.rest);
  wire::Frame frame;
  frame.header.kind = wire::FrameKind::reply;
  frame.body = body.view();
  const std::vector<std::string> no_chunks;
  constexpr uint64_t kEntries = 3;  // of a batch
  kDecoders[choice.number]({frame, no_chunks, kEntries});
}

std::string block_seed() {
  wire::ChunkBuilder chunk;
  chunk.tell(true, true);
  for (const Bytes row : {"a", "b"}) {
    for (const int64_t timestamp_us : {2000, 1000}) {
      CellNote note;
      note.expire_at_us = 5000;
      CellView cell{row, "family", "qualifier", timestamp_us, "value"};
      cell.label = "label";
      cell.note = &note;
      chunk.cell(cell);
    }
    chunk.end_row(row);
  }
  return wire::joined(chunk.finish());
}

// `create` adds the root to a builder.
template <class Create>
std::string body_of(Create create) {
  flatbuffers::FlatBufferBuilder builder;
  return std::string(wire::finish_body(builder, create(builder)));
}

flatbuffers::Offset<flatbuffers::Vector<uint8_t>> arena_of(flatbuffers::FlatBufferBuilder& b) {
  return b.CreateVector(reinterpret_cast<const uint8_t*>("arena"), 5);
}

std::string table_seed() {
  return body_of([](flatbuffers::FlatBufferBuilder& b) {
    const std::vector<fb::RuleNode> nodes = wire::encode_rule(RetentionRule::union_of(
        {RetentionRule::max_versions(5), RetentionRule::max_age_us(7'000'000)}));
    const auto rule = b.CreateVectorOfStructs(nodes);
    const auto name = b.CreateString("family");
    fb::FamilySpecBuilder family(b);
    family.add_name(name);
    family.add_rule(rule);
    family.add_rule_given(true);
    const auto one = family.Finish();
    const auto families = b.CreateVector(&one, 1);
    const auto arena = arena_of(b);
    const auto table = b.CreateString("table");
    fb::TableDescriptionBuilder description(b);
    description.add_name(table);
    description.add_families(families);
    description.add_arena(arena);
    return description.Finish();
  });
}

std::string samples_seed() {
  return body_of([](flatbuffers::FlatBufferBuilder& b) {
    const fb::SampleRec samples[] = {fb::SampleRec(fb::Span(0, 3), 7), fb::SampleRec()};
    const auto list = b.CreateVectorOfStructs(samples, std::size(samples));
    const auto arena = arena_of(b);
    return fb::CreateSampleRowKeysReply(b, list, arena);
  });
}

std::string entries_seed() {
  return body_of([](flatbuffers::FlatBufferBuilder& b) {
    const fb::EntryFailure failures[] = {fb::EntryFailure(1, 20, fb::Span(0, 4), 14, 1, 0)};
    const auto list = b.CreateVectorOfStructs(failures, std::size(failures));
    const auto arena = arena_of(b);
    return fb::CreateMutateRowsReply(b, list, arena);
  });
}

template <class Root>
std::string empty_seed() {
  return body_of([](flatbuffers::FlatBufferBuilder& b) {
    return flatbuffers::Offset<Root>(b.EndTable(b.StartTable()));
  });
}

std::vector<std::string> reply_seeds() {
  flatbuffers::FlatBufferBuilder builder;
  const std::string status(
      wire::build_status(builder, Error(Errc::unavailable, "busy").retry_after(5)));
  const std::string bodies[] = {block_seed(),
                                block_seed(),
                                status,
                                empty_seed<fb::PreviewProgress>(),
                                empty_seed<fb::HelloReply>(),
                                empty_seed<fb::PingReply>(),
                                empty_seed<fb::ServerInfoReply>(),
                                empty_seed<fb::ClockReply>(),
                                empty_seed<fb::MutateRowReply>(),
                                entries_seed(),
                                empty_seed<fb::DropRowRangeReply>(),
                                empty_seed<fb::CheckAndMutateRowReply>(),
                                samples_seed(),
                                empty_seed<fb::ListTablesReply>(),
                                table_seed(),
                                empty_seed<fb::ReshapeReply>(),
                                empty_seed<fb::ListTabletsReply>(),
                                empty_seed<fb::RuleHistoryReply>(),
                                empty_seed<fb::AuditLogReply>(),
                                empty_seed<fb::PreviewRuleReply>()};
  static_assert(std::size(bodies) == std::size(kDecoders));
  std::vector<std::string> seeds;
  for (size_t i = 0; i < std::size(bodies); ++i) seeds.push_back(chosen(i, bodies[i]));
  return seeds;
}

}  // namespace

const FuzzTarget kReplyTarget = {"reply", &fuzz_reply, &reply_seeds};

}  // namespace cellar::fuzz
