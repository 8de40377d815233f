#include <gtest/gtest.h>

#include "io/base/random.h"
#include "net/wire/chunk_builder.h"
#include "net/wire/read_codec.h"
#include "net/wire/rule_codec.h"
#include "net/wire/status.h"
#include "net/wire/write_codec.h"
#include "tests/net/wire/aligned_body.h"
#include "tests/net/wire/wire_bodies.h"

namespace cellar::wire {
namespace {

Result<void> decode_row(const std::string& body, DecodedWrites& out,
                        std::vector<uint64_t>& aligned) {
  const auto* root = root_of<fb::MutateRowRequest>(body, aligned);
  if (root == nullptr) return fail(Errc::data_loss, "not verified");
  return decode(*root, out);
}

TEST(Body, IsAMultipleOfEightAndKnowsItsRoot) {
  const std::string body = set_body("t", "r", "f", "q", "v", 5000);
  EXPECT_EQ(body.size() % 8, 0u);
  std::vector<uint64_t> aligned;
  EXPECT_NE(root_of<fb::MutateRowRequest>(body, aligned), nullptr);
  EXPECT_EQ(root_of<fb::MutateRowsRequest>(body, aligned), nullptr);
}

TEST(Body, CutAnywhereOrFlippedAnywhereNeverReadsOutside) {
  const std::string body = set_body("table", "row", "family", "qualifier", "value", 5000);
  std::vector<uint64_t> aligned;
  DecodedWrites out;
  for (size_t n = 0; n < body.size(); ++n) (void)decode_row(body.substr(0, n), out, aligned);
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string bent = body;
    for (uint64_t k = 0; k <= random.below(3); ++k) {
      bent[random.below(bent.size())] = static_cast<char>(random.next());
    }
    (void)decode_row(bent, out, aligned);
  }
}

TEST(MutateRow, ViewsTheBodyWithoutCopies) {
  std::vector<uint64_t> aligned;
  DecodedWrites out;
  ASSERT_TRUE(decode_row(set_body("t", "row", "fam", "qual", "value", 7000), out, aligned));
  ASSERT_EQ(out.rows.size(), 1u);
  const RowMutation row = out.mutation(0);
  EXPECT_EQ(row.row, "row");
  ASSERT_EQ(row.mutations.size(), 1u);
  EXPECT_EQ(row.mutations[0].family, "fam");
  EXPECT_EQ(row.mutations[0].qualifier, "qual");
  EXPECT_EQ(row.mutations[0].value, "value");
  EXPECT_EQ(row.mutations[0].timestamp_us, 7000);
  EXPECT_EQ(out.target.table, "t");
  EXPECT_FALSE(out.target.level);
  const char* begin = reinterpret_cast<const char*>(aligned.data());
  EXPECT_GE(row.row.data(), begin);
  EXPECT_LT(row.row.data(), begin + aligned.size() * 8);
}

fb::MutationRec rec(fb::MutationKind kind, uint8_t flags = 0, int64_t at = 0, int64_t until = 0) {
  const fb::Span none(0, 0);
  return fb::MutationRec(at, until, none, none, none, static_cast<uint8_t>(kind), flags, 0, 0);
}

Errc code_of(const std::vector<fb::MutationRec>& recs) {
  std::vector<uint64_t> aligned;
  DecodedWrites out;
  const auto decoded = decode_row(mutate_row_body("t", "r", ArenaText(), recs), out, aligned);
  return decoded ? Errc::ok : decoded.error().code;
}

TEST(MutateRow, MalformedRecordsAreRefused) {
  using K = fb::MutationKind;
  EXPECT_EQ(code_of({rec(K::DeleteFromRow)}), Errc::ok);
  EXPECT_EQ(code_of({rec(static_cast<K>(0))}), Errc::invalid_argument);
  EXPECT_EQ(code_of({rec(static_cast<K>(5))}), Errc::invalid_argument);
  EXPECT_EQ(code_of({rec(K::SetCell, 1 << 3)}), Errc::invalid_argument);
  EXPECT_EQ(code_of({rec(K::SetCell, 1 << 5)}), Errc::invalid_argument);
  EXPECT_EQ(code_of({rec(K::DeleteFromFamily, 1)}), Errc::invalid_argument);
  EXPECT_EQ(code_of({rec(K::SetCell, 1 << 1 | 1 << 2)}), Errc::invalid_argument);
  const fb::Span none(0, 0);
  const fb::Span outside(0, 2);  // the arena contains only the row key of one byte
  const fb::Span wraps(0xffffffff, 0xffffffff);
  for (const fb::Span& bad : {outside, wraps}) {
    const auto kind = static_cast<uint8_t>(K::SetCell);
    EXPECT_EQ(code_of({fb::MutationRec(0, 0, bad, none, none, kind, 0, 0, 0)}),
              Errc::invalid_argument);
    EXPECT_EQ(code_of({fb::MutationRec(0, 0, none, bad, none, kind, 0, 0, 0)}),
              Errc::invalid_argument);
    EXPECT_EQ(code_of({fb::MutationRec(0, 0, none, none, bad, kind, 0, 0, 0)}),
              Errc::invalid_argument);
  }
}

TEST(MutateRow, ASmallFrameCannotStandForALargeWrite) {
  ArenaText arena;
  const fb::Span value = arena.put(std::string(1000, 'v'));
  const fb::Span none(0, 0);
  std::vector<fb::MutationRec> recs;
  for (int i = 0; i < 3; ++i) {
    recs.emplace_back(0, 0, none, none, value, static_cast<uint8_t>(fb::MutationKind::SetCell), 0,
                      0, 0);
  }
  std::vector<uint64_t> aligned;
  DecodedWrites out;
  EXPECT_FALSE(decode_row(mutate_row_body("t", "r", arena, recs), out, aligned));
}

TEST(MutateRow, OwnExpiryIsDecodedAndTheSentinelsCannotBeSent) {
  const auto sent = [](uint8_t flags, int64_t until) {
    ArenaText arena;
    std::vector<fb::MutationRec> recs{rec(fb::MutationKind::SetCell, flags, 0, until)};
    std::vector<uint64_t> bytes;
    DecodedWrites decoded;
    EXPECT_TRUE(decode_row(mutate_row_body("t", "", arena, recs), decoded, bytes));
    return decoded.mutations[0];
  };
  constexpr uint8_t kExpireAt = 1 << 1;
  constexpr uint8_t kTtl = 1 << 2;
  EXPECT_EQ(sent(kExpireAt, 1000).expire_at_us, 1000);
  EXPECT_EQ(sent(kExpireAt, 1000).ttl_us, kNoTtl);
  EXPECT_EQ(sent(kExpireAt, INT64_MAX).expire_at_us, kLastExpiryUs);
  EXPECT_EQ(sent(kTtl, 1000).ttl_us, 1000);
  EXPECT_EQ(sent(kTtl, 1000).expire_at_us, kNoExpiry);
  EXPECT_EQ(sent(kTtl, kNoTtl).ttl_us, -1) << "refused for form later";
  EXPECT_EQ(sent(0, 1000).expire_at_us, kNoExpiry);
  std::vector<uint64_t> aligned;
  DecodedWrites out;
  ASSERT_TRUE(decode_row(set_body("t", "r", "f", "q", "v", kServerStamped), out, aligned));
  EXPECT_NE(out.mutations[0].timestamp_us, kServerStamped);
  EXPECT_LT(out.mutations[0].timestamp_us, 0);
}

std::string mutate_rows_body(const std::vector<uint32_t>& counts, size_t recs) {
  flatbuffers::FlatBufferBuilder builder;
  ArenaText arena;
  std::vector<fb::EntryRec> entries;
  for (const uint32_t count : counts) {
    entries.emplace_back(arena.put("r"), fb::Span(0, 0), 0, count, 0);
  }
  const std::vector<fb::MutationRec> list(recs, rec(fb::MutationKind::DeleteFromRow));
  const auto name = builder.CreateString("t");
  const auto e = builder.CreateVectorOfStructs(entries);
  const auto m = builder.CreateVectorOfStructs(list);
  const auto bytes = bytes_vector(builder, arena.bytes);
  return std::string(finish_body(builder, fb::CreateMutateRowsRequest(builder, name, e, m, bytes)));
}

TEST(MutateRows, EntriesShareOutAllOperationsAndNoMore) {
  std::vector<uint64_t> aligned;
  DecodedWrites out;
  const auto code = [&](const std::vector<uint32_t>& counts, size_t recs) {
    const std::string body = mutate_rows_body(counts, recs);
    const auto* root = root_of<fb::MutateRowsRequest>(body, aligned);
    const auto decoded = decode(*root, out);
    return decoded ? Errc::ok : decoded.error().code;
  };
  EXPECT_EQ(code({2, 0, 1}, 3), Errc::ok);
  ASSERT_EQ(out.rows.size(), 3u);
  EXPECT_EQ(out.mutation(0).mutations.size(), 2u);
  EXPECT_EQ(out.mutation(1).mutations.size(), 0u);
  EXPECT_EQ(out.rows[2].first, 2u);
  EXPECT_EQ(code({2, 2}, 3), Errc::invalid_argument);
  EXPECT_EQ(code({1}, 3), Errc::invalid_argument);
  EXPECT_EQ(code({}, 0), Errc::invalid_argument);
  EXPECT_EQ(code({0xffffffff}, 1), Errc::invalid_argument);
}

TEST(MutateRows, ABatchHasSoManyEntriesAndNoMore) {
  std::vector<uint64_t> aligned;
  DecodedWrites out;
  const auto decoded = [&](size_t entries) {
    const std::string body = mutate_rows_body(std::vector<uint32_t>(entries, 0), 0);
    return decode(*root_of<fb::MutateRowsRequest>(body, aligned), out);
  };
  EXPECT_TRUE(decoded(kMaxBatchEntries));
  const auto more = decoded(kMaxBatchEntries + 1);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, Errc::invalid_argument);
  EXPECT_EQ(more.error().message, "the request has 100001 entries, the limit is 100000");
}

TEST(Drop, TakesAPrefixOrBounds) {
  const auto code = [](const char* prefix, const char* start, const char* end) {
    flatbuffers::FlatBufferBuilder builder;
    const auto vector = [&](const char* s) {
      return s == nullptr ? flatbuffers::Offset<flatbuffers::Vector<uint8_t>>()
                          : bytes_vector(builder, s);
    };
    const auto p = vector(prefix);
    const auto s = vector(start);
    const auto e = vector(end);
    builder.Finish(fb::CreateDropRowRangeRequest(builder, 0, p, s, e));
    DecodedDrop drop;
    const auto* root = flatbuffers::GetRoot<fb::DropRowRangeRequest>(builder.GetBufferPointer());
    const auto decoded = decode(*root, drop);
    return decoded ? Errc::ok : decoded.error().code;
  };
  EXPECT_EQ(code("p", nullptr, nullptr), Errc::ok);
  EXPECT_EQ(code("", nullptr, nullptr), Errc::invalid_argument);
  EXPECT_EQ(code(nullptr, nullptr, nullptr), Errc::invalid_argument);
  EXPECT_EQ(code("p", "a", nullptr), Errc::invalid_argument);
  EXPECT_EQ(code(nullptr, "a", "a"), Errc::ok);
  EXPECT_EQ(code(nullptr, "b", "a"), Errc::invalid_argument);
  EXPECT_EQ(code(nullptr, "b", nullptr), Errc::ok);
  const std::string longest(kMaxRowKeyBytes, 'k');
  const std::string longer = longest + 'k';
  EXPECT_EQ(code(longest.c_str(), nullptr, nullptr), Errc::ok);
  EXPECT_EQ(code(longer.c_str(), nullptr, nullptr), Errc::invalid_argument);
  EXPECT_EQ(code(nullptr, longest.c_str(), nullptr), Errc::ok);
  EXPECT_EQ(code(nullptr, longer.c_str(), nullptr), Errc::invalid_argument);
  EXPECT_EQ(code(nullptr, "a", longer.c_str()), Errc::invalid_argument);
}

TEST(Rule, FormIsChecked) {
  const auto code = [](const std::vector<fb::RuleNode>& nodes) {
    flatbuffers::FlatBufferBuilder builder;
    const auto list = builder.CreateVectorOfStructs(nodes);
    const auto name = builder.CreateString("f");
    builder.Finish(fb::CreateFamilySpec(builder, name, true, list));
    const auto* root = flatbuffers::GetRoot<fb::FamilySpec>(builder.GetBufferPointer());
    const auto rule = decode_rule(root->rule());
    if (!rule) return rule.error().code;
    const auto again = encode_rule(*rule);
    const auto bytes = [](const std::vector<fb::RuleNode>& of) {
      return Bytes(reinterpret_cast<const char*>(of.data()), of.size() * sizeof(fb::RuleNode));
    };
    EXPECT_EQ(bytes(again), bytes(nodes));
    return Errc::ok;
  };
  const auto node = [](fb::RuleKind kind, int64_t value, uint32_t children = 0) {
    return fb::RuleNode(value, children, static_cast<uint8_t>(kind), 0, 0);
  };
  using K = fb::RuleKind;
  EXPECT_EQ(code({}), Errc::ok);
  EXPECT_EQ(code({node(K::MaxVersions, 1)}), Errc::ok);
  EXPECT_EQ(code({node(K::MaxVersions, 0)}), Errc::invalid_argument);
  EXPECT_EQ(code({node(K::MaxAge, 1000)}), Errc::ok);
  EXPECT_EQ(code({node(K::MaxAge, 999)}), Errc::invalid_argument);
  EXPECT_EQ(code({node(K::Union, 0, 0)}), Errc::invalid_argument);
  EXPECT_EQ(code({node(K::Union, 0, 1), node(K::MaxVersions, 0)}), Errc::invalid_argument);
  EXPECT_EQ(code({node(K::Union, 0, 2), node(K::MaxVersions, 2)}), Errc::invalid_argument);
  std::vector<fb::RuleNode> deep(kMaxRuleDepth, node(K::Union, 0, 1));
  deep.push_back(node(K::MaxVersions, 1));
  EXPECT_EQ(code(deep), Errc::ok);
  deep.insert(deep.begin(), node(K::Union, 0, 1));
  EXPECT_EQ(code(deep), Errc::invalid_argument);
}

TEST(Status, RoundTrip) {
  flatbuffers::FlatBufferBuilder builder;
  Error error(Errc::resource_exhausted, "no room");
  error.retry_after_ms = 20;
  error.applied = Applied::maybe_applied;
  const TabletHint hint{TableId{1}, TabletId{2}, Epoch{3}, 4, {}};
  const Bytes body = build_status(builder, error, &hint);
  const auto* status = verified<fb::Status>(body);
  ASSERT_NE(status, nullptr);
  const Error back = error_of(*status);
  EXPECT_EQ(back.code, error.code);
  EXPECT_EQ(back.applied, error.applied);
  EXPECT_EQ(back.retry_after_ms, 20u);
  EXPECT_EQ(back.message, "no room");
  EXPECT_EQ(status->tablet_id(), 2u);
}

TEST(ChunkBuilder, ABodyInTwoPartsIsOneOfTheSameSizeWhateverTheArena) {
  for (size_t size = 0; size < 40; ++size) {
    const std::string value(size, 'v');
    ChunkBuilder chunk;
    chunk.tell(true, false);
    CellNote note;
    CellView cell{"row", "f", "q", 1, value};
    cell.note = &note;
    chunk.cell(cell);
    chunk.end_row("row");
    const BodyParts parts = chunk.finish();
    EXPECT_TRUE(parts.tail.starts_with("rowfq" + value));
    EXPECT_EQ(parts.size() % 8, 0u) << "nothing is missing";
    const std::string body = joined(parts);
    const auto* read = verified<fb::ReadChunk>(body);
    ASSERT_NE(read, nullptr) << size;
    EXPECT_EQ(bytes_of(read->arena()), "rowfq" + value);
    EXPECT_EQ(read->expiry()->size(), 1u);
    EXPECT_TRUE(chunk.empty());
    EXPECT_EQ(chunk.bytes(), 0u);
  }
}

TEST(ChunkBuilder, ARowMaySpanChunksAndSharesItsNames) {
  ChunkBuilder chunk(100);
  const CellView cell{"row", "family", "qualifier", 5, "0123456789"};
  EXPECT_EQ(chunk.cell(cell), CellSink::Flow::more);
  EXPECT_EQ(chunk.cell(cell), CellSink::Flow::pause);
  std::string body = joined(chunk.finish());
  const auto* first = verified<fb::ReadChunk>(body);
  ASSERT_NE(first, nullptr);
  ASSERT_EQ(first->rows()->size(), 1u);
  EXPECT_EQ(first->rows()->Get(0)->flags(), 0);
  EXPECT_EQ(first->rows()->Get(0)->cell_count(), 2u);
  EXPECT_EQ(first->cells()->Get(0)->family_at(), first->cells()->Get(1)->family_at());
  EXPECT_TRUE(chunk.in_row());

  chunk.cell(cell);
  chunk.end_row("row");
  body = joined(chunk.finish());
  const auto* second = verified<fb::ReadChunk>(body);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->rows()->Get(0)->flags(), static_cast<uint16_t>(fb::RowFlag::Continued) |
                                                 static_cast<uint16_t>(fb::RowFlag::Complete));
  EXPECT_EQ(bytes_of(second->arena()), "rowfamilyqualifier0123456789") << "nothing of the first";
  EXPECT_EQ(chunk.rows(), 1u);
  EXPECT_EQ(chunk.cells(), 3u);
}

TEST(ChunkBuilder, ARowEndWithoutCellsIsAChunkThatCanBeRead) {
  for (size_t size = 1; size <= 16; ++size) {
    const std::string row(size, 'r');
    ChunkBuilder chunk(1);
    chunk.cell({row, "f", "q", 1, "v"});
    chunk.finish();
    chunk.end_row(row);
    const std::string bytes = joined(chunk.finish());
    const auto* body = verified<fb::ReadChunk>(bytes);
    ASSERT_NE(body, nullptr) << size;
    EXPECT_EQ(body->cells()->size(), 0u);
    EXPECT_TRUE(well_aligned(body->cells())) << size;
    EXPECT_EQ(body->rows()->Get(0)->flags(), 3) << size;
  }
}

TEST(ChunkBuilder, ARowThatEndsWithAChunkIsEndedInTheNext) {
  ChunkBuilder chunk(10);
  EXPECT_EQ(chunk.cell({"r", "f", "q", 1, "0123456789"}), CellSink::Flow::pause);
  (void)chunk.finish();
  chunk.end_row("r");
  const std::string body = joined(chunk.finish());
  const auto* next = verified<fb::ReadChunk>(body);
  ASSERT_EQ(next->rows()->size(), 1u);
  EXPECT_EQ(next->rows()->Get(0)->cell_count(), 0u);
  EXPECT_EQ(next->rows()->Get(0)->flags(), static_cast<uint16_t>(fb::RowFlag::Continued) |
                                               static_cast<uint16_t>(fb::RowFlag::Complete));
}

}  // namespace
}  // namespace cellar::wire
