"""The queue's policy: admission, retries, verdicts, workers."""
