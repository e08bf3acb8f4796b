"""Files that clients upload, and the results of batches: on disk, by tenant."""
