"""A NumPy body on `keras.ops`: its names of NumPy's are rebound, and its arrays are `array.KerasArray`.

Only public functions of `keras.ops` are called, never a backend or TensorFlow itself, so that what comes out runs on
every backend of Keras 3: TensorFlow, JAX and PyTorch. NumPy's rules of dtypes are kept by casts.
"""
