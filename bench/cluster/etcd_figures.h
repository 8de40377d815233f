// etcd as a cluster of nodes uses it: transactions, reads, the end of a lease, the news of a watch.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cellar::bench {

// By name, in milliseconds. `endpoints`: HOST:PORT, separated by commas. Ends the program if etcd
// does not answer.
std::vector<std::pair<std::string, double>> measure_etcd(const std::string& endpoints);

}  // namespace cellar::bench
