// HttpBed: a real node with its HTTP listener and a table of cells that expire.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"
#include "tests/process/support/http_call.h"

namespace cellar::process {

class HttpBed : public testing::Test {
 protected:
  HttpBed()
      : scratch_(std::filesystem::temp_directory_path() / fmt::format("http_bed.{}", getpid())) {
    std::filesystem::remove_all(scratch_);
    std::filesystem::create_directories(scratch_);
  }
  ~HttpBed() override {
    node_.reset();
    if (!HasFailure()) std::filesystem::remove_all(scratch_);
  }

  static std::filesystem::path bin() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path();
  }
  void start(std::vector<std::string> extra = {}, const std::string& drain_within = "0s") {
    extra.insert(extra.end(), {"--shards", "2", "--memory-total", "128MiB"});
    node_ = std::make_unique<cases::NodeProcess>(bin() / "cellard", scratch_ / "data", extra);
    node_->serve_http("127.0.0.1:0");
    node_->drain_within(drain_within);
    const auto started = node_->start();
    ASSERT_TRUE(started) << started.error().message;
    http_ = http_address_in(scratch_ / "data.log");
    ASSERT_FALSE(http_.empty());
  }
  std::unique_ptr<client::SyncClient> connect() const {
    client::ClientOptions options;
    options.address = node_->address();
    return std::make_unique<client::SyncClient>(options);
  }
  // Table `name` with family `f` that keeps two versions: `rows` rows of four versions each.
  void fill(const std::string& name, int rows) {
    auto client = connect();
    client::TableSpec spec;
    spec.name = name;
    spec.families.resize(1);
    spec.families[0].name = "f";
    spec.families[0].rule_given = true;
    spec.families[0].rule = client::RetentionRule::max_versions(2);
    const auto made = client->create_table(spec);
    ASSERT_TRUE(made) << made.error().message;
    for (int i = 0; i < rows; ++i) {
      client::Mutation mutation(fmt::format("user{:04}", i));
      for (int version = 1; version <= 4; ++version) {
        mutation.set("f", "mail", fmt::format("mail-{}-{}", i, version), version * 1000);
      }
      const auto done = client->mutate_row(name, mutation);
      ASSERT_TRUE(done) << done.error().message;
    }
  }
  HttpAnswer get(const std::string& target) const { return http_get(http_, target); }
  HttpAnswer post(const std::string& target, const std::string& body,
                  const std::string& headers =
                      "Content-Type: application/json\r\nX-Cellar-Request: 1\r\n") const {
    return http_call(http_, "POST", target, headers, body);
  }

  const std::filesystem::path scratch_;
  std::unique_ptr<cases::NodeProcess> node_;
  std::string http_;
};

}  // namespace cellar::process
