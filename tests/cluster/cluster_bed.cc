#include "tests/cluster/cluster_bed.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace cellar::cluster {
namespace {

constexpr const char* kWhere[] = {"proxy", "n1", "n2", "n3"};
constexpr int kLookUs = 20'000;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string namespace_name(const std::string& who) {
  return fmt::format("cellar-{}-{}", getpid(), who);
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string ClusterBed::lacking() {
  if (!run("command -v haproxy")) return "there is no haproxy; the Debian package is haproxy";
  return {};
}

ClusterBed::ClusterBed() {
  directory_ = std::filesystem::temp_directory_path() / fmt::format("cellar-cluster-{}", getpid());
  std::filesystem::create_directories(directory_);
  whole_ = make_namespaces();
}

ClusterBed::~ClusterBed() {
  proxy_.kill_now();
  for (Program& node : nodes_) node.kill_now();
  remove_namespaces();
  std::filesystem::remove_all(directory_);
}

// The test's thread first moves into a network namespace of its own, so that the bridge is private
// and ends with the process.
bool ClusterBed::make_namespaces() {
  if (!run("command -v ip") || unshare(CLONE_NEWNET) != 0) return false;
  if (!run(
          "ip link set lo up && ip link add br0 type bridge && ip addr add 10.77.0.1/24 dev br0 && "
          "ip link set br0 up")) {
    return false;
  }
  for (const char* who : kWhere) {
    const std::string name = namespace_name(who);
    const std::string host = who == std::string("proxy") ? "2" : fmt::format("1{}", who[1]);
    if (!run(fmt::format(
            "ip netns add {0} && ip link add v{1} type veth peer name eth0 netns {0} && "
            "ip link set v{1} master br0 up && ip -n {0} addr add 10.77.0.{2}/24 dev "
            "eth0 && ip -n {0} link set eth0 up && ip -n {0} link set lo up",
            name, who, host))) {
      return false;
    }
  }
  return true;
}

void ClusterBed::remove_namespaces() {
  for (const char* who : kWhere) run("ip netns del " + namespace_name(who));
}

std::vector<std::string> ClusterBed::inside(const std::string& who) const {
  return {"ip", "netns", "exec", namespace_name(who)};
}

std::string ClusterBed::node_address(int node) const { return host_of(node) + ":7420"; }

std::string ClusterBed::log_of(int node) const {
  return (directory_ / fmt::format("n{}.log", node + 1)).string();
}

bool ClusterBed::start_node(int node, const std::string& program) {
  const std::string host = host_of(node);
  std::vector<std::string> words = inside(fmt::format("n{}", node + 1));
  const std::string data = (directory_ / fmt::format("n{}", node + 1)).string();
  const size_t seen = text_of(log_of(node)).size();
  words.insert(words.end(), {program,
                             "--data-dir",
                             data,
                             "--listen",
                             host + ":7420",
                             "--advertise",
                             host + ":7420",
                             "--proxy-trusted",
                             std::string(kPrefix) + "2",
                             "--http-listen",
                             host + ":7421",
                             "--agent-listen",
                             host + ":7422",
                             "--drain-within",
                             "2s",
                             "--shards",
                             "2",
                             "--memory-total",
                             "128MiB",
                             "--pin",
                             "false",
                             "--security-insecure",
                             "true"});
  nodes_[node].start(std::move(words), log_of(node));
  for (int i = 0; i < 1000 && nodes_[node].wait(1) == -1; ++i) {
    if (text_of(log_of(node)).find("cellard: ready on", seen) != std::string::npos) return true;
    usleep(kLookUs);
  }
  return false;
}

void ClusterBed::write_proxy_config() const {
  std::string text = text_of(CELLAR_SOURCE_DIR "/deploy/haproxy.cfg");
  replace_all(text, "global\n", "global\n  stats socket " + (directory_ / "admin").string() + "\n");
  std::ofstream(directory_ / "haproxy.cfg") << text;
}

bool ClusterBed::start_proxy() {
  write_proxy_config();
  std::vector<std::string> words = inside("proxy");
  words.insert(words.end(), {"haproxy", "-db", "-f", (directory_ / "haproxy.cfg").string()});
  proxy_.start(std::move(words), (directory_ / "haproxy.log").string());
  for (int node = 0; node < kNodes; ++node) {
    if (!waits_for_status(node, "UP", 10'000)) return false;
  }
  return true;
}

std::string ClusterBed::seen_by_proxy(int node) const {
  constexpr int kStatusColumn = 17;
  std::istringstream lines(ask_socket((directory_ / "admin").string(), "show stat"));
  const std::string wanted = fmt::format("nodes,n{},", node + 1);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(wanted)) continue;
    std::istringstream columns(line);
    std::string column;
    for (int i = 0; i <= kStatusColumn; ++i) std::getline(columns, column, ',');
    return column;
  }
  return {};
}

bool ClusterBed::waits_for_status(int node, const std::string& status, int timeout_ms) const {
  for (int waited_us = 0; waited_us < timeout_ms * 1000; waited_us += kLookUs) {
    if (seen_by_proxy(node).starts_with(status)) return true;
    usleep(kLookUs);
  }
  return false;
}

}  // namespace cellar::cluster
