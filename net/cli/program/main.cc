#include <vector>

#include "net/cli/program/app.h"

int main(int argc, char** argv) {
  return cellar::cli::run(std::vector<std::string>(argv + 1, argv + argc),
                          cellar::cli::Console::of_process());
}
