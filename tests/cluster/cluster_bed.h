// ClusterBed: three nodes behind HAProxy, each in its own network namespace, on one bridge, to
// which the test itself is attached too. HAProxy runs deploy/haproxy.cfg unchanged.
//
//   10.77.0.1 the test   10.77.0.2 HAProxy   10.77.0.11 .. .13 the nodes
//
// There is no bed where namespaces are not permitted. The destructor removes everything.
#pragma once

#include <array>
#include <filesystem>
#include <string>

#include "tests/cluster/program.h"

namespace cellar::cluster {

class ClusterBed {
 public:
  static constexpr int kNodes = 3;
  static constexpr const char* kPrefix = "10.77.0.";

  ClusterBed();
  ~ClusterBed();

  // Why this machine cannot have a bed; empty: it can.
  static std::string lacking();
  bool whole() const { return whole_; }  // every namespace exists

  // `program`: cellard. Waits until it serves.
  bool start_node(int node, const std::string& program);
  void terminate_node(int node) { nodes_[node].signal(15); }
  // The exit code; -1: timeout.
  int wait_node(int node, int timeout_ms) { return nodes_[node].wait(timeout_ms); }
  void kill_node(int node) { nodes_[node].kill_now(); }
  bool start_proxy();  // waits until it forwards connections to every node

  std::string node_address(int node) const;
  std::string proxy_address() const { return std::string(kPrefix) + "2:7420"; }
  std::string any_address() const { return std::string(kPrefix) + "2:7430"; }
  // The status of a node according to the proxy: "UP", "DRAIN", "DOWN", ...
  std::string seen_by_proxy(int node) const;
  bool waits_for_status(int node, const std::string& status, int timeout_ms) const;

  std::filesystem::path directory() const { return directory_; }
  std::string log_of(int node) const;

 private:
  bool make_namespaces();
  void remove_namespaces();
  std::string host_of(int node) const { return std::string(kPrefix) + std::to_string(11 + node); }
  // The command prefix that runs a program in the namespace of that address.
  std::vector<std::string> inside(const std::string& who) const;
  void write_proxy_config() const;

  std::filesystem::path directory_;
  bool whole_ = false;
  std::array<Program, kNodes> nodes_;
  Program proxy_;
};

}  // namespace cellar::cluster
