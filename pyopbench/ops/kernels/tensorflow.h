// What kernels include of TensorFlow: a file of its own, so that it can be precompiled where many sources are compiled.
// Nothing may be defined before it that changes what these headers say.

#ifndef PYOPBENCH_KERNELS_TENSORFLOW_H_
#define PYOPBENCH_KERNELS_TENSORFLOW_H_

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

#endif  // PYOPBENCH_KERNELS_TENSORFLOW_H_
