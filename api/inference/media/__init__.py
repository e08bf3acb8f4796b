"""What requests with sounds or pictures share: forms, files of jobs, and the URLs of results."""
