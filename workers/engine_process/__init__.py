"""Engine processes: start, guard and pipe protocol."""
