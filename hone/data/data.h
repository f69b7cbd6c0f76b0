// Input pipelines: sources and transformations.
#pragma once
#include "hone/data/dataset.h"
#include "hone/data/sources.h"
