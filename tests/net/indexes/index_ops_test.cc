// Definitions of indexes on the wire: created, altered, dropped, described, checked.
#include <gtest/gtest.h>

#include "tests/net/indexes/index_server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;

struct AlterIndexShape {
  bool max_age_given = false;
  std::optional<int64_t> max_age_us = {};
  std::optional<fb::TighterBase> tighter_base = {};
};
std::string alter_index_body(std::string_view index, const AlterIndexShape& shape) {
  flatbuffers::FlatBufferBuilder builder;
  const auto table = builder.CreateString("t");
  const auto name = builder.CreateString(index.data(), index.size());
  fb::AlterIndexRequestBuilder request(builder);
  request.add_table(table);
  request.add_name(name);
  request.add_max_age_given(shape.max_age_given);
  if (shape.max_age_us) request.add_max_age_us(*shape.max_age_us);
  if (shape.tighter_base) request.add_tighter_base(*shape.tighter_base);
  return std::string(wire::finish_body(builder, request.Finish()));
}

class IndexOps : public testing::Test, protected IndexBed {
 protected:
  IndexOps() { create_table({"m"}); }
  Errc create(const wire::CreateIndexShape& shape, std::string_view name = "i") {
    return peer.code_of(Op::CreateIndex, wire::create_index_body("t", name, shape));
  }
  Errc alter(const AlterIndexShape& shape) {
    return peer.code_of(Op::AlterIndex, alter_index_body("i", shape));
  }
  std::optional<Answer> described() {
    return peer.ask(Op::DescribeTable, wire::table_body("t", fb::CreateDescribeTableRequest));
  }
};

TEST_F(IndexOps, ADefinitionIsDescribedWithAllThatIsInForce) {
  auto created =
      peer.ask(Op::CreateIndex,
               wire::create_index_body("t", "i",
                                       {.parts = {fb::IndexPart::Value, fb::IndexPart::Time},
                                        .covered = {{"g", "p"}, {"f", "a"}},
                                        .type = fb::IndexType::Int64,
                                        .match = fb::IndexMatch::Any,
                                        .max_age_us = 5'000}));
  ASSERT_TRUE(created && !created->error()) << created->message();
  for (std::optional<Answer> answer : {std::move(created), described()}) {
    const auto* table = answer->root<fb::TableDescription>();
    ASSERT_NE(table, nullptr);
    ASSERT_EQ(table->indexes()->size(), 1u);
    const fb::IndexSpec& index = *table->indexes()->Get(0);
    EXPECT_EQ(wire::text(index.name()), "i");
    EXPECT_EQ(wire::text(index.family()), "f");
    EXPECT_EQ(wire::bytes_of(index.qualifier()), "q");
    ASSERT_EQ(index.parts()->size(), 2u);
    EXPECT_EQ(index.parts()->Get(0), fb::IndexPart::Value);
    EXPECT_EQ(index.parts()->Get(1), fb::IndexPart::Time);
    EXPECT_EQ(index.type(), fb::IndexType::Int64);
    EXPECT_EQ(index.match(), fb::IndexMatch::Any);
    EXPECT_EQ(index.max_age_us(), 5'000);
    EXPECT_EQ(index.tighter_base(), fb::TighterBase::Follow);
    ASSERT_EQ(index.covered()->size(), 2u);
    const Bytes arena = wire::bytes_of(index.arena());
    const fb::IndexColumnRec* first = index.covered()->Get(0);
    EXPECT_EQ(arena.substr(first->family().at(), first->family().size()), "f");
    EXPECT_EQ(arena.substr(first->qualifier().at(), first->qualifier().size()), "a");
  }
}

TEST_F(IndexOps, AnIndexOfAFamilyHasNoQualifierAndNoType) {
  ASSERT_EQ(create({.qualifier = std::nullopt, .parts = {fb::IndexPart::Time}}), Errc::ok);
  auto answer = described();
  const fb::IndexSpec& index = *answer->root<fb::TableDescription>()->indexes()->Get(0);
  EXPECT_EQ(index.qualifier(), nullptr);
  EXPECT_FALSE(index.type());
  EXPECT_FALSE(index.max_age_us());
}

TEST_F(IndexOps, RefusalsChangeNothing) {
  ASSERT_EQ(create({}), Errc::ok);
  EXPECT_EQ(create({}), Errc::already_exists);
  EXPECT_EQ(create({.family = "h"}, "j"), Errc::not_found);
  EXPECT_EQ(create({.covered = {{"h", "p"}}}, "j"), Errc::not_found);
  EXPECT_EQ(create({.covered = {{"f", "q"}}}, "j"), Errc::invalid_argument);
  EXPECT_EQ(create({.parts = {}}, "j"), Errc::invalid_argument);
  EXPECT_EQ(create({.parts = {static_cast<fb::IndexPart>(4)}}, "j"), Errc::invalid_argument);
  EXPECT_EQ(create({.parts = {static_cast<fb::IndexPart>(0)}}, "j"), Errc::invalid_argument);
  EXPECT_EQ(create({.type = static_cast<fb::IndexType>(2)}, "j"), Errc::invalid_argument);
  EXPECT_EQ(create({.match = static_cast<fb::IndexMatch>(2)}, "j"), Errc::invalid_argument);
  EXPECT_EQ(create({.max_age_us = 999}, "j"), Errc::invalid_argument);
  EXPECT_EQ(create({}, "a/b"), Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(Op::CreateIndex, wire::create_index_body("u", "i")), Errc::not_found);
  EXPECT_EQ(peer.code_of(Op::DropIndex, drop_index_body("t", "j")), Errc::not_found);
  EXPECT_EQ(peer.code_of(Op::DropIndex, drop_index_body("u", "i")), Errc::not_found);
  EXPECT_EQ(peer.code_of(Op::DescribeIndexes, describe_indexes_body("u")), Errc::not_found);
  EXPECT_EQ(described()->root<fb::TableDescription>()->indexes()->size(), 1u);
  for (int i = 1; i < 8; ++i) EXPECT_EQ(create({}, fmt::format("i{}", i)), Errc::ok);
  EXPECT_EQ(create({}, "ninth"), Errc::failed_precondition);
}

// Checked before anything is copied, and not echoed.
TEST_F(IndexOps, ADefinitionOfAnySizeIsRefusedBriefly) {
  const auto says = [this](const wire::CreateIndexShape& shape, std::string_view what) {
    auto answer = peer.ask(Op::CreateIndex, wire::create_index_body("t", "i", shape));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code(), Errc::invalid_argument);
    EXPECT_EQ(answer->message(), what);
  };
  says({.covered = std::vector(100'000, std::pair<std::string, std::string>("g", "p"))},
       "index 'i' covers 100000 columns; at most 15 are allowed");
  says({.parts = std::vector(1'000'000, fb::IndexPart::Value)},
       "index 'i' has 1000000 key parts; at most 3 exist");
  says({.covered = {{"g", std::string(16'385, 'p')}}},
       "index 'i': a qualifier of 16385 bytes; at most 16384 are allowed");
  says({.covered = {{std::string(65, 'g'), "p"}}},
       "index 'i': a family name of 65 bytes; at most 64 are allowed");
  says({.qualifier = std::string(16'385, 'p')},
       "index 'i': a qualifier of 16385 bytes; at most 16384 are allowed");
}

TEST_F(IndexOps, WhatIsAbsentInAnAlterationStays) {
  ASSERT_EQ(create({.max_age_us = 5'000}), Errc::ok);
  const auto index = [this] {
    auto answer = described();
    const fb::IndexSpec& spec = *answer->root<fb::TableDescription>()->indexes()->Get(0);
    return std::pair(spec.max_age_us(), *spec.tighter_base());
  };
  using fb::TighterBase;
  EXPECT_EQ(alter({.tighter_base = TighterBase::Refuse}), Errc::ok);
  EXPECT_EQ(index(), std::pair(flatbuffers::Optional<int64_t>(5'000), TighterBase::Refuse));
  EXPECT_EQ(alter({.max_age_given = true, .max_age_us = 7'000}), Errc::ok);
  EXPECT_EQ(index(), std::pair(flatbuffers::Optional<int64_t>(7'000), TighterBase::Refuse));
  EXPECT_EQ(alter({.max_age_given = true}), Errc::ok);
  EXPECT_EQ(index(), std::pair(flatbuffers::Optional<int64_t>(), TighterBase::Refuse));
  EXPECT_EQ(alter({.max_age_us = 7'000}), Errc::invalid_argument);
  EXPECT_EQ(alter({.tighter_base = static_cast<TighterBase>(2)}), Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(Op::AlterIndex, alter_index_body("j", {.max_age_given = true})),
            Errc::not_found);
}

TEST_F(IndexOps, StatesTellHowFarEachIndexIsBuilt) {
  create_index("i");
  set("a", "x", 1000);
  set("z", "x", 1000);
  ASSERT_EQ(peer.code_of(Op::FlushTable, wire::flush_body("t")), Errc::ok);
  create_index("j", {.parts = {fb::IndexPart::Value, fb::IndexPart::Time}});
  auto answer = peer.ask(Op::DescribeIndexes, describe_indexes_body("t"));
  ASSERT_TRUE(answer && !answer->error()) << answer->message();
  const auto& indexes = *answer->root<fb::DescribeIndexesReply>()->indexes();
  ASSERT_EQ(indexes.size(), 2u);
  for (const fb::IndexDescription* one : indexes) {
    EXPECT_TRUE(one->ready());
    EXPECT_EQ(one->done_bytes(), one->total_bytes());
    EXPECT_EQ(one->entries(), 2u);
    EXPECT_GT(one->bytes(), 0u);
  }
  EXPECT_EQ(wire::text(indexes.Get(1)->index()->name()), "j");
  ASSERT_EQ(peer.code_of(Op::DropIndex, drop_index_body("t", "i")), Errc::ok);
  answer = peer.ask(Op::DescribeIndexes, describe_indexes_body("t"));
  EXPECT_EQ(answer->root<fb::DescribeIndexesReply>()->indexes()->size(), 1u);
}

std::string check_body(std::string_view index, bool progress = false) {
  flatbuffers::FlatBufferBuilder builder;
  const auto table = builder.CreateString("t");
  const auto name = builder.CreateString(index.data(), index.size());
  return std::string(
      wire::finish_body(builder, fb::CreateCheckIndexRequest(builder, table, name, progress)));
}

TEST_F(IndexOps, ACheckCountsCellsAndHits) {
  create_index("i");
  for (int i = 0; i < 20; ++i) set(fmt::format("{}{}", i % 2 == 0 ? "a" : "z", i), "x", 1000);
  auto answer = peer.ask(Op::CheckIndex, check_body("i"));
  ASSERT_TRUE(answer && !answer->error()) << answer->message();
  const auto* report = answer->root<fb::CheckIndexReply>();
  ASSERT_NE(report, nullptr);
  EXPECT_EQ(report->cells(), 20u);
  EXPECT_EQ(report->hits(), 20u);
  EXPECT_EQ(report->missing(), 0u);
  EXPECT_EQ(report->wrong(), 0u);
  EXPECT_EQ(report->samples()->size(), 0u);
  EXPECT_EQ(peer.code_of(Op::CheckIndex, check_body("j")), Errc::not_found);
  EXPECT_EQ(scans(), 0u);
}

// Its name must be unique: a client asks for it before it sends what an older node would not know.
TEST_F(IndexOps, TheHelloNamesTheFeatureOnce) {
  Peer fresh(bed, false);
  std::string preface;
  wire::append_preface(preface, {});
  fresh.send(preface + wire::request_frame(Op::Hello, 1, ""));
  auto hello = fresh.answer(1);
  ASSERT_TRUE(hello);
  size_t named = 0;
  for (const auto* feature : *hello->root<fb::HelloReply>()->features()) {
    if (wire::text(feature) == "indexes") ++named;
  }
  EXPECT_EQ(named, 1u);
}

}  // namespace
}  // namespace cellar::server
