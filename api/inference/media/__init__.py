"""What requests with audio or images share: forms, files of jobs, and the URLs of results."""
