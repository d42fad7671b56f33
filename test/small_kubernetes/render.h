// Renders objects for answers.
#pragma once

#include <string>
#include <string_view>

#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

// Renders as a GET does, with kind and apiVersion; with `metadata_only` as PartialObjectMetadata.
std::string Render(const Resource& resource, const Object& object, bool metadata_only);

// Renders as a list does: items of built-in kinds have no kind and apiVersion.
std::string RenderItem(const Resource& resource, const Object& object, bool metadata_only);

enum class Representation { kWhole, kMetadata, kMetadataList, kNone };

// Returns the first form in `accept` that we have. Tables and other encodings are skipped.
Representation Negotiate(std::string_view accept);

}  // namespace cluster_watcher::small_kubernetes
