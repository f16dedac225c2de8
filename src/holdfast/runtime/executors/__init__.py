"""Outside executors: whoever runs a job elsewhere and reports back by signed callbacks."""
