// Memory that a long-running program no longer uses.
#pragma once

namespace cluster_watcher {

// Gives the kernel back what may be needed no more: free memory of the heap, and the pages of the
// program's file (and of its libraries' files) that can't be written, which count as resident
// although they are in the page cache. What is used again is mapped again, with what lies
// around it. A kernel that can't do it leaves all as it is. Source: madvise(2), MADV_DONTNEED.
void GiveBackMemory();

}  // namespace cluster_watcher
