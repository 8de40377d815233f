// cellar-bench against real servers.
#include "tests/cluster/program.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>

#include "net/client/sync_client.h"
#include "tests/cases/node_process.h"

namespace cellar::bench {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using namespace std::chrono_literals;
using asio::ip::tcp;

std::string program(const std::string& name) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / name).string();
}

uint16_t free_port() {
  asio::io_context context;
  const tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  return acceptor.local_endpoint().port();
}

bool accepts(uint16_t port) {
  asio::io_context context;
  tcp::socket socket(context);
  boost::system::error_code ec;
  socket.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port), ec);
  return !ec;
}

struct Outcome {
  int code = -1;
  std::string output;  // of both streams
  std::vector<json::object> results;
};

class BenchProgram : public testing::Test {
 protected:
  BenchProgram() : directory_(fs::path(testing::TempDir()) / fmt::format("bench.{}", getpid())) {
    fs::create_directories(directory_);
  }
  ~BenchProgram() override {
    node_.reset();
    fs::remove_all(directory_);
  }

  Outcome bench(const std::string& arguments, bool as_json = true) {
    const std::string out = (directory_ / "out").string();
    const int status =
        std::system(fmt::format("timeout 60 {} {} {} >{} 2>&1", program("cellar-bench"), arguments,
                                as_json ? "--json" : "", out)
                        .c_str());
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::ifstream in(out);
    for (std::string line; std::getline(in, line);) {
      outcome.output += line + "\n";
      boost::system::error_code ec;
      const json::value value = json::parse(line, ec);
      if (!ec && value.is_object()) outcome.results.push_back(value.get_object());
    }
    return outcome;
  }
  const std::string& start_node() {
    node_.emplace(program("cellard"), (directory_ / "data").string(),
                  std::vector<std::string>{"--shards", "1"});
    const auto started = node_->start();
    EXPECT_TRUE(started) << started.error().to_string();
    return node_->address();
  }
  static int64_t number(const json::object& o, std::string_view key) {
    return o.at(key).to_number<int64_t>();
  }

  const fs::path directory_;
  std::optional<cases::NodeProcess> node_;
};

// The rows are loaded, all of them are found, and their values are those that were written.
void load_and_read(const std::function<Outcome(const std::string&)>& bench,
                   const std::string& server, bool verifies) {
  const Outcome outcome =
      bench(server +
            " --workload mixed --phase both --keys 500 --connections 4 --depth 4 "
            "--threads 2 --seconds 0.3 --warmup 0.1 --fields 3 --ttl 1h" +
            (verifies ? " --verify" : ""));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  ASSERT_EQ(outcome.results.size(), 2u);
  EXPECT_EQ(outcome.results[0].at("completed").to_number<int>(), 500);
  const json::object& run = outcome.results[1];
  EXPECT_TRUE(run.at("valid").as_bool());
  EXPECT_EQ(run.at("missing").to_number<int>(), 0);
  EXPECT_EQ(run.at("failed").to_number<int>(), 0);
  for (const char* operation : {"read", "update"})
    EXPECT_GT(run.at("operations").at(operation).at("completed").to_number<int>(), 0) << operation;
  if (!verifies) return;
  EXPECT_GT(run.at("verified").to_number<int>(), 0);
  EXPECT_EQ(run.at("wrong").to_number<int>(), 0) << outcome.output;
}

TEST_F(BenchProgram, LoadsEveryKindOfServer) {
  const auto run = [&](const std::string& arguments) { return bench(arguments); };
  struct Kind {
    std::string name;
    std::vector<std::string> command;
    bool verifies;
  };
  const std::string port = std::to_string(free_port());
  const std::string user = geteuid() == 0 ? "nobody" : "";
  const Kind kinds[] = {
      {"echo", {program("cellar-bench-echo"), "--port", port}, false},
      {"redis", {"/usr/bin/redis-server", "--port", port, "--save", ""}, true},
      {"memcached", {"/usr/bin/memcached", "-l", "127.0.0.1", "-p", port, "-u", user}, false},
  };
  for (const Kind& kind : kinds) {
    if (!fs::exists(kind.command[0])) continue;
    SCOPED_TRACE(kind.name);
    cluster::Program server;
    server.start(kind.command, (directory_ / "server.log").string());
    for (int i = 0; i < 500 && !accepts(static_cast<uint16_t>(std::stoi(port))); ++i)
      std::this_thread::sleep_for(20ms);
    load_and_read(run, "--server " + kind.name + " --addr 127.0.0.1:" + port, kind.verifies);
    server.kill_now();
  }
  load_and_read(run, "--durability memory --addr " + start_node(), true);
}

TEST_F(BenchProgram, RunsEveryWorkload) {
  const std::string address = start_node();
  for (const char* workload : {"write", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f",
                               "timeseries", "clicks", "sessions", "deletes"}) {
    SCOPED_TRACE(workload);
    const Outcome outcome = bench(
        fmt::format("--addr {} --table {} --workload {} --phase both --keys 300 --connections 4 "
                    "--depth 2 --seconds 0.2 --durability memory --verify",
                    address, workload, workload));
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    ASSERT_EQ(outcome.results.size(), 2u);
    const json::object& run = outcome.results[1];
    EXPECT_EQ(number(run, "failed"), 0);
    EXPECT_EQ(number(run, "wrong"), 0) << outcome.output;
    EXPECT_GT(number(run, "completed"), 0);
    // Only where rows are deleted may a read miss; series and users may have no row yet.
    if (std::string_view(workload).starts_with("ycsb")) EXPECT_EQ(number(run, "missing"), 0);
  }
}

// 1,001 operations do not divide by 7 connections or 3 threads: all are done, each on another row.
TEST_F(BenchProgram, ASequenceWritesEveryRowOnce) {
  const std::string node = "--durability memory --addr " + start_node();
  const std::string load = node + " --keys 1001 --connections 7 --threads 3 --operations 1001";
  const Outcome written = bench(load + " --workload write --distribution sequential --warmup 0.1");
  ASSERT_EQ(written.code, 0) << written.output;
  EXPECT_EQ(number(written.results.at(0), "completed"), 1001);
  const Outcome read = bench(load + " --workload read --distribution sequential");
  ASSERT_EQ(read.code, 0) << read.output;
  EXPECT_EQ(number(read.results.at(0), "missing"), 0);
}

TEST_F(BenchProgram, RowsExpire) {
  const std::string node = "--durability memory --keys 200 --addr " + start_node();
  ASSERT_EQ(bench(node + " --phase load --ttl 300ms").code, 0);
  std::this_thread::sleep_for(400ms);
  const Outcome read = bench(node + " --workload read --operations 100");
  ASSERT_EQ(read.code, 0) << read.output;
  EXPECT_EQ(number(read.results.at(0), "missing"), 100);
  EXPECT_EQ(number(read.results.at(0).at("operations").at("read").as_object(), "found"), 0);
}

TEST_F(BenchProgram, AnInvalidRunSaysSo) {
  const std::string node = "--durability memory --keys 200 --addr " + start_node();
  ASSERT_EQ(bench(node + " --phase load").code, 0);
  const std::string open = node + " --workload read --connections 4 --rate 3000 --seconds 0.5";
  // On a quiet machine nearly every request leaves within a microsecond of its time, none at it.
  const Outcome late = bench(open + " --max-late-us 0");
  EXPECT_EQ(late.code, 8) << late.output;
  EXPECT_FALSE(late.results.at(0).at("valid").as_bool());
  EXPECT_TRUE(late.results.at(0).contains("invalid_reason"));
  const Outcome in_time = bench(open + " --max-late-us 1000000");
  EXPECT_EQ(in_time.code, 0) << in_time.output;
  EXPECT_EQ(number(in_time.results.at(0), "completed"), 1500);
  EXPECT_EQ(number(in_time.results.at(0), "late_sends"), 0);
}

// Connects its clients to two nodes in turn, as a proxy without a routing hint does.
class AlternatingProxy {
 public:
  AlternatingProxy(const std::string& a, const std::string& b) {
    for (const std::string& node : {a, b}) {
      const auto port = static_cast<uint16_t>(std::stoi(node.substr(node.rfind(':') + 1)));
      const auto host = asio::ip::make_address(node.substr(0, node.rfind(':')));
      nodes_.emplace_back(host, port);
    }
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~AlternatingProxy() {
    context_.stop();
    thread_.join();
  }
  std::string address() const {
    return fmt::format("127.0.0.1:{}", acceptor_.local_endpoint().port());
  }

 private:
  struct Pipe : std::enable_shared_from_this<Pipe> {
    Pipe(std::shared_ptr<tcp::socket> f, std::shared_ptr<tcp::socket> t)
        : from(std::move(f)), to(std::move(t)) {}
    void pump() {
      from->async_read_some(asio::buffer(buffer), [self = shared_from_this()](auto ec, size_t n) {
        boost::system::error_code failed = ec;
        if (!failed) asio::write(*self->to, asio::buffer(self->buffer.data(), n), failed);
        if (!failed) return self->pump();
        self->to->close(failed);
      });
    }
    std::shared_ptr<tcp::socket> from;
    std::shared_ptr<tcp::socket> to;
    std::array<char, 16384> buffer{};
  };
  void accept() {
    acceptor_.async_accept([this](auto ec, tcp::socket accepted) {
      if (ec) return;
      auto client = std::make_shared<tcp::socket>(std::move(accepted));
      auto node = std::make_shared<tcp::socket>(context_);
      boost::system::error_code refused;
      node->connect(nodes_[next_++ % nodes_.size()], refused);
      if (!refused) {
        std::make_shared<Pipe>(client, node)->pump();
        std::make_shared<Pipe>(node, client)->pump();
      }
      accept();
    });
  }

  asio::io_context context_;
  tcp::acceptor acceptor_{context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::vector<tcp::endpoint> nodes_;
  size_t next_ = 0;
  std::thread thread_;
};

// The number of a table differs between nodes. Each connection uses that of its own node.
TEST_F(BenchProgram, BehindAProxyItWritesIntoTheNamedTable) {
  const std::string first = start_node();
  cases::NodeProcess other(program("cellard"), (directory_ / "other").string(), {"--shards", "1"});
  ASSERT_TRUE(other.start());
  const std::string on_first = "--durability memory --keys 100 --addr " + first;
  const std::string on_other = "--durability memory --keys 100 --addr " + other.address();
  for (const char* table : {"bystander", "named"})  // numbers 1 and 2
    ASSERT_EQ(bench(on_first + " --operations 1 --workload read --table " + table).code, 0);
  for (const char* table : {"named", "bystander"})
    ASSERT_EQ(bench(on_other + " --operations 1 --workload read --table " + table).code, 0);
  const AlternatingProxy proxy(first, other.address());
  const Outcome loaded =
      bench("--addr " + proxy.address() + " --keys 100 --connections 8 --table named --phase load");
  ASSERT_EQ(loaded.code, 0) << loaded.output;
  for (const std::string& node : {on_first, on_other}) {
    const std::string read = node + " --workload read --distribution sequential --operations 100";
    EXPECT_EQ(number(bench(read + " --table bystander").results.at(0), "missing"), 100);
    EXPECT_LT(number(bench(read + " --table named").results.at(0), "missing"), 100);
  }
  // A node without the table ends the run instead of another table being used.
  const Outcome absent = bench("--addr " + proxy.address() + " --connections 8 --table new");
  EXPECT_EQ(absent.code, 1);
  EXPECT_NE(absent.output.find("'new'"), std::string::npos) << absent.output;
}

TEST_F(BenchProgram, ComparesAndReports) {
  const std::string node = "--durability memory --keys 100 --addr " + start_node();
  const std::string a = (directory_ / "a.json").string();
  const std::string html = (directory_ / "report.html").string();
  const std::string csv = (directory_ / "run.csv").string();
  const std::string hlog = (directory_ / "run.hlog").string();
  const Outcome run = bench(node + " --workload mixed --seconds 0.5 --csv " + csv + " --hlog " +
                            hlog + " --html " + html);
  ASSERT_EQ(run.code, 0) << run.output;
  std::ofstream(a) << run.output;
  const Outcome compared = bench("compare " + a + " " + a);
  ASSERT_EQ(compared.code, 0) << compared.output;
  EXPECT_NE(compared.output.find("\"ratio\":1E0"), std::string::npos) << compared.output;
  EXPECT_GT(fs::file_size(html), 5000u);
  EXPECT_GT(fs::file_size(csv), 500u);
  EXPECT_GT(fs::file_size(hlog), 500u);
  fs::remove(html);
  EXPECT_EQ(bench("report " + a + " --html " + html, false).code, 0);
  EXPECT_GT(fs::file_size(html), 5000u);
  EXPECT_EQ(bench("compare " + a + " /absent").code, 1);
}

TEST_F(BenchProgram, RefusesWhatItCannotDo) {
  EXPECT_EQ(bench("--rate 10 --rates 20", false).code, 2);
  EXPECT_EQ(bench("--workload nothing", false).code, 2);
  EXPECT_EQ(bench("--shares read=x", false).code, 2);
  EXPECT_EQ(bench("--addr 127.0.0.1:1 --connections 1", false).code, 1);
  const Outcome scan = bench("--server redis --addr 127.0.0.1:1 --workload ycsb-e", false);
  EXPECT_EQ(scan.code, 1);
  EXPECT_NE(scan.output.find("'scan'"), std::string::npos) << scan.output;
}

}  // namespace
}  // namespace cellar::bench
