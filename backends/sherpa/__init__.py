"""sherpa-onnx: voices that speak texts."""
