#include "probes/base/memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

// The code that each poll uses ends here, on a page of its own; see watcher/often_used.ld. A
// program that is linked otherwise has no such symbol.
extern "C" const char cluster_watcher_often_used_end[] __attribute__((weak));

namespace cluster_watcher {
namespace {

// The kernel maps what lies around a page that is used, but only with the same advice. This advice
// has no other effect on what is in a file.
void Separate(std::uintptr_t begin, std::uintptr_t end) {
  const auto boundary = reinterpret_cast<std::uintptr_t>(cluster_watcher_often_used_end);
  if (begin < boundary && boundary < end) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses of segments are numbers
    madvise(reinterpret_cast<void*>(boundary), end - boundary, MADV_DONTDUMP);
  }
}

// A segment that can be written has pages that differ from the file, and would lose them.
int GiveBackSegments(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    Separate(begin, end);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void GiveBackMemory() {
  malloc_trim(0);
  dl_iterate_phdr(GiveBackSegments, nullptr);
}

}  // namespace cluster_watcher
