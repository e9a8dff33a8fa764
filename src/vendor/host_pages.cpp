#include "vendor/host_pages.hpp"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <limits>
#include <string>

namespace peerlane::vendor {
namespace {

constexpr int most_nodes = 1024;  // of every Linux build (CONFIG_NODES_SHIFT is 10 at most)
constexpr int bits_per_word = std::numeric_limits<unsigned long>::digits;

std::string node_folder(int node) {
  return "/sys/devices/system/node/node" + std::to_string(node);
}

bool exists(int node) {
  if (node >= most_nodes) return false;
  return node == 0 || access(node_folder(node).c_str(), F_OK) == 0;  // a kernel without NUMA has node 0, and no folder
}

/// All memory of the node; the largest number where the kernel does not say.
Bytes memory_of(int node) {
  std::ifstream file(node_folder(node) + "/meminfo");
  std::string word;
  Bytes kilobytes = 0;
  while (file >> word) {
    if (word == "MemTotal:" && file >> kilobytes) return kilobytes << 10;
  }
  return std::numeric_limits<Bytes>::max();
}

bool bind(void* pages, Bytes bytes, int node) {
  std::array<unsigned long, most_nodes / bits_per_word> mask{};
  mask[node / bits_per_word] = 1ul << (node % bits_per_word);
  // The kernel reads one bit less than it is told.
  if (syscall(SYS_mbind, pages, bytes, MPOL_BIND, mask.data(), most_nodes + 1, 0) == 0) return true;
  // Docker's default seccomp profile forbids mbind (EPERM), and a kernel without NUMA lacks it (ENOSYS).
  return errno == EPERM || errno == ENOSYS;
}

}  // namespace

void* host_pages(Bytes bytes, int node) {
  if (bytes == 0 || node < -1) return nullptr;
  // Pages bound to a node that cannot hold them would end in the kernel's out-of-memory killer, not in an error.
  if (node >= 0 && (!exists(node) || bytes > memory_of(node))) return nullptr;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  if (node < 0 || bind(pages, bytes, node)) return pages;
  munmap(pages, bytes);
  return nullptr;
}

void free_host_pages(void* pages, Bytes bytes) {
  if (pages != nullptr) munmap(pages, bytes);
}

}  // namespace peerlane::vendor
