"""Networks as files for other programs: safetensors, ONNX, int8."""
