// A cluster module of the next version, for cluster_module_test.
#include "io/remote/rados/module_api.h"

extern "C" const CellarClusterApi* cellar_cluster_entry() {
  static CellarClusterApi api = {};
  api.abi = CELLAR_CLUSTER_ABI + 1;
  return &api;
}
