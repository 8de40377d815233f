// What the stores in Ceph do beyond the suites: late copies of writes, interrupted removals, names.
#include <gmock/gmock.h>

#include "engine/store/rados/rados_backup_store.h"
#include "engine/store/rados/rados_blob.h"
#include "engine/store/rados/rados_blob_names.h"
#include "io/sim/remote/sim_rados.h"
#include "tests/engine/store/store_bed.h"

namespace cellar::engine {
namespace {

constexpr BlobId kPoolBlob = make_blob_id(SessionEpoch{2}, 1, 9);

class RadosStore : public testing::Test {
 protected:
  RadosStore() {
    cluster_.add_pool("backup");
    port_ = cluster_.connect(loop_);
    store_ = run(open_rados_backup_store(*port_, runtime_, {"backup", "node1"})).value();
  }
  ~RadosStore() override {
    if (port_ != nullptr) world_.block_on(loop_, port_->close());
  }

  template <class T>
  T run(Async<T> work) {
    return world_.block_on(loop_, std::move(work));
  }
  BlobStore& blobs() { return store_->blobs(); }
  Async<Result<void>> write_blob(std::string content) {
    CO_TRY(auto writer, co_await blobs().create(kPoolBlob, 0, IoClass::flush));
    CO_TRY_VOID(co_await writer->append(content));
    co_return co_await writer->seal();
  }
  // The first `size` bytes.
  Async<Result<std::string>> read_blob(size_t size) {
    if (blob_ == nullptr) {
      CO_TRY(blob_, co_await blobs().open(kPoolBlob));
    }
    Waiter waiter;
    BlobRead read;
    read.size = size;
    read.context = &waiter;
    read.done = [](BlobRead& self) { static_cast<Waiter*>(self.context)->resume(); };
    blob_->submit(read);
    co_await waiter.wait();
    if (read.error) co_return std::unexpected(*read.error);
    co_return std::string(read.data);
  }
  // Of the blob that is there, sealed or not.
  std::string piece(uint64_t number) {
    if (number == 0) return head_name(kPoolBlob);
    const SimRadosObject* head = object(head_name(kPoolBlob));
    return piece_name(kPoolBlob, head == nullptr ? "" : head->xattrs.at("attempt"), number);
  }
  std::vector<std::string> objects() {
    auto port = cluster_.connect(loop_);
    const auto look = [&]() -> Async<Result<std::vector<std::string>>> {
      CO_TRY(const RadosPool pool, co_await port->open_pool("backup", "cellar-backup/node1"));
      co_return co_await port->list(pool, "");
    };
    auto names = run(look()).value();
    run(port->close());
    return names;
  }
  void lose(const std::string& name) {
    ASSERT_EQ(all_.erase({0, "cellar-backup/node1", name}), 1u) << name;
  }
  SimRadosObject* touch(const std::string& name) {
    return cluster_.touch("backup", "cellar-backup/node1", name);
  }
  const SimRadosObject* object(const std::string& name) {
    return cluster_.peek("backup", "cellar-backup/node1", name);
  }

  SimWorld world_{3};
  SimRadosObjects all_;
  SimRados cluster_{world_, {}, &all_};
  SimLoop& loop_ = world_.add_loop();
  TrustedClock clock_{world_.clock()};
  Random random_{1};
  Runtime runtime_{loop_.executor(), loop_.timers(), clock_, random_};
  std::unique_ptr<RadosPort> port_;
  std::unique_ptr<BackupStore> store_;
  std::unique_ptr<Blob> blob_;
};

TEST_F(RadosStore, PlacesHaveAPoolAndAName) {
  const auto place = parse_rados_place("rados:backup/node-1.a");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->pool, "backup");
  EXPECT_EQ(place->name, "node-1.a");
  for (const char* text : {"rados:", "rados:backup", "rados:backup/", "rados:/n", "rados:a/b/c",
                           "rados:a/..", "backup/n", "/backup/n", "rados:a b/n"}) {
    const auto refused = parse_rados_place(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("rados:POOL/NAME"));
  }
}

TEST_F(RadosStore, APoolThatIsAbsentIsNamed) {
  const auto opened = run(open_rados_backup_store(*port_, runtime_, {"nothing", "node1"}));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::not_found);
  EXPECT_THAT(opened.error().message, testing::HasSubstr("'nothing'"));
}

// The seal of a job that was given up is still on its way when the blob is removed.
TEST_F(RadosStore, ALateSealDoesNotBringARemovedBlobBack) {
  auto writer = run(blobs().create(kPoolBlob, 0, IoClass::flush)).value();
  ASSERT_TRUE(run(writer->append("content")));
  std::optional<Result<void>> sealed;
  const auto seal = [&]() -> Async<void> { sealed = co_await writer->seal(); };
  cluster_.hang_us(RadosObjects::kPatienceUs + 5'000'000);
  spawn(loop_.executor(), seal);
  world_.run_until([&] { return sealed.has_value(); });
  ASSERT_FALSE(*sealed);
  EXPECT_EQ(sealed->error().applied, Applied::maybe_applied);
  // Another one removes it and writes it anew; messages that waited arrive meanwhile.
  auto removed = run(blobs().remove(kPoolBlob));
  ASSERT_TRUE(removed) << removed.error().to_string();
  world_.run_for_us(10'000'000);
  EXPECT_TRUE(run(blobs().list()).value().empty());
  ASSERT_TRUE(run(write_blob("new content")));
  world_.run_for_us(10'000'000);
  EXPECT_EQ(run(blobs().open(kPoolBlob)).value()->size(), 11u);
  (void)run(writer->abandon());
}

TEST_F(RadosStore, ASealOfAnotherAttemptIsRefused) {
  auto given_up = run(blobs().create(kPoolBlob, 0, IoClass::flush)).value();
  ASSERT_TRUE(run(given_up->append("old content")));
  ASSERT_TRUE(run(blobs().remove(kPoolBlob)));
  auto writer = run(blobs().create(kPoolBlob, 0, IoClass::flush)).value();
  ASSERT_TRUE(run(writer->append("new")));
  const auto late = run(given_up->seal());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::aborted) << late.error().to_string();
  EXPECT_EQ(run(blobs().open(kPoolBlob)).error().code, Errc::not_found);
  ASSERT_TRUE(run(writer->seal()));
  EXPECT_EQ(run(read_blob(3)).value(), "new");
}

// Two that take backups of the same directory: what one has sealed stays when the other gives up.
TEST_F(RadosStore, AnAbandonedAttemptRemovesNothingOfAnother) {
  const size_t size = 3 * kRadosPieceBytes - 9;
  auto given_up = run(blobs().create(kPoolBlob, 0, IoClass::flush)).value();
  ASSERT_TRUE(run(given_up->append(text_of(size, 1))));
  ASSERT_TRUE(run(blobs().remove(kPoolBlob)));
  ASSERT_TRUE(run(write_blob(text_of(size, 2))));
  ASSERT_FALSE(run(given_up->seal()));
  ASSERT_TRUE(run(given_up->abandon()));
  ASSERT_EQ(run(blobs().list()).value().size(), 1u);
  EXPECT_TRUE(run(blobs().list()).value()[0].sealed);
  EXPECT_EQ(run(read_blob(size)).value(), text_of(size, 2));
  // Of the other one nothing is left.
  EXPECT_EQ(objects().size(), 3u);
}

// A piece of an attempt that was given up arrives after another has sealed the blob.
TEST_F(RadosStore, ALatePieceOfAnotherAttemptIsNotReadAndGoesWithTheBlob) {
  const size_t size = 3 * kRadosPieceBytes - 9;
  auto given_up = run(blobs().create(kPoolBlob, 0, IoClass::flush)).value();
  ASSERT_TRUE(run(blobs().remove(kPoolBlob)));
  ASSERT_TRUE(run(write_blob(text_of(size, 2))));
  ASSERT_TRUE(run(given_up->append(text_of(size, 1))));
  ASSERT_FALSE(run(given_up->seal()));
  EXPECT_EQ(run(read_blob(size)).value(), text_of(size, 2));
  EXPECT_EQ(objects().size(), 5u);
  ASSERT_TRUE(run(blobs().remove(kPoolBlob)));
  // They are listed then, and removed by the next.
  ASSERT_EQ(run(blobs().list()).value().size(), 1u);
  EXPECT_FALSE(run(blobs().list()).value()[0].sealed);
  ASSERT_TRUE(run(blobs().remove(kPoolBlob)));
  EXPECT_TRUE(objects().empty());
  (void)run(given_up->abandon());
}

// As a late copy of a removal does.
TEST_F(RadosStore, ARemovalOfAnEarlierAttemptDoesNotTakeALaterBlob) {
  ASSERT_TRUE(run(write_blob("old content")));
  const std::string attempt = object(head_name(kPoolBlob))->xattrs.at("attempt");
  ASSERT_TRUE(run(blobs().remove(kPoolBlob)));
  ASSERT_TRUE(run(write_blob("new content")));
  RadosObjects objects(*port_, runtime_, RadosPool(0));
  EXPECT_FALSE(run(remove_head(objects, kPoolBlob, attempt)).value());
  EXPECT_EQ(run(read_blob(11)).value(), "new content");
}

TEST_F(RadosStore, AMissingOrShortPieceIsDamageAndASilentClusterIsNot) {
  const size_t size = 2 * kRadosPieceBytes + 9;
  ASSERT_TRUE(run(write_blob(text_of(size))));
  SimRadosObject* last = touch(piece(2));
  last->content.resize(5);
  EXPECT_EQ(run(read_blob(size)).error().code, Errc::data_loss);
  EXPECT_TRUE(run(read_blob(kRadosPieceBytes)));
  cluster_.hang_us(2 * RadosObjects::kPatienceUs);
  const auto silent = run(read_blob(100));
  ASSERT_FALSE(silent);
  EXPECT_TRUE(is_unreachable(silent.error())) << silent.error().to_string();
  cluster_.hang_us(2 * RadosObjects::kPatienceUs);
  EXPECT_TRUE(is_unreachable(run(blobs().open(kPoolBlob)).error()));
}

// An incremental backup copies it anew.
TEST_F(RadosStore, ABlobThatLostAPieceIsListedAsNotSealed) {
  for (const uint64_t lost : {1, 2}) {
    ASSERT_TRUE(run(blobs().remove(kPoolBlob)));
    ASSERT_TRUE(run(write_blob(text_of(3 * kRadosPieceBytes - 9))));
    EXPECT_TRUE(run(blobs().list()).value().at(0).sealed);
    lose(piece(lost));
    const auto there = run(blobs().list()).value();
    ASSERT_EQ(there.size(), 1u);
    EXPECT_FALSE(there[0].sealed) << lost;
  }
  ASSERT_TRUE(run(blobs().remove(kPoolBlob)));
  EXPECT_TRUE(objects().empty());
}

// The others are listed, and it is replaced or removed.
TEST_F(RadosStore, ABlobWithADamagedHeadIsListedAsNotSealed) {
  ASSERT_TRUE(run(write_blob(text_of(2 * kRadosPieceBytes))));
  touch(head_name(kPoolBlob))->xattrs.clear();
  const auto there = run(blobs().list());
  ASSERT_TRUE(there) << there.error().to_string();
  ASSERT_EQ(there->size(), 1u);
  EXPECT_FALSE(there->at(0).sealed);
  EXPECT_EQ(run(blobs().open(kPoolBlob)).error().code, Errc::data_loss);
  ASSERT_TRUE(run(blobs().remove(kPoolBlob)));
  EXPECT_TRUE(objects().empty());
}

TEST_F(RadosStore, ARemovalThatWasInterruptedIsFinishedByTheNext) {
  ASSERT_TRUE(run(write_blob(text_of(5 * kRadosPieceBytes - 7))));
  std::vector<std::string> pieces;
  for (uint64_t i = 0; i < 5; ++i) pieces.push_back(piece(i));
  for (const std::string& name : pieces) EXPECT_NE(object(name), nullptr) << name;
  EXPECT_EQ(object(piece(5)), nullptr);
  const auto remove_some = [&]() -> Async<void> { (void)co_await blobs().remove(kPoolBlob); };
  spawn(loop_.executor(), remove_some);
  world_.run_until([&] { return object(pieces[1]) == nullptr; });
  EXPECT_NE(object(pieces[4]), nullptr);
  loop_.crash();
  store_.reset();
  port_.reset();
  SimLoop& other = world_.add_loop();
  Runtime runtime{other.executor(), other.timers(), clock_, random_};
  auto port = cluster_.connect(other);
  auto store =
      world_.block_on(other, open_rados_backup_store(*port, runtime, {"backup", "node1"})).value();
  const auto there = world_.block_on(other, store->blobs().list()).value();
  ASSERT_EQ(there.size(), 1u);
  EXPECT_FALSE(there[0].sealed);
  ASSERT_TRUE(world_.block_on(other, store->blobs().remove(kPoolBlob)));
  for (const std::string& name : pieces) EXPECT_EQ(object(name), nullptr) << name;
  world_.block_on(other, port->close());
}

// A write of a large backup was interrupted before its head, a removal behind it; a backup was
// replaced.
TEST_F(RadosStore, ContentThatNoHeadNamesIsRemoved) {
  for (const std::string name : {"monday", "monday.1", "tuesday"}) {
    ASSERT_TRUE(run(store_->write(name, text_of(2 * kRadosPieceBytes))));
  }
  all_[{0, "cellar-backup/node1", "content/monday/0123456789abcdef/0"}] = {};
  lose("backup/tuesday");
  const size_t before = objects().size();
  ASSERT_TRUE(run(store_->remove_remains()));
  EXPECT_EQ(objects().size(), before - 3);  // also two of tuesday
  EXPECT_TRUE(run(store_->read("monday")));
  EXPECT_TRUE(run(store_->read("monday.1")));
}

TEST_F(RadosStore, AWriteIntoAPoolThatIsNoMoreFails) {
  auto writer = run(blobs().create(kPoolBlob, 0, IoClass::flush)).value();
  cluster_.remove_pool("backup");
  (void)run(writer->append(text_of(2 * kRadosPieceBytes)));
  EXPECT_EQ(run(writer->seal()).error().code, Errc::not_found);
  (void)run(writer->abandon());
  EXPECT_EQ(run(store_->write("large", text_of(2 * kRadosPieceBytes))).error().code,
            Errc::not_found);
  RadosObjects objects(*port_, runtime_, RadosPool(0));
  EXPECT_EQ(run(objects.put("any", "content")).error().code, Errc::not_found);
  EXPECT_EQ(run(blobs().list()).error().code, Errc::not_found);
}

// A listing is repeated until the cluster answers, within bounds.
TEST_F(RadosStore, AListingOutlastsAClusterThatHangs) {
  ASSERT_TRUE(run(store_->write("small", "content")));
  const auto names = [&] { return run(store_->names()); };
  cluster_.hang_us(20'000'000);
  EXPECT_EQ(names().value(), std::vector<std::string>{"small"});
  cluster_.hang_us(45'000'000);  // longer than the time of one listing
  EXPECT_EQ(names().value(), std::vector<std::string>{"small"});
  cluster_.faults().fail_look = 0.7;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(names().value(), std::vector<std::string>{"small"});
  cluster_.faults().fail_look = 0;

  cluster_.hang_us(200'000'000);
  const int64_t began_us = world_.now_us();
  const auto refused = names();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_LT(world_.now_us() - began_us, RadosObjects::kPatienceUs + 31'000'000);
}

// As a node stops while a job lists.
TEST_F(RadosStore, AListingEndsWhenThePortCloses) {
  cluster_.hang_us(200'000'000);
  std::optional<Result<std::vector<std::string>>> listed;
  const auto list = [&]() -> Async<void> { listed = co_await store_->names(); };
  spawn(loop_.executor(), list);
  world_.run_for_us(1'000'000);
  EXPECT_FALSE(listed.has_value());
  run(port_->close());
  world_.run_until([&] { return listed.has_value(); });
  ASSERT_FALSE(*listed);
  EXPECT_EQ(listed->error().code, Errc::unavailable);
}

TEST_F(RadosStore, ABackupThatLostAPieceOfItsContentIsDataLoss) {
  ASSERT_TRUE(run(store_->write("large", text_of(2 * kRadosPieceBytes))));
  const std::string attempt = object("backup/large")->xattrs.at("attempt");
  lose(fmt::format("content/large/{}/1", attempt));
  EXPECT_EQ(run(store_->read("large")).error().code, Errc::data_loss);
}

TEST_F(RadosStore, ADamagedBackupIsDataLoss) {
  ASSERT_TRUE(run(store_->write("small", "content")));
  ASSERT_TRUE(run(store_->write("large", text_of(2 * kRadosPieceBytes))));
  touch("backup/small")->content = "contemt";
  EXPECT_EQ(run(store_->read("small")).error().code, Errc::data_loss);
  touch("backup/large")->xattrs.clear();
  EXPECT_EQ(run(store_->read("large")).error().code, Errc::data_loss);
}

}  // namespace
}  // namespace cellar::engine
