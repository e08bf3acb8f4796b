"""Engine processes: how they are started, guarded and stopped."""
