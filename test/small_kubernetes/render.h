// Renders objects for answers.
#pragma once

#include <string>
#include <string_view>

#include "test/small_kubernetes/store.h"

namespace cluster_watcher::small_kubernetes {

// As a GET shows it, with kind and apiVersion; `metadata_only`: as PartialObjectMetadata.
std::string Render(const Resource& resource, const Object& object, bool metadata_only);

// As a list shows it: items of built-in kinds have no kind and apiVersion.
std::string RenderItem(const Resource& resource, const Object& object, bool metadata_only);

enum class Representation { kWhole, kMetadata, kMetadataList, kNone };

// Returns the first form in `accept` that we have. Tables and other encodings are skipped.
Representation Negotiate(std::string_view accept);

}  // namespace cluster_watcher::small_kubernetes
