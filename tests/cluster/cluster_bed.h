// ClusterBed: three nodes and HAProxy before them, each in a network namespace of its own, on one
// bridge; the test itself stands on the bridge too. HAProxy runs deploy/haproxy.cfg as it is.
//
//   10.77.0.1 the test   10.77.0.2 HAProxy   10.77.0.11 .. .13 the nodes
//
// Where namespaces are forbidden there is no bed. Nothing of it outlives the bed.
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

  // Why there can be no bed on this machine; empty: there can.
  static std::string lacking();
  bool whole() const { return whole_; }  // every namespace is there

  // `program`: cellard; waits until it serves.
  bool start_node(int node, const std::string& program);
  void terminate_node(int node) { nodes_[node].signal(15); }
  // The exit code; -1: not in time.
  int wait_node(int node, int timeout_ms) { return nodes_[node].wait(timeout_ms); }
  void kill_node(int node) { nodes_[node].kill_now(); }
  bool start_proxy();  // waits until it lets connections through to every node

  std::string node_address(int node) const;
  std::string proxy_address() const { return std::string(kPrefix) + "2:7420"; }
  std::string any_address() const { return std::string(kPrefix) + "2:7430"; }
  // Status of a node as the proxy sees it: "UP", "DRAIN", "DOWN", ...
  std::string seen_by_proxy(int node) const;
  bool waits_for_status(int node, const std::string& status, int timeout_ms) const;

  std::filesystem::path directory() const { return directory_; }
  std::string log_of(int node) const;

 private:
  bool make_namespaces();
  void remove_namespaces();
  std::string host_of(int node) const { return std::string(kPrefix) + std::to_string(11 + node); }
  // What runs a program where that address is.
  std::vector<std::string> inside(const std::string& who) const;
  void write_proxy_config() const;

  std::filesystem::path directory_;
  bool whole_ = false;
  std::array<Program, kNodes> nodes_;
  Program proxy_;
};

}  // namespace cellar::cluster
